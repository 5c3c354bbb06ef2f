//! A truncated audit trail is detected, even if the server keeps running after the cut
//! (`docs/reference/behavior/proxy.md#audit-trail`).

use pyxis_gateway::{Config, workers};
use pyxis_testkit::database::TestDatabase;

use crate::races::proxy::Proxy;

/// Removes everything recorded after `seq`, with every trace of it in the database.
const CUT: &str = "DELETE FROM audit_records WHERE seq > 1; DELETE FROM audit_checkpoints WHERE seq > 1; \
     UPDATE audit_head SET seq = 1, mac = (SELECT mac FROM audit_records WHERE seq = 1)";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tail_that_was_cut_under_a_running_server_is_not_signed_away() {
    let dir = tempfile::tempdir().unwrap();
    let head = dir.path().join("audit-head.json");
    let config = Config { anchor: Some(head.clone()), ..Config::default() };
    let proxy = Proxy::with_config(TestDatabase::sqlite(), config).await;
    workers::bookkeeping_tick(&proxy.state).await.unwrap();
    proxy.pause(0).await;
    workers::bookkeeping_tick(&proxy.state).await.unwrap();
    let signed = std::fs::read_to_string(&head).unwrap();

    proxy.database.run(CUT).await;
    // A person who truncates the database may be able to remove the file as well. The server still remembers.
    std::fs::remove_file(&head).unwrap();
    for round in 1..3 {
        proxy.pause(round).await;
        workers::bookkeeping_tick(&proxy.state).await.unwrap();
    }
    assert!(!head.exists());
    std::fs::write(&head, signed).unwrap();
    let verdict = pyxis_gateway::admin::audit::verify(&proxy.state).await.unwrap();
    assert!(verdict.damage.is_some());
}

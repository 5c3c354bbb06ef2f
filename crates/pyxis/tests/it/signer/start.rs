//! Requirements for a start, and reasons for refusing it (`docs/reference/signer.md#credentials`).

use super::process::{Signer, command, my_app};
use super::verifier::CONSUMER_SECRET;
use crate::support::app::run;

#[tokio::test]
async fn a_signer_starts_without_a_database_or_data_directory_and_leaves_none() {
    let signer = Signer::start_with(&my_app());
    assert!(signer.greeting["address"].as_str().unwrap().starts_with("127.0.0.1:"));
    signer.client().get("/health").send().await.expect(200);
    assert_eq!(std::fs::read_dir(signer.directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn an_incomplete_set_stops_the_start_and_names_the_variable_but_no_value() {
    for (missing, _) in &my_app()[1..] {
        let env: Vec<_> = my_app().into_iter().filter(|(name, _)| name != missing).collect();
        let directory = tempfile::tempdir().unwrap();
        let ran = run(command(&directory, &env)).await.expect(1);
        assert!(ran.stderr.contains(missing), "{}", ran.stderr);
        assert!(!ran.stderr.contains(CONSUMER_SECRET), "{}", ran.stderr);
    }
}

#[tokio::test]
async fn colliding_sets_and_a_bad_port_stop_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let mut env = my_app();
    env.extend([
        ("OAUTH_CRED_my_app_CONSUMER_KEY", "k"),
        ("OAUTH_CRED_my_app_CONSUMER_SECRET", "s"),
        ("OAUTH_CRED_my_app_ACCESS_TOKEN", ""),
        ("OAUTH_CRED_my_app_ACCESS_TOKEN_SECRET", ""),
    ]);
    let ran = run(command(&directory, &env)).await.expect(1);
    assert!(ran.stderr.contains("the same credential"), "{}", ran.stderr);
    let ran = run(command(&directory, &[("OAUTH_SIGNER_PORT", "eighty")])).await.expect(1);
    assert!(ran.stderr.contains("OAUTH_SIGNER_PORT"), "{}", ran.stderr);
}

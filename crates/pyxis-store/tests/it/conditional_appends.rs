//! Appends under a generation: a record is stored only if the configuration has not changed since the decision.

use std::time::Duration;

use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::WorkspaceId;
use pyxis_store::audit::{self, Appender, AuditKeys, AuditRecord};
use pyxis_store::{Tx, generations, workspaces};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at_once, query_strings};

fn keys(main: &Workspace) -> AuditKeys {
    AuditKeys::new(&main.keyring)
}

fn appender(main: &Workspace) -> Appender {
    Appender::start(main.store.clone(), keys(main))
}

fn record(ws: WorkspaceId) -> AuditRecord {
    AuditRecord {
        workspace_id: Some(ws),
        actor: "agent:1".into(),
        ..AuditRecord::new(NOW, AuditEvent::RequestReceived)
    }
}

async fn generation(main: &Workspace) -> i64 {
    generations::read(&main.store).await.unwrap()
}

/// Changes the configuration.
async fn change(main: &Workspace, tx: &mut Tx) {
    let mode = ApprovalMode::Autonomous;
    assert!(workspaces::update_settings(tx, main.id, mode, None).await.unwrap());
}

/// Number of records, after verifying the chain.
async fn intact(main: &Workspace) -> i64 {
    let verdict = audit::verify(&main.store, &keys(main), None, |_, _| ()).await.unwrap();
    assert_eq!(verdict.damage, None);
    verdict.records
}

/// On PostgreSQL, waits until a statement is blocked by another's lock. On SQLite writes wait in the queue of the only
/// writer, so there is nothing to wait for.
async fn until_one_waits(main: &Workspace) {
    if main.options.url.sqlite_path().is_some() {
        return;
    }
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND wait_event_type = 'Lock'";
    let seen = async {
        while query_strings(main, waiting).await != ["1"] {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), seen).await.unwrap();
}

engines! {
    async fn a_record_is_stored_under_the_present_generation_only(main: &Workspace) {
        let appender = appender(main);
        let now = generation(main).await;
        assert_eq!(appender.append_under(record(main.id), now).await.unwrap(), Some(1));
        let mut tx = main.store.begin().await.unwrap();
        change(main, &mut tx).await;
        tx.commit().await.unwrap();
        for stale in [now, now - 1, now + 2] {
            assert_eq!(appender.append_under(record(main.id), stale).await.unwrap(), None);
        }
        assert_eq!(appender.append_under(record(main.id), now + 1).await.unwrap(), Some(2));
        assert_eq!(intact(main).await, 2);
    }

    async fn stale_records_leave_no_gap_among_those_that_hold(main: &Workspace) {
        let (appender, now) = (appender(main), generation(main).await);
        let mut stored: Vec<i64> = at_once(30, |number| {
            let (appender, record) = (appender.clone(), record(main.id));
            async move {
                match number % 3 {
                    0 => Some(appender.append(record).await.unwrap()),
                    1 => appender.append_under(record, now).await.unwrap(),
                    _ => {
                        assert_eq!(appender.append_under(record, now - 1).await.unwrap(), None);
                        None
                    }
                }
            }
        })
        .await
        .into_iter()
        .flatten()
        .collect();
        stored.sort_unstable();
        assert_eq!(stored, (1..=20).collect::<Vec<i64>>());
        assert_eq!(intact(main).await, 20);
    }

    async fn a_change_that_commits_while_the_record_waits_comes_first(main: &Workspace) {
        let (appender, before) = (appender(main), generation(main).await);
        // Like every configuration change: the change and its record, in one transaction.
        let mut tx = main.store.begin().await.unwrap();
        change(main, &mut tx).await;
        audit::append_in(&mut tx, &keys(main), &[record(main.id)]).await.unwrap();
        let waiting = tokio::spawn({
            let (appender, record) = (appender.clone(), record(main.id));
            async move { appender.append_under(record, before).await.unwrap() }
        });
        until_one_waits(main).await;
        tx.commit().await.unwrap();
        assert_eq!(waiting.await.unwrap(), None);
        assert_eq!(intact(main).await, 1);
    }

    async fn a_change_that_is_taken_back_while_the_record_waits_changes_nothing(main: &Workspace) {
        let (appender, before) = (appender(main), generation(main).await);
        let mut tx = main.store.begin().await.unwrap();
        change(main, &mut tx).await;
        audit::append_in(&mut tx, &keys(main), &[record(main.id)]).await.unwrap();
        let waiting = tokio::spawn({
            let (appender, record) = (appender.clone(), record(main.id));
            async move { appender.append_under(record, before).await.unwrap() }
        });
        until_one_waits(main).await;
        drop(tx);
        assert_eq!(waiting.await.unwrap(), Some(1));
    }
}

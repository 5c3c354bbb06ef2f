//! A database kept busy by another process. Every waiting caller is refused at its own deadline, and refused operations
//! are never executed.

use std::time::Duration;

use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::WorkspaceId;
use pyxis_store::audit::{self, Appender, AuditKeys, AuditRecord};
use pyxis_store::{OpenOptions, Store, StoreError, Tx, workspaces};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at_once, postgres};

/// Far longer than any test runs, so that a test that waited for it would be killed.
const FOREVER: Duration = Duration::from_hours(10);

fn keys(main: &Workspace) -> AuditKeys {
    AuditKeys::new(&main.keyring)
}

fn record(ws: WorkspaceId) -> AuditRecord {
    AuditRecord {
        workspace_id: Some(ws),
        actor: "agent:1".into(),
        ..AuditRecord::new(NOW, AuditEvent::RequestReceived)
    }
}

fn with_patience(main: &Workspace, patience: Duration) -> Store {
    Store::open(&OpenOptions { patience, ..main.options.clone() }).unwrap()
}

/// A transaction of `store` that appends to the audit trail. It begins again until its turn comes: a slow machine may
/// need longer than the patience of `store`.
async fn holder_in(main: &Workspace, store: &Store) -> Tx {
    loop {
        let Ok(mut tx) = store.begin().await else { continue };
        if audit::append_in(&mut tx, &keys(main), &[record(main.id)]).await.is_ok() {
            return tx;
        }
    }
}

/// The same in another process.
async fn holder(main: &Workspace) -> Tx {
    holder_in(main, &with_patience(main, FOREVER)).await
}

async fn append(store: &Store, keys: &AuditKeys, ws: WorkspaceId) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    audit::append_in(&mut tx, keys, &[record(ws)]).await?;
    tx.commit().await
}

async fn records(main: &Workspace) -> i64 {
    let verdict = audit::verify(&main.store, &keys(main), None, |_, _| ()).await.unwrap();
    assert_eq!(verdict.damage, None);
    verdict.records
}

fn assert_refused(outcome: &Result<(), StoreError>) {
    let Err(error @ StoreError::Unavailable(_)) = outcome else { panic!("{outcome:?}") };
    assert!(!error.may_have_happened(), "{error:?}");
    assert!(!error.is_contended(), "{error:?}");
}

engines! {
    async fn work_that_waits_for_a_busy_database_is_refused_and_nothing_of_it_is_done_later(main: &Workspace) {
        let store = with_patience(main, Duration::from_millis(50));
        let appender = Appender::start(store.clone(), keys(main));
        let held = holder(main).await;
        let outcomes = at_once(60, |number| {
            let (store, appender, keys, ws) = (store.clone(), appender.clone(), keys(main), main.id);
            async move {
                match number % 3 {
                    0 => append(&store, &keys, ws).await,
                    1 => appender.append(record(ws)).await.map(drop),
                    _ => appender.append_under(record(ws), 0).await.map(drop),
                }
            }
        })
        .await;
        outcomes.iter().for_each(assert_refused);
        drop(held);
        // A dropped transaction ends soon, but not immediately.
        let patient = with_patience(main, FOREVER);
        append(&patient, &keys(main), main.id).await.unwrap();
        appender.append(record(main.id)).await.unwrap();
        while append(&store, &keys(main), main.id).await.is_err() {}
        assert_eq!(records(main).await, 3, "nothing of what was refused");
    }

    async fn work_that_can_wait_longer_has_its_turn_once_the_database_is_free(main: &Workspace) {
        let appender = Appender::start(with_patience(main, FOREVER), keys(main));
        let hasty = Appender::start(with_patience(main, Duration::from_millis(20)), keys(main));
        let held = holder(main).await;
        let waiting = tokio::spawn({
            let (appender, ws) = (appender.clone(), main.id);
            async move { appender.append(record(ws)).await }
        });
        for _ in 0..3 {
            assert_refused(&hasty.append(record(main.id)).await.map(drop));
        }
        assert!(!waiting.is_finished());
        drop(held);
        waiting.await.unwrap().unwrap();
        assert_eq!(records(main).await, 1);
    }

    async fn a_transaction_of_this_process_that_stands_still_does_not_hold_up_others_for_ever(main: &Workspace) {
        let store = with_patience(main, Duration::from_millis(50));
        let held = holder_in(main, &store).await;
        let outcomes = at_once(20, |_| {
            let (store, keys, ws) = (store.clone(), keys(main), main.id);
            async move { append(&store, &keys, ws).await }
        })
        .await;
        outcomes.iter().for_each(assert_refused);
        held.commit().await.unwrap();
        assert_eq!(records(main).await, 1);
    }

    async fn reads_go_on_while_another_process_writes(main: &Workspace) {
        let store = with_patience(main, FOREVER);
        let held = holder(main).await;
        assert_eq!(workspaces::list(&store).await.unwrap().len(), 1);
        assert!(workspaces::find(&store, main.id).await.unwrap().is_some());
        drop(held);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_locked_costs_a_read_its_patience_and_no_more_on_postgres() {
    let main = &Workspace::start(TestDatabase::postgres("a_table_that_is_locked").await).await;
    let store = with_patience(main, Duration::from_millis(50));
    let database = postgres(main);
    let held = database.hold("LOCK TABLE workspaces IN ACCESS EXCLUSIVE MODE").await;
    // More than there are connections, of each kind.
    let outcomes = at_once(60, |number| {
        let (store, ws) = (store.clone(), main.id);
        async move {
            match number % 3 {
                0 => workspaces::find(&store, ws).await.map(drop),
                1 => workspaces::list(&store).await.map(drop),
                _ => {
                    let mut tx = store.begin().await?;
                    workspaces::update_settings(&mut tx, ws, ApprovalMode::Gated, None).await?;
                    tx.commit().await
                }
            }
        }
    })
    .await;
    assert!(
        outcomes.iter().all(|outcome| matches!(outcome, Err(StoreError::Unavailable(_)))),
        "{outcomes:?}"
    );
    held.release().await;
    let patient = with_patience(main, FOREVER);
    assert!(workspaces::find(&patient, main.id).await.unwrap().is_some());
}

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

use crate::support::{NOW, World, at_once};

/// Far longer than any test runs, so that a test that waited for it would be killed.
const FOREVER: Duration = Duration::from_hours(10);

fn keys(world: &World) -> AuditKeys {
    AuditKeys::new(&world.keyring)
}

fn record(ws: WorkspaceId) -> AuditRecord {
    AuditRecord {
        workspace_id: Some(ws),
        actor: "agent:1".into(),
        ..AuditRecord::new(NOW, AuditEvent::RequestReceived)
    }
}

fn with_patience(world: &World, patience: Duration) -> Store {
    Store::open(&OpenOptions { patience, ..world.options.clone() }).unwrap()
}

/// Another process, in the middle of a transaction that appends to the audit log.
async fn holder(world: &World) -> Tx {
    let mut tx = with_patience(world, FOREVER).begin().await.unwrap();
    audit::append_in(&mut tx, &keys(world), &[record(world.ws)]).await.unwrap();
    tx
}

async fn append(store: &Store, keys: &AuditKeys, ws: WorkspaceId) -> Result<(), StoreError> {
    let mut tx = store.begin().await?;
    audit::append_in(&mut tx, keys, &[record(ws)]).await?;
    tx.commit().await
}

async fn records(world: &World) -> i64 {
    let verdict = audit::verify(&world.store, &keys(world), None, |_, _| ()).await.unwrap();
    assert_eq!(verdict.damage, None);
    verdict.records
}

fn assert_refused(outcome: &Result<(), StoreError>) {
    let Err(error @ StoreError::Unavailable(_)) = outcome else { panic!("{outcome:?}") };
    assert!(!error.may_have_happened(), "{error:?}");
    assert!(!error.is_contended(), "{error:?}");
}

engines! {
    async fn whoever_waits_for_a_busy_database_is_refused_and_nothing_of_it_is_done_later(world: &World) {
        let store = with_patience(world, Duration::from_millis(50));
        let appender = Appender::start(store.clone(), keys(world));
        let held = holder(world).await;
        let outcomes = at_once(60, |number| {
            let (store, appender, keys, ws) = (store.clone(), appender.clone(), keys(world), world.ws);
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
        let patient = with_patience(world, FOREVER);
        append(&patient, &keys(world), world.ws).await.unwrap();
        appender.append(record(world.ws)).await.unwrap();
        append(&store, &keys(world), world.ws).await.unwrap();
        assert_eq!(records(world).await, 3, "nothing of what was refused");
    }

    async fn whoever_can_wait_longer_has_their_turn_once_the_database_is_free(world: &World) {
        let appender = Appender::start(with_patience(world, FOREVER), keys(world));
        let hasty = Appender::start(with_patience(world, Duration::from_millis(20)), keys(world));
        let held = holder(world).await;
        let waiting = tokio::spawn({
            let (appender, ws) = (appender.clone(), world.ws);
            async move { appender.append(record(ws)).await }
        });
        for _ in 0..3 {
            assert_refused(&hasty.append(record(world.ws)).await.map(drop));
        }
        assert!(!waiting.is_finished());
        drop(held);
        waiting.await.unwrap().unwrap();
        assert_eq!(records(world).await, 1);
    }

    async fn a_transaction_of_this_process_that_stands_still_does_not_hold_up_others_for_ever(world: &World) {
        let store = with_patience(world, Duration::from_millis(50));
        let mut held = store.begin().await.unwrap();
        audit::append_in(&mut held, &keys(world), &[record(world.ws)]).await.unwrap();
        let outcomes = at_once(20, |_| {
            let (store, keys, ws) = (store.clone(), keys(world), world.ws);
            async move { append(&store, &keys, ws).await }
        })
        .await;
        outcomes.iter().for_each(assert_refused);
        held.commit().await.unwrap();
        assert_eq!(records(world).await, 1);
    }

    async fn reads_go_on_while_another_process_writes(world: &World) {
        let store = with_patience(world, Duration::from_millis(50));
        let held = holder(world).await;
        assert_eq!(workspaces::list(&store).await.unwrap().len(), 1);
        assert!(workspaces::find(&store, world.ws).await.unwrap().is_some());
        drop(held);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_locked_costs_a_read_its_patience_and_no_more_on_postgres() {
    let world = &World::start(TestDatabase::postgres("a_table_that_is_locked").await).await;
    let store = with_patience(world, Duration::from_millis(50));
    let database = world.postgres();
    let held = database.hold("LOCK TABLE workspaces IN ACCESS EXCLUSIVE MODE").await;
    // More than there are connections, of each kind.
    let outcomes = at_once(60, |number| {
        let (store, ws) = (store.clone(), world.ws);
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
    let patient = with_patience(world, FOREVER);
    assert!(workspaces::find(&patient, world.ws).await.unwrap().is_some());
}

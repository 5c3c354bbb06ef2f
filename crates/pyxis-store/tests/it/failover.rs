//! A PostgreSQL server that is frozen, unreachable, or replaced: operations fail in time, and work again without a new
//! [`Store`].

use std::time::Duration;

use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::WorkspaceId;
use pyxis_store::workspaces::{self, WorkspaceRow};
use pyxis_store::{OpenOptions, Store, StoreError, long_work, promotions};
use pyxis_testkit::cluster::PostgresServer;
use pyxis_testkit::long_form::{figures, rounds};
use pyxis_testkit::pgbouncer::PgBouncer;
use pyxis_testkit::postgres::Database;

use tokio::time::Instant;

use crate::support::{NOW, at_once};

/// Number of times a link is cut and a standby promoted, in the short and the long form.
const ROUNDS: [usize; 2] = [1, 10];
/// Operations at once, more than there are connections.
const AT_ONCE: usize = 40;

/// A store with limits of a second.
fn open(url: &str) -> Store {
    let limit = Duration::from_secs(1);
    let options = OpenOptions::new(url.parse().unwrap());
    Store::open(&OpenOptions { patience: limit, connect: limit, statement: limit, ..options }).unwrap()
}

/// Reads and writes on every kind of connection.
async fn use_it(store: &Store) -> Result<(), StoreError> {
    store.ping().await?;
    let row = WorkspaceRow {
        id: WorkspaceId::new(NOW, &OsEntropy),
        name: WorkspaceId::new(NOW, &OsEntropy).to_string(),
        mode: ApprovalMode::Gated,
        approval_timeout_secs: None,
        created_at: NOW,
    };
    workspaces::insert(store, &row).await?;
    let mut tx = store.begin().await?;
    workspaces::update_settings(&mut tx, row.id, ApprovalMode::Autonomous, None).await?;
    tx.commit().await?;
    workspaces::find(store, row.id).await?.map(drop).ok_or(StoreError::Aborted)
}

/// Uses the store until it works, and returns how long that took. The time limit is that of a broken test, far above
/// the limits of the store.
async fn until_it_works(store: &Store) -> Duration {
    let began = Instant::now();
    let mut last = None;
    let working = async {
        while let Err(error) = use_it(store).await {
            last = Some(error);
        }
    };
    let worked = tokio::time::timeout(Duration::from_secs(30), working).await;
    assert!(worked.is_ok(), "not usable again: {last:?}");
    began.elapsed()
}

/// Uses the store on more tasks than there are connections. All are refused. Returns how long the last refusal took.
async fn assert_all_refused(store: &Store) -> Duration {
    let began = Instant::now();
    let uses = at_once(AT_ONCE, |_| {
        let store = store.clone();
        async move { use_it(&store).await }
    });
    let refused = tokio::time::timeout(Duration::from_secs(20), uses).await.expect("refusals in time");
    let took = began.elapsed();
    assert!(refused.iter().all(|one| matches!(one, Err(StoreError::Unavailable(_)))), "{refused:?}");
    let noticed = async {
        while store.is_answering() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), noticed).await.expect("a server known not to answer");
    took
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_postgres_costs_every_operation_its_limit_and_no_restart() {
    let server = PostgresServer::start().await;
    let store = open(&server.url());
    store.migrate().await.unwrap();
    store.watch();
    use_it(&store).await.unwrap();
    // One that is open keeps its row locked, and its end is not known.
    let mut open = store.begin().await.unwrap();
    open.notify(pyxis_store::StoreEvent::Configuration);
    server.freeze();
    let unknown = open.commit().await.unwrap_err();
    assert!(unknown.may_have_happened(), "{unknown:?}");
    assert_all_refused(&store).await;
    // A statement that may take long is ended as well.
    let long = tokio::time::timeout(Duration::from_secs(20), long_work(use_it(&store))).await;
    assert!(matches!(long, Ok(Err(StoreError::Unavailable(_)))), "{long:?}");
    server.thaw();
    until_it_works(&store).await;
    assert!(store.is_answering());
}

/// Connections of the store, oldest first.
async fn backends(server: &PostgresServer) -> Vec<String> {
    let query = "SELECT pid FROM pg_stat_activity \
                 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY backend_start, pid";
    server.run(query).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ping_notices_any_connection_of_any_pool_that_postgres_no_longer_serves() {
    let server = PostgresServer::start().await;
    let store = open(&server.url());
    store.migrate().await.unwrap();
    until_it_works(&store).await;
    let count = backends(&server).await.len();
    assert!(count >= 3, "one for each pool: {count}");
    for number in 0..count {
        // Each pool opens what it uses, in turn.
        for _ in 0..10 {
            store.ping().await.unwrap();
        }
        let all = backends(&server).await;
        let Some(frozen) = all.get(number) else { continue };
        server.freeze_backend(frozen);
        let mut refused = false;
        for _ in 0..2 * all.len() {
            refused |= store.ping().await.is_err();
            if refused {
                break;
            }
        }
        server.thaw();
        assert!(refused, "connection {number} of {} is never asked", all.len());
        until_it_works(&store).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_standby_of_postgres_is_used_without_a_restart_while_the_primary_is_frozen() {
    let [short, long] = ROUNDS;
    let (promoted, mut slowest) = (rounds(short, long), Duration::ZERO);
    for _ in 0..promoted {
        slowest = slowest.max(promotion().await);
    }
    figures("promoted standby", &format!("{promoted} times, used after at most {slowest:.1?}"));
}

/// A promotion, and how long it took until the store used the new primary.
async fn promotion() -> Duration {
    let primary = PostgresServer::start().await;
    let standby = primary.standby().await;
    let url = format!("postgres://px@{},{}/postgres?sslmode=disable", standby.host(), primary.host());
    let store = open(&url);
    store.migrate().await.unwrap();
    use_it(&store).await.unwrap();
    let first = promotions::unseen(&store).await.unwrap().unwrap();
    let mut tx = store.begin().await.unwrap();
    assert_eq!(promotions::record(&mut tx, first, None, NOW).await.unwrap(), None);
    tx.commit().await.unwrap();
    promotions::remember_stored(&store, first);
    assert_eq!(promotions::unseen(&store).await.unwrap(), None);
    let stored = workspaces::list(&store).await.unwrap().len();
    until_replayed(&primary, &standby).await;

    primary.freeze();
    standby.promote();
    let took = until_it_works(&store).await;
    assert!(workspaces::list(&store).await.unwrap().len() > stored, "what was stored before is there");
    let second = promotions::unseen(&store).await.unwrap().unwrap();
    assert_eq!(second, first + 1);
    for expected in [Some(first), None] {
        let mut tx = store.begin().await.unwrap();
        assert_eq!(
            promotions::record(&mut tx, second, Some(first), NOW).await.unwrap(),
            expected,
            "noticed once"
        );
        tx.commit().await.unwrap();
    }
    assert_eq!(promotions::noticed_at(&store).await.unwrap(), Some(NOW));

    // An asynchronous standby may lack the stored timeline.
    standby.run("DELETE FROM meta WHERE key LIKE 'postgres_%'").await;
    for expected in [Some(second), None] {
        let mut tx = store.begin().await.unwrap();
        let before = promotions::record(&mut tx, second + 1, Some(second), NOW).await.unwrap();
        assert_eq!(before, expected, "noticed once, from what the process remembers");
        tx.commit().await.unwrap();
    }
    assert_eq!(promotions::noticed_at(&store).await.unwrap(), Some(NOW));
    took
}

/// Waits until the standby has everything of the primary.
async fn until_replayed(primary: &PostgresServer, standby: &PostgresServer) {
    let end = primary.run("SELECT pg_current_wal_lsn()").await.remove(0);
    let replayed = format!("SELECT pg_last_wal_replay_lsn() >= '{end}'");
    let waiting = async { while standby.run(&replayed).await[0] != "t" {} };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.expect("a standby that follows");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_in_session_mode_works_in_front_of_postgres() {
    let database = Database::create("a_pooler_in_session_mode").await;
    let pooler = PgBouncer::start(&database.address(), "session").await;
    let store = open(&pooler.url(database.name()));
    store.migrate().await.unwrap();
    store.watch();
    use_it(&store).await.unwrap();
    let mut events = store.subscribe();
    // Through another process and its notification.
    let other = open(&database.address());
    let told = async {
        loop {
            let mut tx = other.begin().await.unwrap();
            tx.notify(pyxis_store::StoreEvent::Configuration);
            tx.commit().await.unwrap();
            if tokio::time::timeout(Duration::from_millis(100), events.recv()).await.is_ok() {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), told).await.expect("an event");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_in_transaction_mode_in_front_of_postgres_is_refused_by_its_name() {
    let database = Database::create("a_pooler_in_transaction_mode").await;
    for mode in ["transaction", "statement"] {
        let pooler = PgBouncer::start(&database.address(), mode).await;
        let refused = open(&pooler.url(database.name())).migrate().await.unwrap_err().to_string();
        assert!(refused.contains("pooler in transaction or statement mode"), "{mode}: {refused}");
        assert!(refused.contains("pool_mode = session"), "{refused}");
    }
}

mod netns {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_postgres_whose_link_is_cut_costs_every_operation_its_limit_and_no_restart() {
        let name =
            "failover::netns::a_postgres_whose_link_is_cut_costs_every_operation_its_limit_and_no_restart";
        let Some(machine) = pyxis_testkit::netns::attached_machine(name) else { return };
        let server = PostgresServer::start_on(&machine).await;
        let store = open(&server.url());
        store.migrate().await.unwrap();
        store.watch();
        use_it(&store).await.unwrap();
        let [short, long] = ROUNDS;
        let cuts = rounds(short, long);
        let (mut slowest, mut restored) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..cuts {
            machine.cut();
            slowest = slowest.max(assert_all_refused(&store).await);
            machine.reconnect();
            restored = restored.max(until_it_works(&store).await);
        }
        let counts = format!(
            "{cuts} times, {} operations refused, the last after {slowest:.1?}, usable again after {restored:.1?}",
            cuts * AT_ONCE
        );
        figures("cut link", &counts);
    }
}

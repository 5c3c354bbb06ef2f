//! Tests with programs of two releases on one database.

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::id::NodeId;
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;

use super::{Effect, MIGRATIONS, Migration, Program, THIS};
use crate::{OpenOptions, RELEASE, Store, StoreError, backup, nodes};

/// Program of the next release, with `count` more migrations.
fn next_release(effect: Effect, count: usize) -> Program {
    let additions =
        (1..).zip(["0901_a", "0902_b", "0903_c", "0904_d", "0905_e", "0906_f", "0907_g", "0908_h"]);
    let additions = additions.take(count).map(|(number, name)| {
        let text = format!("CREATE TABLE later_{number} (id BIGINT NOT NULL PRIMARY KEY)");
        let text: &'static str = text.leak();
        Migration { version: 900 + number, name, effect, sqlite: text, postgres: text }
    });
    Program(MIGRATIONS.iter().copied().chain(additions).collect::<Vec<_>>().leak())
}

fn open(database: &TestDatabase) -> Store {
    Store::open(&OpenOptions::new(database.url())).unwrap()
}

fn node(seed: u64) -> NodeId {
    NodeId::new(UnixMillis(1), &SeededEntropy::new(seed))
}

const NOW: UnixMillis = UnixMillis(100_000);
/// Earliest heartbeat of a node that counts as running.
const ALIVE: UnixMillis = UnixMillis(80_000);

fn refusal<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    let Err(StoreError::Schema(refusal)) = result else { panic!("not refused: {result:?}") };
    refusal
}

engines! {
    async fn an_older_program_goes_on_and_starts_again_on_a_database_that_a_newer_one_added_to(database: TestDatabase) {
        let (older, newer) = (open(&database), open(&database));
        older.migrate().await.unwrap();
        nodes::heartbeat(&older, node(1), NOW).await.unwrap();
        assert_eq!(newer.migrate_program(next_release(Effect::Additive, 2), ALIVE).await.unwrap(), 902);
        nodes::heartbeat(&older, node(1), NOW).await.unwrap();
        older.ping().await.unwrap();
        for _ in 0..2 {
            let restarted = open(&database);
            assert_eq!(restarted.migrate_at(NOW).await.unwrap(), 902);
            assert_eq!(restarted.schema_version().await.unwrap(), 902);
            nodes::heartbeat(&restarted, node(2), NOW).await.unwrap();
        }
        assert_eq!(newer.migrate_program(next_release(Effect::Additive, 2), ALIVE).await.unwrap(), 902);
        let rows = nodes::list(&older).await.unwrap();
        let levels: Vec<_> = rows.into_iter().map(|row| (row.release, row.level)).collect();
        assert_eq!(levels, vec![(Some(RELEASE.to_owned()), Some(THIS.level())); 2]);
    }

    async fn a_breaking_migration_waits_until_no_older_node_runs(database: TestDatabase) {
        let (older, newer) = (open(&database), open(&database));
        older.migrate().await.unwrap();
        let breaking = next_release(Effect::Breaking, 1);
        nodes::heartbeat(&older, node(1), NOW).await.unwrap();
        nodes::heartbeat(&older, node(2), UnixMillis(79_999)).await.unwrap();
        let refused = refusal(newer.migrate_program(breaking, ALIVE).await);
        for part in [node(1).to_string(), format!("release {RELEASE}"), "0901_a".to_owned(), "Stop them".to_owned()] {
            assert!(refused.contains(&part), "{part} is missing: {refused}");
        }
        assert!(!refused.contains(&node(2).to_string()), "dead since long: {refused}");
        assert_eq!(older.schema_version().await.unwrap(), THIS.level(), "nothing was changed");
        nodes::heartbeat(&older, node(1), NOW).await.unwrap();
        nodes::mark_dead(&older, node(1)).await.unwrap();
        assert_eq!(newer.migrate_program(breaking, ALIVE).await.unwrap(), 901);
    }

    async fn nodes_of_the_new_level_do_not_hold_up_another_start(database: TestDatabase) {
        let newer = open(&database);
        newer.migrate().await.unwrap();
        nodes::heartbeat_of(&newer, node(1), NOW, 901).await.unwrap();
        assert_eq!(newer.migrate_program(next_release(Effect::Breaking, 1), ALIVE).await.unwrap(), 901);
    }

    async fn after_a_breaking_migration_older_programs_neither_start_nor_go_on(database: TestDatabase) {
        let (older, newer) = (open(&database), open(&database));
        older.migrate().await.unwrap();
        newer.migrate_program(next_release(Effect::Breaking, 1), ALIVE).await.unwrap();
        let restarted = open(&database);
        for refused in [refusal(restarted.migrate().await), refusal(restarted.schema_version().await)] {
            assert!(refused.contains("start Pyxis") && refused.contains("migration 901"), "{refused}");
            assert!(refused.contains("restore the backup"), "{refused}");
        }
        // One that slept through the migration notices with its next heartbeat, and then does nothing more.
        let refused = refusal(nodes::heartbeat(&older, node(1), NOW).await);
        assert!(refused.contains("migration 901"), "{refused}");
        let failures = [
            older.ping().await.unwrap_err(),
            older.begin().await.map(drop).unwrap_err(),
            nodes::remove(&older, node(1)).await.unwrap_err(),
            nodes::list(&older).await.unwrap_err(),
        ];
        for failure in failures {
            assert!(matches!(failure, StoreError::Unavailable(_)) && !failure.may_have_happened(), "{failure:?}");
        }
        assert_eq!(nodes::list(&newer).await.unwrap(), []);
    }

    async fn a_node_that_starts_during_a_breaking_migration_is_seen_or_refused(database: TestDatabase) {
        open(&database).migrate().await.unwrap();
        let mut migrated = 0;
        for round in 1..=8 {
            let (older, newer) = (open(&database), open(&database));
            let before = next_release(Effect::Breaking, migrated).level();
            let program = next_release(Effect::Breaking, migrated + 1);
            let (migration, heartbeat) = tokio::join!(
                newer.migrate_program(program, ALIVE),
                nodes::heartbeat_of(&older, node(round), NOW, before),
            );
            assert_ne!(migration.is_ok(), heartbeat.is_ok(), "{migration:?} {heartbeat:?}");
            migrated += usize::from(migration.is_ok());
            nodes::remove(&newer, node(round)).await.unwrap();
        }
    }

    async fn no_backup_leaves_out_what_a_newer_release_added(database: TestDatabase) {
        let store = open(&database);
        store.migrate_program(next_release(Effect::Additive, 1), ALIVE).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (file, target) = (folder.path().join("backup"), TestDatabase::sqlite());
        let written = backup::write(&store, &file, None, |_| ()).await;
        if database.file().is_none() {
            let refused = written.unwrap_err().to_string();
            assert!(refused.contains("newest release") && !file.exists(), "{refused}");
            return;
        }
        // Pages are copied as they are.
        written.unwrap();
        let target = open(&target);
        target.migrate().await.unwrap();
        let refused = backup::restore(&target, &file, |_| ()).await.unwrap_err().to_string();
        assert!(refused.contains("schema level 901") && refused.contains(&format!("Pyxis {RELEASE}")), "{refused}");
    }
}

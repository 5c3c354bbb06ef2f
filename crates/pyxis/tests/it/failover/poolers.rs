//! Poolers between the program and PostgreSQL.

use pyxis_testkit::pgbouncer::PgBouncer;
use pyxis_testkit::postgres::Database;

use crate::support::{App, Setup};

/// A pooler hands out server processes that have seen other sessions only after a few of them.
const ATTEMPTS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_in_transaction_mode_in_front_of_postgres_is_refused_by_its_name_each_time() {
    let mut app =
        App::start(Setup::on(Database::migrated("a_pooler_in_transaction_mode_program").await)).await;
    // The signed head is what a start compares with the database first.
    app.anonymous().get("/readyz").send().await.expect(200);
    app.stop().await;
    assert!(app.data().join("audit-head.json").exists());
    let pooler = PgBouncer::start(&app.postgres().address(), "transaction").await;
    let url = pooler.url(app.postgres().name());
    app.change(|setup| setup.env("PX_DATABASE_URL", &url));
    let commands: [&[&str]; 4] =
        [&["serve", "--listen", "127.0.0.1:0"], &["migrate"], &["doctor"], &["agent", "list"]];
    for attempt in 0..ATTEMPTS {
        for command in commands {
            let ran = app.cli(command).await.expect(1);
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert!(
                told.contains("pooler in transaction or statement mode"),
                "{command:?}, {attempt}: {told}"
            );
            assert!(told.contains("pool_mode = session"), "{command:?}, {attempt}: {told}");
            assert!(!told.contains("is running"), "{command:?}, {attempt}: {told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_does_not_answer_is_not_taken_for_a_pooler() {
    let mut app = App::start(Setup::on(Database::migrated("no pooler").await)).await;
    app.anonymous().get("/readyz").send().await.expect(200);
    app.stop().await;
    app.change(|setup| setup.env("PX_DATABASE_URL", "postgres://px@127.0.0.1:1/px?sslmode=disable"));
    let ran = app.cli(&["doctor"]).await.expect(1);
    assert!(ran.stdout.contains("check that the database server is running"), "{ran:?}");
    assert!(!ran.stdout.contains("pooler"), "{ran:?}");
}

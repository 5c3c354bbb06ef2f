//! The migrated database that others are copied from. Migrating takes a second, copying a tenth of one.

use pyxis_store::{OpenOptions, Store};
use tokio_postgres::NoTls;

use super::{address, run};

/// Held while the template is made, so that tests in other processes wait for it.
const ADVISORY_LOCK: i64 = 0x7079_7869_735f_7470;

/// Name of the template for this program's schema. Makes it if the server has none.
pub(super) async fn ready(admin: &str) -> String {
    let name = format!("px_template_{}", Store::wanted_schema_version());
    if !exists(admin, &name).await {
        let (client, connection) = tokio_postgres::connect(admin, NoTls).await.expect("PostgreSQL");
        let driver = tokio::spawn(connection);
        client.batch_execute(&format!("SELECT pg_advisory_lock({ADVISORY_LOCK})")).await.expect("the lock");
        if !exists(admin, &name).await {
            make(admin, &name).await;
        }
        drop(client);
        driver.await.expect("the connection's task").expect("a connection that ends well");
    }
    name
}

/// True once it is complete: it is marked as a template last.
async fn exists(admin: &str, name: &str) -> bool {
    let query = format!("SELECT 1 FROM pg_database WHERE datname = '{name}' AND datistemplate");
    !run(admin, &query).await.is_empty()
}

async fn make(admin: &str, name: &str) {
    run(admin, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
    run(admin, &format!("CREATE DATABASE {name}")).await;
    let url = address(admin, name).parse().expect("a database URL");
    let store = Store::open(&OpenOptions::new(url)).expect("a store");
    store.migrate().await.expect("a migrated database");
    store.close().await.expect("a store that closes");
    // A pooler keeps its connections, and a database with any is not copied.
    run(admin, &format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false")).await;
    run(admin, &format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"))
        .await;
    run(admin, &format!("ALTER DATABASE {name} IS_TEMPLATE true")).await;
}

//! Poolers between this process and the server.

use futures_util::future::try_join_all;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Error, SimpleQueryMessage};

use super::server::Server;
use crate::StoreError;

/// Comparisons of two connections. Another client can come between the two, but hardly each time.
const ROUNDS: usize = 3;
/// Server process of a connection. Process ids alone are unique on one machine only.
const PROCESS: &str = "SELECT pid || ' ' || backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()";
const REFUSED: &str = "it leads to a pooler in transaction or statement mode, which loses the prepared statements, \
    settings and notifications of a session; set pool_mode = session for this database, or name PostgreSQL itself";

/// Refuses a pooler that gives one server process to several connections: two that are open at the same time then have
/// the same one.
pub(super) async fn refuse_shared_processes(server: &Server) -> Result<(), StoreError> {
    let clients = try_join_all([open(server), open(server)]).await?;
    for _ in 0..ROUNDS {
        let mut processes = Vec::with_capacity(clients.len());
        for (client, _) in &clients {
            processes.push(server.answer(process(client)).await?);
        }
        if processes[0].is_some() && processes[0] == processes[1] {
            return Err(StoreError::Address(REFUSED));
        }
    }
    Ok(())
}

async fn open(server: &Server) -> Result<(Client, Driver), StoreError> {
    let (client, connection) = server.open().await?;
    Ok((client, Driver(tokio::spawn(async move { drop(connection.await) }))))
}

async fn process(client: &Client) -> Result<Option<String>, Error> {
    let messages = client.simple_query(PROCESS).await?;
    Ok(messages.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}

/// The task of a connection, which ends with this value.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

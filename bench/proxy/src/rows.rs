//! A table with one row per request: whatever waits is inserted in one statement, which commits on its own.

use anyhow::{Context, Result};
use tokio::sync::{mpsc, oneshot};
use tokio_postgres::{Client, NoTls};

/// A row and the request that waits for it.
type Row = (String, oneshot::Sender<()>);

/// The sending side.
#[derive(Clone)]
pub struct Rows(mpsc::UnboundedSender<Row>);

impl Rows {
    /// Makes the table, if it is not there.
    pub async fn connect(url: &str) -> Result<Self> {
        let (client, connection) =
            tokio_postgres::connect(url, NoTls).await.context("cannot connect to PostgreSQL")?;
        tokio::spawn(connection);
        client
            .batch_execute(
                "CREATE TABLE IF NOT EXISTS bare_records (id BIGSERIAL PRIMARY KEY, line TEXT NOT NULL)",
            )
            .await?;
        let (rows, waiting) = mpsc::unbounded_channel();
        tokio::spawn(serve(client, waiting));
        Ok(Self(rows))
    }

    /// True once the row is committed.
    pub async fn append(&self, line: String) -> bool {
        let (stored, done) = oneshot::channel();
        self.0.send((line, stored)).is_ok() && done.await.is_ok()
    }
}

/// Ends with the first failure: no request is sent without its row.
async fn serve(client: Client, mut waiting: mpsc::UnboundedReceiver<Row>) {
    let insert = "INSERT INTO bare_records (line) SELECT unnest($1::text[])";
    let Ok(insert) = client.prepare(insert).await else { return };
    let (mut group, mut lines, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    while waiting.recv_many(&mut group, 1024).await > 0 {
        for (line, stored) in group.drain(..) {
            lines.push(line);
            answers.push(stored);
        }
        if client.execute(&insert, &[&lines]).await.is_err() {
            return;
        }
        lines.clear();
        for stored in answers.drain(..) {
            // A request whose client hung up waits no more.
            let _ = stored.send(());
        }
    }
}

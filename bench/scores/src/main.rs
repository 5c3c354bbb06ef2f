//! The least that can answer a score on axum: no key, no limit, no scorer, no history; the record is stored as it is
//! answered.
//!
//! `scores-bare ADDRESS constant` answers one record for every address; `scores-bare ADDRESS memory FILE` each
//! address its own, which it read before. `scores-bare ADDRESS FILE` and `scores-bare ADDRESS postgres://…` look the
//! record up by scorer and address in the database that `bench/scores.sh` filled.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header::CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_postgres::{NoTls, Statement};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const QUERY: &str = "SELECT body FROM bare_scores WHERE scorer_id = $1 AND address = $2";
const CONNECTIONS: usize = 4;

type ScoreKey = (i64, [u8; 20]);

enum ScoreSource {
    Constant(String),
    Memory(HashMap<ScoreKey, Box<str>>),
    Sqlite(Vec<Mutex<rusqlite::Connection>>),
    Postgres(Vec<(tokio_postgres::Client, Statement)>),
}

struct Scores {
    source: ScoreSource,
    next: AtomicUsize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: scores-bare ADDRESS constant|memory FILE|FILE|postgres://…";
    let address = arguments.next().context(usage)?;
    let source = match arguments.next().context(usage)?.as_str() {
        "memory" => ScoreSource::Memory(read_all(&arguments.next().context(usage)?)?),
        source => open(source).await?,
    };
    let scores = Arc::new(Scores { source, next: AtomicUsize::new(0) });
    let listener =
        TcpListener::bind(&address).await.with_context(|| format!("cannot listen on {address}"))?;
    println!("{}", listener.local_addr()?);
    let router = Router::new().route("/v2/stamps/{scorer_id}/score/{address}", get(score)).with_state(scores);
    axum::serve(axum::serve::ListenerExt::tap_io(listener, |stream| drop(stream.set_nodelay(true))), router)
        .await?;
    Ok(())
}

async fn open(source: &str) -> Result<ScoreSource> {
    if source == "constant" {
        return Ok(ScoreSource::Constant(constant()));
    }
    if source.starts_with("postgres") {
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            let (client, connection) = tokio_postgres::connect(source, NoTls).await?;
            tokio::spawn(connection);
            let statement = client.prepare(QUERY).await?;
            clients.push((client, statement));
        }
        return Ok(ScoreSource::Postgres(clients));
    }
    let connect = |_| -> Result<Mutex<rusqlite::Connection>> {
        let connection = rusqlite::Connection::open(source)?;
        connection.execute_batch("PRAGMA query_only = ON")?;
        Ok(Mutex::new(connection))
    };
    Ok(ScoreSource::Sqlite((0..CONNECTIONS).map(connect).collect::<Result<_>>()?))
}

fn constant() -> String {
    let stamps: Vec<String> = (0..5)
        .map(|n| {
            format!(
                "\"Stamp#{n}\":{{\"score\":\"1.00000\",\"dedup\":false,\
                 \"expiration_date\":\"2099-01-01T00:00:00.000000+00:00\"}}"
            )
        })
        .collect();
    format!(
        "{{\"address\":\"0x0000000000000000000000000000000000000001\",\"score\":\"5.00000\",\
         \"passing_score\":false,\"last_score_timestamp\":\"2026-01-01T00:00:00.000000+00:00\",\
         \"expiration_timestamp\":\"2099-01-01T00:00:00.000000+00:00\",\"threshold\":\"20.00000\",\
         \"error\":null,\"stamps\":{{{}}}}}",
        stamps.join(",")
    )
}

/// Every record of a database.
fn read_all(path: &str) -> Result<HashMap<ScoreKey, Box<str>>> {
    let connection = rusqlite::Connection::open(path)?;
    let mut statement = connection.prepare("SELECT scorer_id, address, body FROM bare_scores")?;
    let record = |row: &rusqlite::Row<'_>| Ok(((row.get(0)?, row.get(1)?), row.get(2)?));
    Ok(statement.query_map((), record)?.collect::<rusqlite::Result<_>>()?)
}

async fn score(State(source): State<Arc<Scores>>, Path((scorer, address)): Path<(i64, String)>) -> Response {
    let Some(address) = bytes(&address) else { return StatusCode::BAD_REQUEST.into_response() };
    match source.find(scorer, address).await {
        Ok(body) => ([(CONTENT_TYPE, "application/json")], body).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

impl Scores {
    async fn find(&self, scorer: i64, address: [u8; 20]) -> Result<String> {
        let next = self.next.fetch_add(1, Ordering::Relaxed) % CONNECTIONS;
        match &self.source {
            ScoreSource::Constant(body) => Ok(body.clone()),
            ScoreSource::Memory(bodies) => {
                let body = bodies.get(&(scorer, address)).context("no such record")?;
                Ok(body.to_string())
            }
            ScoreSource::Sqlite(connections) => {
                let connection = connections[next].lock().map_err(|_| anyhow::anyhow!("poisoned"))?;
                let mut statement = connection.prepare_cached(QUERY)?;
                Ok(statement.query_row((scorer, &address[..]), |row| row.get(0))?)
            }
            ScoreSource::Postgres(clients) => {
                let (client, statement) = &clients[next];
                Ok(client.query_one(statement, &[&scorer, &&address[..]]).await?.get(0))
            }
        }
    }
}

fn bytes(text: &str) -> Option<[u8; 20]> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let mut address = [0; 20];
    for (byte, pair) in address.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    (digits.len() == 40).then_some(address)
}

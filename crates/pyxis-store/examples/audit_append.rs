//! Benchmark of the audit appender: 64 clients that append one record after another to a file database.
//!
//! `cargo run --release -p pyxis-store --example audit_append -- [FILE] [SECONDS]`

#![expect(clippy::print_stdout, reason = "an example that reports")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::WorkspaceId;
use pyxis_core::policy::Method;
use pyxis_store::audit::{Appender, AuditKeys, AuditRecord};
use pyxis_store::cipher::{Keyring, MasterKey};
use pyxis_store::{DatabaseUrl, OpenOptions, Store};
use tokio::time::Instant;

const CLIENTS: usize = 64;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = tempfile::tempdir()?;
    let file = arguments.next().map_or_else(|| directory.path().join("audit.db"), PathBuf::from);
    let seconds = arguments.next().map_or(Ok(5), |text| text.parse())?;

    let store = Store::open(&OpenOptions::new(DatabaseUrl::sqlite(file)))?;
    store.migrate().await?;
    let now = UnixMillis(1_767_225_600_000);
    let keyring = Keyring::load(&store, &MasterKey::generate(&OsEntropy), &OsEntropy, now).await?;
    let appender = Appender::start(store, AuditKeys::new(&keyring));
    let record = record(now);

    let rows = Arc::new(AtomicU64::new(0));
    let (started, cpu) = (Instant::now(), cpu_micros());
    let end = started + Duration::from_secs(seconds);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let (appender, record, rows) = (appender.clone(), record.clone(), Arc::clone(&rows));
            tokio::spawn(async move {
                while Instant::now() < end {
                    appender.append(record.clone()).await?;
                    rows.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<_, pyxis_store::StoreError>(())
            })
        })
        .collect();
    for client in clients {
        client.await??;
    }

    let rows = rows.load(Ordering::Relaxed).max(1);
    let elapsed = u64::try_from(started.elapsed().as_micros())?.max(1);
    let latency = elapsed * CLIENTS as u64 / rows;
    println!("{rows} rows, {} rows/s, mean wait {latency} µs", rows * 1_000_000 / elapsed);
    if let Some((before, after)) = cpu.zip(cpu_micros()) {
        println!(
            "{:.1} µs of CPU for each row",
            f64::from(u32::try_from((after - before) / (rows / 10))?) / 10.0
        );
    }
    Ok(())
}

fn record(now: UnixMillis) -> AuditRecord {
    AuditRecord {
        at: now,
        workspace_id: Some(WorkspaceId::new(now, &OsEntropy)),
        event: AuditEvent::RequestReceived.into(),
        actor: "agent:0199b1c0-0000-7000-8000-000000000000".into(),
        actor_name: "default-agent".to_owned(),
        credential: Some("payments".to_owned()),
        decision: Some(AuditDecision::Auto.into()),
        method: Some(Method::Get.into()),
        host: Some("api.example.com".to_owned()),
        detail: r#"{"path":"/v1/customers/42","rule":"auto_method","request_id":"0199b1c0"}"#.to_owned(),
        ..AuditRecord::default()
    }
}

/// CPU time of this process, if the system has `/proc`. A clock tick is 10 ms.
fn cpu_micros() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = |index: usize| fields.split_whitespace().nth(index)?.parse::<u64>().ok();
    Some((ticks(11)? + ticks(12)?) * 10_000)
}

//! Receives approval events and checks that they come from Pyxis.
//!
//! Put it behind whatever ends TLS for you: Pyxis posts to https addresses only.

use std::collections::HashSet;
use std::env;
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use tiny_http::{Request, Response, Server};

/// Seconds by which the time of a signature may differ from ours.
const TOLERANCE: u64 = 300;
const MAX_BODY: u64 = 1 << 20;

#[derive(Deserialize)]
struct Event {
    event: String,
    txn_id: Option<String>,
}

#[derive(Serialize)]
struct LogLine<'a> {
    delivery: &'a str,
    event: &'a str,
    txn_id: Option<&'a str>,
}

/// True if `header` signs the raw bytes `body`. While a secret is replaced, there are two v1.
fn is_genuine(secret: &str, header: &str, body: &[u8], now: u64) -> bool {
    let parts = || header.split(',').filter_map(|part| part.split_once('='));
    let Some((_, time)) = parts().find(|(name, _)| *name == "t") else { return false };
    let fresh = time.parse().is_ok_and(|time: u64| time.abs_diff(now) <= TOLERANCE);
    let signed = |hex: &str| {
        let Some(found) = decode(hex) else { return false };
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length");
        mac.update(time.as_bytes());
        mac.update(b".");
        mac.update(body);
        mac.verify_slice(&found).is_ok()
    };
    fresh && parts().any(|(name, hex)| name == "v1" && signed(hex))
}

fn decode(hex: &str) -> Option<Vec<u8>> {
    let pairs = (0..hex.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}

fn header<'a>(request: &'a Request, name: &'static str) -> &'a str {
    let found = request.headers().iter().find(|header| header.field.equiv(name));
    found.map_or("", |header| header.value.as_str())
}

/// The status to answer with.
fn receive(secret: &str, seen: &mut HashSet<String>, request: &mut Request) -> Result<u16> {
    let mut body = Vec::new();
    request.as_reader().take(MAX_BODY + 1).read_to_end(&mut body)?;
    if body.len() as u64 > MAX_BODY {
        return Ok(413);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    if !is_genuine(secret, header(request, "PX-Signature"), &body, now) {
        return Ok(401);
    }
    let delivery = header(request, "PX-Delivery");
    if seen.insert(delivery.to_owned()) {
        let event: Event = serde_json::from_slice(&body)?;
        let line = LogLine { delivery, event: &event.event, txn_id: event.txn_id.as_deref() };
        println!("{}", serde_json::to_string(&line)?);
    }
    // Answer soon: after ten seconds it counts as failed and comes again.
    Ok(204)
}

fn main() -> Result<()> {
    let secret = env::var("PYXIS_WEBHOOK_SECRET").context("set PYXIS_WEBHOOK_SECRET")?;
    let port = env::var("PORT").unwrap_or_else(|_| "8080".to_owned());
    let server = Server::http(format!("127.0.0.1:{port}")).map_err(|error| anyhow!(error))?;
    let port = server.server_addr().to_ip().context("an address")?.port();
    println!("{}", serde_json::json!({ "port": port }));
    // Keep these in your database: a delivery can come again after a restart of yours.
    let mut seen = HashSet::new();
    for mut request in server.incoming_requests() {
        let status = receive(&secret, &mut seen, &mut request).unwrap_or(400);
        request.respond(Response::empty(status))?;
    }
    Ok(())
}

//! Audit records at a receiver: all of them, in order, at least once, and never in a request's way
//! (`docs/reference/logging.md#audit-push`).

mod otlp;
mod rsyslog;
mod takeover;

use std::collections::BTreeMap;

use pyxis_core::hex;
use serde_json::Value;

use crate::support::{Site, until};

/// Messages of a receiver, as they arrived: number, MAC and body of each.
pub(super) type Messages = Vec<(i64, String, Value)>;

/// Waits until the receiver has the whole trail, and compares it.
async fn whole_trail_arrives(site: &Site, received: impl AsyncFn() -> Messages) {
    let mac = if site.app.is_postgres() { "encode(mac, 'hex')" } else { "lower(hex(mac))" };
    let stored = site.app.sql(&format!("SELECT seq || ' ' || {mac} FROM audit_records ORDER BY seq"));
    let stored: BTreeMap<i64, String> = stored
        .iter()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(seq, mac)| (seq.parse().unwrap(), mac.to_owned()))
        .collect();
    assert!(stored.len() > 3, "{stored:?}");
    let arrived = async || {
        let received = received().await;
        let macs: BTreeMap<i64, String> = received.iter().map(|(seq, mac, _)| (*seq, mac.clone())).collect();
        let is_whole = stored.iter().all(|(seq, mac)| macs.get(seq) == Some(mac));
        is_whole.then_some(received)
    };
    let received = until("the whole trail", arrived).await;
    let mut newest = 0;
    for (seq, mac, body) in received {
        assert!(seq <= newest + 1, "{seq} arrived before {}", newest + 1);
        newest = newest.max(seq);
        assert_eq!((body["seq"].as_i64(), body["mac"].as_str()), (Some(seq), Some(mac.as_str())));
        assert_eq!(hex::decode(&mac).map(|mac| mac.len()), Some(32));
    }
}

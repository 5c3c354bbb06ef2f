//! The external index's answers are cached, but never longer than they are valid
//! (`docs/reference/behavior/verification.md#clean-hands-by-an-external-index`).

use std::sync::Arc;
use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::FixedClock;
use pyxis_store::DatabaseUrl;
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Reply, Upstream};
use pyxis_verify::Attestations;
use pyxis_verify::Config;
use serde_json::json;

use crate::replay::{BEGIN, verification};

const ATTESTER: EvmAddress = EvmAddress([0xab; 20]);
const WHO: EvmAddress = EvmAddress([1; 20]);

async fn is_remembered(database: DatabaseUrl) {
    let server = Upstream::http().await;
    server.reply_with(|_| {
        let row = json!({
            "attestationId": "a", "fullSchemaId": "onchain_evm_10_0x8", "attester": ATTESTER.to_string(),
            "isReceiver": true, "revoked": false, "validUntil": BEGIN.seconds() + 2,
        });
        Reply::json(&json!({"data": {"total": 1, "page": 1, "size": 10, "rows": [row]}}).to_string())
    });
    let clock = Arc::new(FixedClock::new(BEGIN));
    let attestation = Attestations {
        scan_url: Some(server.url("")),
        attester: Some(ATTESTER),
        remember: Duration::from_mins(1),
        ..Attestations::default()
    };
    let (state, _) = verification(database, &clock, Config { attestation, ..Config::default() }).await;
    let ask = async || state.index.clean_hands(WHO).await.unwrap().map(|found| found.valid_until);
    assert_eq!(ask().await, Some(BEGIN.seconds() + 2));
    clock.advance(Duration::from_secs(1));
    assert_eq!(ask().await, Some(BEGIN.seconds() + 2));
    assert_eq!(server.requests().len(), 1, "the second answer was remembered");
    clock.advance(Duration::from_secs(2));
    assert_eq!(ask().await, None);
    assert_eq!(server.requests().len(), 2, "what has ended is asked for again");
}

engines! {
    async fn an_attestation_is_answered_from_memory_until_it_ends(database: TestDatabase) {
        is_remembered(database.url()).await;
    }
}

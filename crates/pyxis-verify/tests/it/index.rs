//! The external index's answers are cached, but never longer than they are valid
//! (`docs/reference/behavior/verification.md#clean-hands-by-an-external-index`).

use std::time::Duration;

use pyxis_core::address::EvmAddress;
use pyxis_testkit::engines;
use pyxis_testkit::installation::{START, Workspace};
use pyxis_testkit::upstream::{Reply, Upstream};
use pyxis_verify::Attestations;
use pyxis_verify::Config;
use serde_json::json;

use crate::replay::verification;

const ATTESTER: EvmAddress = EvmAddress([0xab; 20]);
const WHO: EvmAddress = EvmAddress([1; 20]);

async fn is_remembered(main: &Workspace) {
    let server = Upstream::http().await;
    server.reply_with(|_| {
        let row = json!({
            "attestationId": "a", "fullSchemaId": "onchain_evm_10_0x8", "attester": ATTESTER.to_string(),
            "isReceiver": true, "revoked": false, "validUntil": START.seconds() + 2,
        });
        Reply::json(&json!({"data": {"total": 1, "page": 1, "size": 10, "rows": [row]}}).to_string())
    });
    let attestation = Attestations {
        scan_url: Some(server.url("")),
        attester: Some(ATTESTER),
        remember: Duration::from_mins(1),
        ..Attestations::default()
    };
    let state = verification(main, Config { attestation, ..Config::default() });
    let ask = async || state.index.clean_hands(WHO).await.unwrap().map(|found| found.valid_until);
    assert_eq!(ask().await, Some(START.seconds() + 2));
    main.clock.advance(Duration::from_secs(1));
    assert_eq!(ask().await, Some(START.seconds() + 2));
    assert_eq!(server.requests().len(), 1, "the second answer was remembered");
    main.clock.advance(Duration::from_secs(2));
    assert_eq!(ask().await, None);
    assert_eq!(server.requests().len(), 2, "what has ended is asked for again");
}

engines! {
    async fn an_attestation_is_answered_from_memory_until_it_ends(main: &Workspace) {
        is_remembered(main).await;
    }
}

//! Requests for signatures, as an agent writes them, and their expected display in a chat.

use serde_json::json;

use crate::gateway::sign::mail;

/// The lines of a message about [`whole`].
pub(super) const FIELDS: [&str; 14] = [
    "default-agent wants a signature with treasury",
    "Payload to sign: secp256k1, Ethereum typed data (EIP-712)",
    "Digest: be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2",
    "│ primaryType = Mail",
    "│ domain.name string = Ether Mail",
    "│ domain.version string = 1",
    "│ domain.chainId uint256 = 1",
    "│ domain.verifyingContract address = 0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
    "│ from.name string = Cow",
    "│ from.wallet address = 0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826",
    "│ to.name string = Bob",
    "│ to.wallet address = 0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB",
    "│ contents string = Hello, Bob!",
    "│ For the record",
];

/// Typed data that a message shows completely.
pub(super) fn whole() -> String {
    let body = json!({
        "payload": mail().to_string(), "encoding": "utf8", "algorithm": "secp256k1", "format": "eip712",
        "description": "For the record",
    });
    body.to_string()
}

/// Payloads that no message shows well enough to approve, with a line that it shows nevertheless.
pub(super) fn hard_to_tell() -> Vec<(String, &'static str)> {
    let text = |payload: &str| json!({"payload": payload, "encoding": "utf8", "algorithm": "secp256k1", "format": "eip191"});
    let mut talkative = text("Pay 1,000,000 to Eve");
    talkative["description"] = "Nothing to see here. ".repeat(80).into();
    let mut typed = mail();
    typed["message"]["contents"] = "Hello, Bob! ".repeat(120).into();
    let typed = json!({
        "payload": typed.to_string(), "encoding": "utf8", "algorithm": "secp256k1", "format": "eip712",
    });
    let hash = json!({"payload": "ab".repeat(32), "algorithm": "secp256k1"});
    let bytes = json!({"payload": "ff00", "algorithm": "secp256k1", "hash": "sha256"});
    let cases = [
        (hash, "Warning: Only a hash is shown"),
        (bytes, "Warning: The payload is not text"),
        (talkative, "│ Pay 1,000,000 to Eve\nThe agent says:\n│ Nothing to see here."),
        (typed, "│ contents string = Hello, Bob!"),
        (text(&"Pay Bob. ".repeat(200)), "│ Pay Bob."),
        (text("Pay Bob\u{202e}000,1"), "│ Pay Bob\u{fffd}000,1"),
    ];
    cases.map(|(body, says)| (body.to_string(), says)).into()
}

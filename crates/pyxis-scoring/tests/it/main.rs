//! Credentials, from their text to the signed content; in `api`, everything from the request to the database, on both
//! engines.
#![expect(clippy::unwrap_used, reason = "a test fails where an expectation does")]

mod api;
mod hostile;
mod issued_credentials;
mod mutation;
mod other_implementations;

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_scoring::credential::{
    Rejection, VerifiedCredential, parse_and_verify, parse_and_verify_for_its_subject,
};
use pyxis_testkit::issuer::{CredentialFields, Ed25519Issuer, Eip712Issuer};
use serde_json::Value;

const HOLDER: EvmAddress = EvmAddress([0xab; 20]);
const NULLIFIERS: &[&str] = &["v0:first:0x01", "v1:second:0x02"];
const DAY: i64 = 24 * 60 * 60 * 1000;
/// The moment at which the tests check credentials issued the day before.
const NOW: UnixMillis = UnixMillis(1_767_225_600_250);

fn claim() -> CredentialFields<'static> {
    CredentialFields {
        address: HOLDER,
        provider: "Discord",
        nullifiers: NULLIFIERS,
        issued_at: UnixMillis(NOW.0 - DAY),
        expires_at: UnixMillis(NOW.0 + DAY),
    }
}

fn eip712() -> Eip712Issuer {
    Eip712Issuer::new(&SeededEntropy::new(1))
}

fn ed25519() -> Ed25519Issuer {
    Ed25519Issuer::new(&SeededEntropy::new(2))
}

/// A credential of each proof type and form.
fn issued(claim: &CredentialFields<'_>) -> [String; 4] {
    [
        eip712().issue(claim),
        eip712().issue_older_form(claim),
        ed25519().issue(claim),
        ed25519().issue_older_form(claim),
    ]
}

fn is_trusted(issuer: &str) -> bool {
    [eip712().did(), ed25519().did()].iter().any(|trusted| trusted == issuer)
}

/// Result of `text` presented by a holder at the usual time, with both issuers trusted.
fn presented(text: &str, holder: EvmAddress) -> Result<VerifiedCredential, Rejection> {
    parse_and_verify(text, holder, NOW, is_trusted)
}

/// Result of `text` in an import.
fn imported(text: &str) -> Result<VerifiedCredential, Rejection> {
    parse_and_verify_for_its_subject(text, NOW, is_trusted)
}

/// Result of `text` presented by the usual holder at the usual time, with both issuers trusted.
fn check(text: &str) -> Result<VerifiedCredential, Rejection> {
    let presented = presented(text, HOLDER);
    if !matches!(presented, Err(Rejection::OtherSubject { .. })) {
        assert_eq!(imported(text), presented, "who presents it makes no difference");
    }
    presented
}

fn code(text: &str) -> &'static str {
    check(text).map_or_else(|rejection| rejection.code(), |_| "verified")
}

/// `text` modified by `change`.
fn changed(text: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut value = serde_json::from_str(text).unwrap();
    change(&mut value);
    value.to_string()
}

//! No change of a receipt goes unnoticed: not of its bytes, and not of what a holder of the signing key signs again.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use pyxis_core::grant::DecisionSurface;
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::workers;
use pyxis_signing::keys::{Algorithm, SigningKey};
use pyxis_signing::receipt::{
    ReceiptClaims, ReceiptKeyPurpose, ReceiptKeySet, ReceiptPublicKey, sign, verify,
};
use pyxis_testkit::database::{Fixture, TestDatabase};
use serde_json::Value;

use crate::races::proxy::Proxy;

/// A receipt of a sent request, and the keys.
async fn issued() -> (String, ReceiptKeySet) {
    let proxy = Proxy::start(TestDatabase::sqlite()).await;
    let txn = proxy.pause(0).await;
    let approver = proxy.approver(0, DecisionSurface::Dashboard);
    decide(&proxy.state, &approver, txn, Decision::Approve(None)).await.unwrap();
    workers::send_all(&proxy.state).await.unwrap();
    (proxy.receipt(txn).await.unwrap(), proxy.receipt_keys().await)
}

/// Another receipt key that the set trusts. With it, any content can be signed.
fn forger(keys: &mut ReceiptKeySet) -> (SigningKey, String) {
    let private = SigningKey::new(Algorithm::Ed25519, &[7; 32]).unwrap();
    let public = pyxis_core::hex::decode(&private.public_key()).unwrap().try_into().unwrap();
    let public = ReceiptPublicKey::new(ReceiptKeyPurpose::Receipt, &public);
    let kid = public.kid().to_owned();
    keys.keys.push(public);
    (private, kid)
}

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

/// Paths to all leaves of a document.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| leaves(value, &format!("{path}/{name}"), found));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| leaves(value, &format!("{path}/{index}"), found));
        }
        _ => found.push(path.to_owned()),
    }
}

#[tokio::test]
async fn a_library_that_pyxis_does_not_use_for_it_verifies_the_signature() {
    let (token, keys) = issued().await;
    let set: Value = serde_json::to_value(&keys).unwrap();
    let key = &set["keys"][0];
    assert_eq!((&key["kty"], &key["crv"], &key["alg"]), (&"OKP".into(), &"Ed25519".into(), &"EdDSA".into()));
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let header: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(signed.split('.').next().unwrap()).unwrap()).unwrap();
    assert_eq!(header["kid"], key["kid"]);
    let public = URL_SAFE_NO_PAD.decode(key["x"].as_str().unwrap()).unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, public)
        .verify(signed.as_bytes(), &signature)
        .unwrap();
}

#[tokio::test]
async fn every_changed_bit_of_a_receipt_is_noticed() {
    let (token, keys) = issued().await;
    verify(&token, &keys).unwrap();
    let bytes = token.as_bytes();
    proptest!(ProptestConfig::with_cases(2_000), |(at in 0..bytes.len(), bit in 0..8_u32)| {
        let mut changed = bytes.to_vec();
        changed[at] ^= 1 << bit;
        if let Ok(changed) = String::from_utf8(changed) {
            prop_assert!(verify(&changed, &keys).is_err(), "bit {bit} of byte {at}");
        }
    });
    // The last characters hold bits that belong to no byte.
    for last in 'A'..='z' {
        let changed = format!("{}{last}", &token[..token.len() - 1]);
        prop_assert_same(&token, &changed, &keys);
    }
    for part in ["", ".", "..", "a.b.c"] {
        assert!(verify(part, &keys).is_err());
    }
    assert!(verify(&format!("{token}="), &keys).is_err());
    assert!(verify(&format!("{token}.{token}"), &keys).is_err());
}

fn prop_assert_same(token: &str, changed: &str, keys: &ReceiptKeySet) {
    assert_eq!(verify(changed, keys).is_ok(), token == changed, "{changed}");
}

/// With the receipt key alone, no record, no fact that follows from records and no head can be made up.
#[tokio::test]
async fn a_holder_of_the_receipt_key_cannot_change_what_the_audit_trail_says() {
    // What only the receipt key vouches for.
    const ISSUER_ONLY: &[&str] = &[
        "/iss",
        "/iat",
        "/workspace/name",
        "/credential/id",
        "/credential/version",
        "/request/kind",
        "/request/digest",
        "/request/body_bytes",
        "/request/expires_at",
        "/request/min_approvals",
        "/request/passkey_required",
        "/outcome/response/body_sha256",
        "/outcome/response/body_bytes",
        "/outcome/response/truncated",
    ];
    let (token, mut keys) = issued().await;
    let (private, kid) = forger(&mut keys);
    let original = claims(&token);
    let resign = |claims: &Value| {
        let claims: ReceiptClaims = serde_json::from_value(claims.clone()).ok()?;
        sign(&claims, &kid, &private)
    };
    verify(&resign(&original).unwrap(), &keys).unwrap();
    let mut paths = Vec::new();
    leaves(&original, "", &mut paths);
    assert!(paths.len() > 60, "{paths:?}");
    let mut accepted = Vec::new();
    for path in paths {
        let mut changed = original.clone();
        let leaf = changed.pointer_mut(&path).unwrap();
        *leaf = match &*leaf {
            Value::String(text) => Value::String(altered(text)),
            Value::Number(number) => (number.as_i64().unwrap() + 1).into(),
            Value::Bool(value) => (!value).into(),
            Value::Null => "made up".into(),
            other => panic!("{other}"),
        };
        // A content that no receipt can have is refused as well.
        if resign(&changed).is_some_and(|forged| verify(&forged, &keys).is_ok()) {
            accepted.push(path);
        }
    }
    accepted.retain(|path| !ISSUER_ONLY.contains(&path.as_str()));
    assert_eq!(accepted, Vec::<String>::new());
    // A record, or all of the votes, cannot be left out.
    for member in ["/audit/records", "/votes"] {
        let count = original.pointer(member).unwrap().as_array().unwrap().len();
        for index in 0..count {
            let mut changed = original.clone();
            changed.pointer_mut(member).unwrap().as_array_mut().unwrap().remove(index);
            assert!(verify(&resign(&changed).unwrap(), &keys).is_err(), "{member} {index}");
        }
    }
}

/// The text with its first character replaced.
fn altered(text: &str) -> String {
    let first = if text.starts_with('0') { '1' } else { '0' };
    std::iter::once(first).chain(text.chars().skip(1)).collect()
}

#[tokio::test]
async fn a_key_counts_only_for_its_purpose_and_under_its_own_name() {
    let (token, keys) = issued().await;
    let text = serde_json::to_string(&keys).unwrap();
    let swapped = text.replace("\"receipt\"", "\"x\"").replace("audit_head", "receipt");
    assert!(
        verify(&token, &ReceiptKeySet::parse(&swapped).unwrap()).unwrap_err().to_string().contains("no key")
    );
    let set: Value = serde_json::from_str(&text).unwrap();
    let kid = |index: usize| set["keys"][index]["kid"].as_str().unwrap().to_owned();
    assert!(ReceiptKeySet::parse(&text.replace(&kid(0), &kid(1))).is_err());
    let audit = format!("[{}]", set["keys"][1]);
    let only_audit = format!("{{\"keys\":{audit}}}");
    assert!(verify(&token, &ReceiptKeySet::parse(&only_audit).unwrap()).is_err());
    for nothing in ["", "[]", "{}", r#"{"keys":[]}"#, r#"{"keys":[{"kty":"EC"}]}"#] {
        assert!(ReceiptKeySet::parse(nothing).is_err(), "{nothing}");
    }
}

use pyxis_core::hex;
use serde_json::{Value, json};

use super::*;
use crate::keys::SigningKey;

fn request(body: Value) -> SignRequest {
    serde_json::from_value(body).unwrap()
}

fn parse_error(body: Value) -> BadPayload {
    let request = request(body);
    request.prepare(request.algorithm).unwrap_err()
}

#[test]
fn a_message_is_shown_as_text_where_it_is_text() {
    let text = request(json!({"payload": "hello", "encoding": "utf8", "algorithm": "ed25519"}));
    let prepared = text.prepare(Algorithm::Ed25519).unwrap();
    assert_eq!(prepared.to_sign, ToSign::Message(b"hello".to_vec()));
    assert_eq!(prepared.view, View::Text("hello".to_owned()));
    let bytes = request(json!({"payload": "/wABAg==", "encoding": "base64", "algorithm": "ed25519"}));
    assert_eq!(bytes.prepare(Algorithm::Ed25519).unwrap().view, View::Bytes(vec![0xff, 0, 1, 2]));
}

#[test]
fn a_digest_alone_is_marked_as_blind() {
    let digest = "ff".repeat(32);
    for algorithm in ["secp256k1", "p256", "ed25519"] {
        let asked = request(json!({"payload": digest, "algorithm": algorithm}));
        let prepared = asked.prepare(asked.algorithm).unwrap();
        assert_eq!(prepared.view, View::BlindHash([0xff; 32]), "{algorithm}");
    }
}

#[test]
fn what_does_not_fit_its_claimed_hash_is_refused() {
    assert_eq!(parse_error(json!({"payload": "ffff", "algorithm": "p256"})).field, "hash");
    let typed = json!({"payload": "00", "algorithm": "secp256k1", "format": "eip191", "hash": "sha256"});
    assert_eq!(parse_error(typed).field, "hash");
    let claimed = json!({"payload": "00", "algorithm": "p256", "hash": "sha256", "digest": "00".repeat(32)});
    assert_eq!(parse_error(claimed).field, "digest");
    let right = json!({
        "payload": "abc", "encoding": "utf8", "algorithm": "p256", "hash": "sha256",
        "digest": "0xBA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD",
    });
    assert!(request(right).prepare(Algorithm::P256).is_ok());
}

#[test]
fn a_payload_that_does_not_read_or_a_wrong_algorithm_is_refused() {
    assert_eq!(parse_error(json!({"payload": "abc", "algorithm": "ed25519"})).field, "payload");
    assert_eq!(
        parse_error(json!({"payload": "*", "encoding": "base64", "algorithm": "ed25519"})).field,
        "payload"
    );
    assert_eq!(
        parse_error(json!({"payload": "00", "algorithm": "p256", "format": "eip191"})).field,
        "format"
    );
    let other = request(json!({"payload": "00", "algorithm": "ed25519"}));
    assert_eq!(other.prepare(Algorithm::P256).unwrap_err().field, "algorithm");
}

/// Signatures that eth-account 0.13 (Python) made with the same keys: `data/ethereum.json`, written by
/// `data/ethereum.py`.
#[test]
fn ethereum_messages_are_signed_as_an_independent_library_signs_them() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../../data/ethereum.json")).unwrap();
    assert!(cases.len() > 20);
    for case in cases {
        let text = |member: &str| case[member].as_str().unwrap().to_owned();
        let key = SigningKey::from_hex(Algorithm::Secp256k1, &text("key")).unwrap();
        let asked = request(json!({
            "payload": text("payload"), "encoding": text("encoding"), "format": text("format"),
            "algorithm": "secp256k1", "hash": "keccak256",
        }));
        let prepared = asked.prepare(Algorithm::Secp256k1).unwrap_or_else(|error| panic!("{error}: {case}"));
        let signed = key.sign(&prepared.to_sign).unwrap();
        let expected = text("signature");
        let mut ours = signed.signature.clone();
        ours.push_str(&hex::encode(&[27 + signed.recovery_id.unwrap()]));
        assert_eq!(ours, expected, "{case}");
        assert_eq!(signed.address.unwrap(), text("address"));
    }
}

//! Hostile credentials.

use std::sync::LazyLock;

use k256::ecdsa::Signature;
use proptest::prelude::*;
use serde_json::json;

use crate::{changed, check, claim, code, ed25519, eip712, issued};

fn proof_value(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    value["proof"]["proofValue"].as_str().unwrap().to_owned()
}

fn with_proof_value(text: &str, forged: &str) -> String {
    changed(text, |value| value["proof"]["proofValue"] = json!(forged))
}

/// The bytes of r, s and v.
fn signature(text: &str) -> Vec<u8> {
    let digits = &proof_value(text)[2..];
    (0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap()).collect()
}

#[test]
fn the_second_signature_that_follows_from_one_is_refused() {
    let text = eip712().issue(&claim());
    let bytes = signature(&text);
    let one = Signature::from_slice(&bytes[..64]).unwrap();
    let (r, s) = one.split_scalars();
    let other = Signature::from_scalars(r, -s).unwrap();
    let v = if bytes[64] == 27 { 28 } else { 27 };
    let forged = format!("0x{}{v:02x}", pyxis_core::hex::encode(&other.to_bytes()));
    assert_eq!(code(&with_proof_value(&text, &forged)), "high_s");
}

#[test]
fn v_is_counted_from_27_or_from_0() {
    let text = eip712().issue(&claim());
    let value = proof_value(&text);
    let v = u8::from_str_radix(&value[130..], 16).unwrap();
    let with_v = |v: u8| with_proof_value(&text, &format!("{}{v:02x}", &value[..130]));
    let small = check(&with_v(v - 27)).unwrap();
    assert_eq!(small.digest, check(&text).unwrap().digest);
    assert_eq!(code(&with_v(55 - v)), "signature_mismatch");
    for v in [2, 3, 26, 29, 30, 37, 255] {
        assert_eq!(code(&with_v(v)), "malformed_signature");
    }
}

#[test]
fn a_signature_of_another_form_is_refused() {
    let text = eip712().issue(&claim());
    let value = proof_value(&text);
    let zero = "0".repeat(64);
    for forged in [
        String::new(),
        "0x".to_owned(),
        value[2..].to_owned(),
        value[..value.len() - 2].to_owned(),
        value[..66].to_owned(),
        format!("{value}00"),
        format!("{value}{value}"),
        format!("0X{}", &value[2..]),
        format!("0xzz{}", &value[4..]),
        format!("0x+1{}", &value[4..]),
        format!("{}\u{e9}", &value[..130]),
        format!("0x{zero}{zero}1b"),
        format!("0x{}{}1b", "f".repeat(64), "f".repeat(64)),
        format!("0x{zero}{}", &value[66..]),
    ] {
        assert_eq!(code(&with_proof_value(&text, &forged)), "malformed_signature", "{forged}");
    }
}

#[test]
fn a_jws_of_another_form_is_refused() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let text = ed25519().issue(&claim());
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let jws = value["proof"]["jws"].as_str().unwrap();
    let (header, signature) = jws.split_once("..").unwrap();
    let with_header = |header: &str| format!("{}..{signature}", URL_SAFE_NO_PAD.encode(header));
    for forged in [
        String::new(),
        "..".to_owned(),
        header.to_owned(),
        format!("{header}.e30.{signature}"),
        format!("{header}..{signature}="),
        format!("{header}..{}", &signature[1..]),
        format!("{header}..{signature}AA"),
        with_header(r#"{"alg":"none","crit":["b64"],"b64":false}"#),
        with_header(r#"{"alg":"EdDSA","crit":["b64"],"b64":true}"#),
        with_header(r#"{"alg":"EdDSA","b64":false}"#),
        with_header(r#"{"alg":"EdDSA","crit":["b64","exp"],"b64":false}"#),
        with_header(r#"{"alg":"EdDSA","crit":["b64"],"b64":false,"kid":"x"}"#),
        with_header(r#"{"alg":"EdDSA","alg":"none","crit":["b64"],"b64":false}"#),
        with_header("[]"),
    ] {
        let text = changed(&text, |value| value["proof"]["jws"] = json!(forged));
        assert_eq!(code(&text), "malformed_signature", "{forged}");
    }
    let other = changed(&text, |value| {
        value["proof"]["jws"] = json!(with_header(r#"{"alg":"EdDSA", "crit":["b64"],"b64":false}"#));
    });
    assert_eq!(code(&other), "signature_mismatch");
}

#[test]
fn a_key_that_occurs_twice_is_refused_wherever_it_stands() {
    for text in issued(&claim()) {
        for key in ["provider", "id", "issuer", "expirationDate", "proof", "type", "credentialSubject"] {
            let twice = text.replacen(&format!("\"{key}\":"), &format!("\"{key}\":null,\"{key}\":"), 1);
            assert_ne!(twice, text);
            assert_eq!(code(&twice), "duplicate_key", "{key}");
        }
    }
}

#[test]
fn a_proof_of_one_type_does_not_pass_for_the_other() {
    let [typed, _, linked, _] = issued(&claim());
    let other = changed(&typed, |value| value["proof"]["type"] = json!("Ed25519Signature2018"));
    assert_eq!(code(&other), "invalid_issuer");
    let other = changed(&linked, |value| value["proof"]["type"] = json!("EthereumEip712Signature2021"));
    assert_eq!(code(&other), "invalid_issuer");
}

/// Both texts are values of one property to RDF, and contexts are not signed.
#[test]
fn the_name_and_the_nullifier_cannot_change_places() {
    let text = ed25519().issue_older_form(&claim());
    let swapped = changed(&text, |value| {
        value["credentialSubject"]["hash"] = json!("Discord");
        value["credentialSubject"]["provider"] = json!("v0:first:0x01");
    });
    assert_eq!(code(&swapped), "ambiguous_properties");
    // The name as a nullifier, and the nullifier in an unread property.
    let hidden = changed(&text, |value| {
        value["credentialSubject"]["@context"][0]["note"] = json!("https://schema.org/Text");
        value["credentialSubject"]["hash"] = json!("Discord");
        value["credentialSubject"]["note"] = json!("v0:first:0x01");
    });
    assert_eq!(code(&hidden), "unsigned_property");
    let doubled = changed(&text, |value| {
        let subject = value["credentialSubject"].as_object_mut().unwrap();
        subject.remove("hash");
        subject.insert("nullifiers".to_owned(), json!(["v0:first:0x01", "Discord"]));
        subject["@context"][0]["nullifiers"] = json!("https://schema.org/Text");
    });
    assert_eq!(code(&doubled), "ambiguous_properties");
}

#[test]
fn contexts_are_few_and_small_for_they_cost_the_most_time() {
    let text = ed25519().issue(&claim());
    let with = |contexts: usize, terms: usize| {
        changed(&text, |value| {
            let terms: serde_json::Map<_, _> =
                (0..terms).map(|i| (format!("term{i}"), json!("https://a.example/"))).collect();
            value["@context"].as_array_mut().unwrap().extend(vec![json!(terms); contexts]);
        })
    };
    assert_eq!(code(&with(7, 16)), "verified");
    assert_eq!(code(&with(8, 1)), "unsupported_context");
    assert_eq!(code(&with(1, 17)), "unsupported_context");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes replaced, removed and repeated: an error, never a panic, and never another meaning.
    #[test]
    fn garbled_credentials_are_refused_or_mean_the_same(
        form in 0_usize..4,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..3, any::<u8>()), 1..4),
    ) {
        static ISSUED: LazyLock<[String; 4]> = LazyLock::new(|| issued(&claim()));
        let original = ISSUED[form].clone();
        let mut bytes = original.clone().into_bytes();
        for (place, edit, byte) in edits {
            let place = place.index(bytes.len());
            match edit {
                0 => bytes[place] = byte,
                1 => drop(bytes.remove(place)),
                _ => bytes.extend_from_within(place..),
            }
        }
        if let Ok(text) = String::from_utf8(bytes)
            && let Ok(garbled) = check(&text)
        {
            let clean = check(&original).unwrap();
            prop_assert_eq!(clean.digest, garbled.digest);
            prop_assert_eq!(clean.provider, garbled.provider);
            prop_assert_eq!(clean.nullifiers, garbled.nullifiers);
        }
    }
}

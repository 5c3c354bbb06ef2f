//! The cache must change nothing but speed.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_testkit::issuer::{CredentialFields, Eip712Issuer};
use serde_json::{Value, json};

use super::super::{VerifiedCredential, parse_and_verify_for_its_subject};
use super::*;

const NOW: UnixMillis = UnixMillis(1_767_225_600_000);

fn issuer() -> Eip712Issuer {
    Eip712Issuer::new(&SeededEntropy::new(5))
}

fn credential(number: u8) -> String {
    issuer().issue(&CredentialFields {
        address: EvmAddress([number; 20]),
        provider: "Discord",
        nullifiers: &["n"],
        issued_at: NOW.minus(std::time::Duration::from_mins(1)),
        expires_at: NOW.plus(std::time::Duration::from_mins(1)),
    })
}

fn verify(text: &str) -> Result<VerifiedCredential, Rejection> {
    parse_and_verify_for_its_subject(text, NOW, |did| did == issuer().did())
}

/// Verifies on a thread with an empty cache.
fn verify_anew(text: &str) -> Result<VerifiedCredential, Rejection> {
    std::thread::scope(|threads| threads.spawn(|| verify(text)).join().unwrap())
}

fn is_read(text: &str) -> bool {
    let document = parse(text).unwrap();
    matches!(document.object("proof").unwrap().get("eip712Domain"), Some(JsonNode::Object(_)))
}

fn changed(text: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut value = serde_json::from_str(text).unwrap();
    change(&mut value);
    value.to_string()
}

#[test]
fn the_typed_data_of_a_credential_is_read_once() {
    assert!(is_read(&credential(1)));
    verify(&credential(1)).unwrap();
    assert!(!is_read(&credential(2)));
    assert_eq!(verify(&credential(2)), verify_anew(&credential(2)));
    let spaced = credential(2).replace("\"domain\":", "\"domain\" :");
    assert!(is_read(&spaced));
    assert_eq!(verify(&spaced), verify_anew(&spaced));
}

#[test]
fn what_nobody_signed_is_not_remembered() {
    let forged = changed(&credential(1), |value| value["credentialSubject"]["provider"] = json!("Google"));
    assert_eq!(verify(&forged).unwrap_err(), Rejection::SignatureMismatch);
    assert!(is_read(&credential(1)));
}

#[test]
fn a_change_is_found_where_the_form_was_met_before_as_where_it_was_not() {
    let good = credential(1);
    verify(&good).unwrap();
    let domain = |value: &mut Value| value["proof"]["eip712Domain"].clone();
    let texts = [
        changed(&good, |value| value["issuanceDate"] = json!("2025-12-31T23:58:00.000Z")),
        changed(&good, |value| value["more"] = json!(1)),
        changed(&good, |value| value["proof"]["more"] = json!(1)),
        // The same text in other positions.
        changed(&good, |value| value["eip712Domain"] = domain(value)),
        changed(&good, |value| value["credentialSubject"]["eip712Domain"] = domain(value)),
        changed(&good, |value| value["proof"]["proof"] = json!({"eip712Domain": domain(value)})),
        changed(&good, |value| value["proof"]["eip712Domain"]["primaryType"] = json!("Proof")),
        changed(&good, |value| value["proof"]["eip712Domain"] = json!(domain(value).to_string())),
        changed(&good, |value| drop(value["proof"].as_object_mut().unwrap().remove("eip712Domain"))),
        good.replacen("\"proofPurpose\"", "\"eip712Domain\":{},\"proofPurpose\"", 1),
        good.replacen("\"eip712Domain\"", "\"eip712Domain\":{},\"eip712\\u0044omain\"", 1),
        good.replacen("CredentialSubject\":[", "\\ud800\":[", 1),
        format!("{good}x"),
        good[..good.len() - 1].to_owned(),
        good.replacen("\"domain\":", "\n\"domain\":x", 1),
    ];
    for text in texts {
        let found = verify(&text).unwrap_err();
        assert_eq!(found, verify_anew(&text).unwrap_err(), "{text}");
    }
    for same in [
        changed(&good, |value| value["proof"] = json!([value["proof"].take()])),
        changed(&good, |value| value["proof"] = json!([1, value["proof"].take()])),
    ] {
        assert!(verify(&same).is_ok());
        assert_eq!(verify(&same), verify_anew(&same));
    }
    let escaped = good.replacen("\"eip712Domain\"", "\"eip712\\u0044omain\"", 1);
    assert!(!is_read(&escaped));
    assert_eq!(verify(&escaped), verify_anew(&escaped));
}

#[test]
fn no_more_forms_are_remembered_than_a_few_and_none_that_is_long() {
    let form = |credential: &str| {
        let document = json::parse(credential).unwrap();
        lookup(document.object("proof").unwrap().get("eip712Domain").unwrap()).unwrap()
    };
    let named = |number: usize| {
        changed(&credential(1), |value| {
            value["proof"]["eip712Domain"]["domain"]["version"] = json!("v".repeat(number));
            let types = &mut value["proof"]["eip712Domain"]["types"];
            types["EIP712Domain"].as_array_mut().unwrap().push(json!({"name": "version", "type": "string"}));
        })
    };
    let texts: Vec<String> = (0..KEPT + 2).map(named).collect();
    for text in &texts {
        remember(text, form(text));
    }
    let read: Vec<bool> = texts.iter().map(|text| is_read(text)).collect();
    assert_eq!(read.iter().filter(|read| **read).count(), 2);
    assert!(read[0] && read[1]);
    let long = named(LONGEST);
    remember(&long, form(&long));
    assert!(is_read(&long) && !is_read(&texts[2]));
}

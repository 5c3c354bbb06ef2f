//! A credential with any change is no longer the issuer's.

use pyxis_core::address::EvmAddress;
use pyxis_scoring::credential::{Rejection, VerifiedCredential};
use serde_json::{Value, json};

use crate::{HOLDER, changed, claim, code, imported, issued, presented};

/// Every place in `value`, as JSON pointers, the document itself first.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let escaped = |key: &str| key.replace('~', "~0").replace('/', "~1");
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| places(value, &format!("{at}/{}", escaped(key)), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, value)| places(value, &format!("{at}/{i}"), found));
        }
        _ => {}
    }
}

/// Values that a forger could substitute for `value`.
fn substitutes(value: &Value) -> Vec<Value> {
    let mut others = vec![json!(null), json!(true), json!(1), json!([]), json!({}), json!([value])];
    match value {
        Value::String(text) => {
            others.extend([json!(format!("{text}x")), json!(text.to_uppercase() + "."), json!("")]);
            let mut letters: Vec<char> = text.chars().collect();
            letters.swap(0, text.len() - 1);
            letters[text.len() / 2] = if letters[text.len() / 2] == 'a' { 'b' } else { 'a' };
            others.push(json!(letters.into_iter().collect::<String>()));
        }
        Value::Array(items) => {
            others.push(items.iter().chain([&json!("more")]).cloned().collect());
            others.extend(items.first().map(|first| items.iter().chain([first]).cloned().collect()));
            others.push(items[1..].iter().cloned().collect());
        }
        Value::Object(members) => {
            let mut more = members.clone();
            more.insert("more".to_owned(), json!("more"));
            others.push(more.into());
            for gone in members.keys() {
                let mut rest = members.clone();
                let value = rest.remove(gone).unwrap();
                others.push(rest.clone().into());
                rest.insert(format!("{gone}2"), value);
                others.push(rest.into());
            }
        }
        _ => {}
    }
    others.retain(|other| other != value);
    others
}

#[test]
fn whatever_is_changed_anywhere_the_credential_is_refused() {
    let mut tried = 0;
    for text in issued(&claim()) {
        let whole: Value = serde_json::from_str(&text).unwrap();
        let mut found = Vec::new();
        places(&whole, "", &mut found);
        for place in found {
            let value = whole.pointer(&place).unwrap();
            // A list of the one proof is the same credential.
            let same = |substitute: &Value| place == "/proof" && *substitute == json!([value]);
            for substitute in substitutes(value).into_iter().filter(|substitute| !same(substitute)) {
                let forged = changed(&text, |value| *value.pointer_mut(&place).unwrap() = substitute.clone());
                assert_ne!(code(&forged), "verified", "{place} := {substitute}");
                assert!(imported(&forged).is_err(), "{place} := {substitute}");
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "{tried}");
}

#[test]
fn a_well_formed_forgery_of_a_signed_field_fails_at_the_signature() {
    for text in issued(&claim()) {
        for (place, forged) in [
            ("/credentialSubject/provider", "Biometrics"),
            ("/issuanceDate", "2025-12-30T00:00:00.250Z"),
            ("/expirationDate", "2036-01-01T00:00:00Z"),
            ("/proof/created", "2025-12-30T00:00:00.250Z"),
        ] {
            let text = changed(&text, |value| *value.pointer_mut(place).unwrap() = json!(forged));
            assert_eq!(code(&text), "signature_mismatch", "{place}");
        }
        let text = text.replace("v0:first:0x01", "v0:first:0x0f");
        assert_eq!(code(&text), "signature_mismatch");
    }
}

#[test]
fn a_credential_of_one_address_is_that_of_no_other() {
    let (thief, own) = (EvmAddress([0xcd; 20]), HOLDER.to_string());
    for text in issued(&claim()) {
        assert_eq!(text.matches(&own).count(), 1);
        let stolen = text.replace(&own, &thief.to_string());
        let mismatch = Err("signature_mismatch");
        let code =
            |outcome: Result<VerifiedCredential, Rejection>| outcome.map(drop).map_err(|why| why.code());
        assert_eq!(code(presented(&stolen, thief)), mismatch);
        assert_eq!(code(imported(&stolen)), mismatch);
        assert_eq!(code(presented(&stolen, HOLDER)), Err("subject_mismatch"));
        assert_eq!(code(presented(&text, thief)), Err("subject_mismatch"));
    }
}

/// Types that fit the data but differ from the signed ones.
#[test]
fn typed_data_that_is_changed_in_itself_fails_at_the_signature() {
    fn types(value: &mut Value) -> &mut Value {
        &mut value["proof"]["eip712Domain"]["types"]
    }
    fn members<'v>(value: &'v mut Value, owner: &str) -> &'v mut Vec<Value> {
        types(value)[owner].as_array_mut().unwrap()
    }
    let changes: [(&str, Change); 6] = [
        ("one more property", |v| {
            v["credentialSubject"]["level"] = json!("gold");
            members(v, "CredentialSubject").push(json!({"name": "level", "type": "string"}));
        }),
        ("another name of a type", |v| {
            let renamed = v.to_string().replace("CredentialSubject", "Subject");
            *v = serde_json::from_str(&renamed).unwrap();
        }),
        ("another order", |v| members(v, "CredentialSubject").reverse()),
        ("a version", |v| {
            v["proof"]["eip712Domain"]["domain"]["version"] = json!("1");
            members(v, "EIP712Domain").push(json!({"name": "version", "type": "string"}));
        }),
        ("a chain", |v| {
            v["proof"]["eip712Domain"]["domain"]["chainId"] = json!(1);
            members(v, "EIP712Domain").push(json!({"name": "chainId", "type": "uint256"}));
        }),
        ("a number in the place of a text", |v| {
            v["credentialSubject"]["@context"]["provider"] = json!(1);
            members(v, "@context").iter_mut().find(|member| member["name"] == "provider").unwrap()["type"] =
                json!("uint8");
        }),
    ];
    for (what, change) in changes {
        for text in &issued(&claim())[..2] {
            assert_eq!(code(&changed(text, change)), "signature_mismatch", "{what}");
        }
    }
}

type Change = fn(&mut Value);

#[test]
fn each_kind_of_forgery_is_called_by_its_name() {
    let [typed, _, linked, _] = issued(&claim());
    let both: &[(&str, Change)] = &[
        ("not_a_credential", |v| v["type"] = json!(["VerifiablePresentation"])),
        ("not_a_credential", |v| v["@context"] = json!(["https://www.w3.org/ns/credentials/v2"])),
        ("missing_field", |v| leave_out(v, "created")),
        ("wrong_form", |v| v["issuer"] = json!({"id": "x"})),
        ("invalid_issuer", |v| v["issuer"] = json!("did:web:example.com")),
        ("invalid_date", |v| v["expirationDate"] = json!("tomorrow")),
        ("invalid_date", |v| v["proof"]["created"] = json!("2026-13-01T00:00:00Z")),
        ("invalid_subject", |v| v["credentialSubject"]["id"] = json!("did:pkh:eip155:5:0x00")),
        ("unsupported_proof", |v| v["proof"]["type"] = json!("JsonWebSignature2020")),
        ("wrong_proof_purpose", |v| v["proof"]["proofPurpose"] = json!("authentication")),
        ("wrong_verification_method", |v| {
            v["proof"]["verificationMethod"] = json!("did:ethr:0x00#controller");
        }),
        ("invalid_nullifiers", |v| v["credentialSubject"]["hash"] = json!("v0:another")),
        ("invalid_nullifiers", |v| v["credentialSubject"]["nullifiers"] = json!("v0:first:0x01")),
        ("unsigned_property", |v| v["name"] = json!("more")),
        ("unsigned_property", |v| v["credentialSubject"]["more"] = json!("more")),
        ("unsigned_property", |v| v["proof"]["more"] = json!("more")),
    ];
    let of_typed: &[(&str, Change)] = &[
        ("unsigned_property", |v| v["proof"]["eip712Domain"]["more"] = json!("more")),
        ("unsigned_property", |v| v["credentialSubject"]["@context"]["more"] = json!("more")),
        ("unsigned_property", |v| v["proof"]["eip712Domain"]["domain"]["version"] = json!("1")),
        ("wrong_domain", |v| v["proof"]["eip712Domain"]["domain"]["name"] = json!("Ether Mail")),
        ("wrong_domain", |v| v["proof"]["eip712Domain"]["domain"]["chainId"] = json!(0)),
        ("wrong_domain", |v| v["proof"]["eip712Domain"]["domain"]["salt"] = json!("0x00")),
        ("invalid_typed_data", |v| v["proof"]["eip712Domain"]["primaryType"] = json!("Proof")),
        ("invalid_typed_data", |v| v["proof"]["eip712Domain"]["types"]["More"] = json!([])),
        ("malformed_signature", |v| leave_out(v, "proofValue")),
    ];
    let of_linked: &[(&str, Change)] = &[
        ("unsupported_context", |v| add_context(v, json!("https://example.com/context"))),
        ("unsupported_context", |v| {
            v["credentialSubject"]["@context"] = json!("https://example.com/context");
        }),
        ("unsupported_context", |v| {
            v["credentialSubject"]["@context"][0]["issuer"] = json!("https://a.example/");
        }),
        ("unsupported_context", |v| v["credentialSubject"]["@context"][0]["more"] = json!("@id")),
        ("unsupported_context", |v| {
            v["credentialSubject"]["@context"][0]["@vocab"] = json!("https://a.example/");
        }),
        ("unsupported_context", |v| add_context(v, json!("https://www.w3.org/2018/credentials/v1"))),
        ("unsupported_context", |v| add_context(v, json!({"@base": "https://a.example/"}))),
        ("unsupported_context", |v| v["proof"]["@context"] = json!({})),
        ("unsigned_property", |v| v["credentialSubject"]["@context"] = json!([])),
        ("wrong_form", |v| v["id"] = json!("_:anything")),
        ("wrong_form", |v| v["type"] = json!(["VerifiableCredential", "More"])),
        ("ambiguous_properties", |v| v["credentialSubject"]["provider"] = json!("v0:first:0x01")),
        ("malformed_signature", |v| v["proof"]["jws"] = json!("e30..AAAA")),
        ("missing_field", |v| leave_out(v, "jws")),
    ];
    let cases = both.iter().flat_map(|case| [(&typed, case), (&linked, case)]);
    let cases = cases.chain(of_typed.iter().map(|case| (&typed, case)));
    for (text, (expected, change)) in cases.chain(of_linked.iter().map(|case| (&linked, case))) {
        let forged = changed(text, change);
        assert_eq!(code(&forged), *expected, "{forged}");
    }
}

fn leave_out(document: &mut Value, member: &str) {
    document["proof"].as_object_mut().unwrap().remove(member);
}

fn add_context(document: &mut Value, context: Value) {
    document["@context"].as_array_mut().unwrap().push(context);
}

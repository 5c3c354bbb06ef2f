//! Credentials with valid signatures from a test key over typed data that must be refused.

use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_signing::eip712::{DOMAIN, abi_words};
use pyxis_testkit::issuer::{CredentialFields, Eip712Issuer};
use serde_json::{Value, json};

use super::super::eip712;
use super::super::json::{self, JsonNode};
use super::super::{MAX_PROOFS, Rejection, VerifiedCredential, parse_and_verify_for_its_subject};

const NOW: UnixMillis = UnixMillis(1_767_225_600_000);

fn issuer() -> Eip712Issuer {
    Eip712Issuer::new(&SeededEntropy::new(5))
}

/// A credential that `change` modifies before it is signed with the types that it then carries.
fn signed(change: impl FnOnce(&mut Value)) -> String {
    let claim = CredentialFields {
        address: pyxis_core::address::EvmAddress([7; 20]),
        provider: "Discord",
        nullifiers: &["n"],
        issued_at: NOW.minus(std::time::Duration::from_mins(1)),
        expires_at: NOW.plus(std::time::Duration::from_mins(1)),
    };
    let mut value: Value = serde_json::from_str(&issuer().issue(&claim)).unwrap();
    change(&mut value);
    let hash = hash(&value.to_string());
    value["proof"]["proofValue"] = issuer().sign_hash(&hash).into();
    value.to_string()
}

fn hash(text: &str) -> [u8; 32] {
    let mut document = json::parse(text).unwrap();
    let Some(JsonNode::Object(proof)) = document.get_mut("proof") else { panic!("a proof") };
    proof.remove("proofValue");
    let Some(JsonNode::Object(data)) = proof.remove("eip712Domain") else { panic!("typed data") };
    let types = eip712::types(data.object("types").unwrap()).unwrap();
    let hash = |name, object| eip712::hash_struct(&types, name, object).unwrap();
    let domain = hash(DOMAIN, data.object("domain").unwrap());
    abi_words::signing_hash(domain, hash(data.text("primaryType").unwrap(), &document))
}

fn verify(text: &str) -> Result<VerifiedCredential, Rejection> {
    let is_trusted = |issuer_did: &str| issuer_did == issuer().did();
    parse_and_verify_for_its_subject(text, NOW, is_trusted)
}

fn code(text: &str) -> &'static str {
    verify(text).map_or_else(|rejection| rejection.code(), |_| "verified")
}

fn types(value: &mut Value) -> &mut Value {
    &mut value["proof"]["eip712Domain"]["types"]
}

/// The type of a member of a type.
fn member<'v>(value: &'v mut Value, owner: &str, name: &str) -> &'v mut Value {
    let members = types(value)[owner].as_array_mut().unwrap();
    &mut members.iter_mut().find(|member| member["name"] == name).unwrap()["type"]
}

#[test]
fn further_properties_count_if_they_are_signed() {
    let text = signed(|value| {
        value["credentialSubject"]["level"] = json!({"name": "gold", "points": 3, "flags": [true]});
        types(value)["CredentialSubject"]
            .as_array_mut()
            .unwrap()
            .push(json!({"name": "level", "type": "Level"}));
        types(value)["Level"] = json!([
            {"name": "name", "type": "string"},
            {"name": "points", "type": "uint8"},
            {"name": "flags", "type": "bool[]"},
        ]);
    });
    assert_eq!(code(&text), "verified");
    assert_eq!(code(&text.replace("\"points\":3", "\"points\":4")), "signature_mismatch");
    assert_eq!(code(&text.replace("[true]", "[false]")), "signature_mismatch");
}

#[test]
fn the_domain_may_name_a_version_and_a_chain_and_nothing_else() {
    let with = |name: &'static str, kind: &'static str, content: Value| {
        signed(|value| {
            value["proof"]["eip712Domain"]["domain"][name] = content;
            types(value)["EIP712Domain"].as_array_mut().unwrap().push(json!({"name": name, "type": kind}));
        })
    };
    let chain = with("chainId", "uint256", json!(1));
    assert_eq!(code(&chain), "verified");
    assert_eq!(code(&chain.replace("\"chainId\":1", "\"chainId\":2")), "signature_mismatch");
    assert_eq!(code(&with("version", "string", json!("1"))), "verified");
    assert_eq!(code(&with("chainId", "uint256", json!(0))), "wrong_domain");
    let contract = with("verifyingContract", "address", json!("0x0000000000000000000000000000000000000001"));
    assert_eq!(code(&contract), "wrong_domain");
    let mail = signed(|value| value["proof"]["eip712Domain"]["domain"]["name"] = json!("Mail"));
    assert_eq!(code(&mail), "wrong_domain");
    for (text, member) in [
        (mail, "name must be VerifiableCredential"),
        (with("version", "uint8", json!(1)), "version must be a string"),
        (with("chainId", "uint256", json!(0)), "chainId must be an integer above 0"),
        (contract, "verifyingContract must be absent"),
        (with("salt", "bytes32", json!(format!("0x{}", "00".repeat(32)))), "salt must be absent"),
    ] {
        let told = verify(&text).unwrap_err().to_string();
        assert!(told.contains(member), "{told}");
    }
}

#[test]
fn a_chain_is_the_same_as_number_and_as_text() {
    let with = |content: &str| {
        let text = signed(|value| {
            value["proof"]["eip712Domain"]["domain"]["chainId"] = json!("CHAIN");
            let types = types(value)["EIP712Domain"].as_array_mut().unwrap();
            types.push(json!({"name": "chainId", "type": "string"}));
        });
        // Bypasses serde_json, which has no 256-bit numbers.
        let text = text.replace("\"CHAIN\"", content);
        text.replace(r#"{"name":"chainId","type":"string"}"#, r#"{"name":"chainId","type":"uint256"}"#)
    };
    let resigned = |text: &str| {
        let mut value = json::parse(text).unwrap();
        let Some(JsonNode::Object(proof)) = value.get_mut("proof") else { panic!("a proof") };
        let old = proof.get("proofValue").and_then(JsonNode::as_text).unwrap().to_owned();
        text.replace(&old, &issuer().sign_hash(&hash(text)))
    };
    for (number, spellings) in [
        ("1", ["\"1\"", "\"0x1\"", "\"0X01\""]),
        (
            "18446744073709551616",
            ["\"18446744073709551616\"", "\"0x10000000000000000\"", "18446744073709551616"],
        ),
    ] {
        let digest = verify(&resigned(&with(number))).unwrap().digest;
        for spelling in spellings {
            assert_eq!(verify(&resigned(&with(spelling))).unwrap().digest, digest, "{spelling}");
        }
    }
    for wrong in ["0", "\"0\"", "\"0x0\"", "\"one\"", "1.5", "-1"] {
        assert_eq!(code(&with(wrong)), "wrong_domain", "{wrong}");
    }
}

/// A credential with a list of these proofs.
fn with_proofs(text: &str, proofs: &[Value]) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    value["proof"] = json!(proofs);
    value.to_string()
}

fn proof(text: &str) -> Value {
    serde_json::from_str::<Value>(text).unwrap()["proof"].clone()
}

#[test]
fn one_valid_proof_in_a_list_counts() {
    let text = signed(|_| ());
    let one = verify(&text).unwrap();
    let good = proof(&text);
    let mut forged = good.clone();
    forged["created"] = json!("2020-01-01T00:00:00Z");
    let mut other = good.clone();
    other["type"] = json!("DataIntegrityProof");
    for proofs in [
        vec![good.clone()],
        vec![forged.clone(), good.clone()],
        vec![good.clone(), other.clone()],
        vec![json!("text"), json!(null), other.clone(), good.clone(), forged.clone()],
        vec![good.clone(), good.clone()],
    ] {
        let verified = verify(&with_proofs(&text, &proofs)).unwrap();
        assert_eq!((verified.digest, verified.digests), (one.digest, Vec::new()), "{proofs:?}");
        assert_eq!(verified.nullifiers, one.nullifiers);
    }
    for (proofs, expected) in [
        (vec![], "wrong_form"),
        (vec![json!("text")], "wrong_form"),
        (vec![forged.clone(), other.clone()], "signature_mismatch"),
        (vec![other, forged], "unsupported_proof"),
        (vec![good; MAX_PROOFS + 1], "too_complex"),
    ] {
        assert_eq!(code(&with_proofs(&text, &proofs)), expected, "{proofs:?}");
    }
}

#[test]
fn each_of_several_valid_proofs_names_the_credential() {
    let texts = [signed(|_| ()), signed(|value| value["proof"]["created"] = json!("2020-01-01T00:00:00Z"))];
    let alone = texts.each_ref().map(|text| verify(text).unwrap().digest);
    assert_ne!(alone[0], alone[1]);
    let proofs = texts.each_ref().map(|text| proof(text));
    for order in [[0, 1], [1, 0]] {
        let both = with_proofs(&texts[0], &order.map(|index: usize| proofs[index].clone()));
        let verified = verify(&both).unwrap();
        let mut wanted = alone.to_vec();
        wanted.sort_unstable();
        assert_eq!((verified.digest, &verified.digests), (wanted[0], &wanted));
        assert_eq!(verified.all_digests(), wanted);
    }
}

/// `0xAB` and `0xab` are the same bytes, and would be two Stamps with one signature.
#[test]
fn a_name_that_is_not_signed_as_text_is_refused() {
    let text = signed(|value| {
        value["credentialSubject"]["provider"] = json!("0xab");
        *member(value, "CredentialSubject", "provider") = json!("bytes");
    });
    assert_eq!(code(&text), "invalid_typed_data");
    assert_eq!(hash(&text), hash(&text.replace("\"0xab\"", "\"0xAB\"")));
    let text = signed(|value| {
        value["credentialSubject"]["nullifiers"] = json!(["0xab"]);
        *member(value, "CredentialSubject", "nullifiers") = json!("bytes[]");
    });
    assert_eq!(code(&text), "invalid_typed_data");
    let text = signed(|value| {
        value["proof"]["created"] = json!("0xab");
        *member(value, "Proof", "created") = json!("bytes1");
    });
    assert_ne!(code(&text), "verified");
}

#[test]
fn a_property_that_the_types_leave_out_is_refused_though_the_signature_fits() {
    for (owner, name) in [
        ("CredentialSubject", "provider"),
        ("CredentialSubject", "id"),
        ("CredentialSubject", "nullifiers"),
        ("Document", "issuer"),
        ("Document", "expirationDate"),
        ("Proof", "verificationMethod"),
    ] {
        let place = match owner {
            "CredentialSubject" => "/credentialSubject",
            "Proof" => "/proof",
            _ => "",
        };
        let mut kept = Value::Null;
        let without = signed(|value| {
            let object = value.pointer_mut(place).unwrap().as_object_mut().unwrap();
            kept = object.remove(name).unwrap();
            types(value)[owner].as_array_mut().unwrap().retain(|member| member["name"] != name);
        });
        let mut value: Value = serde_json::from_str(&without).unwrap();
        value.pointer_mut(place).unwrap()[name] = kept;
        assert_eq!(code(&value.to_string()), "unsigned_property", "{owner}.{name}");
    }
}

#[test]
fn a_signature_made_under_another_primary_type_is_refused() {
    let text = signed(|value| {
        value["proof"]["eip712Domain"]["primaryType"] = json!("Permit");
        let document = types(value).as_object_mut().unwrap().remove("Document").unwrap();
        types(value)["Permit"] = document;
    });
    assert_eq!(code(&text), "invalid_typed_data");
}

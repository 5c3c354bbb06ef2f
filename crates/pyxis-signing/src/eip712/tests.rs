use pyxis_core::hex;
use serde_json::{Value, json};

use super::*;

fn mail() -> Value {
    serde_json::from_str(include_str!("../../data/mail.json")).unwrap()
}

fn digest(data: &Value) -> Result<String, Invalid> {
    read(data.to_string().as_bytes()).map(|typed| hex::encode(&typed.digest))
}

/// The standard's example.
#[test]
fn the_mail_of_the_standard_has_its_digest() {
    let expected = "be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2";
    assert_eq!(digest(&mail()).unwrap(), expected);
    let mut without = mail();
    without["types"].as_object_mut().unwrap().remove("EIP712Domain");
    assert_eq!(digest(&without).unwrap(), expected);
}

#[test]
fn every_value_is_shown_with_its_place_and_type() {
    let shown = read(mail().to_string().as_bytes()).unwrap().shown;
    assert_eq!(shown.primary_type, "Mail");
    let lines: Vec<_> =
        shown.message.iter().map(|f| format!("{} {} {}", f.path, f.type_name, f.value)).collect();
    assert_eq!(lines[2], "to.name string Bob");
    assert_eq!(lines.len(), 5);
    assert_eq!(shown.domain[2].value, "1");
}

#[test]
fn what_would_not_be_signed_is_refused() {
    let mut extra = mail();
    extra["message"]["amount"] = json!(1);
    assert_eq!(digest(&extra), Err(Invalid::Unsigned("amount".to_owned())));
    let mut beside = mail();
    beside["note"] = json!("trust me");
    assert_eq!(digest(&beside), Err(Invalid::Form));
    let mut missing = mail();
    missing["message"].as_object_mut().unwrap().remove("contents");
    assert_eq!(digest(&missing), Err(Invalid::Missing("contents".to_owned())));
}

fn one(kind: &str, value: &Value) -> Result<String, Invalid> {
    digest(&json!({
        "types": {"T": [{"name": "v", "type": kind}]},
        "primaryType": "T", "domain": {"name": "d"}, "message": {"v": value},
    }))
}

#[test]
fn integers_read_in_three_spellings_within_their_range() {
    assert_eq!(one("uint256", &json!(255)).unwrap(), one("uint256", &json!("0xff")).unwrap());
    assert_eq!(one("uint256", &json!(255)).unwrap(), one("uint256", &json!("255")).unwrap());
    assert_eq!(one("int16", &json!(-2)).unwrap(), one("int16", &json!("-2")).unwrap());
    let largest = format!("0x{}", "f".repeat(64));
    assert!(one("uint256", &json!(largest)).is_ok() && one("int256", &json!(largest)).is_err());
    for (kind, value, fits) in [
        ("uint8", json!(255), true),
        ("uint8", json!(256), false),
        ("uint8", json!(-1), false),
        ("int8", json!(127), true),
        ("int8", json!(128), false),
        ("int8", json!(-128), true),
        ("int8", json!(-129), false),
        ("uint256", json!(1.5), false),
        ("uint256", json!(""), false),
        ("uint256", json!("1e3"), false),
        ("uint256", json!(format!("1{}", "0".repeat(90))), false),
    ] {
        assert_eq!(one(kind, &value).is_ok(), fits, "{kind} {value}");
    }
}

/// Digest of a message with one integer, written as given.
fn spelled(kind: &str, spelling: &str) -> Result<String, Invalid> {
    let data = format!(
        r#"{{"types":{{"T":[{{"name":"v","type":"{kind}"}}]}},"primaryType":"T","domain":{{"name":"d"}},"message":{{"v":{spelling}}}}}"#
    );
    read(data.as_bytes()).map(|typed| hex::encode(&typed.digest))
}

#[test]
fn a_large_integer_is_the_same_as_number_and_as_text() {
    let largest = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    let beyond = "115792089237316195423570985008687907853269984665640564039457584007913129639936";
    let half = "57896044618658097711785492504343953926634992332820282019728792003956564819968";
    for (kind, decimal, hexadecimal) in [
        ("uint256", largest, Some(format!("0x{}", "f".repeat(64)))),
        ("uint256", "18446744073709551616", Some("0X10000000000000000".to_owned())),
        ("uint256", "9007199254740993", Some("0x20000000000001".to_owned())),
        ("uint72", "4722366482869645213695", Some(format!("0x{}", "F".repeat(18)))),
        ("int256", &format!("-{half}"), None),
        ("int128", "-170141183460469231731687303715884105728", None),
    ] {
        let number = spelled(kind, decimal).unwrap();
        assert_eq!(spelled(kind, &format!("\"{decimal}\"")).unwrap(), number, "{kind} {decimal}");
        if let Some(hexadecimal) = hexadecimal {
            assert_eq!(spelled(kind, &format!("\"{hexadecimal}\"")).unwrap(), number, "{kind} {decimal}");
        }
    }
    assert_ne!(spelled("uint256", "9007199254740993"), spelled("uint256", "9007199254740992"));
    for (kind, beyond) in [("uint256", beyond), ("int256", half), ("uint64", "18446744073709551616")] {
        for spelling in [beyond.to_owned(), format!("\"{beyond}\"")] {
            assert!(spelled(kind, &spelling).is_err(), "{kind} {spelling}");
        }
    }
    for spelling in ["1.0", "1e3", "1E77", "\"1.0\"", "\" 1\"", "\"0x\"", "\"+1\"", "\"1_0\"", "null", "true"]
    {
        assert!(spelled("uint256", spelling).is_err(), "{spelling}");
    }
}

#[test]
fn a_domain_that_differs_from_its_type_says_which_member() {
    let full = json!({
        "name": "Ether Mail", "version": "1", "chainId": 1, "salt": format!("0x{}", "00".repeat(32)),
        "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
    });
    let members = [
        ("name", "string"),
        ("version", "string"),
        ("chainId", "uint256"),
        ("verifyingContract", "address"),
        ("salt", "bytes32"),
    ];
    let types = members.map(|(name, kind)| json!({"name": name, "type": kind}));
    let with = |domain: &Value, types: &[Value]| {
        digest(&json!({
            "types": {"EIP712Domain": types, "T": []}, "primaryType": "T", "domain": domain, "message": {},
        }))
    };
    assert!(with(&full, &types).is_ok());
    for (index, (name, _)) in members.into_iter().enumerate() {
        let place = format!("domain.{name}");
        let mut domain = full.clone();
        domain[name] = json!({});
        assert!(with(&domain, &types).unwrap_err().to_string().starts_with(&format!("{place} must be ")));
        domain.as_object_mut().unwrap().remove(name);
        assert_eq!(with(&domain, &types), Err(Invalid::Missing(place.clone())));
        let mut types = types.to_vec();
        types.remove(index);
        assert_eq!(with(&full, &types), Err(Invalid::Unsigned(place)));
    }
}

#[test]
fn a_name_that_stands_twice_is_refused() {
    let twice = mail().to_string().replacen("\"contents\":", "\"contents\":\"x\",\"contents\":", 1);
    assert_eq!(read(twice.as_bytes()).unwrap_err(), Invalid::Twice("contents".to_owned()));
}

#[test]
fn other_values_must_be_what_their_type_says() {
    for (kind, value) in [
        ("bool", json!("true")),
        ("address", json!("0x00")),
        ("bytes4", json!("0x000000")),
        ("bytes", json!("abc")),
        ("string", json!(1)),
        ("string[2]", json!(["a"])),
        ("uint", json!(1)),
        ("uint7", json!(1)),
        ("bytes33", json!("0x")),
        ("Unknown", json!({})),
    ] {
        assert!(one(kind, &value).is_err(), "{kind}");
    }
}

#[test]
fn types_may_refer_to_themselves() {
    let data = json!({
        "types": {"Node": [{"name": "id", "type": "uint8"}, {"name": "children", "type": "Node[]"}]},
        "primaryType": "Node", "domain": {},
        "message": {"id": 1, "children": [{"id": 2, "children": []}]},
    });
    assert!(digest(&data).is_ok());
}

#[test]
fn a_type_is_written_with_those_that_it_refers_to() {
    let data = mail();
    let data = json::parse(data.to_string().as_bytes()).unwrap();
    let types = Types::parse(data.member("types").and_then(TypedValue::object).unwrap(), MAX_TYPES).unwrap();
    let mail = types.index("Mail").unwrap();
    let text = types.encode_type(mail);
    assert_eq!(text, "Mail(Person from,Person to,string contents)Person(string name,address wallet)");
    assert_eq!(
        hex::encode(&abi_words::text(&text)),
        "a0cedeb2dc280ba39b857546d74f5549c3a1d7bdc2dd96bf881f76108e23dac2"
    );
}

#[test]
fn a_place_is_told_with_its_items() {
    let data = |value: Value| {
        digest(&json!({
            "types": {"T": [{"name": "list", "type": "N[]"}], "N": [{"name": "id", "type": "uint8"}]},
            "primaryType": "T", "domain": {}, "message": {"list": value},
        }))
    };
    assert!(data(json!([{"id": 1}])).is_ok());
    assert_eq!(data(json!([{"id": 1}, {}])), Err(Invalid::Missing("list[1].id".to_owned())));
    let wrong = data(json!([{"id": 256}])).unwrap_err().to_string();
    assert_eq!(wrong, "list[0].id must be an integer within the range of its type");
    assert_eq!(data(json!([{"id": 1, "x": 2}])), Err(Invalid::Unsigned("list[0].x".to_owned())));
}

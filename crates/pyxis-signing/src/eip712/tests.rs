use pyxis_core::hex;
use serde_json::json;

use super::*;

fn mail() -> Value {
    serde_json::from_str(include_str!("../../data/mail.json")).unwrap()
}

fn digest(data: &Value) -> Result<String, Invalid> {
    read(data.to_string().as_bytes()).map(|typed| hex::encode(&typed.digest))
}

/// The example of the standard.
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
    let types = Types::parse(data["types"].as_object().unwrap(), MAX_TYPES).unwrap();
    let mail = types.index("Mail").unwrap();
    let text = types.encode_type(mail);
    assert_eq!(text, "Mail(Person from,Person to,string contents)Person(string name,address wallet)");
    assert_eq!(
        hex::encode(&words::text(&text)),
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

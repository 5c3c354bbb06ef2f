use pyxis_core::hex;
use pyxis_signing::eip712::DOMAIN;

use super::super::json;
use super::*;

/// The example from the standard.
const MAIL: &str = r#"{
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"}
        ],
        "Person": [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}],
        "Mail": [
            {"name": "from", "type": "Person"},
            {"name": "to", "type": "Person"},
            {"name": "contents", "type": "string"}
        ]
    },
    "primaryType": "Mail",
    "domain": {
        "name": "Ether Mail",
        "version": "1",
        "chainId": 1,
        "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC"
    },
    "message": {
        "from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
        "to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},
        "contents": "Hello, Bob!"
    }
}"#;

fn hash(text: &str) -> Result<AbiWord, Rejection> {
    let data = json::parse(text).unwrap();
    let types = types(data.object("types").unwrap())?;
    let primary = data.text("primaryType").unwrap();
    types.check_use(primary)?;
    let domain = hash_struct(&types, DOMAIN, data.object("domain").unwrap())?;
    Ok(abi_words::signing_hash(domain, hash_struct(&types, primary, data.object("message").unwrap())?))
}

/// Typed data with one member `x` of the given type and value; `more` is added to the types.
fn one(kind: &str, value: &str, more: &str) -> Result<AbiWord, Rejection> {
    hash(&format!(
        r#"{{"types":{{"EIP712Domain":[],"M":[{{"name":"x","type":"{kind}"}}]{more}}},
            "domain":{{}},"primaryType":"M","message":{{"x":{value}}}}}"#
    ))
}

fn code(result: Result<AbiWord, Rejection>) -> &'static str {
    result.map_or_else(|rejection| rejection.code(), |_| "fine")
}

#[test]
fn the_example_of_the_standard_has_its_hashes() {
    let hex = |hash: AbiWord| hex::encode(&hash);
    assert_eq!(hex(hash(MAIL).unwrap()), "be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2");
    let data = json::parse(MAIL).unwrap();
    let types = types(data.object("types").unwrap()).unwrap();
    let domain = hash_struct(&types, DOMAIN, data.object("domain").unwrap());
    assert_eq!(hex(domain.unwrap()), "f2cee375fa42b42143804025fc449deafd50cc031ca257e0b194a650a912090f");
    let message = hash_struct(&types, "Mail", data.object("message").unwrap());
    assert_eq!(hex(message.unwrap()), "c52c0ee5d84264471806290a3f2c4cecfc5490626bf912d01f240d7a274b371e");
}

#[test]
fn data_has_the_members_of_its_types_and_no_others() {
    let extra = MAIL.replace(r#""name": "Bob","#, r#""name": "Bob", "nick": "B","#);
    assert_eq!(hash(&extra).unwrap_err(), Rejection::unsigned("to.nick"));
    let absent = MAIL.replace(r#""name": "Bob","#, "");
    assert_eq!(hash(&absent).unwrap_err(), Rejection::missing("to.name"));
    let other = MAIL.replace("\"Hello, Bob!\"", "null");
    assert_eq!(hash(&other).unwrap_err(), Rejection::form("contents", "a string, as its type says"));
    let extra = MAIL.replace(r#""version": "1","#, r#""version": "1", "salt": "0x00","#);
    assert_eq!(hash(&extra).unwrap_err().code(), "unsigned_property");
}

#[test]
fn every_type_must_be_of_use() {
    assert_eq!(code(one("string", "\"\"", r#","Other":[]"#)), "invalid_typed_data");
    assert_eq!(code(one("EIP712Domain", "{}", "")), "fine");
    let domain =
        MAIL.replace(r#"{"name": "version", "type": "string"}"#, r#"{"name": "version", "type": "Person"}"#);
    assert_eq!(code(hash(&domain)), "invalid_typed_data");
    assert_eq!(
        code(hash(&MAIL.replace(r#""primaryType": "Mail""#, r#""primaryType": "Post""#))),
        "invalid_typed_data"
    );
    assert_eq!(code(hash(&MAIL.replace("EIP712Domain", "Domain"))), "invalid_typed_data");
}

#[test]
fn a_name_cannot_carry_a_piece_of_another_type_string() {
    for name in ["string a,string", "a)B(string b", "", "a b", "a[]", "1a", "\u{e4}", &"a".repeat(65)] {
        let member = format!(
            r#"{{"types":{{"EIP712Domain":[],"M":[{{"name":"{name}","type":"string"}}]}},"domain":{{}},"primaryType":"M","message":{{"{name}":""}}}}"#
        );
        assert_eq!(code(hash(&member)), "invalid_typed_data", "{name}");
        let kind = format!(
            r#"{{"types":{{"EIP712Domain":[],"{name}":[]}},"domain":{{}},"primaryType":"{name}","message":{{}}}}"#
        );
        assert_eq!(code(hash(&kind)), "invalid_typed_data", "{name}");
    }
    for standard in ["string", "uint256", "bytes32", "address"] {
        assert_eq!(code(one("string", "\"\"", &format!(",\"{standard}\":[]"))), "invalid_typed_data");
    }
}

#[test]
fn types_that_are_no_types_are_refused() {
    for kind in [
        "",
        "text",
        "uint",
        "uint7",
        "uint0",
        "uint264",
        "uint08",
        "int+8",
        "bytes0",
        "bytes33",
        "string[",
        "string]",
        "string[0]",
        "string[-1]",
        "string[01]",
        "[]",
        "string[][][][][]",
        "M2",
    ] {
        assert_eq!(code(one(kind, "\"\"", "")), "invalid_typed_data", "{kind}");
    }
    for member in [r#"{"name":"x"}"#, r#"{"name":"x","type":1}"#, r#"{"name":"x","type":"bool","y":1}"#, "1"]
    {
        let data = format!(
            r#"{{"types":{{"EIP712Domain":[],"M":[{member}]}},"domain":{{}},"primaryType":"M","message":{{}}}}"#
        );
        assert_eq!(code(hash(&data)), "invalid_typed_data", "{member}");
    }
    let twice = MAIL.replace(r#""name": "wallet""#, r#""name": "name""#);
    assert_eq!(code(hash(&twice)), "invalid_typed_data");
}

#[test]
fn values_must_fit_their_types() {
    let fine = |kind, value| assert_eq!(code(one(kind, value, "")), "fine", "{kind} {value}");
    let unfit = |kind, value| assert_eq!(code(one(kind, value, "")), "wrong_form", "{kind} {value}");
    for (kind, good, bad) in [
        ("bool", "true", "1"),
        ("uint8", "255", "256"),
        ("uint8", "0", "-1"),
        ("int8", "-128", "-129"),
        ("int8", "127", "128"),
        ("uint256", "9223372036854775807", "1.5"),
        ("uint64", "18446744073709551615", "18446744073709551616"),
        ("uint256", "\"0xfF\"", "\"0x\""),
        ("uint256", "\"12\"", "\"1.5\""),
        ("uint256", "1", "1e3"),
        ("int256", "-9223372036854775808", "\"one\""),
        ("bytes", "\"0x\"", "\"0x0\""),
        ("bytes2", "\"0xaBcD\"", "\"0xabcdef\""),
        ("address", "\"0x0000000000000000000000000000000000000000\"", "\"0x00\""),
        ("string[]", "[]", "[1]"),
        ("string[2]", "[\"a\",\"b\"]", "[\"a\"]"),
        ("uint8[][]", "[[1],[2,3]]", "[1]"),
        ("string", "\"\"", "{}"),
    ] {
        fine(kind, good);
        unfit(kind, bad);
    }
}

#[test]
fn an_integer_is_the_same_as_number_and_as_text() {
    let largest = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    let beyond = "115792089237316195423570985008687907853269984665640564039457584007913129639936";
    for (kind, decimal, hexadecimal) in [
        ("uint8", "255", "0xff"),
        ("uint64", "18446744073709551615", "0xFFFFFFFFFFFFFFFF"),
        ("uint256", "9007199254740993", "0x20000000000001"),
        ("uint256", "18446744073709551616", "0X10000000000000000"),
        ("uint256", largest, &format!("0x{}", "f".repeat(64))),
    ] {
        let number = one(kind, decimal, "").unwrap();
        assert_eq!(one(kind, &format!("\"{decimal}\""), "").unwrap(), number, "{decimal}");
        assert_eq!(one(kind, &format!("\"{hexadecimal}\""), "").unwrap(), number, "{decimal}");
        // Agents' signatures cover the same form.
        let data = format!(
            r#"{{"types":{{"EIP712Domain":[],"M":[{{"name":"x","type":"{kind}"}}]}},"domain":{{}},"primaryType":"M","message":{{"x":{decimal}}}}}"#
        );
        assert_eq!(pyxis_signing::eip712::read(data.as_bytes()).unwrap().digest, number, "{decimal}");
    }
    for spelling in [beyond.to_owned(), format!("\"{beyond}\"")] {
        assert_eq!(code(one("uint256", &spelling, "")), "wrong_form");
    }
}

#[test]
fn types_that_refer_to_themselves_end() {
    let types = r#","N":[{"name":"next","type":"N[]"}]"#;
    assert_eq!(code(one("N", r#"{"next":[{"next":[]}]}"#, types)), "fine");
    assert_eq!(code(one("N", r#"{"next":[{}]}"#, types)), "missing_field");
}

#[test]
fn the_number_of_types_is_bounded() {
    let more = (0..MAX_TYPES).map(|i| format!(",\"T{i}\":[]")).collect::<Vec<_>>().concat();
    assert_eq!(code(one("string", "\"\"", &more)), "too_complex");
}

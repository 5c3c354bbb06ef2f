//! Error messages of real clients, as sent on the wire.

use pyxis_signing::eip712::abi_words::number;
use serde_json::json;

use super::*;

const REASON: &str = "SBT has been revoked";

/// ABI-encodes `Error(string)` as hex with `0x`.
fn encoded(reason: &str) -> String {
    let mut data = vec![0x08, 0xc3, 0x79, 0xa0];
    data.extend_from_slice(&number(32));
    data.extend_from_slice(&number(reason.len() as u64));
    data.extend_from_slice(reason.as_bytes());
    data.resize(4 + 64 + reason.len().next_multiple_of(32), 0);
    format!("0x{}", hex::encode(&data))
}

fn kind_of(error: &Value) -> FailureKind {
    NodeFailure::read(error).kind
}

#[test]
fn a_revert_with_a_reason_is_read_in_the_words_of_every_client() {
    let data = encoded(REASON);
    let reverted = format!("Reverted {data}");
    let vm = "VM Exception while processing transaction:";
    for (client, error) in [
        (
            "geth, erigon, reth",
            json!({"code": 3, "message": format!("execution reverted: {REASON}"), "data": data}),
        ),
        ("geth without data", json!({"code": -32000, "message": format!("execution reverted: {REASON}")})),
        ("besu", json!({"code": -32000, "message": "Execution reverted", "data": data})),
        (
            "besu with the reason",
            json!({"code": 3, "message": format!("Execution reverted ({REASON})"), "data": "0x"}),
        ),
        ("parity", json!({"code": -32015, "message": "VM execution error.", "data": reverted})),
        ("parity, in the message", json!({"code": -32015, "message": reverted})),
        (
            "nethermind",
            json!({"code": -32015, "message": "VM execution error.", "data": format!("revert: {REASON}")}),
        ),
        (
            "nethermind, digits",
            json!({"code": -32015, "message": "VM execution error.", "data": format!("revert: {data}")}),
        ),
        ("nethermind, in the message", json!({"code": -32015, "message": format!("revert: {REASON}")})),
        ("nethermind, newer", json!({"code": -32000, "message": "execution reverted", "data": data})),
        (
            "nethermind, twice",
            json!({"code": 3, "message": format!("execution reverted: revert: {REASON}"), "data": "0x"}),
        ),
        (
            "anvil",
            json!({"code": 3, "message": format!("execution reverted: revert: {REASON}"), "data": data}),
        ),
        (
            "hardhat",
            json!({
                "code": -32603, "message": format!("Error: {vm} reverted with reason string '{REASON}'"),
                "data": {"message": format!("Error: {vm} reverted with reason string '{REASON}'"), "txHash": "0x12", "data": data},
            }),
        ),
        (
            "hardhat, in words",
            json!({"code": -32603, "message": format!("Error: {vm} reverted with reason string '{REASON}'")}),
        ),
        (
            "ganache 2",
            json!({
                "code": -32000, "message": format!("{vm} revert {REASON}"),
                "data": {
                    "0x2f6a6404c1cbb4f8341d75aabea34bdfc7ea0ab100f1de9d22eaa26ddc547914": {
                        "error": "revert", "program_counter": 92, "return": data, "reason": REASON,
                    },
                    "stack": "RuntimeError: …", "name": "RuntimeError",
                },
            }),
        ),
        (
            "ganache 2, named",
            json!({
                "code": -32000, "message": format!("{vm} revert"),
                "data": {"0x2f": {"error": "revert", "return": "0x", "reason": REASON}},
            }),
        ),
        (
            "ganache 7",
            json!({
                "code": -32000, "message": format!("{vm} revert {REASON}"),
                "data": {"hash": null, "programCounter": 92, "result": data, "reason": REASON, "message": "revert"},
            }),
        ),
        ("frontier", json!({"code": -32603, "message": format!("{vm} revert {REASON}"), "data": data})),
        (
            "hedera",
            json!({"code": 3, "message": "[Request ID: 80] execution reverted: CONTRACT_REVERT_EXECUTED", "data": data}),
        ),
        ("tron", json!({"code": -32000, "message": "REVERT opcode executed", "data": data})),
        (
            "a wallet's wrapper",
            json!({
                "code": -32603, "message": "Internal JSON-RPC error.",
                "data": {"originalError": {"code": 3, "message": "execution reverted", "data": data}},
            }),
        ),
        ("digits without 0x", json!({"code": -32000, "message": "revert", "data": &data[2..]})),
        ("a text for an error", json!(format!("execution reverted: {REASON}"))),
        ("a code in text", json!({"code": "3", "message": "execution reverted", "data": data})),
    ] {
        assert_eq!(kind_of(&error), FailureKind::Reverted(Some(REASON.to_owned())), "{client}: {error}");
    }
}

#[test]
fn a_revert_without_a_reason_is_one_too() {
    for error in [
        json!({"code": 3, "message": "execution reverted", "data": "0x"}),
        json!({"code": 3, "message": "execution reverted: revert", "data": "0x"}),
        json!({"code": -32015, "message": "VM execution error.", "data": "revert"}),
        json!({"code": -32015, "message": "VM execution error.", "data": "Reverted 0x"}),
        json!({"code": -32000, "message": "execution reverted", "data": "0xf4f28e99"}),
        json!({"code": 3, "message": ""}),
    ] {
        assert_eq!(kind_of(&error), FailureKind::Reverted(None), "{error}");
    }
    // A reason chosen by the contract remains a revert, whatever it says.
    for reason in ["out of gas", "header not found", "rate limit", "timeout"] {
        let error =
            json!({"code": 3, "message": format!("execution reverted: {reason}"), "data": encoded(reason)});
        assert_eq!(kind_of(&error), FailureKind::Reverted(Some(reason.to_owned())));
    }
}

#[test]
fn a_failure_of_the_node_is_never_a_revert() {
    for (wanted, code, message, data) in [
        (FailureKind::Halted, -32000, "out of gas", Value::Null),
        (FailureKind::Halted, -32015, "VM execution error.", json!("Out of gas")),
        (FailureKind::Halted, -32015, "VM execution error.", json!("OutOfGas")),
        (FailureKind::Halted, -32003, "out of gas: gas required exceeds allowance: 50000000", Value::Null),
        (FailureKind::Halted, -32000, "Block gas limit exceeded", Value::Null),
        (FailureKind::Halted, 3, "out of gas", Value::Null),
        (FailureKind::Halted, -32015, "VM execution error.", json!("Bad instruction fe")),
        (
            FailureKind::Halted,
            -32000,
            "Transaction processing could not be completed due to an exception: INSUFFICIENT_GAS",
            Value::Null,
        ),
        (FailureKind::Time, -32000, "execution aborted (timeout = 5s)", Value::Null),
        (FailureKind::Time, -32002, "request timed out", Value::Null),
        (FailureKind::Time, -32000, "execution timeout", Value::Null),
        (FailureKind::Time, -32003, "response too large", Value::Null),
        (FailureKind::Behind, -32000, "header not found", Value::Null),
        (
            FailureKind::Behind,
            -32000,
            "missing trie node 5b1c (path ) state 0x5b1c is not available",
            Value::Null,
        ),
        (FailureKind::Behind, -32001, "Unknown block number", Value::Null),
        (FailureKind::Behind, -32001, "block not found: 0x7", Value::Null),
        (FailureKind::Behind, -32000, "block 0x7 not found", Value::Null),
        (FailureKind::Behind, -32000, "World state unavailable", Value::Null),
        (FailureKind::Behind, -32000, "required historical state unavailable (reexec=128)", Value::Null),
        (
            FailureKind::Behind,
            -32602,
            "BlockOutOfRangeError: block height is 5 but requested was 7",
            Value::Null,
        ),
        (FailureKind::Behind, -32000, "Received invalid block tag 7. Latest block number is 5", Value::Null),
        (FailureKind::Behind, -32000, "cannot query unfinalized data", Value::Null),
        (FailureKind::Busy, -32005, "daily request count exceeded, request rate limited", Value::Null),
        (FailureKind::Busy, -32005, "limit exceeded", Value::Null),
        (FailureKind::Busy, 429, "Your app has exceeded its compute units per second capacity", Value::Null),
        (FailureKind::Refused, -32601, "the method eth_call does not exist/is not available", Value::Null),
        (FailureKind::Halted, -32000, "invalid opcode: INVALID", Value::Null),
        (FailureKind::Refused, -32603, "Internal error", json!({"stack": "at revertState (state.js)"})),
        (FailureKind::Refused, -32015, "VM execution error.", Value::Null),
    ] {
        let error = json!({"code": code, "message": message, "data": data});
        assert_eq!(kind_of(&error), wanted, "{error}");
    }
    for odd in [json!(null), json!(7), json!([]), json!({}), json!({"message": null})] {
        assert_eq!(kind_of(&odd), FailureKind::Refused, "{odd}");
    }
}

//! Classifies the error objects of nodes. Clients word the same error differently; this module separates a contract's
//! revert from a failure of the node.

use pyxis_core::hex;
use serde_json::Value;

use crate::abi;

/// Maximum length of a node's message, in bytes.
const MAX_WORDS: usize = 200;
/// Maximum depth at which the data of an error is searched.
const MAX_DEPTH: usize = 5;
/// Revert code of Geth and compatible clients.
const REVERTED: i64 = 3;
/// Code of a missing resource, such as a block that the node lacks.
const NOT_FOUND: i64 = -32001;
/// Rate limit codes.
const LIMITS: [i64; 2] = [-32005, 429];
/// Selector of `Error(string)`, as hex.
const ERROR_SELECTOR: &str = "08c379a0";

/// The call hit the node's gas limit, or an instruction that consumes all gas.
const HALTED: [&str; 21] = [
    "out of gas",
    "outofgas",
    "out_of_gas",
    "insufficient_gas",
    "gas exhausted",
    "not enough gas",
    "too much gas",
    "gas required exceeds",
    "gas limit",
    "gas cap",
    "gas too high",
    "gas uint64",
    "exceeds allowance",
    "invalid opcode",
    "invalidfeopcode",
    "invalid jump",
    "invalidjump",
    "bad instruction",
    "bad jump",
    "stack underflow",
    "stack limit",
];
/// The call, or another one in the same request, took too long or returned too much.
const TIME: [&str; 9] = [
    "execution aborted",
    "execution timeout",
    "timeout",
    "timed out",
    "deadline exceeded",
    "took too long",
    "response too large",
    "response size",
    "result too large",
];
/// The node refuses every request at the moment.
const BUSY: [&str; 6] =
    ["rate limit", "too many requests", "request limit", "request count", "compute units", "throughput"];
/// The node lacks the block or its state.
const BEHIND: [&str; 27] = [
    "header not found",
    "header for hash not found",
    "missing header",
    "block not found",
    "block is not found",
    "unknown block",
    "unknown header",
    "find block",
    "invalid block tag",
    "block height is",
    "block out of range",
    "blockoutofrange",
    "not yet available",
    "after last accepted block",
    "unfinalized data",
    "latest block number",
    "missing trie node",
    "state unavailable",
    "state not available",
    "state is not available",
    "no state available",
    "state not found",
    "historical state",
    "state pruning",
    "pruned",
    "resource not found",
    "syncing",
];

/// Classification of a failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The contract reverted, with its reason if it gave one.
    Reverted(Option<String>),
    /// The call needs more gas than the node allows, or hit an invalid instruction.
    Halted,
    /// The call took longer, or returned more, than the node allows.
    Time,
    /// The node lacks the block or its state.
    Behind,
    /// The node refuses every request at the moment.
    Busy,
    /// Anything else.
    Refused,
}

/// Parsed error object of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeFailure {
    pub(crate) code: i64,
    /// The node's message, truncated.
    pub(crate) message: String,
    pub(crate) kind: FailureKind,
}

impl NodeFailure {
    /// Reads an error object, or any other value found in its place.
    pub(crate) fn read(error: &Value) -> Self {
        let code = match &error["code"] {
            Value::Number(code) => code.as_i64().unwrap_or_default(),
            Value::String(code) => code.trim().parse().unwrap_or_default(),
            _ => 0,
        };
        let message = error.as_str().or_else(|| error["message"].as_str()).unwrap_or_default();
        Self { code, message: message.chars().take(MAX_WORDS).collect(), kind: kind(code, message, error) }
    }
}

fn kind(code: i64, message: &str, error: &Value) -> FailureKind {
    if let Some(reason) = encoded_reason(error, 0) {
        return FailureKind::Reverted(Some(reason));
    }
    let texts = texts(error);
    if let Some(text) = texts.iter().find(|text| revert_word(text).is_some()) {
        let reason = texts.iter().find_map(|text| spoken_reason(text)).or_else(|| named_reason(error, 0));
        tracing::trace!(text, "a revert in words");
        return FailureKind::Reverted(reason);
    }
    let said = texts.join(" ").to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    if LIMITS.contains(&code) || says(&BUSY) {
        FailureKind::Busy
    } else if says(&BEHIND) || missing_block(&message.to_ascii_lowercase()) || code == NOT_FOUND {
        FailureKind::Behind
    } else if says(&HALTED) {
        FailureKind::Halted
    } else if says(&TIME) {
        FailureKind::Time
    } else if code == REVERTED {
        FailureKind::Reverted(None)
    } else {
        FailureKind::Refused
    }
}

/// Matches `block 0x… not found`, `block number 7 is unknown` and the like, with a number in the middle.
fn missing_block(lower: &str) -> bool {
    let rest = lower.split_once("block").map(|(_, rest)| rest);
    rest.filter(|_| !lower.contains("method")).is_some_and(|rest| {
        ["not found", "unknown", "not available", "unavailable", "does not exist", "out of range", "too high"]
            .iter()
            .any(|words| rest.contains(words))
    })
}

/// All texts of an error: the message, the data, and anything nested in the data.
fn texts(error: &Value) -> Vec<&str> {
    fn walk<'e>(value: &'e Value, depth: usize, found: &mut Vec<&'e str>) {
        match value {
            Value::String(text) => found.push(text),
            Value::Object(fields) if depth < MAX_DEPTH => {
                for field in fields.values() {
                    walk(field, depth + 1, found);
                }
            }
            Value::Array(items) if depth < MAX_DEPTH => {
                for item in items {
                    walk(item, depth + 1, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(error, 0, &mut found);
    // The message comes first because it is the clearest.
    let message = error["message"].as_str();
    found.sort_by_key(|text| Some(*text) != message);
    found
}

/// The ABI-encoded revert reason, wherever the client puts it: in `data`, in an object inside it, or in the message.
fn encoded_reason(value: &Value, depth: usize) -> Option<String> {
    match value {
        Value::String(text) => payload(text),
        Value::Object(fields) if depth < MAX_DEPTH => {
            fields.values().find_map(|field| encoded_reason(field, depth + 1))
        }
        Value::Array(items) if depth < MAX_DEPTH => {
            items.iter().find_map(|item| encoded_reason(item, depth + 1))
        }
        _ => None,
    }
}

/// The revert reason in the hex digits of a text, which may have words around them.
fn payload(text: &str) -> Option<String> {
    let start = text.match_indices(ERROR_SELECTOR).map(|(start, _)| start).find(|start| {
        let before = text[..*start].trim_end_matches("0x");
        !before.ends_with(|last: char| last.is_ascii_hexdigit()) || text[..*start].ends_with("0x")
    })?;
    let digits = text[start..].split(|character: char| !character.is_ascii_hexdigit()).next()?;
    abi::revert_reason(&hex::decode(digits)?)
}

/// The text after the word `revert` or `reverted`.
fn revert_word(text: &str) -> Option<&str> {
    const WORD: &str = "revert";
    let lower = text.to_ascii_lowercase();
    lower.match_indices(WORD).find_map(|(start, _)| {
        let begins = !lower[..start].ends_with(|before: char| before.is_ascii_alphanumeric());
        let after = start + WORD.len();
        let after = after + if lower[after..].starts_with("ed") { 2 } else { 0 };
        let ends = !lower[after..].starts_with(|next: char| next.is_ascii_alphanumeric());
        (begins && ends).then(|| &text[after..])
    })
}

/// The revert reason in the node's own wording.
fn spoken_reason(text: &str) -> Option<String> {
    let mut rest = revert_word(text)?;
    // Some clients repeat it: `execution reverted: revert: …`.
    while let Some(inner) = revert_word(rest).filter(|inner| {
        let between = &rest[..rest.len() - inner.len()];
        between.trim_start_matches([':', ' ']).len() <= "reverted".len()
    }) {
        rest = inner;
    }
    let rest = rest.trim();
    let reason = if let Some(quoted) = rest.strip_prefix("with reason string ") {
        quoted.trim().trim_matches(['\'', '"'])
    } else if let Some(said) = rest.strip_prefix(':') {
        said.trim()
    } else if let Some(inner) = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        inner.trim()
    } else {
        rest
    };
    (!reason.is_empty() && !reason.starts_with("0x")).then(|| reason.chars().take(MAX_WORDS).collect())
}

/// The revert reason in a field named `reason`, as Ganache sends it.
fn named_reason(value: &Value, depth: usize) -> Option<String> {
    let fields = value.as_object().filter(|_| depth < MAX_DEPTH)?;
    let own = fields.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty());
    own.map(str::to_owned).or_else(|| fields.values().find_map(|field| named_reason(field, depth + 1)))
}

#[cfg(test)]
mod tests;

//! Indexer responses: `{"status","message","result"}`, with numbers as text.

use std::num::NonZeroU32;

use pyxis_core::address::EvmAddress;
use pyxis_models::activity_reader::is_round;
use pyxis_models::scope::Kind;
use serde::Deserialize;
use serde_json::Value;

/// One transfer of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    /// `None`: no sender, as at genesis.
    pub(super) from: Option<EvmAddress>,
    /// `None`: a contract was created.
    pub(super) to: Option<EvmAddress>,
    pub(super) kind: Kind,
    pub(super) time: Option<NonZeroU32>,
    pub(super) round: Option<bool>,
}

/// The entries of a page; `None` for an entry that failed on the chain.
pub(super) type IndexerPage = Vec<Option<Transfer>>;

/// Meaning of a response.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PageVerdict {
    /// Entries, perhaps none.
    Page(IndexerPage),
    /// Unavailable now: too many requests at once, or the list is incomplete.
    Later(String),
    /// A permanent refusal.
    Never(String),
    /// Not a response of this API.
    Strange,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    status: Value,
    #[serde(default)]
    message: Value,
    result: Value,
}

/// Parses the response for a list in which `kind` moves. A list counts only if the indexer says that it is complete.
pub(super) fn read(body: &[u8], kind: Kind) -> PageVerdict {
    let Ok(Envelope { status, message, result }) = serde_json::from_slice(body) else {
        return PageVerdict::Strange;
    };
    let (status, message) = (text(&status), text(&message));
    let words = message.clone().unwrap_or_default();
    match result {
        Value::Array(lines) if lines.is_empty() && says_nothing(status.as_deref(), &words) => {
            PageVerdict::Page(Vec::new())
        }
        Value::Array(_) if !is_whole(status.as_deref(), &words) => PageVerdict::Later(words),
        Value::Array(lines) => {
            let entries = lines.iter().map(|line| entry(line, kind)).collect::<Option<IndexerPage>>();
            entries.map_or(PageVerdict::Strange, PageVerdict::Page)
        }
        Value::String(said) if says_nothing(status.as_deref(), &said) => PageVerdict::Page(Vec::new()),
        Value::String(said) => refusal(said),
        // Blockscout: an empty list has no result.
        Value::Null if says_nothing(status.as_deref(), &words) => PageVerdict::Page(Vec::new()),
        Value::Null if message.is_some() => refusal(words),
        _ => PageVerdict::Strange,
    }
}

/// A scalar as text; `None` for an absent or empty one.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(u8::from(*value).to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// True for indexers' messages about an empty list: `No transactions found` and the like.
fn says_nothing(status: Option<&str>, words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    let known = matches!(status, None | Some("0" | "1"));
    known && words.starts_with("no ") && words.trim_end_matches('.').ends_with(" found") && !is_notice(&words)
}

/// True if status and message say that the list is complete. A notice may come with any status: for example, that some
/// entries are not processed yet.
fn is_whole(status: Option<&str>, words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    let agreed = words.is_empty() || words.starts_with("ok") || words.starts_with("success");
    agreed && matches!(status, None | Some("1")) && !is_notice(&words)
}

fn is_notice(lower: &str) -> bool {
    ["yet", "process", "partial", "incomplete", "pending", "indexing"].iter().any(|word| lower.contains(word))
}

/// A refusal with a message.
fn refusal(words: String) -> PageVerdict {
    const PASSING: [&str; 12] = [
        "rate limit",
        "try again",
        "timeout",
        "timed out",
        "too many",
        "busy",
        "temporar",
        "unavailable",
        "not yet",
        "processed",
        "indexing",
        "syncing",
    ];
    let lower = words.to_ascii_lowercase();
    // Without a message the cause is unknown.
    if lower == "notok" || PASSING.iter().any(|passing| lower.contains(passing)) {
        PageVerdict::Later(words)
    } else {
        PageVerdict::Never(words)
    }
}

/// An end of a transfer.
enum End {
    Known(EvmAddress),
    /// No one: `null`, empty or absent.
    Nobody,
    /// Words instead of an address, such as `GENESIS`.
    Other,
}

impl End {
    fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Nobody,
            Value::String(text) if matches!(text.trim(), "" | "0x") => Self::Nobody,
            Value::String(text) => text.trim().parse().map_or(Self::Other, Self::Known),
            _ => Self::Other,
        }
    }

    fn address(&self) -> Option<EvmAddress> {
        if let Self::Known(address) = self { Some(*address) } else { None }
    }
}

/// Parses an entry; the outer `None` means that it is not of this API. An entry without sender and recipient is
/// skipped.
fn entry(line: &Value, kind: Kind) -> Option<Option<Transfer>> {
    let fields =
        line.as_object().filter(|fields| fields.contains_key("from") || fields.contains_key("to"))?;
    let field = |name: &str| fields.get(name).unwrap_or(&Value::Null);
    if matches!(text(field("isError")).as_deref(), Some("1" | "true")) {
        return Some(None);
    }
    let (from, to) = (End::from_value(field("from")), End::from_value(field("to")));
    let (from, to) = match (&from, &to) {
        (End::Nobody, End::Nobody) => return Some(None),
        // An odd end counts as no one if the other end is known.
        (End::Known(_), _) | (_, End::Known(_)) => (from.address(), to.address()),
        _ => return None,
    };
    let input = text(field("input")).unwrap_or_default();
    let value = text(field("value")).unwrap_or_default();
    let called = kind == Kind::Native && !input.is_empty() && input != "0x";
    Some(Some(Transfer {
        from,
        to,
        kind: if called { Kind::Call } else { kind },
        time: text(field("timeStamp")).and_then(|time| time.parse().ok()).and_then(NonZeroU32::new),
        // An NFT transfer has no amount; a zero amount counts as none.
        round: if kind == Kind::Nft || value == "0" { None } else { is_round(&value) },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"blockNumber":"1","timeStamp":"1700000000","from":"0x00000000000000000000000000000000000000aa",
        "to":"0x00000000000000000000000000000000000000bb","value":"1500000000000000000","isError":"0","input":"0x"}"#;

    fn one(line: &str, kind: Kind) -> Option<Transfer> {
        match read(format!(r#"{{"status":"1","message":"OK","result":[{line}]}}"#).as_bytes(), kind) {
            PageVerdict::Page(page) => page[0],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_line_is_a_transfer_and_a_call_is_told_by_its_input() {
        let entry = one(LINE, Kind::Native).unwrap();
        assert_eq!(
            (entry.from.unwrap().0[19], entry.to.unwrap().0[19], entry.kind),
            (0xaa, 0xbb, Kind::Native)
        );
        assert_eq!((entry.time.unwrap().get(), entry.round), (1_700_000_000, Some(true)));
        assert_eq!(one(&LINE.replace("\"0x\"", "\"0xa9059cbb\""), Kind::Native).unwrap().kind, Kind::Call);
        assert_eq!(one(LINE, Kind::Erc20).unwrap().kind, Kind::Erc20);
    }

    #[test]
    fn what_failed_on_the_chain_is_left_out_and_a_new_contract_has_no_receiver() {
        assert_eq!(one(&LINE.replace("\"isError\":\"0\"", "\"isError\":\"1\""), Kind::Native), None);
        let to = r#""0x00000000000000000000000000000000000000bb""#;
        for odd in ["\"\"", "null", "\"0x\"", "7", "{}", "\"a new contract\""] {
            assert_eq!(one(&LINE.replace(to, odd), Kind::Native).unwrap().to, None, "{odd}");
        }
        assert_eq!(one(&LINE.replace("\"to\"", "\"receiver\""), Kind::Native).unwrap().to, None, "absent");
    }

    #[test]
    fn one_odd_entry_does_not_cost_the_others() {
        let from = r#""0x00000000000000000000000000000000000000aa""#;
        for odd in ["null", "\"\"", "\"GENESIS\"", "7"] {
            let entry = one(&LINE.replace(from, odd), Kind::Native).unwrap();
            assert_eq!((entry.from, entry.to.unwrap().0[19]), (None, 0xbb), "{odd}");
        }
        assert_eq!(one(r#"{"from":null,"to":null}"#, Kind::Native), None, "between nobody");
        for (field, odd) in [
            (r#""1500000000000000000""#, "null"),
            (r#""1500000000000000000""#, "1500000000000000000"),
            (r#""1500000000000000000""#, "[]"),
            (r#""1700000000""#, "1700000000"),
            (r#""1700000000""#, "null"),
            (r#""0x""#, "null"),
            (r#""isError":"0""#, r#""isError":0"#),
            (r#""isError":"0""#, r#""isError":null"#),
        ] {
            assert!(one(&LINE.replace(field, odd), Kind::Native).is_some(), "{odd}");
        }
        for failed in ["1", "true"] {
            let line = LINE.replace(r#""isError":"0""#, &format!(r#""isError":{failed}"#));
            assert_eq!(one(&line, Kind::Native), None, "{failed}");
        }
    }

    #[test]
    fn half_a_list_is_no_list() {
        let notice = "Some internal transactions within this block range have not yet been processed";
        let own = "Internal transactions for this transaction have not been processed yet";
        for list in ["[]".to_owned(), format!("[{LINE}]")] {
            for status in [r#""0""#, r#""1""#, r#""2""#, "0", "1", "2", "null"] {
                for message in
                    [notice, own, "internal transactions are not yet processed", "OK, partial result"]
                {
                    let text = format!(r#"{{"status":{status},"message":"{message}","result":{list}}}"#);
                    let said = read(text.as_bytes(), Kind::Internal);
                    assert_eq!(said, PageVerdict::Later(message.to_owned()), "{text}");
                }
            }
            for (status, message) in [("2", "OK"), ("0", "OK"), ("0", "NOTOK"), ("1", "NOTOK"), ("2", "")] {
                let text = format!(r#"{{"status":"{status}","message":"{message}","result":{list}}}"#);
                assert_eq!(
                    read(text.as_bytes(), Kind::Internal),
                    PageVerdict::Later(message.to_owned()),
                    "{text}"
                );
            }
        }
        for text in [
            format!(r#"{{"status":"0","message":"No transactions found","result":[{LINE}]}}"#),
            r#"{"status":"2","message":"No internal transactions found","result":[]}"#.to_owned(),
            format!(r#"{{"status":"0","message":"NOTOK","result":"{notice}"}}"#),
            format!(r#"{{"status":"2","message":"{notice}","result":null}}"#),
        ] {
            assert!(matches!(read(text.as_bytes(), Kind::Internal), PageVerdict::Later(_)), "{text}");
        }
        for text in [
            r#"{"status":"1","message":"OK","result":[]}"#,
            r#"{"status":1,"message":"OK","result":[]}"#,
            r#"{"message":"OK","result":[]}"#,
            r#"{"result":[]}"#,
            r#"{"status":"1","message":"OK-Missing/Invalid API Key, rate limit of 1/5sec applied","result":[]}"#,
            r#"{"status":"0","message":"No internal transactions found","result":[]}"#,
            r#"{"status":"0","message":"No token transfers found","result":[]}"#,
            r#"{"status":"0","message":"NOTOK","result":"No transactions found"}"#,
        ] {
            assert_eq!(read(text.as_bytes(), Kind::Internal), PageVerdict::Page(Vec::new()), "{text}");
        }
    }

    #[test]
    fn nothing_is_an_empty_page_and_refusals_are_told_apart() {
        let empty = PageVerdict::Page(Vec::new());
        let of = |text: &str| read(text.as_bytes(), Kind::Native);
        assert_eq!(of(r#"{"status":"0","message":"No transactions found","result":[]}"#), empty);
        assert_eq!(of(r#"{"status":"0","message":"No transactions found","result":null}"#), empty);
        let window = of(r#"{"status":"0","message":"Result window is too large","result":null}"#);
        assert_eq!(
            window,
            PageVerdict::Never("Result window is too large".to_owned()),
            "entries are missing"
        );
        let all = of(r#"{"status":"0","message":"NOTOK","result":null}"#);
        assert_eq!(all, PageVerdict::Later("NOTOK".to_owned()));
        let later = of(r#"{"status":"0","message":"NOTOK","result":"Max rate limit reached"}"#);
        assert_eq!(later, PageVerdict::Later("Max rate limit reached".to_owned()));
        let never = of(r#"{"status":"0","message":"NOTOK","result":"Invalid API Key"}"#);
        assert_eq!(never, PageVerdict::Never("Invalid API Key".to_owned()));
        for strange in ["", "<html>", "[]", r#"{"result":7}"#, r#"{"result":[{"from":"x"}]}"#] {
            assert_eq!(of(strange), PageVerdict::Strange, "{strange}");
        }
    }
}

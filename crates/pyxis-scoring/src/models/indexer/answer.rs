//! What indexers answer: `{"status","message","result"}`, with numbers as text.

use std::num::NonZeroU32;

use pyxis_core::address::EvmAddress;
use pyxis_models::chain::Kind;
use pyxis_models::reading::is_round;
use serde::Deserialize;
use serde_json::Value;

/// One transfer of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) from: EvmAddress,
    /// Nobody: a contract was made.
    pub(super) to: Option<EvmAddress>,
    pub(super) kind: Kind,
    pub(super) time: Option<NonZeroU32>,
    pub(super) round: Option<bool>,
}

/// The entries of a page; what failed on the chain is none.
pub(super) type Page = Vec<Option<Entry>>;

/// What an answer means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Entries, perhaps none.
    Page(Page),
    /// Too much was asked at once.
    Later(String),
    /// A refusal that stays.
    Never(String),
    /// Not of this API.
    Strange,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    message: Option<String>,
    result: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    from: String,
    #[serde(default)]
    to: String,
    #[serde(default)]
    value: String,
    #[serde(default)]
    time_stamp: String,
    #[serde(default)]
    is_error: String,
    #[serde(default)]
    input: String,
}

/// Reads an answer to a list in which `kind` moves.
pub(super) fn read(body: &[u8], kind: Kind) -> Verdict {
    let Ok(Envelope { message, result }) = serde_json::from_slice(body) else { return Verdict::Strange };
    match result {
        Value::Array(lines) => {
            let entries = lines.into_iter().map(|line| entry(line, kind)).collect::<Option<Page>>();
            entries.map_or(Verdict::Strange, Verdict::Page)
        }
        Value::String(words) => refusal(words),
        // Blockscout: no result where there is nothing, or where the window of pages ends.
        Value::Null => match message {
            Some(words) if words.contains("No ") || words.contains("window") => Verdict::Page(Vec::new()),
            Some(words) => refusal(words),
            None => Verdict::Strange,
        },
        _ => Verdict::Strange,
    }
}

fn refusal(words: String) -> Verdict {
    let lower = words.to_ascii_lowercase();
    if lower.contains("rate limit") || lower.contains("try again") || lower.contains("timeout") {
        Verdict::Later(words)
    } else {
        Verdict::Never(words)
    }
}

/// An entry; the outer `None` is not of this API.
fn entry(line: Value, kind: Kind) -> Option<Option<Entry>> {
    let Line { from, to, value, time_stamp, is_error, input } = serde_json::from_value(line).ok()?;
    if is_error == "1" {
        return Some(None);
    }
    let to = if to.is_empty() { None } else { Some(to.parse().ok()?) };
    let called = kind == Kind::Native && !input.is_empty() && input != "0x";
    Some(Some(Entry {
        from: from.parse().ok()?,
        to,
        kind: if called { Kind::Call } else { kind },
        time: time_stamp.parse().ok().and_then(NonZeroU32::new),
        // One of its kind has no amount; nothing is no amount either.
        round: if kind == Kind::Nft || value == "0" { None } else { is_round(&value) },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"blockNumber":"1","timeStamp":"1700000000","from":"0x00000000000000000000000000000000000000aa",
        "to":"0x00000000000000000000000000000000000000bb","value":"1500000000000000000","isError":"0","input":"0x"}"#;

    fn one(line: &str, kind: Kind) -> Option<Entry> {
        match read(format!(r#"{{"status":"1","message":"OK","result":[{line}]}}"#).as_bytes(), kind) {
            Verdict::Page(page) => page[0],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_line_is_a_transfer_and_a_call_is_told_by_its_input() {
        let entry = one(LINE, Kind::Native).unwrap();
        assert_eq!((entry.from.0[19], entry.to.unwrap().0[19], entry.kind), (0xaa, 0xbb, Kind::Native));
        assert_eq!((entry.time.unwrap().get(), entry.round), (1_700_000_000, Some(true)));
        assert_eq!(one(&LINE.replace("\"0x\"", "\"0xa9059cbb\""), Kind::Native).unwrap().kind, Kind::Call);
        assert_eq!(one(LINE, Kind::Erc20).unwrap().kind, Kind::Erc20);
    }

    #[test]
    fn what_failed_on_the_chain_is_left_out_and_a_new_contract_has_no_receiver() {
        assert_eq!(one(&LINE.replace("\"isError\":\"0\"", "\"isError\":\"1\""), Kind::Native), None);
        let made = LINE.replace("0x00000000000000000000000000000000000000bb", "");
        assert_eq!(one(&made, Kind::Native).unwrap().to, None);
    }

    #[test]
    fn nothing_is_an_empty_page_and_refusals_are_told_apart() {
        let empty = Verdict::Page(Vec::new());
        let of = |text: &str| read(text.as_bytes(), Kind::Native);
        assert_eq!(of(r#"{"status":"0","message":"No transactions found","result":[]}"#), empty);
        assert_eq!(of(r#"{"status":"0","message":"No transactions found","result":null}"#), empty);
        assert_eq!(of(r#"{"status":"0","message":"Result window is too large","result":null}"#), empty);
        let later = of(r#"{"status":"0","message":"NOTOK","result":"Max rate limit reached"}"#);
        assert_eq!(later, Verdict::Later("Max rate limit reached".to_owned()));
        let never = of(r#"{"status":"0","message":"NOTOK","result":"Invalid API Key"}"#);
        assert_eq!(never, Verdict::Never("Invalid API Key".to_owned()));
        for strange in ["", "<html>", "[]", r#"{"result":7}"#, r#"{"result":[{"from":"x"}]}"#] {
            assert_eq!(of(strange), Verdict::Strange, "{strange}");
        }
    }
}

//! The columns of an activity file, by the names in our documents, in explorers and in their exports. Names are
//! compared without case, spaces and punctuation.

use std::borrow::Cow;
use std::num::NonZeroU32;

use pyxis_core::address::EvmAddress;

use super::{ActivityRecord, Moved, is_round, time};
use crate::Error;
use crate::graph::AddressProfile;
use crate::scope::{Chain, Kind};

/// Names of each column, the preferred one first.
const FROM: &[&str] = &["from", "fromaddress", "fromaddresshash"];
const TO: &[&str] = &["to", "toaddress", "toaddresshash", "txto"];
const CONTRACT: &[&str] =
    &["contractaddress", "contract", "receiptcontractaddress", "createdcontractaddresshash"];
const CHAIN: &[&str] = &["chain", "network", "blockchain", "chainid"];
const AMOUNT: &[&str] =
    &["amount", "value", "tokenvalue", "quantity", "tokenstransferred", "amountraw", "rawamount"];
/// Without the surrounding words of [`UNITS`].
const TIME: &[&str] = &[
    "time",
    "timestamp",
    "blocktimestamp",
    "blocktime",
    "evtblocktime",
    "callblocktime",
    "blocksignedat",
    "metadatablocktimestamp",
    "transactiontimestamp",
    "transactiontime",
    "txtimestamp",
    "txtime",
    "datetime",
    "blockdatetime",
    "epoch",
    "date",
    "blockdate",
];
/// Words for zone or unit in the name of a time column. A number's size determines its unit. A column with any other
/// zone is unknown.
const UNITS: &[&str] = &["utc", "gmt", "unix", "epoch", "seconds", "milliseconds", "millis", "ms"];
/// Columns that may tell the kind, among other values that do not.
const HINTS: &[&str] = &["type", "tokenstandard", "tokentype", "category"];
/// Values in such columns that do not tell the kind: directions, types of transactions and of traces.
const NEUTRAL: &[&str] = &[
    "in",
    "out",
    "self",
    "create",
    "create2",
    "delegatecall",
    "staticcall",
    "callcode",
    "suicide",
    "selfdestruct",
    "reward",
    "genesis",
    "contractcreation",
    "legacy",
    "accesslist",
    "dynamicfee",
    "eip1559",
    "blob",
    "setcode",
    "0",
    "1",
    "2",
    "3",
    "4",
    "0x0",
    "0x1",
    "0x2",
    "0x3",
    "0x4",
];
/// Columns that only token exports have.
const OF_NFTS: &[&str] = &["tokenid"];
const OF_TOKENS: &[&str] = &[
    "tokenvalue",
    "tokensymbol",
    "tokenname",
    "tokendecimal",
    "tokenaddress",
    "tokencontractaddress",
    "tokenstransferred",
];
const OF_INTERNALS: &[&str] = &["parenttxfrom"];

/// The columns of a file, for its importer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Fields (`from`, `time`, …), each with the column that it is read from.
    pub used: Vec<(&'static str, String)>,
    /// Columns that are not read.
    pub ignored: Vec<String>,
    /// True for transfers, false for first bridgings.
    pub transfers: bool,
}

impl Layout {
    /// True if transfers have no time, so that ages are unknown.
    pub fn lacks_time(&self) -> bool {
        self.transfers && !self.used.iter().any(|(role, _)| *role == "time")
    }
}

/// Positions of the fields in a line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Columns {
    Transfers(Transfers),
    Facts { address: usize, first: usize, volume: Option<usize> },
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Transfers {
    from: usize,
    to: usize,
    /// The contract that a transfer without recipient created.
    contract: Option<usize>,
    chain: Option<usize>,
    kind: KindSource,
    /// The kind of a transfer if no column tells it.
    default: Kind,
    time: Option<usize>,
    amount: Amount,
}

/// Source of a transfer's kind.
#[derive(Clone, Copy, Debug)]
enum KindSource {
    Nowhere,
    /// A column of kinds.
    Exact(usize),
    /// One of [`HINTS`].
    Hint(usize),
}

/// Source of a transfer's amount.
#[derive(Clone, Copy, Debug)]
enum Amount {
    Nowhere,
    At(usize),
    /// In one of two: incoming and outgoing.
    Either(usize, usize),
}

/// A line, by column position.
pub(super) trait Cells {
    fn text(&self, place: usize) -> Result<Cow<'_, str>, String>;
}

/// The column names of a file.
struct Header {
    shown: Vec<String>,
    plain: Vec<String>,
}

impl Header {
    fn find(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.plain.iter().position(|column| column == name))
    }

    fn has(&self, names: &[&str]) -> bool {
        self.find(names).is_some()
    }

    /// The best column of times.
    fn time(&self) -> Option<usize> {
        let rank = |column: &String| TIME.iter().position(|name| *name == stem(column));
        let ranked = self.plain.iter().enumerate().filter_map(|(place, column)| Some((rank(column)?, place)));
        ranked.min().map(|(_, place)| place)
    }

    fn amount(&self) -> Amount {
        let starts = |start: &str| self.plain.iter().position(|column| column.starts_with(start));
        match (self.find(AMOUNT), starts("valuein"), starts("valueout")) {
            (Some(place), ..) => Amount::At(place),
            (None, Some(came), Some(went)) => Amount::Either(came, went),
            (None, ..) => Amount::Nowhere,
        }
    }

    fn kind(&self) -> (KindSource, Kind) {
        let source = match (self.find(&["kind"]), self.find(HINTS)) {
            (Some(place), _) => KindSource::Exact(place),
            (None, Some(place)) => KindSource::Hint(place),
            (None, None) => KindSource::Nowhere,
        };
        let default = if self.has(OF_NFTS) {
            Kind::Nft
        } else if self.has(OF_TOKENS) {
            Kind::Erc20
        } else if self.has(OF_INTERNALS) {
            Kind::Internal
        } else {
            Kind::Native
        };
        (source, default)
    }

    fn layout(&self, read: &[(&'static str, Option<usize>)], transfers: bool) -> Layout {
        let read = read.iter().filter_map(|(role, place)| Some((*role, (*place)?)));
        let read: Vec<(&'static str, usize)> = read.collect();
        let unread = |place: &usize| !read.iter().any(|(_, other)| other == place);
        let names = self.shown.iter().enumerate().filter(|(place, name)| unread(place) && !name.is_empty());
        Layout {
            ignored: names.map(|(_, name)| name.clone()).collect(),
            used: read.iter().map(|(role, place)| (*role, self.shown[*place].clone())).collect(),
            transfers,
        }
    }
}

/// A name without case, spaces and punctuation.
fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The name of a time without its zone and unit.
fn stem(mut name: &str) -> &str {
    while !TIME.contains(&name) {
        let shorter =
            UNITS.iter().find_map(|unit| name.strip_suffix(unit).or_else(|| name.strip_prefix(unit)));
        match shorter {
            Some(shorter) if !shorter.is_empty() => name = shorter,
            _ => break,
        }
    }
    name
}

impl Columns {
    /// Finds the columns by their names.
    pub(super) fn find<'a>(header: impl IntoIterator<Item = &'a str>) -> Result<(Self, Layout), Error> {
        let shown: Vec<String> =
            header.into_iter().map(|name| name.trim_start_matches('\u{feff}').trim().to_owned()).collect();
        let header = Header { plain: shown.iter().map(|name| plain(name)).collect(), shown };
        if let Some((from, to)) = header.find(FROM).zip(header.find(TO)) {
            let (kind, default) = header.kind();
            let transfers = Transfers {
                from,
                to,
                contract: header.find(CONTRACT),
                chain: header.find(CHAIN),
                kind,
                default,
                time: header.time(),
                amount: header.amount(),
            };
            return Ok((Self::Transfers(transfers), header.layout(&transfers.read(), true)));
        }
        let facts = header.find(&["address"]).zip(header.find(&["firstbridgeunix", "firstbridge"]));
        let (address, first) = facts.ok_or_else(|| {
            Error::unreadable(
                "the file of activity",
                "it must name the columns from and to, or address and first_bridge_unix (CSV: in its first line)",
            )
        })?;
        let volume = header.find(&["bridgevolumeusd", "volumeusd"]);
        let read =
            [("address", Some(address)), ("first_bridge_unix", Some(first)), ("bridge_volume_usd", volume)];
        Ok((Self::Facts { address, first, volume }, header.layout(&read, false)))
    }

    /// The same columns at other positions.
    pub(super) fn renumbered(self, mut to: impl FnMut(usize) -> Result<usize, Error>) -> Result<Self, Error> {
        let mut maybe = |place: Option<usize>| place.map(&mut to).transpose();
        Ok(match self {
            Self::Transfers(old) => Self::Transfers(Transfers {
                contract: maybe(old.contract)?,
                chain: maybe(old.chain)?,
                time: maybe(old.time)?,
                from: to(old.from)?,
                to: to(old.to)?,
                kind: match old.kind {
                    KindSource::Nowhere => KindSource::Nowhere,
                    KindSource::Exact(place) => KindSource::Exact(to(place)?),
                    KindSource::Hint(place) => KindSource::Hint(to(place)?),
                },
                amount: match old.amount {
                    Amount::Nowhere => Amount::Nowhere,
                    Amount::At(place) => Amount::At(to(place)?),
                    Amount::Either(came, went) => Amount::Either(to(came)?, to(went)?),
                },
                default: old.default,
            }),
            Self::Facts { address, first, volume } => {
                Self::Facts { volume: maybe(volume)?, address: to(address)?, first: to(first)? }
            }
        })
    }

    /// Parses a line, or tells why it cannot be used.
    pub(super) fn record(&self, line: &impl Cells) -> Result<ActivityRecord, String> {
        match *self {
            Self::Facts { address, first, volume } => {
                let facts = AddressProfile {
                    first_bridge: time::seconds(&line.text(first)?)?.map_or(0, NonZeroU32::get),
                    volume_usd: volume.map_or(Ok(0.0), |place| usd(&line.text(place)?))?,
                };
                Ok(ActivityRecord::Facts(self::address(&line.text(address)?)?, facts))
            }
            Self::Transfers(transfers) => transfers.record(line).map(ActivityRecord::Transfer),
        }
    }
}

impl Transfers {
    /// The fields that are read, with their positions.
    fn read(&self) -> [(&'static str, Option<usize>); 8] {
        let kind = match self.kind {
            KindSource::Nowhere => None,
            KindSource::Exact(place) | KindSource::Hint(place) => Some(place),
        };
        let (amount, other) = match self.amount {
            Amount::Nowhere => (None, None),
            Amount::At(place) => (Some(place), None),
            Amount::Either(came, went) => (Some(came), Some(went)),
        };
        [
            ("from", Some(self.from)),
            ("to", Some(self.to)),
            ("contract", self.contract),
            ("chain", self.chain),
            ("kind", kind),
            ("time", self.time),
            ("amount", amount),
            ("amount", other),
        ]
    }

    fn record(&self, line: &impl Cells) -> Result<Moved, String> {
        let (from, to) = (address(&line.text(self.from)?), self.receiver(line)?);
        let (from, to) = match (from, to) {
            (Ok(from), Ok(to)) => (from, to),
            (Err(from), Err(to)) => return Err(format!("from: {from}; to: {to}")),
            (Err(why), Ok(_)) => return Err(format!("from: {why}")),
            (Ok(_), Err(why)) => return Err(format!("to: {why}")),
        };
        Ok(Moved {
            chain: self.chain.map_or(Ok(Chain::Ethereum), |place| chain(&line.text(place)?))?,
            kind: match self.kind {
                KindSource::Nowhere => self.default,
                KindSource::Exact(place) => kind(&line.text(place)?)?,
                KindSource::Hint(place) => self.hinted(&line.text(place)?)?,
            },
            from,
            to,
            time: self.time.map_or(Ok(None), |place| time::seconds(&line.text(place)?))?,
            round: match self.amount {
                Amount::Nowhere => None,
                Amount::At(place) => is_round(&line.text(place)?),
                Amount::Either(came, went) => {
                    let came = line.text(came)?;
                    let is_nothing = came.bytes().all(|byte| matches!(byte, b'0' | b'.'));
                    if is_nothing { is_round(&line.text(went)?) } else { is_round(&came) }
                }
            },
        })
    }

    /// The recipient, or the created contract.
    fn receiver(&self, line: &impl Cells) -> Result<Result<EvmAddress, String>, String> {
        let to = line.text(self.to)?;
        match self.contract {
            Some(place) if to.is_empty() && !matches!(self.default, Kind::Nft | Kind::Erc20) => {
                Ok(address(&line.text(place)?))
            }
            _ => Ok(address(&to)),
        }
    }

    /// The kind that a hint tells, if any.
    fn hinted(&self, text: &str) -> Result<Kind, String> {
        let word = plain(text);
        match &*word {
            // Explorers' name for transfers by contracts.
            "call" if self.default != Kind::Native => Ok(self.default),
            "external" | "coin" | "cointransfer" => Ok(Kind::Native),
            "bep20" | "trc20" => Ok(Kind::Erc20),
            "contractcall" => Ok(Kind::Call),
            "" => Ok(self.default),
            word if NEUTRAL.contains(&word) => Ok(self.default),
            _ => kind(text),
        }
    }
}

/// An address, including a database's notation for bytes: `\x` and digits.
fn address(text: &str) -> Result<EvmAddress, String> {
    let bytes = text.strip_prefix("\\x").map(|digits| format!("0x{digits}"));
    bytes.as_deref().unwrap_or(text).parse().map_err(|error| format!("{text:?} is {error}"))
}

/// A chain by its name or id.
fn chain(text: &str) -> Result<Chain, String> {
    let by_id = match text {
        "1" => Some(Chain::Ethereum),
        "10" => Some(Chain::Optimism),
        "100" => Some(Chain::Gnosis),
        "137" => Some(Chain::Polygon),
        "324" => Some(Chain::Zksync),
        "8453" => Some(Chain::Base),
        "42161" => Some(Chain::Arbitrum),
        _ => None,
    };
    by_id
        .or_else(|| Chain::from_name(text))
        .or_else(|| Chain::from_name(&text.to_ascii_lowercase()))
        .ok_or_else(|| {
            format!(
                "{text:?} is not a known chain; use {} or their ids",
                names(Chain::ALL, |chain| chain.as_str())
            )
        })
}

/// A kind by its name or by that of a token standard.
fn kind(text: &str) -> Result<Kind, String> {
    let word = plain(text);
    match &*word {
        "erc721" | "erc1155" => Some(Kind::Nft),
        word => Kind::from_name(word),
    }
    .ok_or_else(|| {
        let known = names(Kind::ALL, |kind| kind.as_str());
        format!("{text:?} is not a known kind of transfer; use {known}, erc721 or erc1155")
    })
}

fn names<T>(all: &[T], name: impl Fn(&T) -> &'static str) -> String {
    all.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn usd(text: &str) -> Result<f32, String> {
    let volume: f32 =
        if text.is_empty() { 0.0 } else { text.parse().map_err(|_| format!("{text:?} is not a number"))? };
    if volume.is_finite() { Ok(volume) } else { Err(format!("{text:?} is not a number")) }
}

#[cfg(test)]
mod tests;

//! The verification page: networks, issuers, proofs over time, and a check of one address.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::response::Response;
use pyxis_core::clock::UnixMillis;
use pyxis_core::proof::{ActionId, DEFAULT_ACTION, Kind, Subject};
use pyxis_store::Store;
use pyxis_verify as verify;
use pyxis_verify::checker::{CheckVerdict, Reason};
use pyxis_verify::service::networks::{self, NetworkStatus};
use pyxis_verify::service::proofs::{self, AddressReport};
use pyxis_verify::service::{Result as Served, issuers};
use serde::Deserialize;

use super::list_query::{ListQuery, ListSlot};
use super::table::{By, Table};
use crate::Error;
use crate::chart::{Bucket, Series, StackedBars};
use crate::error::html;
use crate::form::{Page, QueryParams};
use crate::session::Manager;
use crate::text;
use crate::view::Timestamp;
use crate::view::verification::{CheckLine, LatestBlock, NetworkLine, ProofIssuerLine, VerificationPage};

const HERE: &str = "/app/verification";
/// Span of the chart, in days.
const DAYS: i64 = 30;
const DAY: i64 = 24 * 3600 * 1000;
const CLASSES: [&str; 6] = ["chart-1", "chart-2", "chart-3", "chart-4", "chart-5", "chart-6"];

#[derive(Default, Deserialize)]
pub(crate) struct CheckParams {
    #[serde(default)]
    address: String,
    #[serde(default)]
    action_id: String,
}

pub(crate) async fn page(
    Page { state, who, query: CheckParams { address, action_id } }: Page<Manager, CheckParams>,
    QueryParams(asked): QueryParams<ListQuery>,
) -> Result<Response, Error> {
    let verify = state.verify.get().ok_or(Error::NotFound)?;
    let (address, action_id) = (address.trim().to_owned(), action_id.trim().to_owned());
    let asked_action = action_id.clone();
    let action_id = if action_id.is_empty() { DEFAULT_ACTION.to_string() } else { action_id };
    let now = state.gateway.now();
    // Both are queried concurrently, because each asks nodes.
    let ((checked, problem), networks) =
        tokio::join!(checked(verify, &address, &action_id), networks::list(verify));
    let mut issuers = issuer_lines(&verify.store).await?;
    issuers.retain(|line| asked.fits([line.name.as_str(), &line.kinds, &line.issuer]));
    let networks: Vec<_> = networks.into_iter().map(|one| network_line(one, now)).collect();
    let checked: Vec<_> = checked.iter().map(|line| check_line(line, now)).collect();
    let asked = asked.also("address", &address).also("action_id", &asked_action);
    let file = ISSUERS.file(&asked, &issuers).or_else(|| NETWORKS.file(&asked, &networks));
    if let Some(file) = file.or_else(|| CHECKED.file(&asked, &checked)) {
        return Ok(file);
    }
    let (issuers, search) = ISSUERS.page(HERE, &asked, issuers);
    let (networks, network_search) = NETWORKS.page(HERE, &asked, networks);
    let (checked, checked_search) = CHECKED.page(HERE, &asked, checked);
    let base = &state.gateway.config.base_url;
    html(&VerificationPage {
        shell: who.shell(&state).await?,
        address,
        action_id,
        problem,
        checked,
        checked_search,
        networks,
        network_search,
        chart: chart(&verify.store, now).await?,
        search,
        issuers,
        add: "pyxis proofs keygen issuer.key\npyxis proofs issuer add 0x… --kinds all --name 'Our verifier'"
            .to_owned(),
        import: format!(
            "pyxis proofs import proofs.jsonl\n# or one at a time\n\
             curl -X POST {base}/registry/proofs -H 'Content-Type: application/json' -d @proof.json"
        ),
    })
}

const ISSUERS: Table<ProofIssuerLine> = Table {
    name: "proof-issuers",
    place: ListSlot::First,
    columns: &[
        ("name", By::Text(|line| line.name.clone()), ()),
        ("kinds", By::Text(|line| line.kinds.clone()), ()),
        ("key_or_address", By::Text(|line| line.issuer.clone()), ()),
    ],
    usual: "name",
};

const NETWORKS: Table<NetworkLine> = Table {
    name: "networks",
    place: ListSlot::Second,
    columns: &[
        ("network", By::Text(|line| line.name.clone()), ()),
        ("checks", By::Text(|line| line.kinds.clone()), ()),
        ("source", By::Text(|line| line.source.clone()), ()),
        ("newest_block", By::Number(|line| line.head.as_ref().map_or(-1, |head| head.height)), ()),
        ("its_time", By::Time(|line| line.head.as_ref().map(|head| head.at.at)), ()),
        ("problem", By::Text(|line| line.problem.clone()), ()),
    ],
    usual: "",
};

const CHECKED: Table<CheckLine> = Table {
    name: "checks",
    place: ListSlot::Third,
    columns: &[
        ("kind", By::Text(|line| line.kind.to_owned()), ()),
        ("network", By::Text(|line| line.network.clone()), ()),
        ("answer", By::Text(|line| line.word.to_owned()), ()),
        ("why", By::Text(|line| line.why.clone()), ()),
    ],
    usual: "",
};

const NO_ADDRESS: &str = "Enter an address: 0x followed by 40 hex characters (up to 64 on Sui).";
const NO_ACTION_ID: &str =
    "Enter an action id: a positive decimal number below the order of the bn254 scalar field.";

/// The proofs of an address, or the problem with the question.
async fn checked(
    verify: &verify::State,
    address: &str,
    action_id: &str,
) -> (Vec<AddressReport>, Option<String>) {
    match (address.parse::<Subject>(), action_id.parse::<ActionId>()) {
        _ if address.is_empty() => (Vec::new(), None),
        (Ok(subject), Ok(action_id)) => (proofs::check(verify, subject, action_id).await, None),
        (Err(_), _) => (Vec::new(), Some(NO_ADDRESS.to_owned())),
        (_, Err(_)) => (Vec::new(), Some(NO_ACTION_ID.to_owned())),
    }
}

fn check_line(checked: &AddressReport, now: UnixMillis) -> CheckLine {
    let (word, icon, class, why) = match &checked.verdict {
        Ok(CheckVerdict::Valid(until)) => {
            let why = until.map_or_else(
                || "A contract confirms it, without an expiry date.".to_owned(),
                |until| format!("Expires {}.", text::relative(until, now)),
            );
            ("Yes", "check", "green", why)
        }
        Ok(CheckVerdict::Invalid(reason)) => ("No", "cross", "gray", because(*reason).to_owned()),
        Err(error) => ("Unknown", "alert", "red", format!("{error}.")),
    };
    CheckLine { kind: kind_word(checked.kind), network: checked.network.to_string(), word, icon, class, why }
}

pub(super) const fn because(reason: Reason) -> &'static str {
    match reason {
        Reason::None => "No proof registered.",
        Reason::Expired => "The proof has expired.",
        Reason::Revoked => "The proof was revoked.",
        Reason::Rebound => "The person has moved the proof to another address.",
        Reason::OtherAction => "The proof is for another action id.",
        Reason::OtherIssuer => "The proof comes from an issuer that is not trusted.",
        Reason::Blocked => "The address is blocked.",
    }
}

pub(super) const fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::GovId => "Government ID",
        Kind::Epassport => "Electronic passport",
        Kind::Phone => "Phone",
        Kind::Biometrics => "Biometrics",
        Kind::ResidenceUs => "US residence",
        Kind::CleanHands => "Clean hands",
    }
}

fn network_line(standing: NetworkStatus<'_>, now: UnixMillis) -> NetworkLine {
    let kinds: Vec<&str> = standing.kinds.iter().map(|kind| kind_word(*kind)).collect();
    let counted = if standing.clock == "rpc" {
        "block numbers from its RPC nodes"
    } else {
        "block numbers counted by Pyxis"
    };
    let (head, problem) = match standing.head {
        Ok((block, took)) => {
            let at = Timestamp::new(block.at, now);
            (Some(LatestBlock { height: block.height, at, latency: latency(took) }), String::new())
        }
        Err(error) => (None, format!("{error}.")),
    };
    NetworkLine {
        name: standing.network.name.to_string(),
        chain_id: standing.network.chain_id,
        kinds: kinds.join(", "),
        source: format!("{}, {counted}", standing.network.sources().join(" and ")),
        head,
        problem,
    }
}

fn latency(took: Duration) -> String {
    if took < Duration::from_millis(1) { "under 1 ms".to_owned() } else { format!("{} ms", took.as_millis()) }
}

/// Registrations of each kind per day.
async fn chart(store: &Store, now: UnixMillis) -> Served<StackedBars> {
    let today = now.0.div_euclid(DAY);
    let first = today - DAYS + 1;
    let counts = proofs::per_day(store, UnixMillis(first * DAY)).await?;
    let mut buckets: Vec<Bucket> = (first..=today)
        .map(|day| {
            let absolute = text::absolute(UnixMillis(day * DAY));
            let label = absolute.get(..10).unwrap_or(&absolute).to_owned();
            Bucket { label, counts: vec![0; Kind::ALL.len()] }
        })
        .collect();
    let mut total = 0;
    for (kind, day, count) in counts {
        let place = usize::try_from(day - first).ok().and_then(|place| buckets.get_mut(place));
        let series = Kind::ALL.iter().position(|other| *other == kind);
        if let (Some(bucket), Some(series)) = (place, series) {
            let count = u64::try_from(count).unwrap_or(0);
            bucket.counts[series] += count;
            total += count;
        }
    }
    let series = Kind::ALL
        .iter()
        .zip(CLASSES)
        .map(|(kind, class)| Series { name: kind_word(*kind).to_owned(), class });
    let description =
        format!("{} registered in {DAYS} days, by kind and day.", text::count_noun(total, "proof"));
    Ok(StackedBars::new("Proofs in the last 30 days", description, series.collect(), buckets))
}

async fn issuer_lines(store: &Store) -> Served<Vec<ProofIssuerLine>> {
    let mut all: BTreeMap<(String, String), Vec<&'static str>> = BTreeMap::new();
    for row in issuers::list(store).await? {
        all.entry((row.name, row.issuer)).or_default().push(kind_word(row.kind));
    }
    let line = |((name, issuer), kinds): ((String, String), Vec<&str>)| ProofIssuerLine {
        name,
        kinds: kinds.join(", "),
        issuer,
    };
    Ok(all.into_iter().map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_for_a_no_is_told_in_words_of_its_own() {
        let told = [
            (Reason::None, "No proof registered"),
            (Reason::Expired, "has expired"),
            (Reason::Revoked, "was revoked"),
            (Reason::Rebound, "another address"),
            (Reason::OtherAction, "another action"),
            (Reason::OtherIssuer, "issuer that is not trusted"),
            (Reason::Blocked, "is blocked"),
        ];
        for (reason, words) in told {
            let said: Vec<_> = told.iter().filter(|(other, _)| because(*other).contains(words)).collect();
            assert_eq!(said, [&(reason, words)]);
        }
    }
}

//! A population in numbers: how many pass, with which Stamps, and how that changed.

use std::collections::BTreeMap;

use pyxis_core::clock::UnixMillis;
use pyxis_store::{long_work, score_history};

use super::{Population, Result, ScoredAddress};

/// Addresses read at once.
const PAGE: u32 = 5000;
/// Stamps that are counted; names are few, but issuers choose them.
const MOST_STAMPS: usize = 2000;
const DAY: i64 = 86_400_000;

/// A population in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Scored addresses.
    pub addresses: u64,
    /// Those that pass.
    pub passing: u64,
    /// Those whose score is to be computed again.
    pub outdated: u64,
    /// Stamps, the most frequent first.
    pub stamps: Vec<StampShare>,
    /// Answered scores by day, oldest first.
    pub days: Vec<DayRate>,
}

/// A Stamp in a population.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StampShare {
    pub name: String,
    /// Addresses with the Stamp.
    pub addresses: u64,
    /// Those of them that pass.
    pub passing: u64,
    /// Those of them for which it does not count, because another address has it.
    pub deduplicated: u64,
}

/// The end of a day, or the moment of the population on its last day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayRate {
    /// Start of the day, UTC.
    pub day: UnixMillis,
    /// Addresses answered until then.
    pub addresses: u64,
    /// Those of them whose last answer until then passed.
    pub passing: u64,
}

/// Counts a population. Days are those of the history; the last one ends at the moment of the population.
pub async fn summary(population: &Population) -> Result<Summary> {
    long_work(async {
        let (mut counts, mut after) = (Counts::default(), None);
        loop {
            let page = population.page(after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.address);
            for line in &page {
                counts.add(line);
            }
        }
        let Counts { mut found, stamps } = counts;
        found.stamps = stamps.into_values().collect();
        found.stamps.sort_by(|one, other| {
            other.addresses.cmp(&one.addresses).then_with(|| one.name.cmp(&other.name))
        });
        found.days = days(population).await?;
        Ok(found)
    })
    .await
}

#[derive(Default)]
struct Counts {
    found: Summary,
    stamps: BTreeMap<String, StampShare>,
}

impl Counts {
    fn add(&mut self, line: &ScoredAddress) {
        self.found.addresses += 1;
        self.found.passing += u64::from(line.passing);
        self.found.outdated += u64::from(line.outdated);
        for stamp in &line.stamps {
            if self.stamps.len() >= MOST_STAMPS && !self.stamps.contains_key(&stamp.name) {
                continue;
            }
            let share = self.stamps.entry(stamp.name.clone()).or_insert_with(|| StampShare {
                name: stamp.name.clone(),
                addresses: 0,
                passing: 0,
                deduplicated: 0,
            });
            share.addresses += 1;
            share.passing += u64::from(line.passing);
            share.deduplicated += u64::from(stamp.dedup);
        }
    }
}

async fn days(population: &Population) -> Result<Vec<DayRate>> {
    let Population { store, workspace, scorer, at, .. } = population;
    let changes = score_history::changes_by_day(store, *workspace, *scorer, *at).await?;
    let (mut addresses, mut passing) = (0_i64, 0_i64);
    let mut rate = |change: score_history::DayChange| {
        addresses += change.joined;
        passing += change.passing;
        let count = |number: i64| u64::try_from(number).unwrap_or(0);
        DayRate {
            day: UnixMillis(change.day.saturating_mul(DAY)),
            addresses: count(addresses),
            passing: count(passing),
        }
    };
    Ok(changes.into_iter().map(&mut rate).collect())
}

//! `pyxis models score`: many addresses at once.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::entries::BadEntries;
use pyxis_models::activity_reader;
use pyxis_models::bundle::{Bundle, Scores};
use pyxis_models::scope::Model;
use pyxis_scoring::State;
use pyxis_scoring::address::{self, WrongAddress};
use pyxis_scoring::models::{self, ActiveModels};
use pyxis_store::activity;
use serde_json::json;
use tokio::task::JoinSet;

use crate::app::App;
use crate::cli::Score;
use crate::commands::out;

/// Addresses per lookup.
const BATCH: usize = 4096;

/// Concurrent lookups at an indexer; its rate limit bounds the requests.
const AT_ONCE: usize = 16;

/// Summary of a run.
struct Scored {
    addresses: usize,
    without: usize,
    fingerprint: String,
}

pub(super) async fn run(app: &App, as_json: bool, wanted: &Score) -> Result<()> {
    let path = &wanted.out;
    if path == Path::new("-") {
        write(app, wanted, &mut std::io::stdout().lock()).await?;
        return Ok(());
    }
    // A path that is not a regular file, such as a pipe, is written directly.
    let special = fs::metadata(path).is_ok_and(|found| !found.is_file());
    let target = if special { path.clone() } else { temporary_path(path) };
    let context = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(File::create(&target).with_context(context)?);
    let outcome = write(app, wanted, &mut file).await;
    drop(file);
    let scored = match outcome {
        Ok(scored) if special => scored,
        Ok(scored) => {
            fs::rename(&target, path).with_context(context)?;
            scored
        }
        Err(error) => {
            if !special {
                fs::remove_file(&target).with_context(context)?;
            }
            return Err(error);
        }
    };
    let Scored { addresses, without, fingerprint } = scored;
    if as_json {
        out::json(&json!({ "addresses": addresses, "too_little_data": without, "fingerprint": fingerprint }));
    } else {
        let addresses = out::count_noun(addresses, "address");
        out::line(format_args!("{addresses}, {without} of them with too little data"));
    }
    Ok(())
}

/// Temporary path of a file until it is complete.
fn temporary_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

async fn write(app: &App, wanted: &Score, file: &mut dyn Write) -> Result<Scored> {
    let addresses = addresses(&wanted.addresses)?;
    let held = app.scoring.models.current().await?;
    let models: &[Model] = if wanted.all { Model::ALL } else { std::slice::from_ref(&wanted.model) };
    let names: Vec<&str> = models.iter().map(|model| model.as_str()).collect();
    writeln!(file, "address,{}", if wanted.all { names.join(",") } else { "score".to_owned() })?;
    let bar = out::progress_to("scored", addresses.len() as u64);
    let mut without = 0;
    for some in addresses.chunks(BATCH) {
        for (address, scores) in some.iter().zip(scores(app, &held, some, &bar).await?) {
            let found: Vec<Option<f64>> = models.iter().map(|model| scores.get(*model)).collect();
            without += usize::from(found.iter().all(Option::is_none));
            let columns: Vec<String> = found
                .iter()
                .map(|score| score.map_or_else(|| "-1".to_owned(), |score| score.to_string()))
                .collect();
            writeln!(file, "{address},{}", columns.join(","))?;
        }
    }
    file.flush()?;
    bar.finish_and_clear();
    Ok(Scored { addresses: addresses.len(), without, fingerprint: held.fingerprint.clone() })
}

/// The first column of each line that is an address; the first line may name the column.
pub(super) fn addresses(path: &Path) -> Result<Vec<EvmAddress>> {
    let source = activity_reader::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let (mut addresses, mut bad) = (Vec::new(), BadEntries::default());
    for (index, line) in BufReader::new(source).lines().enumerate() {
        let line = line?;
        let text = line.split(',').next().unwrap_or_default().trim_start_matches('\u{feff}').trim();
        let text = text.trim_matches('"');
        match address::read(text) {
            Ok(address) => addresses.push(address),
            Err(WrongAddress::Form(_)) if text.is_empty() || index == 0 => {}
            Err(error) => bad.add(index + 1, text, error),
        }
    }
    bad.or(addresses).map_err(|bad| anyhow::anyhow!("{}: invalid addresses, by line: {bad}", path.display()))
}

/// The scores of each address, in order; computed on all cores.
async fn scores(
    app: &App,
    held: &Arc<ActiveModels>,
    addresses: &[EvmAddress],
    bar: &ProgressBar,
) -> Result<Vec<Scores>> {
    if app.scoring.activity().is_some() {
        return score_with_indexer(app, held, addresses, bar).await;
    }
    let mut rows: Vec<_> = activity::wallets(&app.store, addresses).await?;
    rows.sort_unstable_by_key(|row| row.address);
    let (held, addresses) = (Arc::clone(held), addresses.to_vec());
    let count = addresses.len() as u64;
    let found = tokio::task::spawn_blocking(move || parallel(&held.bundle, &addresses, &rows)).await?;
    bar.inc(count);
    found
}

/// The same with activity from an indexer, some addresses at a time. One that cannot be scored fails the whole run.
async fn score_with_indexer(
    app: &App,
    held: &Arc<ActiveModels>,
    addresses: &[EvmAddress],
    bar: &ProgressBar,
) -> Result<Vec<Scores>> {
    let mut all = vec![Scores::default(); addresses.len()];
    let mut next = addresses.iter().copied().enumerate();
    let mut asking = JoinSet::new();
    loop {
        for (place, address) in next.by_ref().take(AT_ONCE - asking.len()) {
            let (state, held) = (app.scoring.clone(), Arc::clone(held));
            asking.spawn(async move { (place, address, score_address(&state, &held, address).await) });
        }
        let Some(done) = asking.join_next().await else { return Ok(all) };
        let (place, address, scores) = done?;
        all[place] = scores.with_context(|| format!("cannot score {address}"))?;
        bar.inc(1);
    }
}

async fn score_address(state: &State, held: &ActiveModels, address: EvmAddress) -> Result<Scores> {
    let Some(source) = state.activity() else { return Ok(Scores::default()) };
    let found = source.fetch_features(address, SystemClock.now()).await?;
    Ok(found.map(|found| held.bundle.scores(&found)).transpose()?.unwrap_or_default())
}

fn parallel(bundle: &Bundle, addresses: &[EvmAddress], rows: &[activity::WalletRow]) -> Result<Vec<Scores>> {
    let one = |address: &EvmAddress| {
        let row = rows.binary_search_by_key(address, |row| row.address).ok().map(|place| &rows[place]);
        let found = row.map(|row| models::read(row.address, &row.features)).transpose()?;
        Ok(found.map(|found| bundle.scores(&found)).transpose()?.unwrap_or_default())
    };
    models::parallel(addresses, one).into_iter().collect()
}

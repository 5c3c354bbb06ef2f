//! `pyxis models score`: many addresses at once.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_models::bundle::{Bundle, Scores};
use pyxis_models::chain::Model;
use pyxis_models::reading;
use pyxis_scoring::models::{self, Held};
use pyxis_store::activity;
use serde_json::json;

use crate::app::App;
use crate::cli::Score;
use crate::commands::out;

/// Addresses that are looked up together.
const TOGETHER: usize = 4096;

pub(super) async fn run(app: &App, as_json: bool, wanted: &Score) -> Result<()> {
    let addresses = addresses(&wanted.addresses)?;
    let held = app.scoring.models.current().await?;
    let models: &[Model] = if wanted.all { Model::ALL } else { std::slice::from_ref(&wanted.model) };
    let mut file: Box<dyn Write> = if wanted.out == Path::new("-") {
        Box::new(std::io::stdout().lock())
    } else {
        let path = &wanted.out;
        Box::new(BufWriter::new(
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?,
        ))
    };
    let names: Vec<&str> = models.iter().map(|model| model.as_str()).collect();
    writeln!(file, "address,{}", if wanted.all { names.join(",") } else { "score".to_owned() })?;
    let bar = out::progress_to("scored", addresses.len() as u64);
    let (mut scored, mut without) = (0, 0);
    for some in addresses.chunks(TOGETHER) {
        for (address, scores) in some.iter().zip(scores(app, &held, some).await?) {
            let found: Vec<Option<f64>> = models.iter().map(|model| scores.of(*model)).collect();
            without += usize::from(found.iter().all(Option::is_none));
            let columns: Vec<String> = found
                .iter()
                .map(|score| score.map_or_else(|| "-1".to_owned(), |score| score.to_string()))
                .collect();
            writeln!(file, "{address},{}", columns.join(","))?;
        }
        scored += some.len();
        bar.set_position(scored as u64);
    }
    file.flush()?;
    bar.finish_and_clear();
    if wanted.out == Path::new("-") {
        return Ok(());
    }
    if as_json {
        out::json(
            &json!({ "addresses": scored, "too_little_data": without, "fingerprint": held.fingerprint }),
        );
    } else {
        out::line(format_args!("{scored} addresses, {without} of them with too little data"));
    }
    Ok(())
}

/// The first column of each line that is an address; the first line may name the column.
pub(super) fn addresses(path: &Path) -> Result<Vec<EvmAddress>> {
    let source = reading::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut addresses = Vec::new();
    for (index, line) in BufReader::new(source).lines().enumerate() {
        let line = line?;
        let text = line.split(',').next().unwrap_or_default().trim().trim_matches('"');
        match text.parse() {
            Ok(address) => addresses.push(address),
            Err(_) if text.is_empty() || index == 0 => {}
            Err(error) => anyhow::bail!("{}, line {}: {text:?} is {error}", path.display(), index + 1),
        }
    }
    Ok(addresses)
}

/// What the models say of each, in order; computed on all cores.
async fn scores(app: &App, held: &std::sync::Arc<Held>, addresses: &[EvmAddress]) -> Result<Vec<Scores>> {
    if let Some(source) = app.scoring.activity() {
        let mut all = Vec::with_capacity(addresses.len());
        for address in addresses {
            let found = source.look(*address, SystemClock.now()).await?;
            all.push(found.map(|found| held.bundle.scores(&found)).transpose()?.unwrap_or_default());
        }
        return Ok(all);
    }
    let mut rows: Vec<_> = activity::wallets(&app.store, addresses).await?;
    rows.sort_unstable_by_key(|row| row.address);
    let (held, addresses) = (std::sync::Arc::clone(held), addresses.to_vec());
    tokio::task::spawn_blocking(move || parallel(&held.bundle, &addresses, &rows)).await?
}

fn parallel(bundle: &Bundle, addresses: &[EvmAddress], rows: &[activity::WalletRow]) -> Result<Vec<Scores>> {
    let one = |address: &EvmAddress| {
        let row = rows.binary_search_by_key(address, |row| row.address).ok().map(|place| &rows[place]);
        let found = row.map(|row| models::read(row.address, &row.features)).transpose()?;
        Ok(found.map(|found| bundle.scores(&found)).transpose()?.unwrap_or_default())
    };
    models::parallel(addresses, one).into_iter().collect()
}

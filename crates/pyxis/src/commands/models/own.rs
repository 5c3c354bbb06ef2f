//! The user's own models: `pyxis models add`, `remove` and `features`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_models::bundle::Bundle;
use pyxis_models::calibration::Curve;
use pyxis_models::custom::{self, Custom, ModelUse};
use pyxis_models::features;
use pyxis_models::peers::PeerIndex;
use pyxis_models::scope::Model;
use pyxis_models::{MOST_CUSTOM_BYTES, dataset};
use pyxis_store::{activity, models};
use serde_json::json;

use super::{data, quality, score};
use crate::app::App;
use crate::cli::{Add, FeaturesOf};
use crate::commands::out;

/// Addresses per lookup.
const BATCH: usize = 4096;

/// Puts models in force that `change` derives from the current ones. A concurrent change is never lost. Returns their
/// revision.
pub(super) async fn install(app: &App, change: impl Fn(&Bundle) -> Bundle) -> Result<i64> {
    loop {
        let held = app.scoring.models.current().await?;
        let bundle = change(&held.bundle);
        let (fingerprint, bytes) = (bundle.fingerprint(), bundle.to_bytes());
        let now = SystemClock.now();
        if let Some(revision) = models::install(&app.store, held.revision, &fingerprint, bytes, now).await? {
            return Ok(revision);
        }
    }
}

pub(super) async fn add(app: &App, as_json: bool, wanted: &Add) -> Result<()> {
    let path = &wanted.file;
    let context = || format!("cannot use {}", path.display());
    let expected = features::digest(wanted.model);
    if wanted.features.as_ref().is_some_and(|named| !named.eq_ignore_ascii_case(&expected)) {
        bail!(
            "the features of {} are now {expected}; train again on the output of `pyxis models features`",
            wanted.model
        );
    }
    let size = fs::metadata(path).with_context(context)?.len();
    if size > MOST_CUSTOM_BYTES {
        bail!("{} has {size} bytes; the limit is {MOST_CUSTOM_BYTES}: train a smaller model", path.display());
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let how = ModelUse {
        model: wanted.model,
        name: wanted.name.clone().or(stem).unwrap_or_else(|| "model".to_owned()),
        description: wanted.description.clone(),
        output: wanted.output.clone(),
        human: wanted.human,
        unknown: wanted.unknown,
        calibration: wanted.calibration.unwrap_or(Curve::PLAIN),
        weight: wanted.weight,
        added_at: SystemClock.now().to_rfc3339(),
    };
    let mut custom = Custom::new(&fs::read(path).with_context(context)?, how).with_context(context)?;
    if let Some(labels) = &wanted.labels {
        let labels = data::labels(labels)?;
        let graph = data::graph(app, &wanted.activity).await?;
        custom = tokio::task::spawn_blocking(move || {
            let rows = dataset::rows(&graph, &PeerIndex::build(&graph), &labels);
            custom.calibrate(&rows).map(|()| custom)
        })
        .await??;
    }
    let revision = install(app, |bundle| {
        let mut bundle = bundle.clone();
        bundle.add(custom.clone());
        bundle
    })
    .await?;
    if as_json {
        out::json(&json!({ "revision": revision, "custom": custom.card }));
        return Ok(());
    }
    print_card(&custom);
    out::line(format_args!("in force as revision {revision}"));
    Ok(())
}

/// Prints a card in words.
pub(super) fn print_card(custom: &Custom) {
    let card = &custom.card;
    out::line(format_args!("custom model {:?} replaces {} since {}", card.name, card.model, card.added_at));
    if let Some(words) = &card.description {
        out::line(format_args!("  {words}"));
    }
    out::line(format_args!("  file {}, written by {}", card.file_sha256, card.producer));
    out::line(format_args!("  {} {}", out::count_noun(card.features, "feature"), card.features_sha256));
    out::line(format_args!(
        "  human: column {} of output {}; {} with {}",
        card.human_column,
        card.output,
        out::count_noun(card.steps, "step"),
        card.operators.join(", ")
    ));
    out::line(format_args!(
        "  calibration: slope {:.4}, offset {:.4}",
        card.calibration.slope, card.calibration.offset
    ));
    if let Some(found) = &card.quality {
        out::table(false, quality::COLUMNS, &[quality::row(&card.name, "labels given", found)]);
    }
}

/// True if the user's own model replaces this one.
pub(super) async fn exists(app: &App, model: Model) -> Result<bool> {
    Ok(app.scoring.models.current().await?.bundle.custom(model).is_some())
}

/// Removes the user's own model; true if there was one.
pub(super) async fn remove(app: &App, model: Model) -> Result<bool> {
    if !exists(app, model).await? {
        return Ok(false);
    }
    install(app, |bundle| {
        let mut bundle = bundle.clone();
        bundle.customs.retain(|custom| custom.model != model);
        bundle
    })
    .await?;
    Ok(true)
}

pub(super) async fn features(app: &App, as_json: bool, wanted: &FeaturesOf) -> Result<()> {
    let model = wanted.model;
    let names = (0..features::feature_count(model)).map(features::feature_name);
    if let Some((addresses, path)) = wanted.addresses.as_ref().zip(wanted.out.as_ref()) {
        return write(app, model, addresses, path, &names.collect::<Vec<_>>()).await;
    }
    let digest = features::digest(model);
    if as_json {
        let features: Vec<_> = names
            .enumerate()
            .map(|(place, name)| json!({ "name": name, "words": features::feature_label(place) }))
            .collect();
        out::json(&json!({ "model": model.as_str(), "sha256": digest, "features": features }));
        return Ok(());
    }
    let rows: Vec<_> = names
        .enumerate()
        .map(|(place, name)| json!({ "position": place, "name": name, "description": features::feature_label(place) }))
        .collect();
    out::table(false, &["position", "name", "description"], &rows);
    out::line(format_args!("features {digest}"));
    Ok(())
}

/// Writes the features of many wallets; those with too little data are left out.
async fn write(app: &App, model: Model, addresses: &Path, path: &Path, names: &[String]) -> Result<()> {
    let addresses = score::addresses(addresses)?;
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut file = BufWriter::new(file);
    writeln!(file, "address,{}", names.join(","))?;
    let mut written = 0_u64;
    for some in addresses.chunks(BATCH) {
        for row in activity::wallets(&app.store, some).await? {
            let found = pyxis_scoring::models::read(row.address, &row.features)?;
            let Some(seen) = custom::model_input(model, &found) else { continue };
            let cell = |number: &f32| if number.is_nan() { String::new() } else { number.to_string() };
            writeln!(file, "{},{}", row.address, seen.iter().map(cell).collect::<Vec<_>>().join(","))?;
            written += 1;
        }
    }
    file.flush()?;
    let wallets = out::count_noun(written, "wallet");
    out::line(format_args!("{wallets} of {}, features {}", addresses.len(), features::digest(model)));
    Ok(())
}

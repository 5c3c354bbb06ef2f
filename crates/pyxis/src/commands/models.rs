//! `pyxis models`.

mod data;
mod groups;
mod own;
mod quality;
mod score;

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_models::bundle::Bundle;
use pyxis_models::training::{self, Options};
use pyxis_scoring::service::clusters::ClusterFormat;
use pyxis_store::models;
use serde_json::{Value, json};

use super::confirm::confirm;
use super::{activity, nothing_to_do, open, out};
use crate::app::App;
use crate::cli::{Evaluate, Global, ModelsCommand, Train};

pub(super) async fn run(global: &Global, command: ModelsCommand) -> Result<ExitCode> {
    let app = open(global).await?;
    match command {
        ModelsCommand::List => list(&app, global.json).await?,
        ModelsCommand::Train(wanted) => {
            train(&app, global.json, &wanted).await?;
            if !wanted.no_install {
                activity::update_derived_data(&app).await?;
            }
        }
        ModelsCommand::Evaluate(wanted) => evaluate(&app, global.json, &wanted).await?,
        ModelsCommand::Score(wanted) => score::run(&app, global.json, &wanted).await?,
        ModelsCommand::Clusters { csv: Some(file), .. } => {
            groups::export(&app, global.json, ClusterFormat::Csv, &file).await?;
        }
        ModelsCommand::Clusters { graphml: Some(file), .. } => {
            groups::export(&app, global.json, ClusterFormat::GraphMl, &file).await?;
        }
        ModelsCommand::Clusters { limit, plots, .. } => {
            groups::run(&app, global.json, limit, plots.as_deref()).await?;
        }
        ModelsCommand::Add(wanted) => {
            own::add(&app, global.json, &wanted).await?;
            activity::update_derived_data(&app).await?;
        }
        ModelsCommand::Remove { model, confirmation } => {
            let model = model.get()?;
            let none = format!("no model of your own replaces {model}");
            if !own::exists(&app, model).await? {
                return nothing_to_do(none);
            }
            confirm(confirmation, &format!("remove the custom model for {model}"))?;
            if !own::remove(&app, model).await? {
                return nothing_to_do(none);
            }
            out::outcome(
                global.json,
                &json!({ "removed": model.as_str() }),
                format_args!("removed the custom model for {model}"),
            );
            activity::update_derived_data(&app).await?;
        }
        ModelsCommand::Features(wanted) => own::features(&app, global.json, &wanted).await?,
        ModelsCommand::Reset { confirmation } => {
            let none = "the built-in models are already in force";
            if app.scoring.models.current().await?.installed().is_none() {
                return nothing_to_do(none);
            }
            confirm(confirmation, "remove trained models and your own")?;
            if !models::uninstall(&app.store, SystemClock.now()).await? {
                return nothing_to_do(none);
            }
            out::outcome(global.json, &json!({ "reset": true }), "the built-in models are in force");
            activity::update_derived_data(&app).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(app: &App, as_json: bool) -> Result<()> {
    let held = app.scoring.models.current().await?;
    let card = &held.bundle.card;
    if as_json {
        out::json(&json!({
            "revision": held.installed(), "fingerprint": held.fingerprint, "card": card,
            "customs": held.bundle.customs.iter().map(|custom| &custom.card).collect::<Vec<_>>(),
        }));
        return Ok(());
    }
    let origin =
        held.installed().map_or_else(|| "built in".to_owned(), |number| format!("revision {number}"));
    out::line(format_args!(
        "{origin}, trained {} with seed {} on {} ({} human) and {}, fingerprint {}",
        card.trained_at,
        card.seed,
        out::count_noun(card.data.labelled, "address"),
        card.data.humans,
        out::count_noun(card.data.transfers, "transfer"),
        held.fingerprint
    ));
    quality::print(card);
    for words in &card.limits {
        out::line(format_args!("! {words}"));
    }
    held.bundle.customs.iter().for_each(own::print_card);
    Ok(())
}

async fn train(app: &App, as_json: bool, wanted: &Train) -> Result<()> {
    let bundle =
        trained(app, &wanted.data.labels, &wanted.data.activity, wanted.data.seed, wanted.data.trees).await?;
    if let Some(path) = &wanted.out {
        fs::write(path, bundle.to_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let fingerprint = bundle.fingerprint();
    let revision = if wanted.no_install {
        None
    } else {
        // The user's own models stay.
        let with_own = |before: &Bundle| Bundle { customs: before.customs.clone(), ..bundle.clone() };
        Some(own::install(app, with_own).await?)
    };
    if as_json {
        out::json(&json!({ "revision": revision, "fingerprint": fingerprint, "card": bundle.card }));
        return Ok(());
    }
    quality::print(&bundle.card);
    out::line(format_args!("fingerprint {fingerprint}"));
    if let Some(revision) = revision {
        out::line(format_args!("in force as revision {revision}"));
    }
    Ok(())
}

/// Trains models now.
async fn trained(
    app: &App,
    labels: &std::path::Path,
    activity: &[std::path::PathBuf],
    seed: u64,
    trees: usize,
) -> Result<Bundle> {
    let labels = data::labels(labels)?;
    let graph = data::graph(app, activity).await?;
    let options = Options {
        seed,
        trees,
        trained_at: SystemClock.now().to_rfc3339(),
        threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
    };
    let bar = out::progress_to("training", 0);
    let shown = bar.clone();
    let bundle = tokio::task::spawn_blocking(move || {
        training::train(&graph, &labels, &options, &mut |done, all| {
            shown.set_length(all as u64);
            shown.set_position(done as u64);
        })
    })
    .await??;
    bar.finish_and_clear();
    Ok(bundle)
}

async fn evaluate(app: &App, as_json: bool, wanted: &Evaluate) -> Result<()> {
    let Some(labels) = &wanted.labels else {
        let held = app.scoring.models.current().await?;
        return print_evaluation(as_json, &held.bundle, wanted);
    };
    if !wanted.as_is {
        let bundle = trained(app, labels, &wanted.activity, wanted.seed, wanted.trees).await?;
        return print_evaluation(as_json, &bundle, wanted);
    }
    let held = app.scoring.models.current().await?;
    let labels = data::labels(labels)?;
    let graph = data::graph(app, &wanted.activity).await?;
    let measured =
        tokio::task::spawn_blocking(move || quality::as_is(&graph, &labels, &held.bundle)).await??;
    for (name, quality) in &measured {
        if let Some(directory) = &wanted.plots {
            quality::plots(directory, name, quality)?;
        }
    }
    let rows: Vec<Value> =
        measured.iter().map(|(name, quality)| quality::row(name, "as is", quality)).collect();
    out::table(as_json, quality::COLUMNS, &rows);
    Ok(())
}

fn print_evaluation(as_json: bool, bundle: &Bundle, wanted: &Evaluate) -> Result<()> {
    if let Some(directory) = &wanted.plots {
        quality::plots_of_card(directory, &bundle.card)?;
    }
    if as_json {
        out::json(&json!({ "fingerprint": bundle.fingerprint(), "card": bundle.card }));
    } else {
        quality::print(&bundle.card);
    }
    Ok(())
}

//! Quality of models, as a table and as plots.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use pyxis_core::address::EvmAddress;
use pyxis_models::bundle::{Bundle, Scores};
use pyxis_models::calibration::sigmoid;
use pyxis_models::card::Card;
use pyxis_models::dataset;
use pyxis_models::graph::Graph;
use pyxis_models::metrics::{self, Quality};
use pyxis_models::peers::PeerIndex;
use pyxis_models::plot;
use pyxis_models::scope::Model;
use serde_json::{Value, json};

use crate::commands::out;

/// Columns of the table.
pub(super) const COLUMNS: &[&str] = &[
    "model",
    "split",
    "scored",
    "unscored",
    "auc",
    "precision_at_80_recall",
    "precision_at_95_recall",
    "calibration_error",
    "brier",
];

/// The table of a card.
pub(super) fn print(card: &Card) {
    let mut rows = Vec::new();
    for (name, split, quality) in of_card(card) {
        rows.push(row(name, &split, quality));
    }
    out::table(false, COLUMNS, &rows);
}

/// Every measurement of a card: model, split, quality.
fn of_card(card: &Card) -> Vec<(&str, String, &Quality)> {
    let mut found = Vec::new();
    for (known, models) in [("", &card.models), ("alone, ", &card.alone)] {
        for model in models {
            let measured = model.measured().into_iter();
            found.extend(
                measured.map(|(how, quality)| (model.name.as_str(), format!("{known}{how}"), quality)),
            );
        }
    }
    found
}

/// A line of the table.
pub(super) fn row(name: &str, split: &str, quality: &Quality) -> Value {
    let precision = |wanted: f64| {
        let found = quality.precision_at_recall.iter().find(|(recall, _)| (recall - wanted).abs() < 1e-9);
        found.map(|(_, precision)| rounded(*precision))
    };
    json!({
        "model": name,
        "split": split,
        "scored": quality.scored,
        "unscored": quality.unscored,
        "auc": rounded(quality.auc),
        "precision_at_80_recall": precision(0.8),
        "precision_at_95_recall": precision(0.95),
        "calibration_error": rounded(quality.calibration_error),
        "brier": rounded(quality.brier),
    })
}

fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

/// Measures models on labels that they have not seen.
pub(super) fn as_is(
    graph: &Graph,
    labels: &[(EvmAddress, bool)],
    bundle: &Bundle,
) -> Result<Vec<(String, Quality)>> {
    let rows = dataset::rows(graph, &PeerIndex::build(graph), labels);
    let mut scores: Vec<Scores> = Vec::with_capacity(rows.len());
    for row in &rows {
        scores.push(row.features.as_ref().map(|found| bundle.scores(found)).transpose()?.unwrap_or_default());
    }
    let of = |model: &Model| {
        let log_odds = scores.iter().map(|scores| match model {
            Model::Aggregate => scores.aggregate,
            model => {
                scores.singles.iter().find(|single| single.model == *model).map(|single| single.log_odds)
            }
        });
        let judged: Vec<(Option<f64>, bool)> =
            log_odds.zip(&rows).map(|(found, row)| (found.map(sigmoid), row.human)).collect();
        metrics::measure(&judged).map(|quality| (model.as_str().to_owned(), quality))
    };
    Ok(Model::ALL.iter().filter_map(of).collect())
}

/// Four plots for each measurement of a card.
pub(super) fn plots_of_card(directory: &Path, card: &Card) -> Result<()> {
    for (name, split, quality) in of_card(card) {
        plots(directory, &format!("{name}-{}", split.replace(", ", "-").replace(' ', "-")), quality)?;
    }
    Ok(())
}

/// Four plots.
pub(super) fn plots(directory: &Path, name: &str, quality: &Quality) -> Result<()> {
    fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let pictures = [
        ("roc", plot::roc(quality)),
        ("precision-recall", plot::precision_recall(quality)),
        ("calibration", plot::calibration(quality)),
        ("scores", plot::histogram(quality)),
    ];
    for (kind, picture) in pictures {
        let path = directory.join(format!("{name}-{kind}.svg"));
        fs::write(&path, picture).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

//! The commands of activity and models.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pyxis_models::calibration::Curve;
use pyxis_models::scope::Model;

use super::confirmation::Confirmation;
use super::names::{ModelLabel, NameArgument, model};

/// `pyxis activity …`
#[derive(Debug, Subcommand)]
pub enum ActivityCommand {
    /// Import wallet activity from CSV (optionally gzipped) or Parquet files. They hold transfers (columns from, to,
    /// chain, kind, time, amount, or the names in exports of block explorers) or first bridgings (`address`,
    /// `first_bridge_unix`, `bridge_volume_usd`). Prints which columns were read. An interrupted import continues where
    /// it stopped. Exit 3 if everything was already imported and scored.
    Import {
        /// Activity files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Only import, with little memory for files of any size; the next import without this option computes the
        /// features.
        #[arg(long)]
        defer: bool,
    },
    /// List imported files.
    List,
    /// Recompute and store the features of every wallet, to repair damaged ones. Not needed after an import: `activity
    /// import` computes what is missing.
    Rebuild,
    /// Remove an imported file. Exit 3 if it is unknown.
    #[command(alias = "delete")]
    Remove {
        /// SHA-256 of the file, as `activity list` prints it.
        source: String,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

/// `pyxis models …`
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the models in force with their quality.
    List,
    /// Train models on labeled addresses and put them in force.
    Train(Train),
    /// Print the quality of models, and write plots. With --labels, measure on those labels, by training again without
    /// parts of them. With --as-is, measure the models in force, which must not have been trained on those labels.
    Evaluate(Evaluate),
    /// Score many addresses, with the same results as the endpoint.
    Score(Score),
    /// List groups of wallets suspected to be one person, with the evidence.
    Clusters {
        /// Maximum number of groups.
        #[arg(long, default_value_t = 50)]
        limit: i64,
        /// Directory for a picture of each group.
        #[arg(long, value_name = "DIR")]
        plots: Option<PathBuf>,
        /// CSV file to write: every member of every group, with the evidence; - is standard output.
        #[arg(long, value_name = "FILE")]
        csv: Option<PathBuf>,
        /// GraphML file to write: members, their transfers and common addresses; - is standard output.
        #[arg(long, value_name = "FILE", conflicts_with = "csv")]
        graphml: Option<PathBuf>,
    },
    /// Install your own model: an ONNX file that replaces one of the models. It is inspected and tested first.
    #[command(alias = "create")]
    Add(Add),
    /// Remove your own model. Exit 3 if there is none.
    #[command(alias = "delete")]
    Remove {
        #[command(flatten)]
        model: NameArgument<ModelLabel>,
        #[command(flatten)]
        confirmation: Confirmation,
    },
    /// Print the features that a model reads, in order, and the SHA-256 that identifies them. With --addresses, write
    /// their features as training data.
    Features(FeaturesOf),
    /// Remove trained models and your own, and use the built-in ones again. Exit 3 if they are already in use.
    Reset {
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

/// `pyxis models add`
#[derive(Debug, Args)]
pub struct Add {
    /// ONNX file: one float input of shape [n, features], and the probability of a human as output.
    pub file: PathBuf,
    /// Model to replace; may be aggregate.
    #[arg(long, value_parser = model)]
    pub model: Model,
    /// Name [default: the name of the file].
    #[arg(long)]
    pub name: Option<String>,
    /// Description for its card.
    #[arg(long)]
    pub description: Option<String>,
    /// SHA-256 of the features that it was trained on, as `models features` prints it; any other value is refused.
    #[arg(long, value_name = "SHA256")]
    pub features: Option<String>,
    /// Output that holds the probability, if the file has several.
    #[arg(long)]
    pub output: Option<String>,
    /// Output column for a human, counted from 0 [default: the one that the file's labels name, or the last].
    #[arg(long, value_name = "COLUMN")]
    pub human: Option<usize>,
    /// Value for unknown features [default: NaN, which the model must support].
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub unknown: Option<f32>,
    /// Calibration of its log odds, as SLOPE,OFFSET.
    #[arg(long, value_parser = calibration, allow_hyphen_values = true, conflicts_with = "labels")]
    pub calibration: Option<Curve>,
    /// Weight in the aggregate [default: the weight of the replaced model].
    #[arg(long, value_parser = weight)]
    pub weight: Option<f64>,
    /// Labeled addresses to calibrate, weigh and measure it on: CSV with the columns address and label. It must not
    /// have been trained on them.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Activity files for the labeled addresses, or a directory of them [default: the imported activity].
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "labels")]
    pub activity: Vec<PathBuf>,
}

/// `pyxis models features`
#[derive(Debug, Args)]
pub struct FeaturesOf {
    /// Model.
    #[arg(long, default_value = "aggregate", value_parser = model)]
    pub model: Model,
    /// File with one address per line, or CSV with addresses in the first column.
    #[arg(long, value_name = "FILE", requires = "out")]
    pub addresses: Option<PathBuf>,
    /// CSV file to write (address, then the features; empty means unknown).
    #[arg(long, value_name = "FILE", requires = "addresses")]
    pub out: Option<PathBuf>,
}

fn calibration(text: &str) -> Result<Curve, String> {
    let numbers = text.split_once(',').and_then(|(slope, offset)| {
        Some((slope.trim().parse::<f64>().ok()?, offset.trim().parse::<f64>().ok()?))
    });
    match numbers {
        Some((slope, offset)) if slope.is_finite() && slope > 0.0 && offset.is_finite() => {
            Ok(Curve { slope, offset })
        }
        _ => Err("must be two numbers, the first above 0, for example 1.2,-0.3".to_owned()),
    }
}

fn weight(text: &str) -> Result<f64, String> {
    let weight = text.parse::<f64>().ok().filter(|weight| weight.is_finite() && *weight > 0.0);
    weight.ok_or_else(|| "must be a number above 0".to_owned())
}

/// `pyxis models train`
#[derive(Debug, Args)]
pub struct Train {
    #[command(flatten)]
    pub data: DataArgs,
    /// File to write the models to as well.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Only write the file, without putting the models in force.
    #[arg(long, requires = "out")]
    pub no_install: bool,
}

/// Training data.
#[derive(Debug, Args)]
pub struct DataArgs {
    /// CSV with the columns address and label (human or sybil).
    #[arg(long, value_name = "FILE")]
    pub labels: PathBuf,
    /// Activity files, or a directory of them [default: the imported activity].
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub activity: Vec<PathBuf>,
    /// Random seed: the same seed and data produce the same models.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Trees per model; more are slower and larger.
    #[arg(long, default_value_t = 250)]
    pub trees: usize,
}

/// `pyxis models evaluate`
#[derive(Debug, Args)]
pub struct Evaluate {
    /// CSV with the columns address and label [default: the measurements on the card of the models in force].
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Activity files, or a directory of them [default: the imported activity].
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "labels")]
    pub activity: Vec<PathBuf>,
    /// Measure the models in force on these labels instead of training again.
    #[arg(long, requires = "labels")]
    pub as_is: bool,
    /// Random seed.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Trees per model.
    #[arg(long, default_value_t = 250)]
    pub trees: usize,
    /// Directory for plots (SVG).
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
}

/// `pyxis models score`
#[derive(Debug, Args)]
pub struct Score {
    /// File with one address per line, or CSV with addresses in the first column.
    #[arg(long, value_name = "FILE")]
    pub addresses: PathBuf,
    /// CSV file to write (address, score); - is standard output.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Model.
    #[arg(long, default_value = "aggregate", value_parser = model)]
    pub model: Model,
    /// Score with every model, one column each.
    #[arg(long, conflicts_with = "model")]
    pub all: bool,
}

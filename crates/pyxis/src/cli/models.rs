//! The commands of activity and models.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pyxis_models::chain::Model;

/// `pyxis activity …`
#[derive(Debug, Subcommand)]
pub enum ActivityCommand {
    /// Take in activity of wallets: CSV files, gzipped or not, of transfers (columns from, to, chain, kind,
    /// time, amount) or of first bridgings (`address`, `first_bridge_unix`, `bridge_volume_usd`). Interrupted, it
    /// goes on where it stopped. Exit 3 if all of it was taken in before.
    Import {
        /// The files.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// List what was taken in.
    List,
    /// Forget a file that was taken in. Exit 3 if it is not known.
    Remove {
        /// Its SHA-256, as `activity list` prints it.
        source: String,
    },
}

/// `pyxis models …`
#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the models in force with their quality.
    List,
    /// Train models on labelled addresses and put them in force.
    Train(Train),
    /// Print how good models are, and write plots. With labels, on those: by training anew without parts
    /// of them, or, with --as-is, of the models in force, which must not have seen them.
    Evaluate(Evaluate),
    /// Score many addresses: the same scores as the endpoint.
    Score(Score),
    /// List groups of wallets that are suspected to be one person, with the evidence.
    Clusters {
        /// Groups to list.
        #[arg(long, default_value_t = 50)]
        limit: i64,
        /// Write a picture of each group into this directory.
        #[arg(long, value_name = "DIR")]
        plots: Option<PathBuf>,
    },
    /// Take trained models away: those that come with the program are in force again. Exit 3 if they are.
    Reset,
}

/// `pyxis models train`
#[derive(Debug, Args)]
pub struct Train {
    #[command(flatten)]
    pub data: Data,
    /// Also write the models into this file.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Only write the file; do not put the models in force.
    #[arg(long, requires = "out")]
    pub no_install: bool,
}

/// What to learn from.
#[derive(Debug, Args)]
pub struct Data {
    /// CSV with the columns address and label (human or sybil).
    #[arg(long, value_name = "FILE")]
    pub labels: PathBuf,
    /// Files of activity, or a directory of them; default: what was taken in.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub activity: Vec<PathBuf>,
    /// Of every random choice: the same seed and data make the same models.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Trees of each model: more are slower and larger.
    #[arg(long, default_value_t = 250)]
    pub trees: usize,
}

/// `pyxis models evaluate`
#[derive(Debug, Args)]
pub struct Evaluate {
    /// CSV with the columns address and label; default: what is noted on the card of the models in force.
    #[arg(long, value_name = "FILE")]
    pub labels: Option<PathBuf>,
    /// Files of activity, or a directory of them; default: what was taken in.
    #[arg(long, value_name = "PATH", num_args = 1.., requires = "labels")]
    pub activity: Vec<PathBuf>,
    /// Measure the models in force on these labels instead of training anew.
    #[arg(long, requires = "labels")]
    pub as_is: bool,
    /// Of every random choice.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Trees of each model.
    #[arg(long, default_value_t = 250)]
    pub trees: usize,
    /// Write plots (SVG) into this directory.
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
}

/// `pyxis models score`
#[derive(Debug, Args)]
pub struct Score {
    /// One address on each line; a CSV file with addresses in its first column will do.
    #[arg(long, value_name = "FILE")]
    pub addresses: PathBuf,
    /// Where to write CSV (address, score); - is standard output.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The model.
    #[arg(long, default_value = "aggregate", value_parser = model)]
    pub model: Model,
    /// Every model, one column each.
    #[arg(long, conflicts_with = "model")]
    pub all: bool,
}

fn model(text: &str) -> Result<Model, String> {
    Model::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Model::ALL.iter().map(|model| model.as_str()).collect();
        format!("must be one of {}", names.join(", "))
    })
}

//! The commands of score jobs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pyxis_core::id::{ScoreJobId, ScorerId};

use super::confirmation::Confirmation;

/// `pyxis score-job …`
#[derive(Debug, Subcommand)]
pub enum ScoreJobCommand {
    /// Add a job for the addresses in a file: CSV, gzipped or not, or Parquet. A server runs it. With --out, wait, and run
    /// it here if no server does.
    #[command(alias = "add")]
    Create(CreateJob),
    /// List jobs, newest first.
    List,
    /// Print a job and its progress.
    Show {
        /// Job id.
        id: ScoreJobId,
    },
    /// Run waiting jobs here until none is left. Exit 3 if there was none.
    Run,
    /// Cancel a job. Its finished rows stay. Exit 3 if it has ended.
    Cancel {
        /// Job id.
        id: ScoreJobId,
    },
    /// Run the failed rows of a job again, and the rows that it did not reach.
    Retry {
        /// Job id.
        id: ScoreJobId,
    },
    /// Write the results of a job to a file.
    Download(Download),
    /// Remove an ended job and its results.
    #[command(alias = "delete")]
    Remove {
        /// Job id.
        id: ScoreJobId,
        #[command(flatten)]
        confirmation: Confirmation,
    },
}

/// `pyxis score-job create`
#[derive(Debug, Args)]
pub struct CreateJob {
    /// File with a column named address, or with addresses in the first column.
    pub file: PathBuf,
    /// Scorer number.
    #[arg(long, value_name = "ID")]
    pub scorer: ScorerId,
    /// Name of the job [default: the name of the file].
    #[arg(long)]
    pub name: Option<String>,
    /// File to write the results to once the job is done; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Format of the results [default: parquet for a name that ends in .parquet, otherwise csv].
    #[arg(long, value_parser = ["csv", "parquet"], requires = "out")]
    pub format: Option<String>,
}

/// `pyxis score-job download`
#[derive(Debug, Args)]
pub struct Download {
    /// Job id.
    pub id: ScoreJobId,
    /// File to write; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Format [default: parquet for a name that ends in .parquet, otherwise csv].
    #[arg(long, value_parser = ["csv", "parquet"])]
    pub format: Option<String>,
    /// Write only the failed rows.
    #[arg(long)]
    pub failed: bool,
}

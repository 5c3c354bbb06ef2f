//! Score jobs.

use askama::Template;

use super::{Choice, Layout, Problems, Timestamp, in_section};

/// `GET /app/score-jobs`; posts to the same path as a multipart form: `csrf`, `scorer`, `name`, `file`.
#[derive(Clone, Debug, Template)]
#[template(path = "score_jobs.html")]
pub struct JobsPage {
    pub shell: Layout,
    /// Scorers to choose from.
    pub scorers: Vec<Choice>,
    /// Name as typed.
    pub name: String,
    pub problems: Problems,
    /// Most rows of a job: `5,000,000`.
    pub most: String,
    /// Days for which an ended job is kept.
    pub days: u64,
    /// Jobs, newest first.
    pub jobs: Vec<JobLine>,
    /// Link to older jobs.
    pub older: Option<String>,
    /// True if these are not the newest ones.
    pub newest: bool,
}

/// One job.
#[derive(Clone, Debug)]
pub struct JobLine {
    pub id: String,
    pub name: String,
    /// Number of the scorer.
    pub scorer: String,
    /// State in a word.
    pub state: &'static str,
    /// True while it waits or runs.
    pub open: bool,
    /// True if it is done.
    pub good: bool,
    /// Number of rows.
    pub total: String,
    /// Finished rows.
    pub done: String,
    /// Finished rows of a hundred.
    pub percent: u64,
    /// Rows with a score.
    pub scored: String,
    /// Rows without one, if there are any.
    pub failed: Option<String>,
    /// True if rows are left that can run again.
    pub can_retry: bool,
    /// Reason that it was given up.
    pub problem: Option<String>,
    /// Name of the person who added it.
    pub by: String,
    pub created: Timestamp,
    pub finished: Option<Timestamp>,
}

/// `GET /app/score-jobs/{id}`; posts to `/cancel`, `/retry` and `/remove` below it.
#[derive(Clone, Debug, Template)]
#[template(path = "score_job.html")]
pub struct JobPage {
    pub shell: Layout,
    pub job: JobLine,
}

in_section!(JobsPage => ScoreJobs, JobPage => ScoreJobs);

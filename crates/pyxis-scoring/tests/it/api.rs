//! Scoring as clients see it (`docs/reference/behavior/scoring.md`). Requests go to the real router over a real
//! database of either engine, with a clock that stands still until a test moves it.

mod access;
mod bulk;
mod catalogue;
mod changes;
mod damage;
mod dedup;
mod earlier;
mod empty_pages;
mod history;
mod incremental;
mod indexers;
mod ingest;
mod issuers;
mod jobs;
mod known_holes;
mod limits;
mod lines;
mod lists;
mod models;
mod own_models;
mod pages;
mod preview;
mod properties;
mod races;
mod removal;
mod renewals;
mod rescoring;
mod scene;
mod scores;
mod sets;
mod signed;
mod strangers;
mod timeouts;
mod unweighted_stamps;

//! Scoring as clients see it (Spec 1; decisions, identity scoring). Requests go to the real router over a real database
//! of either engine, with a clock that stands still until a test moves it.

mod bulk;
mod catalogue;
mod changes;
mod damage;
mod dedup;
mod doors;
mod earlier;
mod gaps;
mod history;
mod holes;
mod incremental;
mod indexers;
mod ingest;
mod issuers;
mod limits;
mod lines;
mod models;
mod own_models;
mod pages;
mod preview;
mod properties;
mod races;
mod removal;
mod renewals;
mod rescoring;
mod scores;
mod sets;
mod strangers;
mod timeouts;
mod weightless;
mod world;

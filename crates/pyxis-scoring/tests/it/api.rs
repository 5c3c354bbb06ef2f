//! Scoring as its clients see it (Spec 1; decisions, identity scoring): requests to the real router, over a
//! real database of either engine, with a clock that stands still until it is moved.

mod bulk;
mod catalogue;
mod changes;
mod damage;
mod dedup;
mod doors;
mod earlier;
mod history;
mod holes;
mod incremental;
mod indexers;
mod ingest;
mod limits;
mod models;
mod own_models;
mod pages;
mod properties;
mod races;
mod scores;
mod timeouts;
mod world;

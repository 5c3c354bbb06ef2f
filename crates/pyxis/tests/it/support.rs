//! A running program, people and agents who talk to it, and an upstream that records what arrives.

pub(crate) mod app;
pub(crate) mod browser;
pub(crate) mod client;
pub(crate) mod hourly_budget;
pub(crate) mod languages;
pub(crate) mod leaks;
pub(crate) mod metrics;
pub(crate) mod parties;
pub(crate) mod response;
pub(crate) mod setup;
pub(crate) mod site;
pub(crate) mod upload;

use std::time::Duration;

pub(crate) use app::App;
pub(crate) use browser::Browser;
pub(crate) use client::{Call, Client};
pub(crate) use hourly_budget::in_one_hour;
pub(crate) use parties::{Agent, Person};
pub(crate) use response::HttpResponse;
pub(crate) use setup::Setup;
pub(crate) use site::{SECRET, Site};

/// Asks again until `reached` returns something. Each round is a request to the program, so no delay is needed. Panics
/// if it takes longer than any machine needs.
pub(crate) async fn until<T>(what: &str, mut reached: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(value) = reached().await {
                return value;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("waited too long: {what}"))
}

/// Nothing in these tests takes this long unless it is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

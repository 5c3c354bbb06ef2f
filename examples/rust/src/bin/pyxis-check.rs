//! Asks whether a unique human is behind an address.

use std::env;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use ureq::Agent;

#[derive(Debug, Deserialize)]
struct Check {
    result: bool,
    /// Unix seconds; only where `result` is true.
    #[serde(rename = "expirationDate")]
    expiration_date: Option<i64>,
}

fn main() -> Result<()> {
    let base = env::var("PYXIS_URL").context("PYXIS_URL")?;
    let mut arguments = env::args().skip(1);
    let address = arguments.next().context("name an address")?;
    let kind = arguments.next().unwrap_or_else(|| "gov-id".to_owned());
    let config = Agent::config_builder()
        .timeout_global(Some(Duration::from_secs(60)))
        .http_status_as_error(false)
        .build();
    let url = format!(
        "{}/sybil-resistance/{kind}/optimism?user={address}&action-id=123456789",
        base.trim_end_matches('/')
    );
    let mut response = Agent::new_with_config(config).get(&url).call()?;
    // Anything but 200 says nothing about the address: it must not be read as a no.
    if response.status() != 200 {
        bail!("{}: {}", response.status(), response.body_mut().read_to_string()?);
    }
    let check: Check = response.body_mut().read_json()?;
    match (check.result, check.expiration_date) {
        (true, Some(until)) => println!("a unique human, until {until}"),
        (true, None) => println!("a unique human"),
        (false, _) => println!("no proof"),
    }
    Ok(())
}

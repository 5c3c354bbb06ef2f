//! Gets the score of an address.

use std::env;
use std::time::Duration;

use anyhow::{Context, Result};
use pyxis_client::{Client, Options};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let var = |name: &str| env::var(name).context(name.to_owned());
    let scorer = var("PYXIS_SCORER_ID")?.parse()?;
    let address = env::args().nth(1).context("name an address")?;
    let mut options = Options::default();
    if let Ok(seconds) = env::var("PYXIS_TIMEOUT_SECONDS") {
        options = options.timeout(Duration::try_from_secs_f64(seconds.parse()?)?);
    }
    let client = Client::with_options(&var("PYXIS_URL")?, Some(&var("PYXIS_API_KEY")?), options)?;
    let record = client.score(scorer, &address).await?;
    println!("{} {}", record.score, if record.passing_score { "passes" } else { "does not pass" });
    Ok(())
}

//! Asks whether a unique human is behind an address.

use std::env;

use anyhow::{Context, Result};
use pyxis_client::model::verification::ProofKind;
use pyxis_client::{Client, UNIVERSAL_ACTION};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let base = env::var("PYXIS_URL").context("PYXIS_URL")?;
    let mut arguments = env::args().skip(1);
    let address = arguments.next().context("name an address")?;
    let kind = arguments.next().map_or(Ok(ProofKind::GovId), |name| name.parse())?;
    // An answer that cannot be had is an error: it must not be read as a no.
    let check = Client::new(&base, None)?.check_unique(&address, kind, "optimism", UNIVERSAL_ACTION).await?;
    match (check.result, check.expires_at) {
        (true, Some(until)) => println!("a unique human, until {}", until.as_second()),
        (true, None) => println!("a unique human"),
        (false, _) => println!("no proof"),
    }
    Ok(())
}

//! Sample Stamps: real credentials of a demo issuer whose key is generated here and discarded.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;
use pyxis_core::stamp::Nullifier;
use pyxis_gateway::Actor;
use pyxis_scoring::State;
use pyxis_scoring::credential::{self, Signer, Statement, VerifiedCredential};
use pyxis_scoring::engine::{self, ScoreKey};
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_scoring::service::issuers;
use pyxis_scoring::service::scorers::{self, ScorerInput};
use pyxis_scoring::service::stamps::{self, StampStatus};

use super::{out, store_key};
use crate::app::App;

/// Name of the samples' issuer. No one should mistake it for a real one.
const ISSUER: &str = "quickstart demo (samples, not real people)";
/// Lifetime of the samples.
const LIFETIME: Duration = Duration::from_hours(24 * 90);

/// The sample addresses: their last byte, and their Stamps with the account behind each. The third uses an account of
/// the first, which does not count twice.
const SAMPLES: &[(u8, &[(&str, &str)])] = &[
    (
        0xa1,
        &[
            ("NFTScore#50", "wallet-1"),
            ("githubContributionActivityGte#120", "github-1"),
            ("Linkedin", "linkedin-1"),
            ("HolonymPhone", "phone-1"),
            ("Google", "google-1"),
            ("Discord", "discord-1"),
        ],
    ),
    (0xb2, &[("X", "x-2"), ("Google", "google-2"), ("Discord", "discord-2")]),
    (0xc3, &[("CivicLivenessPass", "face-3"), ("Google", "google-1")]),
];

/// Sample data to try.
pub(super) struct Samples {
    pub(super) api_key: String,
    pub(super) scorer: ScorerId,
    pub(super) addresses: Vec<EvmAddress>,
}

/// The file with the API key of the first run, so that a second run prints the same lines.
pub(super) fn key_path(app: &App) -> PathBuf {
    app.config.data_dir.join("quickstart-api-key")
}

/// Creates what is missing.
pub(super) async fn prepare(app: &App, actor: &Actor) -> Result<Samples> {
    let state = &app.scoring;
    let first = scorers::list(&state.store, actor.workspace, state.now()).await?.into_iter().next();
    let scorer = if let Some(row) = first {
        row.id
    } else {
        let input = ScorerInput { name: "default".to_owned(), threshold: None, weights: None };
        scorers::create(&state.audited, actor, input).await?.id
    };
    let addresses: Vec<EvmAddress> = SAMPLES.iter().map(|(last, _)| address(*last)).collect();
    if !has_samples(state, actor, scorer, addresses[0]).await? {
        issue(state, actor, scorer).await?;
    }
    let api_key = if let Ok(key) = fs::read_to_string(key_path(app)) {
        key
    } else {
        let input = ApiKeyInput { can_write: true, ..ApiKeyInput::with_name("quickstart") };
        let (_, key) = api_keys::create(state, actor, input).await?;
        store_key(&key_path(app), key.expose())?;
        key.expose().clone()
    };
    Ok(Samples { api_key, scorer, addresses })
}

/// An address that belongs to no one.
fn address(last: u8) -> EvmAddress {
    let mut bytes = [0x5a; 20];
    bytes[19] = last;
    EvmAddress(bytes)
}

async fn has_samples(state: &State, actor: &Actor, scorer: ScorerId, address: EvmAddress) -> Result<bool> {
    let found = stamps::show(&state.store, actor.workspace, Some(scorer), address, state.now()).await?;
    Ok(found.stamps.iter().any(|line| line.standing != StampStatus::Expired))
}

/// Issues every sample with a new key, submits it as a holder's application would, and scores it.
async fn issue(state: &State, actor: &Actor, scorer: ScorerId) -> Result<()> {
    let signer = Signer::new(&*state.entropy);
    for old in issuers::list(&state.store, actor.workspace).await?.iter().filter(|row| row.name == ISSUER) {
        issuers::remove(&state.audited, actor, &old.did).await?;
    }
    issuers::add(&state.audited, actor, signer.did(), ISSUER).await?;
    let now = state.now();
    for (last, list) in SAMPLES {
        let address = address(*last);
        let mut verified = Vec::with_capacity(list.len());
        for (name, account) in *list {
            let nullifier: Nullifier = format!("quickstart:{account}").parse()?;
            let statement = Statement {
                address,
                provider: name.parse()?,
                nullifiers: vec![nullifier],
                issued_at: now,
                expires_at: now.plus(LIFETIME),
            };
            let text = signer.sign(&statement)?;
            verified.push(credential::parse_and_verify(&text, address, now, |did| did == signer.did())?);
        }
        let verified: Vec<&VerifiedCredential> = verified.iter().collect();
        let outcomes = engine::ingest(&state.db, actor.workspace, address, &verified, now).await?;
        ensure!(
            !outcomes.contains(&None),
            "the issuer of the samples was removed in the meantime; run quickstart again"
        );
        let place = ScoreKey { workspace: actor.workspace, scorer, address };
        engine::score(&state.db, place, now, false).await?;
    }
    Ok(())
}

impl Samples {
    pub(super) fn print(&self, base_url: &str) {
        let Self { api_key, scorer, addresses } = self;
        let Some(address) = addresses.first() else { return };
        out::line("  3. Is an address one real human? Ask for the score of a sample:\n");
        out::line(format_args!(
            "    curl -s {base_url}/v2/stamps/{scorer}/score/{address} \\\n      -H 'X-API-KEY: {api_key}'\n"
        ));
        out::line("  4. Which Stamps make up its score?\n");
        out::line(format_args!(
            "    curl -s '{base_url}/v2/stamps/{address}?include_metadata=true&limit=3' \\\n      -H 'X-API-KEY: {api_key}'\n"
        ));
        if let Some(copy) = addresses.get(2) {
            out::line(format_args!(
                "  {copy} uses the Google account of the first sample:\n  its Stamp is deduplicated.\n"
            ));
        }
    }
}

//! Sample proofs, registered by a demo issuer whose key is generated here and discarded.

use anyhow::Result;
use pyxis_core::address::EvmAddress;
use pyxis_core::field::FieldElement;
use pyxis_core::proof::{DEFAULT_ACTION, Kind, ProofNullifier, Registration, Statement, Subject};
use pyxis_gateway::Actor;
use pyxis_verify::State;
use pyxis_verify::registry::{self, IssuerKey};
use pyxis_verify::service::{issuers, proofs};

use super::out;
use crate::app::App;

/// Name of the samples' issuer. No one should mistake it for a real one.
const ISSUER: &str = "quickstart demo (samples, not real people)";
/// Lifetime in seconds: 90 days.
const LIFETIME: i64 = 90 * 24 * 3600;
/// Proofs of the sample address, and their networks.
const SAMPLES: &[(Kind, &str)] =
    &[(Kind::GovId, "optimism"), (Kind::Phone, "optimism"), (Kind::ResidenceUs, "optimism")];

/// An address that belongs to no one: the first of the sample Stamps.
const ADDRESS: EvmAddress = {
    let mut bytes = [0x5a; 20];
    bytes[19] = 0xa1;
    EvmAddress(bytes)
};

/// Registers missing or expired samples; returns the address that has them.
pub(super) async fn prepare(app: &App, actor: &Actor) -> Result<EvmAddress> {
    let state = &app.verify;
    let checked = proofs::check(state, ADDRESS.into(), DEFAULT_ACTION).await;
    let lacks = |(kind, network): &&(Kind, &str)| {
        !checked.iter().any(|found| {
            found.kind == *kind
                && found.network.as_str() == *network
                && found.verdict.as_ref().is_ok_and(|verdict| verdict.is_valid())
        })
    };
    let wanted: Vec<_> = SAMPLES.iter().filter(lacks).collect();
    if wanted.is_empty() {
        return Ok(ADDRESS);
    }
    let key = IssuerKey::generate(&*state.entropy);
    forget_former(state, actor).await?;
    for (kind, network) in wanted {
        issuers::add(&state.audited, actor, *kind, key.issuer(), ISSUER).await?;
        let issued_at = state.now().seconds();
        let statement = Statement::Register(Registration {
            kind: *kind,
            network: network.parse()?,
            subject: Subject::Evm(ADDRESS),
            action_id: DEFAULT_ACTION,
            nullifier: ProofNullifier(FieldElement::small(0xa1)),
            issued_at,
            expires_at: issued_at + LIFETIME,
            nonce: pyxis_core::entropy::token::<16>(&*state.entropy, ""),
        });
        registry::submit(state, &key.sign(statement)).await?;
    }
    Ok(ADDRESS)
}

async fn forget_former(state: &State, actor: &Actor) -> Result<()> {
    for old in issuers::list(&state.store).await?.into_iter().filter(|row| row.name == ISSUER) {
        issuers::remove(&state.audited, actor, old.kind, old.issuer.parse()?).await?;
    }
    Ok(())
}

/// Prints lines to paste.
pub(super) fn print(address: EvmAddress, base_url: &str) {
    let action = DEFAULT_ACTION;
    out::line("  5. Has an address proved that it belongs to a unique human?\n");
    out::line(format_args!(
        "    curl -s '{base_url}/sybil-resistance/gov-id/optimism?user={address}&action-id={action}'\n"
    ));
    out::line("  6. Check many addresses at once, as a voting strategy does:\n");
    out::line(format_args!(
        "    curl -s '{base_url}/snapshot-strategies/sybil-resistance/phone?network=10&snapshot=latest&addresses={address}&action-id={action}'\n"
    ));
}

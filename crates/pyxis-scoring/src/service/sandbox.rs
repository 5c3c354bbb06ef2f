//! The sandbox: a scorer with Stamps of its own and one wallet in each state, for tests of applications
//! (`docs/reference/sandbox.md`). Its Stamps never count in another scorer, and no others count in it.

use std::time::Duration;

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::decimal::Decimal;
use pyxis_core::id::ScorerId;
use pyxis_core::score::Weights;
use pyxis_store::{Store, addresses, scorers as rows, stamps as stored};

use super::sandbox_stamps::{ACCOUNT, HUMAN, is_sandbox};
use super::stamps::{self, StampFilter};
use super::{Error, Result, issuers, scorers};
use crate::credential::{self, Signer, Statement, VerifiedCredential};
use crate::engine::{self, ScoreKey};
use crate::state::State;

/// Name of the scorer.
const SCORER: &str = "sandbox (test wallets, not real people)";
/// Name of the issuer while it issues.
const ISSUER: &str = "sandbox (test wallets, not real people)";
/// Lifetime of the Stamps: ten years.
const LIFETIME: Duration = Duration::from_hours(24 * 3650);
const DAY: Duration = Duration::from_hours(24);

/// States of the test wallets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalletState {
    /// It reaches the threshold exactly.
    Passes,
    /// It lacks one point.
    FailsByOne,
    /// Its account was verified by the passing wallet first.
    Duplicate,
    /// Its Stamps expired a day before the sandbox was made.
    Expired,
    /// Its Stamps were revoked.
    Revoked,
    /// It never had a Stamp.
    Unknown,
}

impl WalletState {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Passes, Self::FailsByOne, Self::Duplicate, Self::Expired, Self::Revoked, Self::Unknown];

    /// Stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Passes => "passes",
            Self::FailsByOne => "fails_by_one",
            Self::Duplicate => "duplicate",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Unknown => "unknown",
        }
    }

    /// The wallet in this state. It belongs to no one.
    pub const fn wallet(self) -> EvmAddress {
        let mut bytes = [0x5b; 20];
        bytes[19] = match self {
            Self::Passes => 1,
            Self::FailsByOne => 2,
            Self::Duplicate => 3,
            Self::Expired => 4,
            Self::Revoked => 5,
            Self::Unknown => 6,
        };
        EvmAddress(bytes)
    }

    /// Its Stamps with the account behind each.
    const fn stamps(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Passes => &[(HUMAN, "human-1"), (ACCOUNT, "account-1")],
            Self::FailsByOne => &[(HUMAN, "human-2")],
            Self::Duplicate => &[(HUMAN, "human-1"), (ACCOUNT, "account-3")],
            Self::Expired => &[(HUMAN, "human-4"), (ACCOUNT, "account-4")],
            Self::Revoked => &[(HUMAN, "human-5"), (ACCOUNT, "account-5")],
            Self::Unknown => &[],
        }
    }
}

/// Makes the sandbox scorer and its wallets, or what is missing of them, and returns the scorer's number. Wallets whose
/// Stamps have expired or are gone are issued again.
pub async fn prepare(state: &State, actor: &Actor) -> Result<ScorerId> {
    let scorer = if let Some(scorer) = find(&state.store, actor).await? {
        scorer
    } else {
        let threshold = decimal(20);
        let weights = [(HUMAN, decimal(19)), (ACCOUNT, decimal(1))];
        let weights =
            weights.into_iter().map(|(name, weight)| Ok((name.parse().map_err(Error::internal)?, weight)));
        let weights = weights.collect::<Result<Weights>>()?;
        scorers::insert(&state.audited, actor, SCORER, threshold, &weights).await?.id
    };
    if !is_complete(&state.store, state.now(), actor).await? {
        issue(state, actor, scorer).await?;
    }
    Ok(scorer)
}

const fn decimal(whole: i64) -> Decimal {
    Decimal::from_units(whole * 100_000)
}

/// The workspace's sandbox scorer.
pub async fn find(store: &Store, actor: &Actor) -> Result<Option<ScorerId>> {
    for row in rows::list(store, actor.workspace).await? {
        let terms = rows::terms(store, actor.workspace, row.id).await?;
        if terms.is_some_and(|terms| is_sandbox(&terms.weights)) {
            return Ok(Some(row.id));
        }
    }
    Ok(None)
}

/// True if each wallet was issued its Stamps, and those that last are still stored.
async fn is_complete(store: &Store, now: UnixMillis, actor: &Actor) -> Result<bool> {
    for wallet in WalletState::ALL {
        let address = wallet.wallet();
        let live = stored::live_of(store, actor.workspace, address, now).await?.stamps.len();
        let wanted = match wallet {
            WalletState::Expired | WalletState::Revoked | WalletState::Unknown => 0,
            _ => wallet.stamps().len(),
        };
        let known = addresses::is_known(store, actor.workspace, address).await?;
        if live != wanted || known == wallet.stamps().is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Issues every Stamp with a new key, which is trusted only meanwhile and then lost.
async fn issue(state: &State, actor: &Actor, scorer: ScorerId) -> Result<()> {
    let signer = Signer::new(&*state.entropy);
    issuers::add(&state.audited, actor, signer.did(), ISSUER).await?;
    let issued = issue_all(state, actor, scorer, &signer).await;
    issuers::remove(&state.audited, actor, signer.did()).await?;
    issued
}

async fn issue_all(state: &State, actor: &Actor, scorer: ScorerId, signer: &Signer) -> Result<()> {
    for wallet in WalletState::ALL {
        let now = state.now();
        let (at, until) = match wallet {
            // As it was before the sandbox, when it still counted.
            WalletState::Expired => (before(now, 2 * DAY), before(now, DAY)),
            _ => (now, now.plus(LIFETIME)),
        };
        let address = wallet.wallet();
        let verified = sign(signer, wallet, at, until)?;
        let verified: Vec<&VerifiedCredential> = verified.iter().collect();
        if verified.is_empty() {
            continue;
        }
        let outcomes = engine::ingest(&state.db, actor.workspace, address, &verified, at).await?;
        if outcomes.contains(&None) {
            return Err(Error::Conflict("the sandbox's issuer was removed meanwhile; run this again"));
        }
        let place = ScoreKey { workspace: actor.workspace, scorer, address };
        engine::score(&state.db, place, at, true).await?;
        if wallet == WalletState::Revoked {
            for (name, _) in wallet.stamps() {
                let which = StampFilter::Stored(address, name.parse().map_err(Error::internal)?);
                let reason = Some("the sandbox has a revoked wallet".to_owned());
                stamps::revoke(state, actor, which, reason).await?;
            }
        }
    }
    Ok(())
}

fn before(now: UnixMillis, by: Duration) -> UnixMillis {
    UnixMillis(now.0.saturating_sub(i64::try_from(by.as_millis()).unwrap_or(0)))
}

fn sign(
    signer: &Signer,
    wallet: WalletState,
    issued_at: UnixMillis,
    expires_at: UnixMillis,
) -> Result<Vec<VerifiedCredential>> {
    let address = wallet.wallet();
    let one = |(name, account): &(&str, &str)| {
        let statement = Statement {
            address,
            provider: name.parse().map_err(Error::internal)?,
            nullifiers: vec![format!("sandbox:{account}").parse().map_err(Error::internal)?],
            issued_at,
            expires_at,
        };
        let text = signer.sign(&statement).map_err(Error::internal)?;
        credential::parse_and_verify(&text, address, issued_at, |did| did == signer.did())
            .map_err(Error::internal)
    };
    wallet.stamps().iter().map(one).collect()
}

//! Initial rows for scoring.

use pyxis_core::address::EvmAddress;
use pyxis_core::entropy::{OsEntropy, token};
use pyxis_core::id::{ApiKeyId, ScorerId};
use pyxis_core::score::Weights;
use pyxis_core::stamp::Nullifier;
use pyxis_store::api_keys::{self, ApiKeyRow};
use pyxis_store::scores::NewScore;
use pyxis_store::stamps::{NewStamp, StampRow};
use pyxis_store::{addresses, scorers, stamps};

use super::{NOW, Workspace, at};

/// An address by number.
pub(crate) fn address(number: u8) -> EvmAddress {
    EvmAddress([number; 20])
}

pub(crate) fn nullifiers(text: &str) -> Vec<Nullifier> {
    text.split_whitespace().map(|one| one.parse().unwrap()).collect()
}

pub(crate) fn weights(all: &[(&str, &str)]) -> Weights {
    all.iter().map(|(name, weight)| (name.parse().unwrap(), weight.parse().unwrap())).collect()
}

pub(crate) async fn add_scorer(main: &Workspace, name: &str) -> ScorerId {
    let mut tx = main.store.begin().await.unwrap();
    let weights = weights(&[("A", "1.5"), ("B", "2")]);
    let id = scorers::insert(&mut tx, main.id, name, "20".parse().unwrap(), &weights, NOW).await.unwrap();
    tx.commit().await.unwrap();
    id
}

pub(crate) async fn add_key(main: &Workspace) -> ApiKeyRow {
    let key = ApiKeyRow {
        id: ApiKeyId::new(&OsEntropy),
        workspace_id: main.id,
        name: "k".to_owned(),
        key_hash: token::<32>(&OsEntropy, ""),
        key_hint: "px_api_12".to_owned(),
        stamps_tier: 1,
        stamps_limit: None,
        models_tier: 1,
        models_limit: None,
        can_read: true,
        can_write: true,
        can_read_history: false,
        revoked_at: None,
        created_at: NOW,
        last_used_at: None,
    };
    api_keys::insert(&main.store, &key).await.unwrap();
    key
}

/// A Stamp received now that expires in 1000 milliseconds.
pub(crate) fn new_stamp(holder: u8, provider: &str, with: &str) -> NewStamp {
    let mut digest = [holder; 32];
    digest[..provider.len()].copy_from_slice(provider.as_bytes());
    NewStamp {
        address: address(holder),
        provider: provider.parse().unwrap(),
        issuer: "did:key:z6Mk".to_owned(),
        issued_at: NOW,
        expires_at: at(1000),
        digest,
        nullifiers: nullifiers(with),
        received_at: NOW,
        credential: format!("{{ \"of\": \"{provider}\" }}\n"),
    }
}

pub(crate) async fn add_stamp(main: &Workspace, new: &NewStamp) -> StampRow {
    let mut tx = main.store.begin().await.unwrap();
    addresses::ensure(&mut tx, main.id, new.address, NOW).await.unwrap();
    stamps::insert(&mut tx, main.id, new).await.unwrap();
    tx.commit().await.unwrap();
    stamps::find(&main.store, main.id, new.address, &new.provider).await.unwrap().unwrap()
}

/// A score computed now that is valid for 1000 milliseconds.
pub(crate) fn new_score(scorer: ScorerId, holder: u8) -> NewScore {
    NewScore {
        scorer,
        address: address(holder),
        score: "3.5".parse().unwrap(),
        computed_at: NOW,
        valid_until: at(1000),
        revision: 1,
        in_history: false,
        body: format!("{{\"of\":{holder}}}"),
    }
}

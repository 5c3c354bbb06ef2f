//! On-chain Stamps: conditions on a chain as a Stamp.

use std::collections::BTreeMap;

use pyxis_core::actor::Actor;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::nearest::suggestion;
use pyxis_core::stamp::StampName;
use pyxis_store::Store;
use pyxis_store::own_stamps::{self as rows, OwnStampRow};

use super::own_stamps::{self, OwnStampInput};
use super::{Error, Result};
use crate::networks::EvmNetworks;
use crate::own::{
    ALLOW_LIST, ConditionSubject, Item, KINDS, Kind, NETWORK, OnChainRule, SettingError, StampRule, evaluate,
};
use crate::state::State;

/// An address that nobody has, by which a new condition is tried.
const NOBODY: EvmAddress = EvmAddress([0xee; 20]);

/// Rule of a new on-chain Stamp.
#[derive(Clone, Debug)]
pub struct ConditionInput {
    /// Name of a kind.
    pub kind: String,
    /// Name of a network with nodes.
    pub network: String,
    /// Settings of the kind.
    pub settings: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub struct OnChainStamp {
    pub row: OwnStampRow,
    /// Name of the network.
    pub network: String,
    /// Settings of its kind.
    pub settings: BTreeMap<String, String>,
    /// Number of addresses that have the Stamp.
    pub issued: i64,
}

/// A kind of condition, for documents.
#[derive(Clone, Copy, Debug)]
pub struct ConditionKind {
    pub name: &'static str,
    pub meaning: &'static str,
    /// Names and meanings.
    pub settings: &'static [(&'static str, &'static str)],
}

/// Every kind of condition.
pub fn kinds() -> impl Iterator<Item = ConditionKind> {
    KINDS.iter().map(|Kind { name, meaning, settings, .. }| ConditionKind { name, meaning, settings })
}

fn is_onchain(kind: &str) -> bool {
    kind != ALLOW_LIST
}

/// Adds an on-chain Stamp, once its contract was asked and answered.
pub async fn create(
    state: &State,
    actor: &Actor,
    input: OwnStampInput,
    condition: ConditionInput,
) -> Result<OnChainStamp> {
    let kind = check_kind(&condition.kind)?;
    check_network(&state.networks, &condition.network)?;
    let mut settings = condition.settings;
    settings.insert(NETWORK.to_owned(), condition.network);
    let row = OwnStampRow {
        provider: input.name.clone(),
        kind: kind.name.to_owned(),
        description: String::new(),
        valid_days: input.valid_days,
        settings: serde_json::to_string(&settings).map_err(Error::internal)?,
        created_at: state.now(),
    };
    settings.remove(NETWORK);
    crate::own::read_condition(kind, &settings)
        .map_err(|SettingError { name, detail }| Error::field(format!("settings.{name}"), detail))?;
    let StampRule::OnChain(rule) = StampRule::from_row(&row)? else {
        return Err(Error::internal("a condition that is a list"));
    };
    probe_condition(&state.networks, state.now(), &rule).await?;
    load_stamp(&state.store, actor, own_stamps::create(state, actor, input, kind.name, row.settings).await?)
        .await
}

fn check_kind(name: &str) -> Result<&'static Kind> {
    let names = || KINDS.iter().map(|kind| kind.name);
    KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let list = names().collect::<Vec<_>>().join(", ");
        Error::field("kind", format!("{name:?} is unknown{}; known: {list}", suggestion(name, names())))
    })
}

fn check_network(networks: &EvmNetworks, name: &str) -> Result<()> {
    if networks.find_by_name(name).is_some() {
        return Ok(());
    }
    let names: Vec<&str> = networks.names().collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    Err(Error::field(
        NETWORK,
        format!(
            "{name:?} has no nodes here; networks with nodes: {known}. PX_NETWORKS gives a network its nodes"
        ),
    ))
}

/// Asks a new condition about nobody, so that a wrong address or function is found now. Conditions about named items
/// cannot be tried.
async fn probe_condition(networks: &EvmNetworks, now: UnixMillis, rule: &OnChainRule) -> Result<()> {
    let Some(network) = networks.find_by_name(&rule.network) else { return Ok(()) };
    if rule.condition.items() != Item::None {
        return Ok(());
    }
    let subject = ConditionSubject { address: NOBODY, items: Vec::new() };
    match evaluate(network, &*rule.condition, &[subject], now).await {
        Ok(verdicts) => match verdicts.into_iter().next() {
            Some(Err(cause)) => Err(Error::field("settings", cause.to_string())),
            _ => Ok(()),
        },
        Err(error @ pyxis_evm::Error::NoContract { .. }) => {
            Err(Error::field("settings.contract", error.to_string()))
        }
        Err(error) => Err(Error::Unavailable { what: "the network's node", source: error.into() }),
    }
}

/// Every on-chain Stamp of the workspace, by name.
pub async fn list(store: &Store, actor: &Actor) -> Result<Vec<OnChainStamp>> {
    let mut stamps = Vec::new();
    for row in rows::list(store, actor.workspace).await?.into_iter().filter(|row| is_onchain(&row.kind)) {
        stamps.push(load_stamp(store, actor, row).await?);
    }
    Ok(stamps)
}

/// One on-chain Stamp.
pub async fn get(store: &Store, actor: &Actor, name: &StampName) -> Result<OnChainStamp> {
    let row = own_stamps::find(store, actor, "on-chain Stamp", name, is_onchain).await?;
    load_stamp(store, actor, row).await
}

async fn load_stamp(store: &Store, actor: &Actor, row: OwnStampRow) -> Result<OnChainStamp> {
    let mut settings: BTreeMap<String, String> =
        serde_json::from_str(&row.settings).map_err(Error::internal)?;
    let network = settings.remove(NETWORK).unwrap_or_default();
    let issued = own_stamps::issued(store, actor, &row.provider).await?;
    Ok(OnChainStamp { row, network, settings, issued })
}

/// Removes an on-chain Stamp and withdraws what was issued by it. Returns how many were withdrawn at once.
pub async fn remove(state: &State, actor: &Actor, name: &StampName) -> Result<u64> {
    let stamp = get(&state.store, actor, name).await?;
    Ok(own_stamps::remove(state, actor, &stamp.row).await?.withdrawn)
}

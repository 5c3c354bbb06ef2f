//! Rules by which Stamps are issued, as they are stored.

use std::collections::BTreeMap;

use pyxis_store::own_stamps::OwnStampRow;

use super::conditions::{self, Condition, Item, KINDS};
use crate::error::{Error, Result};

/// Kind of a rule that is a list of addresses.
pub const ALLOW_LIST: &str = "allow_list";
/// Setting of every condition that names its network.
pub(crate) const NETWORK: &str = "network";

pub(crate) enum StampRule {
    AllowList,
    OnChain(OnChainRule),
}

/// A condition on a network.
pub(crate) struct OnChainRule {
    /// Name of the network.
    pub(crate) network: String,
    pub(crate) condition: Box<dyn Condition>,
}

impl StampRule {
    /// Items that the holder names with a request.
    pub(crate) fn items(&self) -> Item {
        match self {
            Self::AllowList => Item::None,
            Self::OnChain(OnChainRule { condition, .. }) => condition.items(),
        }
    }

    /// The rule of a stored own Stamp.
    pub(crate) fn from_row(row: &OwnStampRow) -> Result<Self> {
        if row.kind == ALLOW_LIST {
            return Ok(Self::AllowList);
        }
        let broken = |detail: String| Error::Internal(format!("own Stamp {}: {detail}", row.provider).into());
        let kind = KINDS.iter().find(|kind| kind.name == row.kind);
        let kind = kind.ok_or_else(|| broken(format!("unknown kind {}", row.kind)))?;
        let mut settings: BTreeMap<String, String> =
            serde_json::from_str(&row.settings).map_err(|error| broken(error.to_string()))?;
        let network = settings.remove(NETWORK).ok_or_else(|| broken("no network".to_owned()))?;
        let condition = conditions::read(kind, &settings)
            .map_err(|error| broken(format!("{}: {}", error.name, error.detail)))?;
        Ok(Self::OnChain(OnChainRule { network, condition }))
    }
}

//! The networks whose nodes conditions are read from.

use std::sync::Arc;

use pyxis_core::proof::NetworkName;
use pyxis_evm::Chain;

/// A network with nodes.
#[derive(Clone)]
pub struct EvmNetwork {
    pub name: NetworkName,
    pub chain_id: u64,
    /// Shared with everything else that reads this network.
    pub chain: Arc<Chain>,
}

/// Every network with nodes.
#[derive(Clone, Default)]
pub struct EvmNetworks(Vec<EvmNetwork>);

impl EvmNetworks {
    pub fn find_by_name(&self, name: &str) -> Option<&EvmNetwork> {
        self.0.iter().find(|network| network.name.as_str() == name)
    }

    /// The names of all networks.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|network| network.name.as_str())
    }
}

impl FromIterator<EvmNetwork> for EvmNetworks {
    fn from_iter<T: IntoIterator<Item = EvmNetwork>>(networks: T) -> Self {
        Self(networks.into_iter().collect())
    }
}

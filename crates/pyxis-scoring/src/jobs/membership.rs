//! Suspected groups by member.

use std::collections::HashMap;

use pyxis_core::address::EvmAddress;
use pyxis_models::clusters::GroupExtent;
use pyxis_store::{Store, models};

use super::rows::ClusterEvidence;
use crate::error::{Error, Result};
use crate::models::whole_group;

/// The suspected group of each member.
#[derive(Default)]
pub(super) struct Membership {
    groups: Vec<ClusterEvidence>,
    by_member: HashMap<EvmAddress, u32>,
}

impl Membership {
    /// Reads all groups, one at a time.
    pub(super) async fn read(store: &Store) -> Result<Self> {
        let (mut found, mut from) = (Self::default(), 1);
        while let Some(row) = models::next_group(store, from).await? {
            from = row.position + 1;
            let (group, extent) = whole_group(&row).map_err(|error| Error::Internal(error.into()))?;
            found.add(ClusterEvidence::from(&group), &extent);
        }
        Ok(found)
    }

    fn add(&mut self, evidence: ClusterEvidence, extent: &GroupExtent) {
        let place = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        self.groups.push(evidence);
        self.by_member.extend(extent.members.iter().map(|member| (member.address, place)));
    }

    /// The group of an address.
    pub(super) fn get(&self, address: EvmAddress) -> Option<&ClusterEvidence> {
        let place = usize::try_from(*self.by_member.get(&address)?).ok()?;
        self.groups.get(place)
    }
}

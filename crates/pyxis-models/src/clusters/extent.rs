//! All members of a group, and all transfers between them, in the form that is stored next to it.

use pyxis_core::address::EvmAddress;

use super::{ClusterMember, Group};

/// Bytes of an address, a member and a link.
const ADDRESS: usize = 20;
const MEMBER: usize = ADDRESS + 8;
const LINK: usize = 8;

/// Members and links of a group, without the limit of [`Group`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupExtent {
    /// Members, those that are drawn first.
    pub members: Vec<ClusterMember>,
    /// Transfers as pairs of positions: sender, recipient.
    pub links: Vec<(usize, usize)>,
}

impl GroupExtent {
    /// Encodes the members: address, and score or NaN.
    pub fn members_to_bytes(&self) -> Vec<u8> {
        let score = |member: &ClusterMember| member.score.unwrap_or(f64::NAN).to_le_bytes();
        self.members.iter().flat_map(|member| member.address.0.into_iter().chain(score(member))).collect()
    }

    /// Encodes the links.
    pub fn links_to_bytes(&self) -> Vec<u8> {
        let place = |place: usize| u32::try_from(place).unwrap_or(u32::MAX).to_le_bytes();
        self.links.iter().flat_map(|(from, to)| place(*from).into_iter().chain(place(*to))).collect()
    }

    /// Decodes both. `None` if they are damaged.
    pub fn from_bytes(members: &[u8], links: &[u8]) -> Option<Self> {
        let (members, rest) = members.as_chunks::<MEMBER>();
        let (links, more) = links.as_chunks::<LINK>();
        let members: Vec<ClusterMember> = members.iter().map(member).collect::<Option<_>>()?;
        let links: Vec<(usize, usize)> = links.iter().copied().map(link).collect::<Option<_>>()?;
        let inside = links.iter().all(|(from, to)| (*from).max(*to) < members.len());
        (rest.is_empty() && more.is_empty() && inside).then_some(Self { members, links })
    }
}

fn member(bytes: &[u8; MEMBER]) -> Option<ClusterMember> {
    let address = EvmAddress(bytes.first_chunk::<ADDRESS>().copied()?);
    let score = f64::from_le_bytes(bytes.last_chunk::<8>().copied()?);
    Some(ClusterMember { address, score: Some(score).filter(|score| !score.is_nan()) })
}

fn link(bytes: [u8; LINK]) -> Option<(usize, usize)> {
    let place = |bytes: Option<&[u8; 4]>| usize::try_from(u32::from_le_bytes(*bytes?)).ok();
    Some((place(bytes.first_chunk())?, place(bytes.last_chunk())?))
}

impl From<&Group> for GroupExtent {
    /// The listed members only, for a group that an earlier release stored.
    fn from(group: &Group) -> Self {
        Self { members: group.members.clone(), links: group.links.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_links_are_read_as_they_were_written_and_damaged_ones_are_not_read() {
        let member = |last: u8, score| ClusterMember { address: EvmAddress([last; 20]), score };
        let extent =
            GroupExtent { members: vec![member(1, Some(12.5)), member(2, None)], links: vec![(0, 1)] };
        let (members, links) = (extent.members_to_bytes(), extent.links_to_bytes());
        assert_eq!(GroupExtent::from_bytes(&members, &links), Some(extent));
        assert_eq!(GroupExtent::from_bytes(&members[1..], &links), None);
        assert_eq!(GroupExtent::from_bytes(&members[..28], &links), None);
        assert_eq!(GroupExtent::from_bytes(&[], &[]), Some(GroupExtent::default()));
    }
}

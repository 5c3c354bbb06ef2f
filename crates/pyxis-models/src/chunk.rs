//! Storage format of transfers: some ten thousand in one value, each address once.

use std::num::NonZeroU32;

use pyxis_core::address::EvmAddress;

use crate::Error;
use crate::graph::{AddressProfile, Builder, Transfer};
use crate::scope::{Chain, Kind};

const MAGIC: &[u8; 4] = b"PXA1";

/// Serializes a builder's content. Numbers are little-endian. A transfer is two positions in the list of addresses, a
/// time, a chain and a kind with two bits for the amount.
pub fn encode(builder: &Builder) -> Vec<u8> {
    let (addresses, transfers, facts) = (builder.addresses(), builder.transfers(), builder.facts());
    let mut bytes = Vec::with_capacity(16 + addresses.len() * 20 + transfers.len() * 14 + facts.len() * 12);
    bytes.extend(MAGIC);
    for length in [addresses.len(), transfers.len(), facts.len()] {
        bytes.extend(u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }
    bytes.extend(addresses.iter().flat_map(|address| address.0));
    for transfer in transfers {
        bytes.extend(transfer.from.to_le_bytes());
        bytes.extend(transfer.to.to_le_bytes());
        bytes.extend(transfer.time.map_or(0, NonZeroU32::get).to_le_bytes());
        let round = match transfer.round {
            None => 0,
            Some(false) => 0x40,
            Some(true) => 0x80,
        };
        bytes.extend([transfer.chain as u8, transfer.kind as u8 | round]);
    }
    let mut facts: Vec<_> = facts.iter().collect();
    facts.sort_unstable_by_key(|(node, _)| **node);
    for (node, facts) in facts {
        bytes.extend(node.to_le_bytes());
        bytes.extend(facts.first_bridge.to_le_bytes());
        bytes.extend(facts.volume_usd.to_le_bytes());
    }
    bytes
}

/// Adds the output of [`encode`] to a builder.
pub fn decode(bytes: &[u8], into: &mut Builder) -> Result<(), Error> {
    read(bytes, into).ok_or_else(|| Error::unreadable("stored activity", "it is damaged"))
}

/// The output of [`encode`] without an address, and the number of its transfers and facts that this leaves out. `None`
/// if the address does not occur.
pub fn without(bytes: &[u8], address: EvmAddress) -> Result<Option<(Vec<u8>, usize)>, Error> {
    if !bytes.windows(20).any(|window| window == address.0) {
        return Ok(None);
    }
    let mut before = Builder::default();
    decode(bytes, &mut before)?;
    let Some(gone) = before.addresses().iter().position(|one| *one == address) else { return Ok(None) };
    let gone = u32::try_from(gone).unwrap_or(u32::MAX);
    let mut after = Builder::default();
    for transfer in before.transfers().iter().filter(|one| one.from != gone && one.to != gone) {
        let [from, to] = [transfer.from, transfer.to].map(|node| before.addresses()[node as usize]);
        let (from, to) = (after.node(from), after.node(to));
        after.add(Transfer { from, to, ..*transfer });
    }
    let mut facts: Vec<_> = before.facts().iter().filter(|(node, _)| **node != gone).collect();
    facts.sort_unstable_by_key(|(node, _)| **node);
    for (node, facts) in facts {
        after.add_facts(before.addresses()[*node as usize], *facts);
    }
    Ok(Some((encode(&after), before.len() - after.len())))
}

fn read(bytes: &[u8], into: &mut Builder) -> Option<()> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (lengths, rest) = rest.split_at_checked(12)?;
    let mut lengths = lengths.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(*four) as usize);
    let (addresses, transfers, facts) = (lengths.next()?, lengths.next()?, lengths.next()?);
    let (names, rest) = rest.split_at_checked(addresses.checked_mul(20)?)?;
    let (moves, rest) = rest.split_at_checked(transfers.checked_mul(14)?)?;
    let known = rest.get(..facts.checked_mul(12)?)?;
    let names: Vec<EvmAddress> = names.as_chunks::<20>().0.iter().map(|name| EvmAddress(*name)).collect();
    let nodes: Vec<u32> = names.iter().map(|name| into.node(*name)).collect();
    for entry in moves.as_chunks::<14>().0 {
        let [f0, f1, f2, f3, t0, t1, t2, t3, s0, s1, s2, s3, chain, kind] = *entry;
        into.add(Transfer {
            from: *nodes.get(u32::from_le_bytes([f0, f1, f2, f3]) as usize)?,
            to: *nodes.get(u32::from_le_bytes([t0, t1, t2, t3]) as usize)?,
            time: NonZeroU32::new(u32::from_le_bytes([s0, s1, s2, s3])),
            chain: Chain::from_number(chain)?,
            kind: Kind::from_number(kind & 0x3f)?,
            round: match kind & 0xc0 {
                0 => None,
                flags => Some(flags == 0x80),
            },
        });
    }
    for entry in known.as_chunks::<12>().0 {
        let [n0, n1, n2, n3, b0, b1, b2, b3, v0, v1, v2, v3] = *entry;
        let address = *names.get(u32::from_le_bytes([n0, n1, n2, n3]) as usize)?;
        let first_bridge = u32::from_le_bytes([b0, b1, b2, b3]);
        into.add_facts(
            address,
            AddressProfile { first_bridge, volume_usd: f32::from_le_bytes([v0, v1, v2, v3]) },
        );
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> Builder {
        let mut builder = Builder::default();
        let [a, b] = [1, 2].map(|byte| builder.node(EvmAddress([byte; 20])));
        for (round, time) in [(None, None), (Some(true), NonZeroU32::new(5)), (Some(false), None)] {
            builder.add(Transfer { from: a, to: b, time, chain: Chain::Base, kind: Kind::Nft, round });
        }
        builder.add_facts(EvmAddress([3; 20]), AddressProfile { first_bridge: 7, volume_usd: 1.5 });
        builder
    }

    #[test]
    fn what_was_written_is_read_again() {
        let mut again = Builder::default();
        decode(&encode(&filled()), &mut again).unwrap();
        assert_eq!(encode(&again), encode(&filled()));
        assert_eq!((again.len(), again.addresses().len()), (4, 3));
    }

    #[test]
    fn an_address_leaves_a_chunk_with_its_transfers_and_facts_and_nothing_else_changes() {
        let bytes = encode(&filled());
        assert_eq!(without(&bytes, EvmAddress([9; 20])).unwrap(), None);
        let (rest, removed) = without(&bytes, EvmAddress([3; 20])).unwrap().unwrap();
        assert_eq!(removed, 1);
        let mut read = Builder::default();
        decode(&rest, &mut read).unwrap();
        assert_eq!((read.transfers(), read.addresses().len()), (filled().transfers(), 2));
        let (rest, removed) = without(&bytes, EvmAddress([1; 20])).unwrap().unwrap();
        assert_eq!(removed, 3);
        let mut read = Builder::default();
        decode(&rest, &mut read).unwrap();
        assert_eq!((read.addresses(), read.facts().len()), (&[EvmAddress([3; 20])][..], 1));
    }

    #[test]
    fn damage_is_an_error_wherever_it_is() {
        let whole = encode(&filled());
        for length in 0..whole.len() {
            assert!(decode(&whole[..length], &mut Builder::default()).is_err(), "{length} bytes");
        }
        let mut strange = whole;
        strange[16 + 60 + 12] = 99;
        assert!(decode(&strange, &mut Builder::default()).is_err());
    }
}

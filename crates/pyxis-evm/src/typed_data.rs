//! EIP-712 for types that are known when the program is built.
//!
//! The caller gives the type as its text and the members as words, in the order of the text.

use crate::{Word, keccak};
use pyxis_core::address::EvmAddress;

const DOMAIN: &str = "EIP712Domain(string name,string version)";
const DOMAIN_OF_CHAIN: &str = "EIP712Domain(string name,string version,uint256 chainId)";

/// A `string` member.
pub fn text(text: &str) -> Word {
    keccak(text.as_bytes())
}

/// An unsigned member of up to 64 bits.
pub fn number(number: u64) -> Word {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&number.to_be_bytes());
    word
}

/// An `address` member.
pub fn address(address: EvmAddress) -> Word {
    let mut word = [0; 32];
    word[12..].copy_from_slice(&address.0);
    word
}

/// `hashStruct`.
pub fn hash_struct(type_text: &str, members: &[Word]) -> Word {
    keccak(&[&text(type_text), members.as_flattened()].concat())
}

/// The separator of a domain, bound to a chain where one is given.
pub fn domain(name: &str, version: &str, chain_id: Option<u64>) -> Word {
    match chain_id {
        None => hash_struct(DOMAIN, &[text(name), text(version)]),
        Some(id) => hash_struct(DOMAIN_OF_CHAIN, &[text(name), text(version), number(id)]),
    }
}

/// The hash to sign.
pub fn signing_hash(domain: Word, message: Word) -> Word {
    keccak(&[&[0x19, 0x01], &domain[..], &message].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_is_the_hash_of_its_type_and_its_members() {
        let separator = domain("Ether Mail", "1", Some(1));
        let domain_type = keccak(DOMAIN_OF_CHAIN.as_bytes());
        let by_hand = [domain_type, keccak(b"Ether Mail"), keccak(b"1"), number(1)].concat();
        assert_eq!(separator, keccak(&by_hand));
        assert_ne!(separator, domain("Ether Mail", "1", Some(10)));
        assert_ne!(separator, domain("Ether Mail", "1", None));
    }

    #[test]
    fn words_are_padded_in_front() {
        assert_eq!(address(EvmAddress([0xff; 20]))[..12], [0; 12]);
        assert_eq!(number(258)[30..], [1, 2]);
    }
}

//! EIP-712 words, and hashes of types known at compile time.

use pyxis_core::address::EvmAddress;
use sha3::{Digest, Keccak256};

/// 32 bytes: a hash, or a value as encoded by contracts.
pub type AbiWord = [u8; 32];

const DOMAIN: &str = "EIP712Domain(string name,string version)";
const DOMAIN_OF_CHAIN: &str = "EIP712Domain(string name,string version,uint256 chainId)";
const DOMAIN_OF_CONTRACT: &str =
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";

/// Keccak-256, the hash of Ethereum. SHA3-256 pads differently.
pub fn keccak(data: &[u8]) -> AbiWord {
    Keccak256::digest(data).into()
}

/// Encodes a `string` member.
pub fn text(text: &str) -> AbiWord {
    keccak(text.as_bytes())
}

/// Encodes an unsigned member of up to 64 bits.
pub fn number(number: u64) -> AbiWord {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&number.to_be_bytes());
    word
}

/// Encodes a `bool` member.
pub fn boolean(value: bool) -> AbiWord {
    number(u64::from(value))
}

/// Encodes an `address` member.
pub fn address(address: EvmAddress) -> AbiWord {
    let mut word = [0; 32];
    word[12..].copy_from_slice(&address.0);
    word
}

/// `hashStruct` of a type, given as its type string, and of its members in that order.
pub fn hash_struct(type_text: &str, members: &[AbiWord]) -> AbiWord {
    keccak(&[&text(type_text), members.as_flattened()].concat())
}

/// Domain separator, bound to a chain if one is given.
pub fn domain(name: &str, version: &str, chain_id: Option<u64>) -> AbiWord {
    match chain_id {
        None => hash_struct(DOMAIN, &[text(name), text(version)]),
        Some(id) => hash_struct(DOMAIN_OF_CHAIN, &[text(name), text(version), number(id)]),
    }
}

/// Domain separator, bound to a contract on a chain.
pub fn domain_of_contract(name: &str, version: &str, chain_id: u64, contract: EvmAddress) -> AbiWord {
    let members = [text(name), text(version), number(chain_id), address(contract)];
    hash_struct(DOMAIN_OF_CONTRACT, &members)
}

/// The hash to sign, computed from the hashes of domain and message.
pub fn signing_hash(domain: AbiWord, message: AbiWord) -> AbiWord {
    keccak(&[&[0x19, 0x01], &domain[..], &message].concat())
}

/// An integer of `bits` in two's complement. `None` if outside the range of its type.
pub fn integer(magnitude: AbiWord, negative: bool, signed: bool, bits: u32) -> Option<AbiWord> {
    if !fits(&magnitude, negative, signed, bits) {
        return None;
    }
    Some(if negative { negated(magnitude) } else { magnitude })
}

fn fits(magnitude: &AbiWord, negative: bool, signed: bool, bits: u32) -> bool {
    let mut used = 256;
    for byte in magnitude {
        used -= byte.leading_zeros();
        if *byte != 0 {
            break;
        }
    }
    if !signed {
        return !negative && used <= bits || used == 0;
    }
    // The smallest n-bit value is -2^(n-1), whose magnitude exceeds the largest value by one.
    let least = used == bits && magnitude.iter().map(|byte| byte.count_ones()).sum::<u32>() == 1;
    used < bits || (negative && least)
}

fn negated(mut word: AbiWord) -> AbiWord {
    let mut carry = true;
    for byte in word.iter_mut().rev() {
        let (sum, overflow) = (!*byte).overflowing_add(u8::from(carry));
        (*byte, carry) = (sum, overflow);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_is_the_hash_of_its_type_and_its_members() {
        let separator = domain("Ether Mail", "1", Some(1));
        let by_hand =
            [keccak(DOMAIN_OF_CHAIN.as_bytes()), keccak(b"Ether Mail"), keccak(b"1"), number(1)].concat();
        assert_eq!(separator, keccak(&by_hand));
        assert_ne!(separator, domain("Ether Mail", "1", Some(10)));
        assert_ne!(separator, domain("Ether Mail", "1", None));
        let contract = EvmAddress([0xcc; 20]);
        let by_hand = [
            keccak(DOMAIN_OF_CONTRACT.as_bytes()),
            keccak(b"Ether Mail"),
            keccak(b"1"),
            number(1),
            address(contract),
        ];
        assert_eq!(domain_of_contract("Ether Mail", "1", 1, contract), keccak(by_hand.as_flattened()));
    }

    #[test]
    fn words_are_padded_in_front() {
        assert_eq!(address(EvmAddress([0xff; 20]))[..12], [0; 12]);
        assert_eq!(number(258)[30..], [1, 2]);
    }

    #[test]
    fn an_integer_fits_its_type_or_is_none() {
        let is =
            |value: u64, negative, signed, bits| integer(number(value), negative, signed, bits).is_some();
        assert!(is(255, false, false, 8) && !is(256, false, false, 8) && !is(1, true, false, 8));
        assert!(is(127, false, true, 8) && !is(128, false, true, 8));
        assert!(is(128, true, true, 8) && !is(129, true, true, 8) && is(0, true, false, 8));
        assert_eq!(integer(number(2), true, true, 16).unwrap()[..31], [0xff; 31]);
        assert_eq!(integer(number(2), true, true, 16).unwrap()[31], 0xfe);
        assert!(integer([0xff; 32], false, false, 256).is_some());
        assert!(integer([0xff; 32], false, true, 256).is_none());
    }
}

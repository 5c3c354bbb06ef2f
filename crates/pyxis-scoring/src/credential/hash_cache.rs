//! Cache of hashes that nearly every credential needs: those of its contexts, types, issuer and name.

use std::cell::RefCell;

use pyxis_signing::eip712::{AbiWord, abi_words};

/// Longest text or structure whose hash is cached, in bytes: four words.
const LONGEST: usize = 128;
/// Hashes cached per thread, a power of two.
const PLACES: usize = 256;

thread_local! {
    static KEPT: RefCell<Vec<CachedHash>> = RefCell::new(vec![CachedHash::NOTHING; PLACES]);
}

/// An input and its hash.
#[derive(Clone)]
struct CachedHash {
    length: usize,
    data: [u8; LONGEST],
    hash: AbiWord,
}

impl CachedHash {
    const NOTHING: Self = Self { length: 0, data: [0; LONGEST], hash: [0; 32] };
}

/// Keccak-256 with a per-thread cache of recent inputs. Hashing is most of the cost of verification apart from the
/// signature. The cache affects only speed.
pub(super) fn keccak(data: &[u8]) -> AbiWord {
    if data.is_empty() || data.len() > LONGEST {
        return abi_words::keccak(data);
    }
    KEPT.with_borrow_mut(|kept| {
        let kept = &mut kept[cache_slot(data)];
        if kept.data[..kept.length] != *data {
            kept.length = data.len();
            kept.data[..data.len()].copy_from_slice(data);
            kept.hash = abi_words::keccak(data);
        }
        kept.hash
    })
}

/// Cache slot of `data`. An attacker who causes collisions gains nothing but more hashing.
fn cache_slot(data: &[u8]) -> usize {
    let (chunks, rest) = data.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let mixed = chunks.iter().chain([&last]).fold(data.len() as u64, |mixed, chunk| {
        (mixed.rotate_left(23) ^ u64::from_le_bytes(*chunk)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    (mixed >> 40) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_its_own_data_whatever_was_hashed_before() {
        let text = |number: usize| format!("{}{}", "x".repeat(number % 150), number % 700);
        for number in (0..3000).chain(0..3000) {
            let text = text(number);
            assert_eq!(keccak(text.as_bytes()), abi_words::text(&text), "{text}");
        }
        assert_eq!(keccak(b""), abi_words::keccak(b""));
    }
}

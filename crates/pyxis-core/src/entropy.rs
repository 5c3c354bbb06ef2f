//! Randomness as an argument.

use std::cell::RefCell;
use std::sync::Mutex;

use sha2::{Digest, Sha256};
use zeroize::Zeroize;

use crate::hex;

/// A source of unpredictable bytes.
pub trait Entropy: Send + Sync + 'static {
    /// Fills `buffer` with random bytes.
    fn fill(&self, buffer: &mut [u8]);
}

/// `N` random bytes.
pub fn bytes<const N: usize>(entropy: &dyn Entropy) -> [u8; N] {
    let mut buffer = [0; N];
    entropy.fill(&mut buffer);
    buffer
}

/// A random token of `N` bytes as lower-case hex, after `prefix`.
pub fn token<const N: usize>(entropy: &dyn Entropy, prefix: &str) -> String {
    let mut text = String::with_capacity(prefix.len() + 2 * N);
    text.push_str(prefix);
    hex::push(&mut text, &bytes::<N>(entropy));
    text
}

/// The operating system's generator.
///
/// Short values such as identifiers and nonces come from bytes that each thread fetches ahead. A system call costs
/// more than the rest of making one. Keys and tokens are longer and are fetched individually.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

/// Longest value taken from the bytes fetched ahead, in bytes.
const SHORT: usize = 16;

/// Bytes fetched ahead, each used once.
struct Ahead {
    bytes: [u8; 32 * SHORT],
    left: usize,
}

thread_local! {
    static AHEAD: RefCell<Ahead> = const { RefCell::new(Ahead { bytes: [0; 32 * SHORT], left: 0 }) };
}

impl Entropy for OsEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        if buffer.len() <= SHORT {
            AHEAD.with_borrow_mut(|ahead| ahead.copy_into(buffer));
        } else {
            fetch(buffer);
        }
    }
}

impl Ahead {
    fn copy_into(&mut self, buffer: &mut [u8]) {
        if self.left < buffer.len() {
            fetch(&mut self.bytes);
            self.left = self.bytes.len();
        }
        let given = &mut self.bytes[self.left - buffer.len()..self.left];
        buffer.copy_from_slice(given);
        given.zeroize();
        self.left -= buffer.len();
    }
}

fn fetch(buffer: &mut [u8]) {
    getrandom::fill(buffer).expect("the operating system gives random bytes");
}

/// A repeatable stream for tests: SHA-256 over a seed and a counter.
#[derive(Debug)]
pub struct SeededEntropy {
    seed: u64,
    counter: Mutex<u64>,
}

impl SeededEntropy {
    /// The stream of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { seed, counter: Mutex::new(0) }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        let mut counter = self.counter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for chunk in buffer.chunks_mut(32) {
            let block = Sha256::new()
                .chain_update(self.seed.to_le_bytes())
                .chain_update(counter.to_le_bytes())
                .finalize();
            chunk.copy_from_slice(&block[..chunk.len()]);
            *counter += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_never_gives_the_same_block_twice() {
        let (a, b) = (SeededEntropy::new(7), SeededEntropy::new(7));
        let first = bytes::<40>(&a);
        assert_eq!(first, bytes::<40>(&b));
        assert_ne!(first, bytes::<40>(&a));
    }

    #[test]
    fn short_bytes_that_were_fetched_ahead_are_given_out_once() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..200 {
            assert!(seen.insert(bytes::<16>(&OsEntropy)));
            assert_ne!(bytes::<13>(&OsEntropy), [0; 13]);
        }
        let mut ahead = Ahead { bytes: [7; 32 * SHORT], left: 20 };
        let mut given = [0; 16];
        ahead.copy_into(&mut given);
        assert_eq!((given, ahead.left, &ahead.bytes[4..20]), ([7; 16], 4, &[0; 16][..]));
        ahead.copy_into(&mut given);
        assert_eq!(ahead.left, 31 * SHORT, "too few were left: all were fetched again");
    }

    #[test]
    fn a_token_has_its_prefix_and_length() {
        let token = token::<32>(&OsEntropy, "px_");
        assert_eq!(token.len(), 3 + 64);
        assert!(token.starts_with("px_"));
    }
}

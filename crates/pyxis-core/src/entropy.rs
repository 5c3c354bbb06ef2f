//! Randomness as an argument.

use std::sync::Mutex;

use sha2::{Digest, Sha256};

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
#[derive(Clone, Copy, Debug, Default)]
pub struct OsEntropy;

impl Entropy for OsEntropy {
    fn fill(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("the operating system gives random bytes");
    }
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
    fn a_token_has_its_prefix_and_length() {
        let token = token::<32>(&OsEntropy, "px_");
        assert_eq!(token.len(), 3 + 64);
        assert!(token.starts_with("px_"));
    }
}

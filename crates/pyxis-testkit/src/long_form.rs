//! Rounds of tests that repeat a race or a crash, and random choices that can be repeated.

use pyxis_core::entropy::{self, OsEntropy};
use sha2::{Digest, Sha256};

/// Number of rounds: `long` with `PX_TEST_LONG`, else `short`.
#[expect(clippy::disallowed_methods, reason = "the long form is asked for this way")]
pub fn rounds(short: usize, long: usize) -> usize {
    if std::env::var_os("PX_TEST_LONG").is_some() { long } else { short }
}

/// Prints the counts of a test that causes faults, for `docs/explanation/reliability.md`.
#[expect(clippy::print_stderr, reason = "ci/faults.sh shows the figures")]
pub fn figures(fault: &str, counts: &str) {
    eprintln!("{fault}: {counts}");
}

/// Random choices from one seed. `PX_TEST_SEED` repeats those of an earlier run.
pub struct Dice {
    seed: u64,
    thrown: u64,
}

impl Dice {
    /// Prints the seed, which a failed test shows.
    #[expect(clippy::disallowed_methods, clippy::print_stderr, reason = "a seed is given and shown this way")]
    pub fn new() -> Self {
        let given = std::env::var("PX_TEST_SEED").ok();
        let seed = given.map(|text| text.parse().expect("PX_TEST_SEED is a number"));
        let seed = seed.unwrap_or_else(|| u64::from_le_bytes(entropy::bytes(&OsEntropy)));
        eprintln!("PX_TEST_SEED={seed}");
        Self { seed, thrown: 0 }
    }

    /// The next choice: a number from 0 to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        let hash =
            Sha256::new().chain_update(self.seed.to_le_bytes()).chain_update(self.thrown.to_le_bytes());
        self.thrown += 1;
        let bytes = hash.finalize();
        let first = bytes.first_chunk::<8>().expect("a hash is longer");
        u64::from_le_bytes(*first) % end
    }

    /// The same for a count or an index.
    pub fn index(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("a count");
        usize::try_from(self.below(end)).expect("less than a count")
    }
}

impl Default for Dice {
    fn default() -> Self {
        Self::new()
    }
}

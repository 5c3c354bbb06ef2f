//! Conversion of a stored score record to the answer.
//!
//! `cargo bench -p pyxis-core --bench record`

use divan::Bencher;
use pyxis_core::address::EvmAddress;
use pyxis_core::score::stored_to_json;

fn main() {
    divan::main();
}

/// With this many Stamps, each with its own dates.
#[divan::bench(args = [0, 5, 30])]
fn stored_to_json_of_stamps(bencher: Bencher<'_, '_>, stamps: u64) {
    let mut stored = "2145678 2000000 1767225600250 1774915200123 1".to_owned();
    for stamp in 0..stamps {
        let line =
            format!(" {} {} 0 SomeProvider#{stamp}", 153_380 + stamp, 1_774_915_200_123 + 86_399_999 * stamp);
        stored.push_str(&line);
    }
    let address = EvmAddress([0x5a; 20]);
    bencher.with_inputs(|| stored.clone()).bench_values(|stored| stored_to_json(address, stored));
}

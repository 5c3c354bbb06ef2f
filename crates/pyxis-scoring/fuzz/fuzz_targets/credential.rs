//! Any input gets an answer and never a panic. A credential that passes reads as what was signed: the holder gets the
//! same answer when presenting it, and no byte is lost.
//!
//! `mkdir -p fuzz/corpus/credential` and `cargo +nightly fuzz run credential fuzz/corpus/credential tests/data` in
//! `crates/pyxis-scoring`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_scoring::credential::{parse_and_verify, parse_and_verify_for_its_subject};

/// Moments at which one or another of the files in `tests/data` is valid.
const MOMENTS: [i64; 3] = [1_706_745_600_000, 1_714_521_600_000, 1_767_312_000_000];

fuzz_target!(|text: &str| {
    for now in MOMENTS.map(UnixMillis) {
        match parse_and_verify_for_its_subject(text, now, |_| true) {
            Ok(verified) => {
                assert_eq!(verified.credential, text);
                assert!(verified.issued_at < verified.expires_at && now < verified.expires_at);
                assert!(!verified.nullifiers.is_empty());
                let presented = parse_and_verify(text, verified.address, now, |did| did == verified.issuer);
                assert_eq!(presented.as_ref(), Ok(&verified));
                assert!(parse_and_verify(text, EvmAddress([0x5a; 20]), now, |_| true).is_err());
            }
            Err(rejection) => {
                let message = rejection.to_string();
                assert!(!message.contains(char::is_control) && message.len() < 2000);
            }
        }
    }
});

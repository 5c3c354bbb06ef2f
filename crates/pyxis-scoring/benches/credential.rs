//! Credentials verified per core, compared with the cost of recovering the signer alone.
//!
//! `cargo bench -p pyxis-scoring --bench credential`

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::hex;
use pyxis_scoring::credential::parse_and_verify_for_its_subject;
use pyxis_signing::recovery::Signature;
use pyxis_testkit::issuer::{CredentialFields, Ed25519Issuer, Eip712Issuer};

const NOW: UnixMillis = UnixMillis(1_767_225_600_000);
/// All credentials differ, so branch prediction and caches do not help.
const COUNT: u16 = 512;

fn main() {
    divan::main();
}

fn each<T>(issue: impl Fn(&CredentialFields<'_>) -> T) -> Vec<T> {
    let claim = |i: u16| CredentialFields {
        address: EvmAddress(std::array::from_fn(|at| i.to_be_bytes()[at % 2])),
        provider: "GitcoinContributorStatistics#totalContributionAmountGte#10",
        nullifiers: &["v0.0.0:eu7RH6ZXAtRhUm3wQ3jfMVYoJ18sXynFm2AvsjsT9FQ="],
        issued_at: UnixMillis(NOW.0 - 1000),
        expires_at: UnixMillis(NOW.0 + 1000),
    };
    (0..COUNT).map(|i| issue(&claim(i))).collect()
}

fn verify_all(bencher: Bencher<'_, '_>, credentials: &[String]) {
    bencher.counter(ItemsCount::new(credentials.len())).bench_local(|| {
        for text in credentials {
            let verified = parse_and_verify_for_its_subject(black_box(text), NOW, |_| true);
            black_box(verified.expect("a good credential"));
        }
    });
}

/// The lower bound: signer recovery alone.
#[divan::bench]
fn bare_recovery(bencher: Bencher<'_, '_>) {
    let issuer = Eip712Issuer::new(&SeededEntropy::new(1));
    let signed: Vec<([u8; 32], Vec<u8>)> = (0..COUNT)
        .map(|i| {
            let hash = std::array::from_fn(|at| i.to_be_bytes()[at % 2]);
            (hash, hex::decode_prefixed(&issuer.sign_hash(&hash)).expect("hexadecimal"))
        })
        .collect();
    bencher.counter(ItemsCount::new(signed.len())).bench_local(|| {
        for (hash, bytes) in &signed {
            let signature = Signature::from_bytes(black_box(bytes)).expect("a signature");
            black_box(signature.signer(hash).expect("a signer"));
        }
    });
}

#[divan::bench]
fn eip712_with_nullifiers(bencher: Bencher<'_, '_>) {
    let issuer = Eip712Issuer::new(&SeededEntropy::new(1));
    verify_all(bencher, &each(|claim| issuer.issue(claim)));
}

#[divan::bench]
fn eip712_of_the_older_form(bencher: Bencher<'_, '_>) {
    let issuer = Eip712Issuer::new(&SeededEntropy::new(1));
    verify_all(bencher, &each(|claim| issuer.issue_older_form(claim)));
}

#[divan::bench]
fn ed25519(bencher: Bencher<'_, '_>) {
    let issuer = Ed25519Issuer::new(&SeededEntropy::new(1));
    verify_all(bencher, &each(|claim| issuer.issue(claim)));
}

use k256::ecdsa::SigningKey;
use k256::elliptic_curve::PrimeField;
use proptest::prelude::*;

use super::*;

fn key(number: u8) -> SigningKey {
    SigningKey::from_slice(&[number; 32]).unwrap()
}

fn scalar(bytes: [u8; 32]) -> Scalar {
    Scalar::reduce(&FieldBytes::from(bytes))
}

/// Keys that know the one of `issuer`.
fn knowing(issuer: &SigningKey) -> (Keys, EvmAddress) {
    let (keys, address) = (Keys::default(), address_of(issuer.verifying_key()));
    assert!(keys.made(address, &[1; 32], &sign(issuer, &[1; 32])));
    assert!(keys.known(address).is_some());
    (keys, address)
}

fn sign(key: &SigningKey, hash: &Word) -> Signed {
    key.sign_prehash_recoverable(hash)
}

fn with(r: [u8; 32], s: [u8; 32], odd: bool) -> Option<Signed> {
    Some((Signature::from_scalars(r, s).ok()?, RecoveryId::new(odd, false)))
}

fn bytes() -> impl Strategy<Value = [u8; 32]> {
    // Digits that have no term, and the last of a place, more often than chance would have them.
    let byte = prop_oneof![any::<u8>(), Just(0), Just(255)];
    prop::collection::vec(byte, 32).prop_map(|bytes| bytes.try_into().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_point_times_a_scalar_is_what_the_library_says(number in bytes()) {
        let number = scalar(number);
        prop_assert_eq!(GENERATOR.times(&number), ProjectivePoint::GENERATOR * number);
    }

    #[test]
    fn a_known_key_says_of_any_signature_what_recovery_says(
        hash in bytes(),
        other_hash in bytes(),
        r in bytes(),
        s in bytes(),
    ) {
        static KNOWING: LazyLock<(Keys, EvmAddress)> = LazyLock::new(|| knowing(&key(7)));
        let (keys, issuer) = (&KNOWING.0, KNOWING.1);
        let genuine = sign(&key(7), &hash);
        let (own_r, own_s) = genuine.0.split_bytes();
        let (own_r, own_s, odd): ([u8; 32], [u8; 32], bool) =
            (own_r.into(), own_s.into(), genuine.1.is_y_odd());
        let twin: [u8; 32] = (-scalar(own_s)).to_repr().into();
        prop_assert!(keys.made(issuer, &hash, &genuine));
        let tried = [
            with(own_r, own_s, !odd),
            with(own_r, twin, odd),
            with(own_r, twin, !odd),
            with(own_r, s, odd),
            with(r, own_s, odd),
            with(r, s, odd),
            Some(sign(&key(8), &hash)),
        ];
        for signed in tried.into_iter().flatten().chain([genuine]) {
            for hash in [hash, other_hash, [0; 32]] {
                let said = keys.made(issuer, &hash, &signed);
                prop_assert_eq!(said, signer(&hash, &signed) == Some(issuer));
            }
        }
    }
}

#[test]
fn a_signature_that_stands_for_no_point_is_refused() {
    let (keys, issuer) = knowing(&key(7));
    let (hash, secret) = ([9; 32], *key(7).as_nonzero_scalar().as_ref());
    // z·G + r·Q is the point at infinity.
    let r: [u8; 32] = (-(scalar(hash) * secret.invert().unwrap())).to_repr().into();
    for odd in [false, true] {
        let signed = with(r, [1; 32], odd).unwrap();
        assert!(!keys.made(issuer, &hash, &signed));
        assert_ne!(signer(&hash, &signed), Some(issuer));
    }
}

#[test]
fn only_so_many_keys_are_kept_and_the_others_are_recovered() {
    let (keys, hash) = (Keys::default(), [3; 32]);
    let issuers: Vec<SigningKey> = (1..=20).map(key).collect();
    for _again in 0..2 {
        for issuer in &issuers {
            let address = address_of(issuer.verifying_key());
            assert!(keys.made(address, &hash, &sign(issuer, &hash)));
            assert!(!keys.made(address, &hash, &sign(&key(99), &hash)));
        }
    }
    assert_eq!(keys.0.read().unwrap().len(), MAX_KEYS);
}

#[test]
fn a_forger_does_not_become_the_issuer() {
    let (keys, issuer, hash) = (Keys::default(), address_of(key(7).verifying_key()), [3; 32]);
    assert!(!keys.made(issuer, &hash, &sign(&key(8), &hash)));
    assert!(keys.known(issuer).is_none());
    assert!(keys.made(issuer, &hash, &sign(&key(7), &hash)));
    assert!(!keys.made(issuer, &hash, &sign(&key(8), &hash)));
}

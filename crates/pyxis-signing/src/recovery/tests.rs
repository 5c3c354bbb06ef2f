//! Compared with `k256`, a second library.

use k256::ecdsa::{RecoveryId, Signature as Other, SigningKey, VerifyingKey};
use k256::elliptic_curve::PrimeField as _;
use k256::{FieldBytes, Scalar};
use proptest::prelude::*;

use super::*;

fn key() -> SigningKey {
    SigningKey::from_slice(&[7; 32]).unwrap()
}

fn sign(hash: &AbiWord) -> [u8; 65] {
    let (signature, recovery) = key().sign_prehash_recoverable(hash);
    let mut bytes = [27 + recovery.to_byte(); 65];
    bytes[..64].copy_from_slice(&signature.to_bytes());
    bytes
}

fn joined(r: AbiWord, s: AbiWord, v: u8) -> [u8; 65] {
    let mut bytes = [0; 65];
    bytes[..32].copy_from_slice(&r);
    bytes[32..64].copy_from_slice(&s);
    bytes[64] = v;
    bytes
}

fn parts(signature: &[u8; 65]) -> (AbiWord, AbiWord, u8) {
    (signature[..32].try_into().unwrap(), signature[32..64].try_into().unwrap(), signature[64])
}

fn negated(s: AbiWord) -> AbiWord {
    (-Scalar::from_repr(FieldBytes::from(s)).unwrap()).to_repr().into()
}

/// Result of the second library.
fn other(hash: &AbiWord, bytes: &[u8; 65]) -> Result<Option<EvmAddress>, BadSignature> {
    let recovery = match bytes[64] {
        0 | 27 => RecoveryId::new(false, false),
        1 | 28 => RecoveryId::new(true, false),
        _ => return Err(BadSignature::Malformed),
    };
    let signature = Other::from_slice(&bytes[..64]).map_err(|_| BadSignature::Malformed)?;
    if signature.normalize_s() != signature {
        return Err(BadSignature::HighS);
    }
    Ok(VerifyingKey::recover_from_prehash(hash, &signature, recovery).ok().map(|key| address_of(&key)))
}

fn ours(hash: &AbiWord, bytes: &[u8]) -> Result<Option<EvmAddress>, BadSignature> {
    Signature::from_bytes(bytes).map(|signature| signature.signer(hash))
}

fn any_word() -> impl Strategy<Value = AbiWord> {
    // The ends of the range are drawn more often than by chance.
    let byte = prop_oneof![any::<u8>(), Just(0), Just(255)];
    prop_oneof![
        prop::collection::vec(byte, 32).prop_map(|bytes| bytes.try_into().unwrap()),
        Just([0; 32]),
        Just([255; 32]),
        Just(negated(word_from(1))),
        // The last low s, and the first high one.
        Just(half()),
        Just(negated(half())),
    ]
}

/// Half of the order minus one.
fn half() -> AbiWord {
    (-Scalar::from(1_u64) * Scalar::from(2_u64).invert().unwrap()).to_repr().into()
}

fn word_from(number: u64) -> AbiWord {
    Scalar::from(number).to_repr().into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn genuine_forged_mirrored_and_made_up_signatures_are_what_a_second_library_says(
        hash in any_word(),
        other_hash in any_word(),
        r in any_word(),
        s in any_word(),
        v in any::<u8>(),
    ) {
        let genuine = sign(&hash);
        let (own_r, own_s, own_v) = parts(&genuine);
        prop_assert_eq!(ours(&hash, &genuine), Ok(Some(address_of(key().verifying_key()))));
        for signature in [
            genuine,
            joined(own_r, own_s, 55 - own_v),
            joined(own_r, own_s, own_v - 27),
            joined(own_r, own_s, v),
            joined(own_r, negated(own_s), own_v),
            joined(own_r, negated(own_s), 55 - own_v),
            joined(own_r, s, own_v),
            joined(r, own_s, own_v),
            joined(r, s, 27),
            joined(r, s, 28),
            joined(r, s, v),
        ] {
            for hash in [hash, other_hash, [0; 32]] {
                prop_assert_eq!(ours(&hash, &signature), other(&hash, &signature));
            }
        }
    }

    #[test]
    fn bytes_of_any_other_length_are_malformed(
        scalars in prop::collection::vec(1_u8..=127, 0..200),
        v in prop_oneof![Just(0), Just(1), Just(27), Just(28)],
    ) {
        prop_assume!(scalars.len() != 64);
        let bytes = [scalars, vec![v]].concat();
        prop_assert_eq!(ours(&[1; 32], &bytes), Err(BadSignature::Malformed));
    }
}

#[test]
fn a_signature_that_stands_for_no_key_names_nobody() {
    // s·R − z·G is the point at infinity if R = G and s = z.
    let generator = k256::ProjectivePoint::GENERATOR.to_affine();
    let r: AbiWord = k256::elliptic_curve::point::AffineCoordinates::x(&generator).into();
    for v in [27, 28] {
        let signature = joined(r, word_from(5), v);
        let found = ours(&word_from(5), &signature);
        assert_eq!(found, other(&word_from(5), &signature));
        assert_eq!(found.unwrap().is_none(), v == 27, "{v}");
    }
    // No point has this r.
    let nowhere = joined(word_from(5), word_from(5), 27);
    assert_eq!(ours(&word_from(5), &nowhere), Ok(None));
    assert_eq!(other(&word_from(5), &nowhere), Ok(None));
}

#[test]
fn r_and_s_of_zero_or_of_the_order_and_more_are_malformed() {
    let (r, s, v) = parts(&sign(&[1; 32]));
    let mut order = negated(word_from(1));
    order[31] += 1;
    for outside in [[0; 32], order, [255; 32]] {
        for signature in [joined(outside, s, v), joined(r, outside, v)] {
            assert_eq!(ours(&[1; 32], &signature), Err(BadSignature::Malformed));
            assert_eq!(other(&[1; 32], &signature), Err(BadSignature::Malformed));
        }
    }
}

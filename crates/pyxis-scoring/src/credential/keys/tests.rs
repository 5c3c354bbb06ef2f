use k256::ecdsa::SigningKey;
use k256::elliptic_curve::PrimeField;
use k256::elliptic_curve::sec1::ToSec1Point as _;
use proptest::prelude::*;

use super::*;

fn key(number: u8) -> SigningKey {
    SigningKey::from_slice(&[number; 32]).unwrap()
}

fn address(key: &SigningKey) -> EvmAddress {
    address_of(key.verifying_key())
}

fn scalar(bytes: [u8; 32]) -> Scalar {
    Scalar::reduce(&FieldBytes::from(bytes))
}

fn claimed(issuer: EvmAddress, hash: Word, signed: Signed) -> Claimed {
    Claimed { issuer, hash, signed }
}

/// Keys that know the one of `issuer`.
fn knowing(issuer: &SigningKey) -> Keys {
    let keys = Keys::default();
    let claim = claimed(address(issuer), [1; 32], sign(issuer, &[1; 32]));
    assert_eq!(keys.hold_each(&[claim]), [true]);
    assert!(keys.known(address(issuer)).is_some());
    keys
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

/// The claims about a signature of key 7: itself, and what can be made of it and of other numbers.
fn about(hash: Word, other_hash: Word, r: [u8; 32], s: [u8; 32]) -> Vec<Claimed> {
    let genuine = sign(&key(7), &hash);
    let (own_r, own_s) = genuine.0.split_bytes();
    let (own_r, own_s, odd): ([u8; 32], [u8; 32], bool) = (own_r.into(), own_s.into(), genuine.1.is_y_odd());
    let twin: [u8; 32] = (-scalar(own_s)).to_repr().into();
    let tried = [
        with(own_r, own_s, !odd),
        with(own_r, twin, odd),
        with(own_r, twin, !odd),
        with(own_r, s, odd),
        with(r, own_s, odd),
        with(r, s, odd),
        Some(sign(&key(8), &hash)),
        Some(genuine),
    ];
    let of_both = |signed| [address(&key(7)), address(&key(8))].map(|issuer| (issuer, signed));
    let of_all = |(issuer, signed)| [hash, other_hash, [0; 32]].map(|hash| claimed(issuer, hash, signed));
    tried.into_iter().flatten().flat_map(of_both).flat_map(of_all).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_sums_of_products_are_what_the_library_says(rows in prop::collection::vec((bytes(), bytes()), 1..20)) {
        static OTHER: LazyLock<(ProjectivePoint, Multiples)> = LazyLock::new(|| {
            let point = ProjectivePoint::GENERATOR * scalar([5; 32]);
            (point, Multiples::of(point))
        });
        let rows: Vec<_> = rows.into_iter().map(|(first, second)| [scalar(first), scalar(second)]).collect();
        let products: Vec<_> = rows
            .iter()
            .map(|[first, second]| [Product::of(&GENERATOR, first), Product::of(&OTHER.1, second)])
            .collect();
        let sums = multiples::sums(&products).unwrap();
        for ([first, second], sum) in rows.iter().zip(sums) {
            let point = (ProjectivePoint::GENERATOR * *first + OTHER.0 * *second).to_affine();
            let found = sum.map_or_else(Vec::new, |sum| [&[2 + u8::from(sum.is_odd())][..], &sum.x()].concat());
            prop_assert_eq!(found.is_empty(), point == k256::AffinePoint::IDENTITY);
            if !found.is_empty() {
                let written = point.to_sec1_point(true);
                prop_assert_eq!(written.as_bytes(), &found[..]);
            }
        }
    }

    #[test]
    fn known_keys_say_of_any_signatures_together_what_recovery_says_of_each(
        hash in bytes(),
        other_hash in bytes(),
        r in bytes(),
        s in bytes(),
    ) {
        static KNOWING: LazyLock<Keys> = LazyLock::new(|| knowing(&key(7)));
        let claims = about(hash, other_hash, r, s);
        let said = KNOWING.hold_each(&claims);
        prop_assert!(said.contains(&true) && said.contains(&false));
        let recovered: Vec<bool> = claims.iter().map(Claimed::holds).collect();
        prop_assert_eq!(said, recovered);
    }
}

#[test]
fn more_signatures_than_are_checked_together_are_each_answered_in_their_place() {
    let keys = knowing(&key(7));
    let by_somebody_else = |number: usize| number % 7 == 3 || number == BATCH;
    let claims: Vec<Claimed> = (0..2 * BATCH + 5)
        .map(|number| {
            let hash = scalar([1; 32]) + Scalar::from(number as u64);
            let hash: [u8; 32] = hash.to_repr().into();
            let signer = key(if by_somebody_else(number) { 8 } else { 7 });
            claimed(address(&key(7)), hash, sign(&signer, &hash))
        })
        .collect();
    for (number, holds) in keys.hold_each(&claims).into_iter().enumerate() {
        assert_eq!(holds, !by_somebody_else(number), "{number}");
    }
}

#[test]
fn a_signature_that_stands_for_no_point_is_refused() {
    let keys = knowing(&key(7));
    let (hash, secret) = ([9; 32], *key(7).as_nonzero_scalar().as_ref());
    // z·G + r·Q is the point at infinity: what is added last cancels out what is there.
    let r: [u8; 32] = (-(scalar(hash) * secret.invert().unwrap())).to_repr().into();
    let cancelled = |odd| claimed(address(&key(7)), hash, with(r, [1; 32], odd).unwrap());
    let genuine = claimed(address(&key(7)), hash, sign(&key(7), &hash));
    let claims = [cancelled(false), genuine, cancelled(true)];
    assert_eq!(keys.hold_each(&claims), [false, true, false]);
    assert_eq!(claims.each_ref().map(Claimed::holds), [false, true, false]);
}

#[test]
fn a_signature_whose_sum_takes_a_doubling_on_the_way_is_recovered() {
    // The key is three times the generator.
    let mut secret = [0; 32];
    secret[31] = 3;
    let issuer = SigningKey::from_slice(&secret).unwrap();
    let keys = knowing(&issuer);
    // With s = 1 the sum is z·G + r·Q: with z = 3 it is 3·G when Q is to be added, for a lowest digit 1 of r.
    let odd_of = |number: u64| {
        let nonce = Scalar::from(number);
        let point = (ProjectivePoint::GENERATOR * nonce).to_affine().to_sec1_point(true);
        (point.as_bytes()[0] == 3, <[u8; 32]>::try_from(&point.as_bytes()[1..]).unwrap())
    };
    let (odd, r) = (1..100_000_u64).map(odd_of).find(|(_, r)| r[31] == 1).unwrap();
    let mut hash = [0; 32];
    hash[31] = 3;
    let mut one = [0; 32];
    one[31] = 1;
    let meeting = claimed(address(&issuer), hash, with(r, one, odd).unwrap());
    let key = keys.known(address(&issuer)).unwrap();
    let products = [Product::of(&GENERATOR, &Scalar::from(3_u64)), Product::of(&key, &scalar(r))];
    assert!(multiples::sums(&[products]).is_none(), "two equal points were to be added");
    let genuine = claimed(address(&issuer), [9; 32], sign(&issuer, &[9; 32]));
    let claims = [genuine, meeting];
    let recovered = claims.each_ref().map(Claimed::holds);
    assert_eq!(recovered, [true, false]);
    assert_eq!(keys.hold_each(&claims), recovered);
}

#[test]
fn only_so_many_keys_are_kept_and_the_others_are_recovered() {
    let (keys, hash) = (Keys::default(), [3; 32]);
    let issuers: Vec<SigningKey> = (1..=20).map(key).collect();
    for _again in 0..2 {
        for issuer in &issuers {
            let claim = |signer| claimed(address(issuer), hash, sign(signer, &hash));
            assert_eq!(keys.hold_each(&[claim(issuer), claim(&key(99))]), [true, false]);
        }
    }
    assert_eq!(keys.0.read().unwrap().len(), MAX_KEYS);
}

#[test]
fn a_forger_does_not_become_the_issuer() {
    let (keys, issuer, hash) = (Keys::default(), address(&key(7)), [3; 32]);
    let by = |signer: u8| [claimed(issuer, hash, sign(&key(signer), &hash))];
    assert_eq!(keys.hold_each(&by(8)), [false]);
    assert!(keys.known(issuer).is_none());
    assert_eq!(keys.hold_each(&by(7)), [true]);
    assert_eq!(keys.hold_each(&by(8)), [false]);
}

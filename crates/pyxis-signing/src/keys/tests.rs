use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use pyxis_core::entropy::SeededEntropy;
use pyxis_core::hex;
use sha2::Sha256;

use super::*;

fn key(algorithm: Algorithm, hex: &str) -> SigningKey {
    SigningKey::from_hex(algorithm, hex).unwrap()
}

/// RFC 8032, section 7.1, test 2.
#[test]
fn ed25519_signs_as_the_rfc_does() {
    let key = key(Algorithm::Ed25519, "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
    let signed = key.sign(&ToSign::Message(vec![0x72])).unwrap();
    assert_eq!(signed.public_key, "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
    assert_eq!(
        signed.signature,
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c\
         387b2eaeb4302aeeb00d291612bb0c00"
    );
    assert_eq!((signed.address, signed.recovery_id), (None, None));
}

/// RFC 6979, appendix A.2.5: "sample" with SHA-256. Its s is above half the order, so ours is n − s.
#[test]
fn p256_signs_as_the_rfc_does_with_s_in_the_lower_half() {
    let key = key(Algorithm::P256, "0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721");
    let signed = key.sign(&ToSign::Digest(Sha256::digest(b"sample").into())).unwrap();
    assert_eq!(&signed.signature[..64], "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716");
    assert!(signed.signature.as_bytes()[64] < b'8', "{}", signed.signature);
    assert!(
        signed.public_key.starts_with("0460fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6")
    );
}

/// The first account of the well-known test mnemonic of Ethereum tools.
#[test]
fn an_ethereum_address_has_its_checksum() {
    let key = key(Algorithm::Secp256k1, "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
    assert_eq!(key.address().unwrap(), "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
}

#[test]
fn signatures_in_the_forms_of_contracts_and_tokens_are_those_of_the_key() {
    let digest: [u8; 32] = Sha256::digest(b"sample").into();
    for seed in 0..20_u64 {
        let secret = generate(Algorithm::Secp256k1, &SeededEntropy::new(seed));
        let key = SigningKey::new(Algorithm::Secp256k1, secret.expose()).unwrap();
        let recoverable = key.sign_recoverable(&digest).unwrap();
        let signed = key.sign(&ToSign::Digest(digest)).unwrap();
        assert_eq!(hex::encode(&recoverable[..64]), signed.signature);
        assert_eq!(recoverable[64], 27 + signed.recovery_id.unwrap());
        assert_eq!(key.sign_es256(&digest), None);
        let key = SigningKey::new(Algorithm::P256, secret.expose()).unwrap();
        let signed = key.sign(&ToSign::Digest(digest)).unwrap();
        assert_eq!(hex::encode(&key.sign_es256(&digest).unwrap()), signed.signature);
        assert_eq!(key.sign_recoverable(&digest), None);
    }
}

#[test]
fn a_secp256k1_signature_is_low_and_recovers_its_key() {
    for seed in 0..50_u64 {
        let secret = generate(Algorithm::Secp256k1, &SeededEntropy::new(seed));
        let key = SigningKey::new(Algorithm::Secp256k1, secret.expose()).unwrap();
        let digest: [u8; 32] = Sha256::digest(seed.to_be_bytes()).into();
        let signed = key.sign(&ToSign::Digest(digest)).unwrap();
        let signature = Signature::from_slice(&hex::decode_either(&signed.signature).unwrap()).unwrap();
        assert_eq!(signature.normalize_s(), signature, "high s");
        let id = RecoveryId::from_byte(signed.recovery_id.unwrap()).unwrap();
        let recovered = VerifyingKey::recover_from_prehash(&digest, &signature, id).unwrap();
        assert_eq!(hex::encode(recovered.to_sec1_point(false).as_bytes()), signed.public_key);
    }
}

#[test]
fn a_key_that_is_none_is_refused() {
    for algorithm in [Algorithm::Secp256k1, Algorithm::P256] {
        assert!(SigningKey::new(algorithm, &[0; 32]).is_err());
        assert!(SigningKey::new(algorithm, &[0xff; 32]).is_err());
    }
    for text in ["", "0x", "zz", "00", "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6"] {
        assert!(SigningKey::from_hex(Algorithm::Ed25519, text).is_err(), "{text}");
    }
}

#[test]
fn ecdsa_takes_digests_only() {
    let secret = generate(Algorithm::P256, &SeededEntropy::new(1));
    let key = SigningKey::new(Algorithm::P256, secret.expose()).unwrap();
    assert!(key.sign(&ToSign::Message(vec![1; 32])).is_none());
    assert_eq!(format!("{key:?}"), "SigningKey(..)");
}

/// Signer and verifier are different libraries.
#[test]
fn ring_verifies_what_is_signed_with_ed25519_and_p256() {
    use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey, VerificationAlgorithm};
    for seed in 0..50_u64 {
        let message = seed.to_be_bytes().repeat(usize::try_from(seed).unwrap());
        let digest: [u8; 32] = Sha256::digest(&message).into();
        let entropy = SeededEntropy::new(seed);
        for (algorithm, what) in [
            (Algorithm::Ed25519, ToSign::Message(message.clone())),
            (Algorithm::P256, ToSign::Digest(digest)),
        ] {
            let secret = generate(algorithm, &entropy);
            let signed = SigningKey::new(algorithm, secret.expose()).unwrap().sign(&what).unwrap();
            let (public, signature) = (
                hex::decode_either(&signed.public_key).unwrap(),
                hex::decode_either(&signed.signature).unwrap(),
            );
            let how: &dyn VerificationAlgorithm =
                if algorithm == Algorithm::Ed25519 { &ED25519 } else { &ECDSA_P256_SHA256_FIXED };
            let key = UnparsedPublicKey::new(how, public);
            let (verified, forged) = (key.verify(&message, &signature), key.verify(b"another", &signature));
            assert!(verified.is_ok() && forged.is_err(), "{algorithm:?} {seed}");
        }
    }
}

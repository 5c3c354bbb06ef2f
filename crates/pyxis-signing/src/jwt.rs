//! Signed assertions (RFC 7515, RFC 7519) for token endpoints.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::pkcs8::DecodePrivateKey;
use pyxis_core::auth::JwtAlgorithm;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use serde_json::{Value, json};
use zeroize::Zeroizing;

/// The private key cannot be used with its algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a private key for {0}: use PEM that starts with -----BEGIN … PRIVATE KEY-----")]
pub struct BadKey(&'static str);

/// Key that signs assertions.
pub struct JwtKey(JwtPrivateKey);

enum JwtPrivateKey {
    Rsa(Box<ring::signature::RsaKeyPair>),
    P256(p256::ecdsa::SigningKey),
    Ed25519(ed25519_dalek::SigningKey),
}

impl std::fmt::Debug for JwtKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JwtKey(..)")
    }
}

const fn name(algorithm: JwtAlgorithm) -> &'static str {
    match algorithm {
        JwtAlgorithm::Rs256 => "RS256",
        JwtAlgorithm::Es256 => "ES256",
        JwtAlgorithm::EdDsa => "EdDSA",
    }
}

impl JwtKey {
    /// Parses a PEM key: PKCS#8, or PKCS#1 for RSA and SEC 1 for P-256.
    pub fn from_pem(algorithm: JwtAlgorithm, pem: &str) -> Result<Self, BadKey> {
        let bad = || BadKey(name(algorithm));
        let der = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| bad())?;
        let inner = match (algorithm, &der) {
            (JwtAlgorithm::Rs256, PrivateKeyDer::Pkcs1(der)) => {
                ring::signature::RsaKeyPair::from_der(der.secret_pkcs1_der())
                    .map(Box::new)
                    .map(JwtPrivateKey::Rsa)
                    .ok()
            }
            (JwtAlgorithm::Rs256, PrivateKeyDer::Pkcs8(der)) => {
                ring::signature::RsaKeyPair::from_pkcs8(der.secret_pkcs8_der())
                    .map(Box::new)
                    .map(JwtPrivateKey::Rsa)
                    .ok()
            }
            (JwtAlgorithm::Es256, PrivateKeyDer::Pkcs8(der)) => {
                p256::SecretKey::from_pkcs8_der(der.secret_pkcs8_der())
                    .map(|key| JwtPrivateKey::P256(key.into()))
                    .ok()
            }
            (JwtAlgorithm::Es256, PrivateKeyDer::Sec1(der)) => {
                p256::SecretKey::from_sec1_der(der.secret_sec1_der())
                    .map(|key| JwtPrivateKey::P256(key.into()))
                    .ok()
            }
            (JwtAlgorithm::EdDsa, PrivateKeyDer::Pkcs8(der)) => ed25519(der.secret_pkcs8_der()),
            _ => None,
        };
        inner.map(Self).ok_or_else(bad)
    }

    /// A compact token with these claims. `None` if signing fails, which happens with RSA if the system provides no
    /// randomness.
    pub fn sign(&self, claims: &Value, key_id: Option<&str>) -> Option<String> {
        let algorithm = match &self.0 {
            JwtPrivateKey::Rsa(_) => "RS256",
            JwtPrivateKey::P256(_) => "ES256",
            JwtPrivateKey::Ed25519(_) => "EdDSA",
        };
        let header = match key_id {
            Some(key_id) => json!({ "alg": algorithm, "kid": key_id, "typ": "JWT" }),
            None => json!({ "alg": algorithm, "typ": "JWT" }),
        };
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = self.signature(signed.as_bytes())?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn signature(&self, data: &[u8]) -> Option<Vec<u8>> {
        use ed25519_dalek::Signer;
        match &self.0 {
            JwtPrivateKey::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                // The library accepts no other source of randomness for blinding. The signature itself is
                // deterministic.
                let random = ring::rand::SystemRandom::new();
                key.sign(&ring::signature::RSA_PKCS1_SHA256, &random, data, &mut signature).ok()?;
                Some(signature)
            }
            JwtPrivateKey::P256(key) => {
                let signature: p256::ecdsa::Signature = key.try_sign(data).ok()?;
                Some(signature.to_bytes().to_vec())
            }
            JwtPrivateKey::Ed25519(key) => Some(key.sign(data).to_bytes().to_vec()),
        }
    }
}

/// The seed in a PKCS#8 document without attributes (RFC 8410, section 7).
fn ed25519(der: &[u8]) -> Option<JwtPrivateKey> {
    const HEAD: [u8; 16] =
        [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    let seed: Zeroizing<[u8; 32]> = Zeroizing::new(der.strip_prefix(&HEAD)?.try_into().ok()?);
    Some(JwtPrivateKey::Ed25519(ed25519_dalek::SigningKey::from_bytes(&seed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys created with OpenSSL for this test.
    const RSA: &str = include_str!("../data/rsa.pem");
    const RSA_PKCS1: &str = include_str!("../data/rsa-pkcs1.pem");
    const P256: &str = include_str!("../data/p256.pem");
    const ED25519: &str = include_str!("../data/ed25519.pem");
    /// Created with `PyJWT` by the generator in the same directory.
    const EXPECTED: &str = include_str!("../data/jwt.json");

    fn claims() -> Value {
        json!({ "aud": "https://token.example/", "exp": 1_700_000_300, "iat": 1_700_000_000, "iss": "me" })
    }

    #[test]
    fn deterministic_algorithms_sign_as_an_independent_library_does() {
        let expected: Value = serde_json::from_str(EXPECTED).unwrap();
        for (algorithm, pem, name) in [
            (JwtAlgorithm::Rs256, RSA, "RS256"),
            (JwtAlgorithm::Rs256, RSA_PKCS1, "RS256"),
            (JwtAlgorithm::EdDsa, ED25519, "EdDSA"),
        ] {
            let token = JwtKey::from_pem(algorithm, pem).unwrap().sign(&claims(), Some("k1")).unwrap();
            assert_eq!(token, expected[name].as_str().unwrap(), "{name}");
        }
    }

    /// Signer and verifier are different libraries.
    #[test]
    fn ring_verifies_an_ecdsa_token() {
        use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
        let key = JwtKey::from_pem(JwtAlgorithm::Es256, P256).unwrap();
        let token = key.sign(&claims(), None).unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let JwtPrivateKey::P256(key) = &key.0 else { panic!("another key") };
        let public = key.verifying_key().to_sec1_point(false);
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public.as_bytes());
        public.verify(signed.as_bytes(), &signature).unwrap();
        assert!(public.verify(b"another", &signature).is_err());
    }

    #[test]
    fn a_key_of_another_algorithm_is_refused_without_repeating_it() {
        for (algorithm, pem) in [
            (JwtAlgorithm::Rs256, P256),
            (JwtAlgorithm::Es256, RSA),
            (JwtAlgorithm::EdDsa, P256),
            (JwtAlgorithm::Rs256, "canary"),
        ] {
            let error = JwtKey::from_pem(algorithm, pem).unwrap_err();
            assert!(!error.to_string().contains("canary"));
        }
    }
}

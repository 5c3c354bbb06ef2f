//! Identification to push services (RFC 8292): a signed token for the service's origin.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::SecretKey;
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use p256::elliptic_curve::sec1::ToSec1Point;
use pyxis_core::clock::UnixMillis;
use pyxis_store::cipher::Keyring;
use serde_json::json;

/// Lifetime of a token. Services refuse more than a day.
const LIFETIME: Duration = Duration::from_hours(12);

/// Key of this installation. Constant for the life of the database, because browsers subscribe to it.
pub(super) fn key(keyring: &Keyring) -> SecretKey {
    // Nearly any 32 bytes are a valid key. If not, the next ones are.
    let mut tries = (0_u8..=255).map(|round| keyring.derive(&format!("web push {round}")));
    tries.find_map(|bytes| SecretKey::from_slice(bytes.expose()).ok()).expect("one of 256 is a key")
}

/// Public key in the format that browsers expect.
pub(super) fn public_key(key: &SecretKey) -> String {
    URL_SAFE_NO_PAD.encode(key.public_key().to_sec1_point(false).as_bytes())
}

/// `Authorization` value for a push service. `contact` is an https or mailto URL.
pub(super) fn authorization(key: &SecretKey, origin: &str, contact: &str, now: UnixMillis) -> String {
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(json!({ "typ": "JWT", "alg": "ES256" }));
    let claims = part(json!({ "aud": origin, "exp": now.plus(LIFETIME).seconds(), "sub": contact }));
    let signed = format!("{header}.{claims}");
    let signature: Signature = SigningKey::from(key).sign(signed.as_bytes());
    let signature = URL_SAFE_NO_PAD.encode(signature.to_bytes());
    format!("vapid t={signed}.{signature}, k={}", public_key(key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use p256::ecdsa::VerifyingKey;
    use p256::ecdsa::signature::Verifier;

    #[test]
    fn a_token_names_the_service_ends_in_time_and_is_signed() {
        let key = SecretKey::from_slice(&[7; 32]).unwrap();
        let value = authorization(&key, "https://push.example", "https://px.example", UnixMillis(1_000_000));
        let (token, public) = value.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
        assert_eq!(public, public_key(&key));
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = Signature::from_slice(&URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        VerifyingKey::from(key.public_key()).verify(signed.as_bytes(), &signature).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap();
        let claims: serde_json::Value = serde_json::from_slice(&claims).unwrap();
        assert_eq!(
            claims,
            json!({ "aud": "https://push.example", "exp": 1000 + 12 * 3600, "sub": "https://px.example" })
        );
    }
}

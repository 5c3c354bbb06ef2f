//! A browser that receives push messages. It decrypts them (RFC 8291) and verifies their sender (RFC 8292).

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes128Gcm, Nonce};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hkdf::Hkdf;
use p256::ecdsa::signature::Verifier;
use p256::ecdsa::{Signature, VerifyingKey};
use p256::elliptic_curve::sec1::ToSec1Point;
use p256::{PublicKey, SecretKey, ecdh};
use pyxis_core::entropy::{OsEntropy, bytes};
use serde_json::Value;
use sha2::Sha256;

/// Size of the salt, the record size and the key length, which precede the key, in bytes.
const HEAD: usize = 16 + 4 + 1;

/// A browser with its own keys.
pub struct Browser {
    key: SecretKey,
    auth: [u8; 16],
}

impl Browser {
    pub fn new() -> Self {
        let key = std::iter::repeat_with(|| SecretKey::from_slice(&bytes::<32>(&OsEntropy)));
        Self { key: key.into_iter().find_map(Result::ok).expect("a key"), auth: bytes(&OsEntropy) }
    }

    /// `p256dh` of the subscription.
    pub fn p256dh(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.key.public_key().to_sec1_point(false).as_bytes())
    }

    /// `auth` of the subscription.
    pub fn auth(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.auth)
    }

    /// Decrypts a message. Panics if it is not for this browser.
    pub fn decrypt(&self, body: &[u8]) -> Vec<u8> {
        let (head, rest) = body.split_at(HEAD);
        let (theirs, sealed) = rest.split_at(usize::from(head[HEAD - 1]));
        let sender = PublicKey::from_sec1_bytes(theirs).expect("a public key");
        let shared = ecdh::diffie_hellman(self.key.to_nonzero_scalar(), sender.as_affine());
        let ours = self.key.public_key().to_sec1_point(false);
        let info = [b"WebPush: info\0".as_slice(), ours.as_bytes(), theirs].concat();
        let input: [u8; 32] = derive(&self.auth, shared.raw_secret_bytes(), &info);
        let key: [u8; 16] = derive(&head[..16], &input, b"Content-Encoding: aes128gcm\0");
        let nonce: [u8; 12] = derive(&head[..16], &input, b"Content-Encoding: nonce\0");
        let opened = Aes128Gcm::new(&key.into()).decrypt(&Nonce::from(nonce), sealed);
        let mut plain = opened.expect("a message for this browser");
        assert_eq!(plain.pop(), Some(2), "the delimiter of the last record");
        plain
    }
}

impl Default for Browser {
    fn default() -> Self {
        Self::new()
    }
}

fn derive<const N: usize>(salt: &[u8], input: &[u8], info: &[u8]) -> [u8; N] {
    let mut output = [0; N];
    Hkdf::<Sha256>::new(Some(salt), input).expand(info, &mut output).expect("a length that is possible");
    output
}

/// The claims of `Authorization: vapid …`. Panics unless the signature was made with `public`, the key that the browser
/// subscribed to.
pub fn claims(authorization: &str, public: &str) -> Value {
    let value = authorization.strip_prefix("vapid t=").expect("the scheme");
    let (token, key) = value.split_once(", k=").expect("a token and a key");
    assert_eq!(key, public);
    let (signed, signature) = token.rsplit_once('.').expect("a signature");
    let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).expect("base64url");
    let signature = Signature::from_slice(&decode(signature)).expect("a signature");
    let key = VerifyingKey::from_sec1_bytes(&decode(key)).expect("a key");
    key.verify(signed.as_bytes(), &signature).expect("signed by that key");
    serde_json::from_slice(&decode(signed.split_once('.').expect("claims").1)).expect("JSON")
}

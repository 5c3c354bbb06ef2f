//! Message encryption for Web Push (RFC 8291, with the content coding of RFC 8188).

use aes_gcm::aead::{Aead, KeyInit};
use aes_gcm::{Aes128Gcm, Nonce};
use hkdf::Hkdf;
use p256::elliptic_curve::sec1::ToSec1Point;
use p256::{PublicKey, SecretKey, ecdh};
use pyxis_core::secret::SecretBytes;
use sha2::Sha256;

/// Record size in bytes. Messages are shorter, so there is only one record.
const RECORD: u32 = 4096;
/// Maximum plaintext length, in bytes: a record without the tag, the delimiter and the reserve for push services.
pub(super) const MAX_PLAINTEXT: usize = 3000;
/// Length of the salt, in bytes.
pub(super) const SALT: usize = 16;

/// A browser's encryption data.
pub(super) struct Recipient {
    pub(super) key: PublicKey,
    /// Authentication secret.
    pub(super) auth: SecretBytes,
}

/// Encrypts the body of a push message. `key` and `salt` must be new for each. `None` if the plaintext is too long.
pub(super) fn encrypt(
    recipient: &Recipient,
    key: &SecretKey,
    salt: [u8; SALT],
    plaintext: &[u8],
) -> Option<Vec<u8>> {
    if plaintext.len() > MAX_PLAINTEXT {
        return None;
    }
    let (theirs, ours) = (recipient.key.to_sec1_point(false), key.public_key().to_sec1_point(false));
    let shared = ecdh::diffie_hellman(key.to_nonzero_scalar(), recipient.key.as_affine());
    let mut info = b"WebPush: info\0".to_vec();
    info.extend_from_slice(theirs.as_bytes());
    info.extend_from_slice(ours.as_bytes());
    let input: [u8; 32] = derive(recipient.auth.expose(), shared.raw_secret_bytes(), &info)?;
    let content_key: [u8; 16] = derive(&salt, &input, b"Content-Encoding: aes128gcm\0")?;
    let nonce: [u8; 12] = derive(&salt, &input, b"Content-Encoding: nonce\0")?;
    // Delimiter of the last record.
    let padded = [plaintext, &[2]].concat();
    let sealed = Aes128Gcm::new(&content_key.into()).encrypt(&Nonce::from(nonce), padded.as_slice()).ok()?;
    let mut body = salt.to_vec();
    body.extend_from_slice(&RECORD.to_be_bytes());
    body.push(u8::try_from(ours.as_bytes().len()).ok()?);
    body.extend_from_slice(ours.as_bytes());
    body.extend_from_slice(&sealed);
    Some(body)
}

/// HKDF-SHA-256 (RFC 5869).
fn derive<const N: usize>(salt: &[u8], input: &[u8], info: &[u8]) -> Option<[u8; N]> {
    let mut output = [0; N];
    Hkdf::<Sha256>::new(Some(salt), input).expand(info, &mut output).ok()?;
    Some(output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    fn bytes(text: &str) -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    #[test]
    fn the_example_of_rfc_8291_comes_out_byte_for_byte() {
        let key = SecretKey::from_slice(&bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")).unwrap();
        let theirs =
            bytes("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
        let recipient = Recipient {
            key: PublicKey::from_sec1_bytes(&theirs).unwrap(),
            auth: SecretBytes::new(bytes("BTBZMqHH6r4Tts7J_aSIgg")),
        };
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let body = encrypt(&recipient, &key, salt, b"When I grow up, I want to be a watermelon").unwrap();
        assert_eq!(
            URL_SAFE_NO_PAD.encode(body),
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
        );
    }

    #[test]
    fn what_does_not_fit_into_a_record_is_not_sent() {
        let key = SecretKey::from_slice(&[7; 32]).unwrap();
        let recipient = Recipient { key: key.public_key(), auth: SecretBytes::new(vec![1; 16]) };
        assert!(encrypt(&recipient, &key, [0; SALT], &[0; MAX_PLAINTEXT]).is_some());
        assert!(encrypt(&recipient, &key, [0; SALT], &[0; MAX_PLAINTEXT + 1]).is_none());
    }
}

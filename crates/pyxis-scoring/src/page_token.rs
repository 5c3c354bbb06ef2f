//! Opaque, signed page tokens; a forged one is refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use pyxis_core::address::EvmAddress;
use pyxis_core::id::WorkspaceId;
use pyxis_core::secret::SecretBytes;
use pyxis_store::stamps::Cursor;
use sha2::Sha256;

const MAC_BYTES: usize = 16;
const OLDER: u8 = b'o';
const NEWER: u8 = b'n';

/// Encodes a position in the list of an address's Stamps.
pub(crate) fn write(key: &SecretBytes, workspace: WorkspaceId, of: EvmAddress, cursor: Cursor) -> String {
    let (side, id) = match cursor {
        Cursor::First => (NEWER, i64::MAX),
        Cursor::Older(id) => (OLDER, id),
        Cursor::Newer(id) => (NEWER, id),
    };
    let mut token = [0; 9 + MAC_BYTES];
    token[0] = side;
    token[1..9].copy_from_slice(&id.to_be_bytes());
    let mac = sign(key, workspace, of, &token[..9]);
    token[9..].copy_from_slice(&mac);
    URL_SAFE_NO_PAD.encode(token)
}

/// Decodes the position of a token if this server issued it for this list.
pub(crate) fn read(key: &SecretBytes, workspace: WorkspaceId, of: EvmAddress, token: &str) -> Option<Cursor> {
    let token: [u8; 9 + MAC_BYTES] = URL_SAFE_NO_PAD.decode(token).ok()?.try_into().ok()?;
    let genuine = sign(key, workspace, of, &token[..9]);
    if !bool::from(subtle::ConstantTimeEq::ct_eq(&genuine[..], &token[9..])) {
        return None;
    }
    let id = i64::from_be_bytes(token[1..9].try_into().ok()?);
    match token[0] {
        OLDER => Some(Cursor::Older(id)),
        NEWER => Some(Cursor::Newer(id)),
        _ => None,
    }
}

fn sign(key: &SecretBytes, workspace: WorkspaceId, of: EvmAddress, place: &[u8]) -> [u8; MAC_BYTES] {
    // HMAC accepts keys of any length.
    let mut mac = Hmac::<Sha256>::new_from_slice(key.expose()).expect("a key of any length");
    mac.update(workspace.to_string().as_bytes());
    mac.update(&of.0);
    mac.update(place);
    let mut short = [0; MAC_BYTES];
    short.copy_from_slice(&mac.finalize().into_bytes()[..MAC_BYTES]);
    short
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;
    use pyxis_core::entropy::SeededEntropy;

    use super::*;

    #[test]
    fn a_token_is_read_back_only_unchanged_and_for_the_same_list() {
        let entropy = SeededEntropy::new(1);
        let (mine, theirs) =
            (WorkspaceId::new(UnixMillis(1), &entropy), WorkspaceId::new(UnixMillis(1), &entropy));
        let (a, b) = (EvmAddress([1; 20]), EvmAddress([2; 20]));
        let key = SecretBytes::new(vec![7; 32]);
        let token = write(&key, mine, a, Cursor::Older(42));
        assert_eq!(read(&key, mine, a, &token), Some(Cursor::Older(42)));
        assert_eq!(read(&key, theirs, a, &token), None);
        assert_eq!(read(&key, mine, b, &token), None);
        assert_eq!(read(&SecretBytes::new(vec![8; 32]), mine, a, &token), None);
        for at in 0..token.len() - 1 {
            let mut forged = token.clone().into_bytes();
            forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(read(&key, mine, a, &String::from_utf8(forged).unwrap()), None, "{at}");
        }
        for text in ["", "x", "n:1", "%00", &token[1..], &format!("{token}AA")] {
            assert_eq!(read(&key, mine, a, text), None, "{text:?}");
        }
    }
}

//! Decentralized identifiers of issuers and holders: those that contain their own key.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use pyxis_core::address::EvmAddress;
use pyxis_core::hex;
use pyxis_signing::recovery;

use super::rejection::Rejection;

/// Multicodec prefixes of public keys, as `did:key` writes them.
const ED25519_KEY: [u8; 2] = [0xed, 0x01];
const SECP256K1_KEY: [u8; 2] = [0xe7, 0x01];
/// Longest multibase text of a key, in bytes.
const MAX_MULTIBASE: usize = 128;
/// The `did:pkh` prefix of an account on the main network.
const HOLDER: &str = "did:pkh:eip155:1:";

/// An issuer: its key, and the DID that named it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Issuer {
    /// As written in the credential.
    said: String,
    /// The canonical DID of the key, whatever DID the credential uses.
    did: String,
    pub(super) key: DidKey,
}

/// A public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DidKey {
    /// A secp256k1 key, represented by its address.
    Ethereum(EvmAddress),
    Ed25519([u8; 32]),
}

impl DidKey {
    /// `did:ethr` with the address in lower case, or `did:key` in base58.
    fn did(self) -> String {
        match self {
            Self::Ethereum(address) => format!("did:ethr:{address}"),
            Self::Ed25519(key) => {
                let bytes = [&ED25519_KEY[..], &key].concat();
                format!("did:key:z{}", bs58::encode(bytes).into_string())
            }
        }
    }

    /// The key that a DID contains. Known are `did:ethr` of an address or public key, with or without a network,
    /// and `did:pkh:eip155:<chain>:0x…`. So is `did:key` of an Ed25519 or secp256k1 key in any usual base.
    fn parse(did: &str) -> Result<Self, Rejection> {
        let invalid = |expected| Rejection::InvalidIssuer { expected };
        if let Some(account) = did.strip_prefix("did:ethr:") {
            let id =
                behind_network(account, |network| network.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            id.and_then(ethereum).ok_or(invalid("did:ethr of an address or a public key"))
        } else if let Some(account) = did.strip_prefix("did:pkh:eip155:") {
            let id = behind_network(account, |chain| chain.bytes().all(|byte| byte.is_ascii_digit()));
            let id = id.filter(|_| account.contains(':'));
            id.and_then(|id| id.parse().ok())
                .map(Self::Ethereum)
                .ok_or(invalid("did:pkh:eip155:<chain>: and an address"))
        } else if let Some(key) = did.strip_prefix("did:key:") {
            multikey(key).ok_or(invalid("did:key of an Ed25519 or secp256k1 key"))
        } else {
            Err(invalid("did:ethr, did:pkh or did:key"))
        }
    }
}

impl Issuer {
    /// Parses the DID of an issuer.
    pub(super) fn parse(said: &str) -> Result<Self, Rejection> {
        let key = DidKey::parse(said)?;
        Ok(Self { said: said.to_owned(), did: key.did(), key })
    }

    /// The canonical DID of the key.
    pub(super) fn did(&self) -> &str {
        &self.did
    }

    /// The DID as written in the credential.
    pub(super) fn as_written(&self) -> &str {
        &self.said
    }

    pub(super) fn into_did(self) -> String {
        self.did
    }

    /// True if `method`, a DID URL with a fragment, is the key of this issuer. The fragment of a `did:key` repeats the
    /// key.
    pub(super) fn owns(&self, method: &str) -> bool {
        let Some((did, fragment)) = method.split_once('#') else { return false };
        if did != self.said && DidKey::parse(did).ok() != Some(self.key) {
            return false;
        }
        match did.strip_prefix("did:key:") {
            Some(key) => fragment == key || multikey(fragment) == Some(self.key),
            None => !fragment.is_empty(),
        }
    }
}

/// The part after `[network:]`.
fn behind_network(account: &str, is_network: impl Fn(&str) -> bool) -> Option<&str> {
    match account.rsplit_once(':') {
        Some((network, id)) => ((1..=32).contains(&network.len()) && is_network(network)).then_some(id),
        None => Some(account),
    }
}

/// The key of an address or of a compressed public key: `0x` and hexadecimal digits.
fn ethereum(id: &str) -> Option<DidKey> {
    let address = match id.parse() {
        Ok(address) => address,
        Err(_) => recovery::address_of_compressed(&hex::decode_prefixed(id)?)?,
    };
    Some(DidKey::Ethereum(address))
}

/// Decodes a key from the multibase text of its multicodec form.
fn multikey(text: &str) -> Option<DidKey> {
    let bytes = multibase(text)?;
    if let Some(key) = bytes.strip_prefix(&ED25519_KEY) {
        return key.try_into().ok().map(DidKey::Ed25519);
    }
    recovery::address_of_compressed(bytes.strip_prefix(&SECP256K1_KEY)?).map(DidKey::Ethereum)
}

/// Decodes a multibase text in base58, hexadecimal digits, base32 or base64.
fn multibase(text: &str) -> Option<Vec<u8>> {
    let (base, digits) = text.split_at_checked(1).filter(|_| text.len() <= MAX_MULTIBASE)?;
    match base {
        "z" => bs58::decode(digits).into_vec().ok(),
        "f" | "F" => hex::decode(digits),
        "b" | "B" => base32(digits),
        "m" => STANDARD_NO_PAD.decode(digits).ok(),
        "u" => URL_SAFE_NO_PAD.decode(digits).ok(),
        _ => None,
    }
}

/// Base32 (RFC 4648) in any case, without padding.
fn base32(digits: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for digit in digits.bytes() {
        let value = match digit.to_ascii_lowercase() {
            letter @ b'a'..=b'z' => letter - b'a',
            number @ b'2'..=b'7' => number - b'2' + 26,
            _ => return None,
        };
        bits = bits << 5 | u32::from(value);
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xff).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    (count < 5 && bits == 0).then_some(bytes)
}

/// The address of `did:pkh:eip155:1:0x…`.
pub(super) fn holder(did: &str) -> Option<EvmAddress> {
    did.strip_prefix(HOLDER)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "0xD6fc34345bC8C8e5659A35bED9629d5558D48C4E";
    const ED25519: &str = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
    /// The generator of secp256k1, whose private key is 1.
    const POINT: &str = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
    const OF_POINT: &str = "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf";

    fn did(text: &str) -> String {
        Issuer::parse(text).unwrap().into_did()
    }

    #[test]
    fn an_issuer_is_its_key_in_every_spelling_of_its_did() {
        for prefix in
            ["did:ethr:", "did:ethr:mainnet:", "did:ethr:0x1:", "did:pkh:eip155:1:", "did:pkh:eip155:10:"]
        {
            for address in
                [ADDRESS.to_owned(), ADDRESS.to_lowercase(), format!("0x{}", ADDRESS[2..].to_uppercase())]
            {
                assert_eq!(
                    did(&format!("{prefix}{address}")),
                    format!("did:ethr:{}", ADDRESS.to_lowercase())
                );
            }
        }
        let point = hex::decode_prefixed(&format!("0x{POINT}")).unwrap();
        let key = [&SECP256K1_KEY[..], &point].concat();
        let multikeys = [format!("z{}", bs58::encode(&key).into_string()), format!("fe701{POINT}")];
        for spelling in
            [format!("did:ethr:0x{POINT}"), format!("did:ethr:sepolia:0x{}", POINT.to_uppercase())]
                .into_iter()
                .chain(multikeys.iter().map(|key| format!("did:key:{key}")))
        {
            assert_eq!(did(&spelling), format!("did:ethr:{}", OF_POINT.to_lowercase()), "{spelling}");
        }
        let key = bs58::decode(&ED25519[1..]).into_vec().unwrap();
        let digits = hex::encode(&key);
        for multikey in [
            ED25519.to_owned(),
            format!("f{digits}"),
            format!("F{}", digits.to_uppercase()),
            format!("m{}", STANDARD_NO_PAD.encode(&key)),
            format!("u{}", URL_SAFE_NO_PAD.encode(&key)),
        ] {
            assert_eq!(did(&format!("did:key:{multikey}")), format!("did:key:{ED25519}"));
        }
    }

    #[test]
    fn base32_reads_the_vectors_of_its_standard() {
        for (digits, bytes) in
            [("", ""), ("MY", "f"), ("mzxq", "fo"), ("MZXW6", "foo"), ("mzxw6ytboi", "foobar")]
        {
            assert_eq!(base32(digits).as_deref(), Some(bytes.as_bytes()), "{digits}");
        }
        for digits in ["M", "MZ", "M1", "MY======", "\u{e9}"] {
            assert_eq!(base32(digits), None, "{digits}");
        }
    }

    #[test]
    fn other_issuers_are_refused() {
        for did in [
            "",
            "did:web:example.com",
            "did:ethr:",
            "did:ethr:0x12",
            &format!("did:ethr::{ADDRESS}"),
            &format!("did:ethr:a:b:{ADDRESS}"),
            &format!("did:ethr:{ADDRESS}00"),
            &format!("did:ethr:{ADDRESS}#controller"),
            // Not a point on the curve.
            &format!("did:ethr:0x05{}", &POINT[2..]),
            &format!("did:pkh:eip155:{ADDRESS}"),
            &format!("did:pkh:eip155:x:{ADDRESS}"),
            &format!("did:pkh:eip155:1:0x{POINT}"),
            &format!("did:pkh:solana:1:{ADDRESS}"),
            &format!("DID:ethr:{ADDRESS}"),
            // A truncated key, a non-base58 text, an unknown base, and an overlong text.
            "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2do",
            "did:key:z0OIl",
            "did:key:",
            &format!("did:key:x{ED25519}"),
            &format!("did:key:z{}", "1".repeat(5000)),
        ] {
            assert_eq!(Issuer::parse(did).map_err(|error| error.code()), Err("invalid_issuer"), "{did}");
        }
    }

    #[test]
    fn a_method_belongs_to_the_key_of_the_did_before_its_fragment() {
        let issuer = Issuer::parse(&format!("did:ethr:{ADDRESS}")).unwrap();
        for method in [
            format!("did:ethr:{ADDRESS}#controller"),
            format!("did:ethr:{}#controller", ADDRESS.to_lowercase()),
            format!("did:pkh:eip155:1:{ADDRESS}#blockchainAccountId"),
        ] {
            assert!(issuer.owns(&method), "{method}");
        }
        for method in [
            format!("did:ethr:{ADDRESS}"),
            format!("did:ethr:{ADDRESS}#"),
            "#controller".to_owned(),
            format!("did:ethr:{OF_POINT}#controller"),
        ] {
            assert!(!issuer.owns(&method), "{method}");
        }
        let issuer = Issuer::parse(&format!("did:key:{ED25519}")).unwrap();
        let digits = hex::encode(&bs58::decode(&ED25519[1..]).into_vec().unwrap());
        assert!(issuer.owns(&format!("did:key:{ED25519}#{ED25519}")));
        assert!(issuer.owns(&format!("did:key:f{digits}#{ED25519}")));
        assert!(!issuer.owns(&format!("did:key:{ED25519}#controller")));
    }

    #[test]
    fn a_holder_is_an_account_of_the_main_network() {
        assert_eq!(holder(&format!("did:pkh:eip155:1:{ADDRESS}")), ADDRESS.parse().ok());
        for did in
            [ADDRESS.to_owned(), format!("did:pkh:eip155:10:{ADDRESS}"), "did:pkh:eip155:1:".to_owned()]
        {
            assert_eq!(holder(&did), None, "{did}");
        }
    }
}

//! Decentralised identifiers of issuers and holders: those that carry their own key.

use pyxis_core::address::EvmAddress;

use super::rejection::Rejection;

/// Multicodec prefix of an Ed25519 public key, as `did:key` writes it.
const ED25519_KEY: [u8; 2] = [0xed, 0x01];
/// What `did:pkh` says of an account on the main network.
const HOLDER: &str = "did:pkh:eip155:1:";

/// Who signed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Issuer {
    /// `did:ethr` or `did:pkh:eip155`, in lower case.
    Ethereum { did: String, address: EvmAddress },
    /// `did:key` of an Ed25519 key.
    Ed25519 { did: String, key: [u8; 32] },
}

impl Issuer {
    /// Reads `did:ethr:0x…`, `did:ethr:<network>:0x…`, `did:pkh:eip155:<chain>:0x…` or `did:key:z6Mk…`.
    pub(super) fn parse(did: &str) -> Result<Self, Rejection> {
        let address = if let Some(account) = did.strip_prefix("did:ethr:") {
            account_of(account, |network| network.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        } else if let Some(account) = did.strip_prefix("did:pkh:eip155:") {
            account_of(account, |chain| chain.bytes().all(|byte| byte.is_ascii_digit()))
                .filter(|_| account.contains(':'))
        } else if let Some(key) = did.strip_prefix("did:key:") {
            return ed25519_key(key)
                .map(|key| Self::Ed25519 { did: did.to_owned(), key })
                .ok_or(Rejection::InvalidIssuer { expected: "did:key of an Ed25519 key" });
        } else {
            None
        };
        address
            .map(|address| Self::Ethereum { did: did.to_ascii_lowercase(), address })
            .ok_or(Rejection::InvalidIssuer { expected: "did:ethr, did:pkh or did:key" })
    }

    pub(super) fn did(&self) -> &str {
        match self {
            Self::Ethereum { did, .. } | Self::Ed25519 { did, .. } => did,
        }
    }

    pub(super) fn into_did(self) -> String {
        match self {
            Self::Ethereum { did, .. } | Self::Ed25519 { did, .. } => did,
        }
    }

    /// Whether `method`, a DID URL with a fragment, is a key of this issuer.
    pub(super) fn owns(&self, method: &str) -> bool {
        let Some((did, fragment)) = method.split_once('#') else { return false };
        match self {
            Self::Ethereum { did: own, .. } => own.eq_ignore_ascii_case(did) && !fragment.is_empty(),
            // The only key of such a DID is the DID.
            Self::Ed25519 { did: own, .. } => own == did && own.strip_prefix("did:key:") == Some(fragment),
        }
    }
}

/// The address in `[network:]0x…`.
fn account_of(account: &str, is_network: impl Fn(&str) -> bool) -> Option<EvmAddress> {
    let address = match account.rsplit_once(':') {
        Some((network, address)) if (1..=32).contains(&network.len()) && is_network(network) => address,
        Some(_) => return None,
        None => account,
    };
    address.parse().ok()
}

/// The key in `z` and base58 of the multicodec form.
fn ed25519_key(multibase: &str) -> Option<[u8; 32]> {
    let encoded = multibase.strip_prefix('z').filter(|text| text.len() <= 64)?;
    let bytes = bs58::decode(encoded).into_vec().ok()?;
    bytes.strip_prefix(&ED25519_KEY)?.try_into().ok()
}

/// The address of `did:pkh:eip155:1:0x…`.
pub(super) fn holder(did: &str) -> Option<EvmAddress> {
    did.strip_prefix(HOLDER)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "0xD6fc34345bC8C8e5659A35bED9629d5558D48C4E";

    #[test]
    fn an_issuer_with_an_address_is_spelled_in_lower_case() {
        for prefix in ["did:ethr:", "did:ethr:mainnet:", "did:ethr:0x1:", "did:pkh:eip155:10:"] {
            let issuer = Issuer::parse(&format!("{prefix}{ADDRESS}")).unwrap();
            assert_eq!(issuer.did(), format!("{prefix}{}", ADDRESS.to_lowercase()));
            assert!(
                matches!(issuer, Issuer::Ethereum { address, .. } if address == ADDRESS.parse().unwrap())
            );
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
            &format!("did:pkh:eip155:{ADDRESS}"),
            &format!("did:pkh:eip155:x:{ADDRESS}"),
            &format!("did:pkh:solana:1:{ADDRESS}"),
            &format!("DID:ethr:{ADDRESS}"),
            // A secp256k1 key, a truncated key, not base58, and something endless.
            "did:key:zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme",
            "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2do",
            "did:key:z0OIl",
            &format!("did:key:z{}", "1".repeat(5000)),
        ] {
            assert_eq!(Issuer::parse(did).map_err(|error| error.code()), Err("invalid_issuer"), "{did}");
        }
    }

    #[test]
    fn a_method_belongs_to_the_did_before_its_fragment() {
        let issuer = Issuer::parse(&format!("did:ethr:{ADDRESS}")).unwrap();
        assert!(issuer.owns(&format!("did:ethr:{ADDRESS}#controller")));
        for method in
            [format!("did:ethr:{ADDRESS}"), format!("did:ethr:{ADDRESS}#"), "#controller".to_owned()]
        {
            assert!(!issuer.owns(&method), "{method}");
        }
        let key = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK";
        let issuer = Issuer::parse(&format!("did:key:{key}")).unwrap();
        assert!(issuer.owns(&format!("did:key:{key}#{key}")));
        assert!(!issuer.owns(&format!("did:key:{key}#controller")));
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

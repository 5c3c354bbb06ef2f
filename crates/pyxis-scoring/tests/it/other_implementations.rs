//! Credentials made by other implementations.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_scoring::credential::{
    Rejection, VerifiedCredential, parse_and_verify, parse_and_verify_for_its_subject,
};

const FIRST_TRANSACTION: &str = include_str!("../data/older-first-transaction.json");
const ONE_TRANSACTION: &str = include_str!("../data/older-one-transaction.json");
const DISCORD: &str = include_str!("../data/older-discord.json");
const GOOGLE: &str = include_str!("../data/newer-google.json");
const WRONG_SIGNER: &str = include_str!("../data/older-wrong-signer.json");

fn verify(text: &str, at: &str) -> Result<VerifiedCredential, Rejection> {
    let now = UnixMillis::parse_rfc3339(at).unwrap();
    parse_and_verify_for_its_subject(text, now, |_| true)
}

fn address(text: &str) -> EvmAddress {
    text.parse().unwrap()
}

#[test]
fn real_credentials_of_the_older_form_verify() {
    let holder = address("0x0636F974D29d947d4946b2091d769ec6D2d415DE");
    for (text, provider, hash) in [
        (FIRST_TRANSACTION, "FirstEthTxnProvider", "v0.0.0:VC1vOVLxD3X29DYfyyT58AA+j0rC5vkXNflCA94iApA="),
        (ONE_TRANSACTION, "EthGTEOneTxnProvider", "v0.0.0:Oea3wZ4eyz1+5XeCOJo+flx2vSlE9PiZcL9HZeQda44="),
    ] {
        let verified = verify(text, "2024-02-01T00:00:00Z").unwrap();
        assert_eq!(verified.address, holder);
        assert_eq!(verified.provider.as_str(), provider);
        assert_eq!(verified.issuer, "did:ethr:0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e");
        assert_eq!(verified.issued_at.to_rfc3339(), "2024-01-16T23:18:51.641Z");
        assert_eq!(verified.expires_at.to_rfc3339(), "2024-04-15T22:18:51.641Z");
        assert_eq!(verified.nullifiers.iter().map(ToString::to_string).collect::<Vec<_>>(), [hash]);
        assert_eq!(verified.credential, text);
    }
    let verified = verify(DISCORD, "2024-05-01T00:00:00Z").unwrap();
    assert_eq!(verified.provider.as_str(), "Discord");
    assert_eq!(verified.issuer, "did:ethr:0xd6f8d6ca86aa01e551a311d670a0d1bd8577e5fb");
}

#[test]
fn a_real_credential_of_the_newer_form_verifies() {
    let verified = verify(GOOGLE, "2026-01-01T00:00:00Z").unwrap();
    assert_eq!(verified.address, EvmAddress([0xaa; 20]));
    assert_eq!(verified.provider.as_str(), "Google");
    assert_eq!(verified.issuer, "did:ethr:0x018d103c154748e8d5a1d7658185125175457f84");
    let nullifier = "v0:Google:0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:test-nullifier";
    assert_eq!(verified.nullifiers, [nullifier.parse().unwrap()]);
}

#[test]
fn a_real_credential_signed_by_another_key_is_refused() {
    assert_eq!(verify(WRONG_SIGNER, "2024-02-01T00:00:00Z"), Err(Rejection::SignatureMismatch));
}

#[test]
fn a_credential_made_by_other_software_with_an_ed25519_key_verifies() {
    for text in [
        include_str!("../data/python-older.json"),
        include_str!("../data/python-list.json"),
        include_str!("../data/python-set.json"),
    ] {
        let verified = verify(text, "2026-01-02T00:00:00Z").unwrap();
        assert_eq!(verified.address, EvmAddress([0xcd; 20]));
        assert_eq!(verified.provider.as_str(), "Github");
        assert!(verified.issuer.starts_with("did:key:z6Mk"));
        let other = text.replace("\"Github\"", "\"Gitlab\"");
        assert_eq!(verify(&other, "2026-01-02T00:00:00Z"), Err(Rejection::SignatureMismatch));
    }
}

#[test]
fn the_digest_of_an_ed25519_credential_is_the_hash_of_its_signing_input() {
    let verified = verify(include_str!("../data/python-older.json"), "2026-01-02T00:00:00Z").unwrap();
    let digest = include_str!("../data/python-older.sha256").trim();
    assert_eq!(hex::encode(&verified.digest), digest);
}

#[test]
fn the_holder_is_asked_for_where_one_presents_it() {
    let now = UnixMillis::parse_rfc3339("2026-01-01T00:00:00Z").unwrap();
    let as_holder = |holder| parse_and_verify(GOOGLE, holder, now, |_| true);
    assert!(as_holder(EvmAddress([0xaa; 20])).is_ok());
    let about = Rejection::OtherSubject { subject: EvmAddress([0xaa; 20]) };
    assert_eq!(as_holder(EvmAddress([0xab; 20])), Err(about));
}

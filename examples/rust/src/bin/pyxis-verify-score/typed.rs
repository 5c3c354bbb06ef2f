//! Typed data (EIP-712): the hash is rebuilt, and the signer's address recovered from it.

use anyhow::{Context, Result, ensure};
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use pyxis_client::model::signed::{ScoreKeys, ScoreMessage};
use sha3::{Digest, Keccak256};

use crate::Expected;

const SCORE: &str = "Score(uint256 scorer,address account,uint256 score,uint256 threshold,bool passing,\
                     uint64 computedAt,uint64 issuedAt,uint64 expiresAt,string challenge)";
const DOMAIN: &str = "EIP712Domain(string name,string version)";
const DOMAIN_OF_CONTRACT: &str =
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";

type AbiWord = [u8; 32];

/// Fails unless a published key signed the message for this verifier, and it is still good at `now` (Unix seconds).
pub fn verify(
    signature: &str,
    message: &ScoreMessage,
    published: &ScoreKeys,
    expected: &Expected,
    now: u64,
) -> Result<()> {
    let signer = recover(&digest(message, expected)?, signature)?;
    let mut known = published.keys.iter().filter_map(|key| key.address.as_deref());
    ensure!(known.any(|known| address(known).ok() == Some(signer)), "signed by an unknown key");
    ensure!(message.scorer == expected.scorer, "of scorer {}", message.scorer);
    ensure!(address(&message.account)? == address(&expected.address)?, "of {}", message.account);
    let challenge = expected.challenge.as_deref().unwrap_or_default();
    ensure!(message.challenge == challenge, "answers another challenge");
    ensure!(now < message.expires_at, "expired");
    Ok(())
}

/// The hash that Pyxis signs. The domain is the verifier's own: one that is handed over would accept signatures for
/// others.
fn digest(message: &ScoreMessage, expected: &Expected) -> Result<AbiWord> {
    let score = [
        number(message.scorer),
        abi_word(&address(&message.account)?),
        number(message.score),
        number(message.threshold),
        number(u64::from(message.passing)),
        number(message.computed_at),
        number(message.issued_at),
        number(message.expires_at),
        keccak(message.challenge.as_bytes()),
    ];
    let mut domain = vec![keccak(b"Pyxis Score"), keccak(b"1")];
    let mut domain_type = DOMAIN;
    if let Some((chain_id, contract)) = &expected.contract {
        domain.extend([number(*chain_id), abi_word(&address(contract)?)]);
        domain_type = DOMAIN_OF_CONTRACT;
    }
    let (domain, score) = (hash_struct(domain_type, &domain), hash_struct(SCORE, &score));
    Ok(keccak(&[&b"\x19\x01"[..], &domain, &score].concat()))
}

/// The address whose key signed.
fn recover(digest: &AbiWord, signature: &str) -> Result<[u8; 20]> {
    let bytes: [u8; 65] = bytes(signature).context("a signature has 65 bytes in hex")?;
    let recovery = bytes[64].checked_sub(27).and_then(RecoveryId::from_byte).context("bad recovery id")?;
    let signature = Signature::from_slice(&bytes[..64])?;
    let key = VerifyingKey::recover_from_prehash(digest, &signature, recovery)?;
    let hash = keccak(&key.to_sec1_point(false).as_bytes()[1..]);
    Ok(hash[12..].try_into()?)
}

fn keccak(data: &[u8]) -> AbiWord {
    Keccak256::digest(data).into()
}

fn hash_struct(kind: &str, members: &[AbiWord]) -> AbiWord {
    keccak(&[&keccak(kind.as_bytes()), members.as_flattened()].concat())
}

/// An integer or an address, padded to a word.
fn abi_word(bytes: &[u8]) -> AbiWord {
    let mut word = [0; 32];
    word[32 - bytes.len()..].copy_from_slice(bytes);
    word
}

fn number(number: u64) -> AbiWord {
    abi_word(&number.to_be_bytes())
}

fn address(text: &str) -> Result<[u8; 20]> {
    bytes(text).with_context(|| format!("not an address: {text}"))
}

/// Bytes of `0x` and hex digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.strip_prefix("0x")?;
    // A parser of integers takes a sign too.
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let found: Vec<u8> = (0..digits.len()).step_by(2).map(pair).collect::<Option<_>>()?;
    found.try_into().ok()
}

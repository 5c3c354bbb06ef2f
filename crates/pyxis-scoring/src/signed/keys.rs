//! Keys that sign scores. The private half is derived from the installation's keys, the scheme and the key's number. So
//! every node has it, and it is never stored; a rotation uses the next number.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_signing::keys::{Algorithm, SigningKey};
use pyxis_store::cipher::Keyring;
use pyxis_store::score_keys::{ScoreKeyRow, ScoreKeyScheme};
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::error::{Error, Result};

/// Longest time that a signed score may be valid, and so the time that a retired key stays published.
pub const LONGEST_LIFETIME: Duration = Duration::from_hours(7 * 24);
/// Longest time that a key may be published before it signs.
pub const MAX_NOTICE: Duration = Duration::from_hours(30 * 24);

/// A public key as JSON Web Keys are written (RFC 7517, RFC 7518).
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JsonWebKey {
    #[schema(example = "EC")]
    kty: &'static str,
    #[schema(example = "P-256")]
    crv: &'static str,
    /// Base64url of 32 bytes.
    #[schema(example = "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4")]
    x: String,
    /// Base64url of 32 bytes.
    #[schema(example = "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM")]
    y: String,
    #[schema(example = "ES256")]
    alg: &'static str,
    #[serde(rename = "use")]
    #[schema(example = "sig")]
    usage: &'static str,
    /// The key's thumbprint (RFC 7638).
    #[schema(example = "cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s")]
    kid: String,
}

/// Moments in the life of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyTimes {
    pub signs_from: UnixMillis,
    /// The next key's moment; `None` for the newest key.
    pub signs_until: Option<UnixMillis>,
    /// End of the last signature's life; `None` for the newest key.
    pub trusted_until: Option<UnixMillis>,
}

impl KeyTimes {
    /// True while the key signs.
    pub fn signs_at(self, now: UnixMillis) -> bool {
        self.signs_from <= now && self.signs_until.is_none_or(|until| now < until)
    }

    /// True while a signature of the key may be valid, or will be made.
    pub fn is_published_at(self, now: UnixMillis) -> bool {
        self.trusted_until.is_none_or(|until| now < until)
    }
}

/// All keys, with the private halves of those that sign now or later.
pub struct KeySet {
    rows: Vec<ScoreKeyRow>,
    private: Vec<(ScoreKeyScheme, i64, SigningKey)>,
}

impl KeySet {
    /// Derives the private keys of `rows`, which are all keys, newest first within each scheme.
    pub(super) fn new(rows: Vec<ScoreKeyRow>, keyring: &Keyring, now: UnixMillis) -> Result<Self> {
        let mut set = Self { rows, private: Vec::new() };
        for row in &set.rows {
            if set.times(row).signs_until.is_none_or(|until| now < until) {
                let key = private(keyring, row.scheme, row.number)?;
                if public(&key, row.scheme) != row.public_key {
                    return Err(Error::Internal("a score key belongs to another master key".into()));
                }
                set.private.push((row.scheme, row.number, key));
            }
        }
        Ok(set)
    }

    /// Every key, newest first within each scheme.
    pub fn rows(&self) -> &[ScoreKeyRow] {
        &self.rows
    }

    /// The keys that verifiers should know.
    pub fn published(&self, now: UnixMillis) -> impl Iterator<Item = (&ScoreKeyRow, KeyTimes)> {
        self.rows
            .iter()
            .map(|row| (row, self.times(row)))
            .filter(move |(_, times)| times.is_published_at(now))
    }

    /// Moments in the life of a key of this set.
    pub fn times(&self, row: &ScoreKeyRow) -> KeyTimes {
        let later = self.rows.iter().filter(|other| other.scheme == row.scheme && other.number > row.number);
        let next = later.map(|other| other.signs_from).min();
        let signs_until = match (next, row.withdrawn_at) {
            (Some(next), Some(withdrawn)) => Some(next.min(withdrawn)),
            (next, withdrawn) => next.or(withdrawn),
        };
        let trusted_until =
            row.withdrawn_at.or_else(|| signs_until.map(|until| until.plus(LONGEST_LIFETIME)));
        KeyTimes { signs_from: row.signs_from, signs_until, trusted_until }
    }

    /// The key that signs at `now`, and its private half.
    pub(super) fn active(
        &self,
        scheme: ScoreKeyScheme,
        now: UnixMillis,
    ) -> Option<(&ScoreKeyRow, &SigningKey)> {
        let row = self.rows.iter().find(|row| row.scheme == scheme && self.times(row).signs_at(now))?;
        let private = self.private.iter().find(|(of, number, _)| *of == scheme && *number == row.number)?;
        Some((row, &private.2))
    }

    pub fn next_number(&self, scheme: ScoreKeyScheme) -> i64 {
        let newest = self.rows.iter().filter(|row| row.scheme == scheme).map(|row| row.number).max();
        newest.map_or(1, |number| number + 1)
    }
}

/// A key that is not stored yet.
pub(super) fn new_row(
    keyring: &Keyring,
    scheme: ScoreKeyScheme,
    number: i64,
    signs_from: UnixMillis,
    now: UnixMillis,
) -> Result<ScoreKeyRow> {
    let public_key = public(&private(keyring, scheme, number)?, scheme);
    Ok(ScoreKeyRow { scheme, number, public_key, signs_from, created_at: now, withdrawn_at: None })
}

fn private(keyring: &Keyring, scheme: ScoreKeyScheme, number: i64) -> Result<SigningKey> {
    let seed = keyring.derive(&format!("score {} {number}", scheme.as_str()));
    let algorithm = match scheme {
        ScoreKeyScheme::Es256 => Algorithm::P256,
        ScoreKeyScheme::Eip712 => Algorithm::Secp256k1,
    };
    SigningKey::new(algorithm, seed.expose())
        .map_err(|_| Error::Internal("the derived bytes are not a key; rotate it".into()))
}

fn public(key: &SigningKey, scheme: ScoreKeyScheme) -> String {
    match scheme {
        ScoreKeyScheme::Es256 => format!("0x{}", key.public_key()),
        ScoreKeyScheme::Eip712 => key.address().unwrap_or_default().to_ascii_lowercase(),
    }
}

impl JsonWebKey {
    /// The public half of an `es256` key.
    pub fn from_row(row: &ScoreKeyRow) -> Option<Self> {
        let [x, y] = coordinates(row)?;
        Some(Self { kty: "EC", crv: "P-256", kid: thumbprint(&x, &y), x, y, alg: "ES256", usage: "sig" })
    }
}

/// The name by which a verifier finds the key: `kid` of a token's header, or an address.
pub fn key_id(row: &ScoreKeyRow) -> String {
    match row.scheme {
        ScoreKeyScheme::Es256 => coordinates(row).map(|[x, y]| thumbprint(&x, &y)).unwrap_or_default(),
        ScoreKeyScheme::Eip712 => row.public_key.clone(),
    }
}

fn coordinates(row: &ScoreKeyRow) -> Option<[String; 2]> {
    let point = hex::decode_prefixed(&row.public_key).filter(|point| point.len() == 65)?;
    let (x, y) = point[1..].split_at(32);
    Some([x, y].map(|part| URL_SAFE_NO_PAD.encode(part)))
}

/// RFC 7638: the hash of the required members in the order of their names.
fn thumbprint(x: &str, y: &str) -> String {
    let members = format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#);
    URL_SAFE_NO_PAD.encode(Sha256::digest(members.as_bytes()))
}

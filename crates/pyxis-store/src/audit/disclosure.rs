//! Records as leaves of the tree: each member can be shown or withheld on its own.
//!
//! A leaf covers the hashes of its members. Each member is hashed with a salt of its own, so a withheld one cannot be
//! guessed. Salts are derived from the chain's key and are not stored. Texts of members never change: hashes of earlier
//! records depend on them.

use std::collections::BTreeMap;

use hmac::{Hmac, Mac};
use pyxis_core::hex;
use pyxis_core::merkle_log::{LogHash, leaf_hash};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{AuditKeys, AuditRow};

/// Bytes of a salt.
const SALT: usize = 16;

/// A member of a record with its salt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disclosure {
    /// `record` for the columns; a member of the detail, such as `detail.chat.account`, otherwise.
    pub name: String,
    /// JSON array of salt, name and value. Its SHA-256 is part of the leaf.
    pub text: String,
}

impl Disclosure {
    /// SHA-256 of the text.
    pub fn hash(&self) -> LogHash {
        Sha256::digest(self.text.as_bytes()).into()
    }
}

/// All members of a record, in the order in which the leaf covers them.
pub(super) fn disclosures(keys: &AuditKeys, row: &AuditRow) -> Vec<Disclosure> {
    let mut members = BTreeMap::new();
    match serde_json::from_str::<Value>(&row.record.detail) {
        Ok(detail @ Value::Object(_)) => flatten("detail", detail, &mut members),
        _ => drop(members.insert("detail".to_owned(), Value::String(row.record.detail.clone()))),
    }
    let salts = keys.salts(row);
    let columns = ("record".to_owned(), columns(row));
    let named = std::iter::once(columns).chain(members).enumerate();
    named.map(|(index, (name, value))| disclosure(&salts, index, name, &value)).collect()
}

/// Hash of the leaf with these members.
pub(super) fn leaf(members: &[Disclosure]) -> LogHash {
    let content: Vec<u8> = members.iter().flat_map(Disclosure::hash).collect();
    leaf_hash(&content)
}

fn disclosure(salts: &Hmac<Sha256>, index: usize, name: String, value: &Value) -> Disclosure {
    let mut mac = salts.clone();
    mac.update(&(index as u64).to_be_bytes());
    let salt = hex::encode(&mac.finalize().into_bytes()[..SALT]);
    let text = json!([salt, name, value]).to_string();
    Disclosure { name, text }
}

/// Every value that is not an object, by the path to it. An empty object has no members.
fn flatten(path: &str, value: Value, members: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                flatten(&format!("{path}.{name}"), value, members);
            }
        }
        value => drop(members.insert(path.to_owned(), sorted(value))),
    }
}

/// The value with the members of all objects in alphabetical order, in whichever order they were stored.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let members: BTreeMap<String, Value> = object.into_iter().collect();
            Value::Object(members.into_iter().map(|(name, value)| (name, sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        value => value,
    }
}

/// The columns that have a value. Kinds have the text of the store, which never changes.
fn columns(row: &AuditRow) -> Value {
    let record = &row.record;
    let texts = [
        ("actor", Some(record.actor.to_string())),
        ("actor_name", Some(record.actor_name.clone())),
        ("at", Some(record.at.to_rfc3339())),
        ("credential", record.credential.clone()),
        ("decision", record.decision.as_ref().map(ToString::to_string)),
        ("grant_id", record.grant_id.map(|id| id.to_string())),
        ("host", record.host.clone()),
        ("kind", Some(record.event.as_stored().to_owned())),
        ("method", record.method.as_ref().map(ToString::to_string)),
        ("txn_id", record.txn_id.map(|id| id.to_string())),
        ("workspace_id", record.workspace_id.map(|id| id.to_string())),
    ];
    let numbers = [("ref_seq", record.ref_seq), ("seq", Some(row.seq)), ("status", record.status)];
    let texts = texts.into_iter().filter_map(|(name, text)| Some((name, Value::from(text?))));
    let numbers = numbers.into_iter().filter_map(|(name, number)| Some((name, Value::from(number?))));
    let members: Map<String, Value> =
        texts.chain(numbers).map(|(name, value)| (name.to_owned(), value)).collect();
    sorted(Value::Object(members))
}

impl AuditKeys {
    /// Source of a record's salts. No record begins with these bytes.
    fn salts(&self, row: &AuditRow) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        mac.update(b"pyxis disclosure: ");
        mac.update(&row.seq.to_be_bytes());
        mac.update(&row.mac);
        crate::cipher::hmac(&mac.finalize().into_bytes())
    }
}

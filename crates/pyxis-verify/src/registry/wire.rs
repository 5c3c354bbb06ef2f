//! Statements as JSON: the body of `POST /registry/proofs`, and each line of an import.

use pyxis_core::entries::shortened;
use pyxis_core::hex;
use pyxis_core::proof::{
    Kind, NetworkName, Rebinding, Registration, Revocation, Statement, Subject, is_plain_text,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::issuer::unhex;
use super::{Issuer, SignedStatement};
use crate::network::SUI;
use crate::values::KindName;

/// Reasons why a JSON text is not a signed statement.
#[derive(Debug, thiserror::Error)]
pub enum InvalidStatement {
    /// Not JSON, or of another shape.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// A field has an invalid value.
    #[error("{field}: {reason}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// The requirement.
        reason: String,
    },
}

/// The fields of every statement; `type` determines the required ones.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "type": "register",
    "issuer": "0xd6fc34345bc8c8e5659a35bed9629d5558d48c4e",
    "signature": "0x3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f3f4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e1b",
    "kind": "gov-id",
    "network": "optimism",
    "subject": "0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5aa1",
    "action_id": "123456789",
    "nullifier": "20742354",
    "issued_at": 1_769_850_300,
    "expires_at": 1_801_386_300,
    "nonce": "1"
}))]
pub(crate) struct StatementBody {
    #[serde(rename = "type", default)]
    #[schema(default = "register")]
    what: StatementType,
    /// An Ed25519 key (`0x` and 64 digits) or an EVM address (`0x` and 40).
    issuer: String,
    /// 64 bytes of Ed25519, or 65 of secp256k1, behind `0x`.
    signature: String,
    #[schema(value_type = KindName)]
    kind: String,
    /// With register and revoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    network: Option<String>,
    /// With register and revoke: the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    subject: Option<String>,
    /// With rebind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    from: Option<String>,
    /// With rebind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    to: Option<String>,
    action_id: String,
    /// With register and rebind: a number below the order of the bn254 scalar field, decimal or behind `0x`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    nullifier: Option<String>,
    /// Unix seconds.
    issued_at: i64,
    /// With register: Unix seconds, at most 31536001 later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    expires_at: Option<i64>,
    /// With revoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
    nonce: String,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum StatementType {
    #[default]
    Register,
    Revoke,
    Rebind,
}

/// Parses a signed statement.
pub fn parse(text: &[u8]) -> Result<SignedStatement, InvalidStatement> {
    let wire: StatementBody = serde_json::from_slice(text)?;
    let issuer: Issuer = read("issuer", &wire.issuer)?;
    let signature = unhex(&wire.signature)
        .ok_or_else(|| invalid("signature", "must be 0x followed by hex characters"))?;
    wire.only_its_own()?;
    Ok(SignedStatement { statement: wire.statement()?, issuer, signature })
}

/// Writes a signed statement in the form that [`parse`] reads.
pub fn to_json(signed: &SignedStatement) -> Value {
    let mut wire = StatementBody {
        what: StatementType::Register,
        issuer: signed.issuer.to_string(),
        signature: format!("0x{}", hex::encode(&signed.signature)),
        kind: signed.statement.kind().to_string(),
        network: None,
        subject: None,
        from: None,
        to: None,
        action_id: String::new(),
        nullifier: None,
        issued_at: signed.statement.issued_at(),
        expires_at: None,
        reason: None,
        nonce: String::new(),
    };
    match &signed.statement {
        Statement::Register(said) => {
            wire.network = Some(said.network.to_string());
            wire.subject = Some(said.subject.to_string());
            wire.action_id = said.action_id.to_string();
            wire.nullifier = Some(said.nullifier.to_string());
            wire.expires_at = Some(said.expires_at);
            wire.nonce.clone_from(&said.nonce);
        }
        Statement::Revoke(said) => {
            wire.what = StatementType::Revoke;
            wire.network = Some(said.network.to_string());
            wire.subject = Some(said.subject.to_string());
            wire.action_id = said.action_id.to_string();
            wire.reason = Some(said.reason.clone());
            wire.nonce.clone_from(&said.nonce);
        }
        Statement::Rebind(said) => {
            wire.what = StatementType::Rebind;
            wire.from = Some(said.from.to_string());
            wire.to = Some(said.to.to_string());
            wire.action_id = said.action_id.to_string();
            wire.nullifier = Some(said.nullifier.to_string());
            wire.nonce.clone_from(&said.nonce);
        }
    }
    serde_json::to_value(wire).unwrap_or_default()
}

impl StatementBody {
    /// Refuses fields of another statement type, which would not be signed.
    fn only_its_own(&self) -> Result<(), InvalidStatement> {
        let own: &[&str] = match self.what {
            StatementType::Register => &["network", "subject", "nullifier", "expires_at"],
            StatementType::Revoke => &["network", "subject", "reason"],
            StatementType::Rebind => &["from", "to", "nullifier"],
        };
        let given = [
            ("network", self.network.is_some()),
            ("subject", self.subject.is_some()),
            ("from", self.from.is_some()),
            ("to", self.to.is_some()),
            ("nullifier", self.nullifier.is_some()),
            ("expires_at", self.expires_at.is_some()),
            ("reason", self.reason.is_some()),
        ];
        for (field, given) in given {
            match (given, own.contains(&field)) {
                (true, false) => return Err(invalid(field, "does not belong to this type of statement")),
                (false, true) => return Err(invalid(field, "is missing")),
                _ => {}
            }
        }
        Ok(())
    }

    fn statement(self) -> Result<Statement, InvalidStatement> {
        let kind = Kind::from_name(&self.kind).ok_or_else(|| {
            let known: Vec<&str> = Kind::ALL.into_iter().map(Kind::as_str).collect();
            invalid("kind", &format!("one of {}", known.join(", ")))
        })?;
        let action_id = read("action_id", &self.action_id)?;
        let (issued_at, nonce) = (self.issued_at, plain("nonce", self.nonce)?);
        let text = Option::unwrap_or_default;
        let on = |network: &NetworkName, text: &str| {
            let subject =
                if network.as_str() == SUI { Subject::on_sui(text) } else { Subject::in_full(text) };
            subject.map_err(|error| invalid("subject", &found(&error, text)))
        };
        Ok(match self.what {
            StatementType::Register => {
                let network: NetworkName = read("network", &text(self.network))?;
                Statement::Register(Registration {
                    kind,
                    subject: on(&network, &text(self.subject))?,
                    network,
                    action_id,
                    nullifier: read("nullifier", &text(self.nullifier))?,
                    issued_at,
                    expires_at: self.expires_at.unwrap_or_default(),
                    nonce,
                })
            }
            StatementType::Revoke => {
                let network: NetworkName = read("network", &text(self.network))?;
                Statement::Revoke(Revocation {
                    kind,
                    subject: on(&network, &text(self.subject))?,
                    network,
                    action_id,
                    reason: plain("reason", text(self.reason))?,
                    issued_at,
                    nonce,
                })
            }
            StatementType::Rebind => Statement::Rebind(Rebinding {
                kind,
                from: read::<Subject>("from", &text(self.from))?,
                to: read::<Subject>("to", &text(self.to))?,
                action_id,
                nullifier: read("nullifier", &text(self.nullifier))?,
                issued_at,
                nonce,
            }),
        })
    }
}

fn read<T: std::str::FromStr<Err: std::fmt::Display>>(
    field: &'static str,
    text: &str,
) -> Result<T, InvalidStatement> {
    text.parse().map_err(|error: T::Err| invalid(field, &found(&error, text)))
}

/// The error with the offending value.
fn found(error: &impl std::fmt::Display, text: &str) -> String {
    format!("{error}; found {:?}", shortened(text))
}

fn plain(field: &'static str, text: String) -> Result<String, InvalidStatement> {
    if is_plain_text(&text) {
        Ok(text)
    } else {
        Err(invalid(field, "1 to 256 bytes of printable text on one line"))
    }
}

fn invalid(field: &'static str, reason: &str) -> InvalidStatement {
    InvalidStatement::Field { field, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use pyxis_core::address::EvmAddress;
    use pyxis_core::proof::DEFAULT_ACTION;
    use pyxis_core::secret::SecretBytes;

    use super::super::IssuerKey;
    use super::*;

    fn statements() -> [Statement; 3] {
        let (kind, action_id, nonce) = (Kind::Phone, DEFAULT_ACTION, "n".to_owned());
        let network: NetworkName = "optimism".parse().unwrap();
        let (one, two): (Subject, Subject) = (EvmAddress([1; 20]).into(), EvmAddress([2; 20]).into());
        let nullifier = "77".parse().unwrap();
        [
            Statement::Register(Registration {
                kind,
                network: network.clone(),
                subject: one,
                action_id,
                nullifier,
                issued_at: 5,
                expires_at: 6,
                nonce: nonce.clone(),
            }),
            Statement::Revoke(Revocation {
                kind,
                network,
                subject: one,
                action_id,
                reason: "lost".to_owned(),
                issued_at: 5,
                nonce: nonce.clone(),
            }),
            Statement::Rebind(Rebinding {
                kind,
                from: one,
                to: two,
                action_id,
                nullifier,
                issued_at: 5,
                nonce,
            }),
        ]
    }

    #[test]
    fn every_statement_reads_back_and_is_still_signed() {
        let key = IssuerKey::from_seed(&SecretBytes::new(vec![7; 32])).unwrap();
        for statement in statements() {
            let text = to_json(&key.sign(statement.clone())).to_string();
            let read = parse(text.as_bytes()).unwrap();
            assert_eq!(read.statement, statement);
            assert!(read.issuer.signed(&read.statement, &read.signature));
        }
    }

    #[test]
    fn a_sui_address_is_read_in_every_spelling_and_signed_in_full() {
        let key = IssuerKey::from_seed(&SecretBytes::new(vec![7; 32])).unwrap();
        for digits in ["a".repeat(63), "2".to_owned(), "Bc".repeat(20)] {
            let mut statement = statements()[0].clone();
            if let Statement::Register(said) = &mut statement {
                said.network = SUI.parse().unwrap();
                said.subject = Subject::on_sui(&format!("0x{digits}")).unwrap();
            }
            let whole = to_json(&key.sign(statement.clone()));
            for spelling in [digits.clone(), digits.to_uppercase(), format!("{digits:0>64}")] {
                let mut text = whole.clone();
                text["subject"] = format!("0x{spelling}").into();
                let read = parse(text.to_string().as_bytes()).unwrap();
                assert_eq!(read.statement, statement);
                assert!(read.issuer.signed(&read.statement, &read.signature), "{spelling}");
            }
        }
    }

    #[test]
    fn a_field_that_is_wrong_missing_or_not_its_own_is_named() {
        let key = IssuerKey::from_seed(&SecretBytes::new(vec![7; 32])).unwrap();
        let whole = to_json(&key.sign(statements()[0].clone()));
        for (field, value, said) in [
            ("kind", Value::from("passport"), "kind: one of gov-id"),
            ("action_id", Value::from("1e3"), "action_id: "),
            ("action_id", Value::from("0"), "action_id: not an action id"),
            ("action_id", Value::from("000"), "found \"000\""),
            ("action_id", Value::from(1), "invalid type"),
            ("nullifier", Value::Null, "nullifier: is missing"),
            ("subject", Value::from("0x2"), "subject: not an address"),
            ("subject", Value::from("0x2"), "found \"0x2\""),
            ("network", Value::from("Opt imism"), "network: "),
            ("nonce", Value::from("a\nb"), "nonce: "),
            ("issuer", Value::from("0x12"), "issuer: "),
            ("signature", Value::from("zz"), "signature: "),
            ("reason", Value::from("x"), "reason: does not belong"),
            ("extra", Value::from(1), "unknown field"),
        ] {
            let mut text = whole.clone();
            text[field] = value;
            let error = parse(text.to_string().as_bytes()).unwrap_err().to_string();
            assert!(error.contains(said), "{field}: {error}");
        }
        assert!(parse(b"{").is_err());
    }
}

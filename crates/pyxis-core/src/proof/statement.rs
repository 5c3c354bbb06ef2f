//! Statements that an issuer signs. The signed text has every field on its own line, in one order and one spelling. No
//! field can contain a line end, so no two statements share a text.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use super::{ActionId, Kind, NetworkName, ProofNullifier, Subject};

/// Longest nonce or reason, in bytes.
const MAX_TEXT: usize = 256;

/// "This address proved this": a new proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Kind of the proof.
    pub kind: Kind,
    /// Network where it counts.
    pub network: NetworkName,
    /// Address that made the proof.
    pub subject: Subject,
    /// Use of the proof.
    pub action_id: ActionId,
    /// The nullifier of the person behind the address.
    pub nullifier: ProofNullifier,
    /// Unix seconds.
    pub issued_at: i64,
    /// Unix seconds; at most a year and a second later.
    pub expires_at: i64,
    /// Distinguishes otherwise identical statements.
    pub nonce: String,
}

/// "That proof no longer holds."
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// Kind of the proof.
    pub kind: Kind,
    /// Network where it counted.
    pub network: NetworkName,
    /// Address that had made the proof.
    pub subject: Subject,
    /// Use of the proof.
    pub action_id: ActionId,
    /// Reason, one line of at most 256 bytes.
    pub reason: String,
    /// Unix seconds.
    pub issued_at: i64,
    /// Distinguishes otherwise identical statements.
    pub nonce: String,
}

/// "The same person now has another address": every live proof of the nullifier moves, on every network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebinding {
    /// Kind of the proof.
    pub kind: Kind,
    /// The address that loses it.
    pub from: Subject,
    /// The address that gets it.
    pub to: Subject,
    /// Use of the proof.
    pub action_id: ActionId,
    /// The nullifier of the person behind both addresses.
    pub nullifier: ProofNullifier,
    /// Unix seconds.
    pub issued_at: i64,
    /// Distinguishes otherwise identical statements.
    pub nonce: String,
}

/// Any statement of an issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// A new proof.
    Register(Registration),
    /// The end of a proof.
    Revoke(Revocation),
    /// Its move to another address.
    Rebind(Rebinding),
}

impl Statement {
    /// Kind of the proof that the statement is about.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Register(Registration { kind, .. })
            | Self::Revoke(Revocation { kind, .. })
            | Self::Rebind(Rebinding { kind, .. }) => *kind,
        }
    }

    /// Network of the statement; a rebinding applies wherever the nullifier is.
    pub const fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::Register(Registration { network, .. }) | Self::Revoke(Revocation { network, .. }) => {
                Some(network)
            }
            Self::Rebind(_) => None,
        }
    }

    /// Unix seconds.
    pub const fn issued_at(&self) -> i64 {
        match self {
            Self::Register(Registration { issued_at, .. })
            | Self::Revoke(Revocation { issued_at, .. })
            | Self::Rebind(Rebinding { issued_at, .. }) => *issued_at,
        }
    }

    /// The text that is signed with Ed25519. The first line states the type, then `name: value` lines follow, each
    /// ended by a line feed.
    pub fn canonical(&self, issuer: &str) -> String {
        let mut lines = Lines(String::with_capacity(512));
        match self {
            Self::Register(said) => lines
                .first("register", issuer, said.kind)
                .line("network", &said.network)
                .line("subject", said.subject)
                .line("action_id", said.action_id)
                .line("nullifier", said.nullifier)
                .line("issued_at", said.issued_at)
                .line("expires_at", said.expires_at)
                .line("nonce", &said.nonce),
            Self::Revoke(said) => lines
                .first("revoke", issuer, said.kind)
                .line("network", &said.network)
                .line("subject", said.subject)
                .line("action_id", said.action_id)
                .line("reason", &said.reason)
                .line("issued_at", said.issued_at)
                .line("nonce", &said.nonce),
            Self::Rebind(said) => lines
                .first("rebind", issuer, said.kind)
                .line("from", said.from)
                .line("to", said.to)
                .line("action_id", said.action_id)
                .line("nullifier", said.nullifier)
                .line("issued_at", said.issued_at)
                .line("nonce", &said.nonce),
        };
        lines.0
    }

    /// The identifier of the statement: SHA-256 of its text, whatever the signature scheme.
    pub fn digest(&self, issuer: &str) -> [u8; 32] {
        Sha256::digest(self.canonical(issuer)).into()
    }
}

/// True if `text` may appear on a line: not blank, printable, not longer than 256 bytes.
pub fn is_plain_text(text: &str) -> bool {
    (1..=MAX_TEXT).contains(&text.len()) && !text.trim().is_empty() && !text.chars().any(char::is_control)
}

struct Lines(String);

impl Lines {
    fn first(&mut self, what: &str, issuer: &str, kind: Kind) -> &mut Self {
        // Writing to a String does not fail.
        let _ = writeln!(self.0, "pyxis registry v1 {what}");
        self.line("issuer", issuer).line("kind", kind)
    }

    fn line(&mut self, name: &str, value: impl std::fmt::Display) -> &mut Self {
        let _ = writeln!(self.0, "{name}: {value}");
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::EvmAddress;
    use crate::field::FieldElement;

    fn registration() -> Registration {
        Registration {
            kind: Kind::GovId,
            network: "optimism".parse().unwrap(),
            subject: EvmAddress([0xab; 20]).into(),
            action_id: super::super::DEFAULT_ACTION,
            nullifier: ProofNullifier(FieldElement::small(7)),
            issued_at: 1_767_225_600,
            expires_at: 1_798_761_600,
            nonce: "n1".to_owned(),
        }
    }

    #[test]
    fn the_signed_text_names_every_field_on_its_line() {
        let text = Statement::Register(registration()).canonical("0x11");
        assert_eq!(
            text,
            "pyxis registry v1 register\nissuer: 0x11\nkind: gov-id\nnetwork: optimism\n\
             subject: 0xabababababababababababababababababababab\naction_id: 123456789\nnullifier: 7\n\
             issued_at: 1767225600\nexpires_at: 1798761600\nnonce: n1\n"
        );
    }

    #[test]
    fn the_digest_differs_with_every_field_and_with_the_issuer() {
        let one = Statement::Register(registration());
        let other = Statement::Register(Registration { nonce: "n2".to_owned(), ..registration() });
        assert_ne!(one.digest("0x11"), other.digest("0x11"));
        assert_ne!(one.digest("0x11"), one.digest("0x12"));
        assert_eq!((one.kind(), one.issued_at()), (Kind::GovId, 1_767_225_600));
    }

    #[test]
    fn a_line_end_cannot_stand_in_a_field() {
        assert!(is_plain_text("lost passport, case 12"));
        for text in ["", " ", "a\nb", "a\u{7f}", &"x".repeat(MAX_TEXT + 1)] {
            assert!(!is_plain_text(text), "{text:?}");
        }
    }
}

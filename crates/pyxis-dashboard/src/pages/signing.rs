//! From a payload that waits for a signature to what a person reads of it.

use pyxis_gateway::approvals::view::View;
use pyxis_gateway::sign::{self, Field, Format, Hash};
use pyxis_store::approvals::ApprovalKind;

use crate::view::approvals::Signing;

/// `None` for a request that is forwarded, and where the payload is not at hand.
pub(super) fn of(view: &View) -> Option<Signing> {
    if view.row.kind != ApprovalKind::Sign {
        return None;
    }
    let shown = sign::shown(view.body.as_deref()?)?;
    let format = match (shown.format, shown.hash) {
        (Format::Raw, Hash::None) => "raw",
        (Format::Raw, Hash::Sha256) => "raw, hashed with SHA-256",
        (Format::Raw, Hash::Keccak256) => "raw, hashed with Keccak-256",
        (Format::Eip191, _) => "Ethereum message (EIP-191)",
        (Format::Eip712, _) => "Ethereum typed data (EIP-712)",
    };
    let mut fields = Vec::new();
    if let Some(typed) = shown.typed {
        fields.push(("primaryType".to_owned(), String::new(), typed.primary_type));
        fields.extend(typed.domain.into_iter().map(|field| line("domain.", field)));
        fields.extend(typed.message.into_iter().map(|field| line("", field)));
    }
    Some(Signing {
        what: format!("{}, {format}", shown.algorithm),
        digest: shown.digest,
        description: shown.description,
        plain: shown.text.or(shown.bytes),
        fields,
        warning: shown.warning.map(str::to_owned),
    })
}

fn line(place: &str, field: Field) -> (String, String, String) {
    (format!("{place}{}", field.path), field.r#type, field.value)
}

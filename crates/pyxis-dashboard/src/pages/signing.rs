//! Readable form of a payload that waits for a signature.

use pyxis_gateway::approvals::view::ApprovalView;

use crate::view::approvals::Signing;

/// `None` for a forwarded request, and if the payload is not available.
pub(super) fn from_view(view: &ApprovalView) -> Option<Signing> {
    let shown = view.signing.clone()?;
    Some(Signing {
        what: shown.what(),
        fields: shown.fields().into_iter().map(|field| (field.path, field.r#type, field.value)).collect(),
        digest: shown.digest,
        description: shown.description,
        plain: shown.text.or(shown.bytes),
        warning: shown.warning.map(str::to_owned),
    })
}

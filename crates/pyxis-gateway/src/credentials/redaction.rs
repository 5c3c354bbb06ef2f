//! Stored secrets are taken out of what is written down in the clear or told to others.
//!
//! An agent that knows a secret, or was given one, can put it into a request that waits. What is sent stays as
//! it was asked for; what people, chats, webhook endpoints and the audit trail get of it does not show it.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_core::id::{CredentialId, WorkspaceId};
use pyxis_scrub::Needles;
use pyxis_store::cipher::Keyring;
use pyxis_store::{Store, credentials};

use crate::credentials::requests::validated_request::ValidatedRequest;
use crate::credentials::{kinds, outbound, tokens};
use crate::error::Result;
use crate::runtime::resolve::ResolvedCredential;

/// Credentials of a workspace whose secrets are looked for besides that of the request itself.
const MAX_OTHERS: usize = 200;
/// Of a longer text, others' secrets are looked for only where they start in so many bytes.
const MAX_FOR_OTHERS: usize = 64 * 1024;

/// The secrets to take out, the request's own first.
#[derive(Default)]
pub(crate) struct Redactor {
    own: Vec<Arc<Needles>>,
    others: Vec<Arc<Needles>>,
}

/// What is written down of a request in words of the agent.
pub(crate) struct RedactedRequest {
    /// Scheme, host and path.
    pub(crate) route: String,
    /// Host and port.
    pub(crate) host: String,
    /// `X-PX-Reason`.
    pub(crate) reason: Option<String>,
}

impl Redactor {
    /// Of one credential, for requests that do not wait. While the caller holds the secret open, what finds it is
    /// made once for this and for the answer. A secret that does not open is left to the dispatch to report.
    pub(crate) fn of_credential(keyring: &Keyring, asked: &ValidatedRequest<'_>) -> Self {
        let credential = asked.credential;
        let Some(auth) = &credential.auth else { return Self::default() };
        // A key in PEM has hundreds of forms, and does not fit into a path.
        let is_key = auth.kind().has_pem_key;
        if is_key && asked.control.reason.is_none() {
            return Self::default();
        }
        let Some(opened) = credential.open(keyring).ok().flatten() else { return Self::default() };
        let needles = if auth.is_derived() {
            Arc::new(kinds::collect_from_secret(Some(auth), opened.secret()).needles(&credential.row.name))
        } else {
            outbound::needles(credential, &opened)
        };
        Self { own: vec![needles], others: Vec::new() }
    }

    /// Of a workspace, for requests that wait for a person and for what people write; `own` are the credentials of
    /// what is shown. These are searched first. Tokens that were fetched with a credential are looked for too.
    pub(crate) async fn of_workspace(
        store: &Store,
        keyring: &Keyring,
        workspace: WorkspaceId,
        own: &[CredentialId],
    ) -> Result<Self> {
        let mut redactor = Self::default();
        for row in credentials::list(store, workspace).await? {
            let is_own = own.contains(&row.id);
            if row.sealed_secret.is_none() || (!is_own && redactor.others.len() >= MAX_OTHERS) {
                continue;
            }
            let Ok(credential) = ResolvedCredential::parse(row, None, ApprovalMode::Gated) else { continue };
            let Some(needles) = needles(store, keyring, &credential).await? else { continue };
            if is_own { redactor.own.push(needles) } else { redactor.others.push(needles) }
        }
        Ok(redactor)
    }

    /// True if `text` has a secret of the credentials of what is shown. Says nothing about others.
    pub(crate) fn has_own_secret(&self, text: &str) -> bool {
        self.own.iter().any(|needles| needles.found_in(text.as_bytes()))
    }

    /// `text` without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = scrubbed_text(&self.own, text);
        let end = text.ceil_char_boundary(self.window(text.as_bytes()));
        if let Cow::Owned(head) = scrubbed_text(&self.others, &text[..end]) {
            text = (head + &text[end..]).into();
        }
        text.into_owned()
    }

    /// `bytes` without secrets.
    pub(crate) fn bytes(&self, bytes: Bytes) -> Bytes {
        let mut bytes = scrubbed(&self.own, bytes);
        let head = bytes.slice(..self.window(&bytes));
        let clean = scrubbed(&self.others, head.clone());
        if clean != head {
            bytes = [&clean[..], &bytes[head.len()..]].concat().into();
        }
        bytes
    }

    /// The end of what is searched for others' secrets: none that starts before [`MAX_FOR_OTHERS`] is cut in two.
    fn window(&self, text: &[u8]) -> usize {
        let ends = self.others.iter().map(|needles| needles.window(text, MAX_FOR_OTHERS));
        ends.max().unwrap_or_else(|| text.len().min(MAX_FOR_OTHERS))
    }

    /// Headers without secrets in names and values.
    pub(crate) fn headers(&self, headers: &HeaderMap) -> HeaderMap {
        let mut clean = HeaderMap::with_capacity(headers.len());
        for (name, value) in headers {
            let text = self.bytes(Bytes::copy_from_slice(value.as_bytes()));
            let value = if text == value.as_bytes() {
                value.clone()
            } else {
                HeaderValue::from_bytes(&text).unwrap_or_else(|_| HeaderValue::from_static("[REDACTED]"))
            };
            let shown = self.text(name.as_str());
            let name =
                if shown == name.as_str() { name.clone() } else { HeaderName::from_static("x-redacted") };
            clean.append(name, value);
        }
        clean
    }

    /// What is written down of a request.
    pub(crate) fn redact_request(&self, asked: &ValidatedRequest<'_>) -> RedactedRequest {
        RedactedRequest {
            route: self.text(&asked.target.route()),
            host: self.text(asked.target.authority()),
            reason: asked.control.reason.map(|reason| self.text(reason)),
        }
    }

    /// Names of the credentials whose secret `bytes` shows.
    pub(crate) fn found_in(&self, bytes: &[u8]) -> impl Iterator<Item = &str> {
        let head = &bytes[..self.window(bytes)];
        let own = self.own.iter().filter(move |needles| needles.found_in(bytes));
        let others = self.others.iter().filter(move |needles| needles.found_in(head));
        own.chain(others).map(|needles| needles.label())
    }
}

async fn needles(
    store: &Store,
    keyring: &Keyring,
    credential: &ResolvedCredential,
) -> Result<Option<Arc<Needles>>> {
    // One that was sealed under a key that is gone must not keep requests of others from waiting.
    let Some(opened) = credential.open(keyring).ok().flatten() else { return Ok(None) };
    let mut sought = kinds::collect_from_secret(credential.auth.as_ref(), opened.secret());
    for token in tokens::stored_tokens(store, keyring, credential, opened.secret()).await? {
        sought.add(&token);
    }
    let needles = sought.needles_in_words(&credential.row.name);
    Ok((!needles.is_empty()).then(|| Arc::new(needles)))
}

fn scrubbed_text<'t>(needles: &[Arc<Needles>], text: &'t str) -> Cow<'t, str> {
    needles.iter().fold(Cow::Borrowed(text), |text, needles| match needles.scrub_text(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => Cow::Owned(clean),
    })
}

fn scrubbed(needles: &[Arc<Needles>], bytes: Bytes) -> Bytes {
    needles.iter().fold(bytes, |bytes, needles| match needles.scrub_bytes(&bytes) {
        Cow::Borrowed(_) => bytes,
        Cow::Owned(clean) => clean.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_of_others_that_starts_at_the_end_of_what_is_searched_is_taken_out_whole() {
        const SECRET: &str = "other-canary-5521-of-this-workspace";
        let needles = |secret: &str| Arc::new(Needles::in_words("other", &[secret.as_bytes()]));
        let others = vec![needles("another-canary-77"), needles(SECRET)];
        let redactor = Redactor { own: Vec::new(), others };
        for cut in 1..SECRET.len() {
            let text = format!("{}{SECRET}{}", "é".repeat((MAX_FOR_OTHERS - cut) / 2), "-".repeat(5000));
            for shown in
                [redactor.text(&text), String::from_utf8(redactor.bytes(text.clone().into()).into()).unwrap()]
            {
                assert!(shown.contains("[contains the secret of `other`]"), "{cut}");
                assert!(!shown.contains(&SECRET[SECRET.len() - 5..]), "{cut}");
                assert!(shown.ends_with("-----"), "{cut}");
            }
            assert!(redactor.found_in(text.as_bytes()).eq(["other"]), "{cut}");
        }
    }
}

//! View of a transaction for people, shared by the API, the inbox and the standalone page.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::clock::UnixMillis;
use pyxis_core::headers::is_sensitive;
use pyxis_core::hex;
use pyxis_core::id::{AgentId, CredentialId, TxnId, WorkspaceId};
use pyxis_core::policy::{self, ContentRule, Rule};
use pyxis_core::target::Target;
use pyxis_store::Store;
use pyxis_store::approvals::{self, ApprovalColumn, ApprovalFilter, ApprovalKind, ApprovalRow, MethodRisk};
use pyxis_store::cipher::{Keyring, Sealed};
use pyxis_store::votes::{self, VoteRow};
use sha2::{Digest, Sha256};

use super::announcement_record::{self, NamedAnnouncement};
use super::difference::{RequestDifference, parameters};
use super::edit_record::EditedRecord;
use super::{edit_record, expire};
use crate::credentials::redaction::Redactor;
use crate::credentials::requests::content;
use crate::credentials::signing;
use crate::error::{Error, Result};
use crate::runtime::state::State;
use crate::runtime::stored::StoredRequest;

/// Beginning of the text that stands for a secret.
const REDACTED: &str = "[contains the secret of ";

/// A transaction with its request and votes. Stored secrets are redacted here, but not in the request that is sent.
#[derive(Debug)]
pub struct ApprovalView {
    /// Row with its current state.
    pub row: ApprovalRow,
    /// Canonical URL, from the sealed request.
    pub target: String,
    /// Headers to be forwarded, without the credential's. `None` once purged.
    pub headers: Option<HeaderMap>,
    /// Whole body. `None` once purged.
    pub body: Option<Bytes>,
    /// SHA-256 of the body to be sent, as hex, if `body` differs from it.
    pub body_sha256: Option<String>,
    /// Decoded payload of a signing request, unless purged.
    pub signing: Option<signing::PayloadView>,
    /// Credentials whose secret occurs, or occurred, in target, headers or body. It is replaced by ``[contains the
    /// secret of `<name>`]``.
    pub exposes: Vec<String>,
    /// True if `target` differs from the URL to be sent because a secret was redacted.
    pub target_redacted: bool,
    /// Finding of the content rule that paused the request, until it is purged.
    pub content: Option<String>,
    /// Votes so far.
    pub votes: Vec<VoteRow>,
    /// The request of the agent, if a person edited it and both are still stored.
    pub asked: Option<AskedView>,
    /// Rooms and people that were asked; only in a complete view.
    pub announced: Vec<NamedAnnouncement>,
    /// Time of the next escalation step; only in a complete view.
    pub next_step: Option<UnixMillis>,
}

/// The request of an agent, next to the edited one.
#[derive(Debug)]
pub struct AskedView {
    /// Canonical URL.
    pub target: String,
    /// Whole body.
    pub body: Bytes,
    /// Difference to the edited request.
    pub difference: RequestDifference,
}

/// Filter for transactions.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this state.
    pub state: Option<ApprovalState>,
    /// Only transactions that are no longer pending.
    pub settled: bool,
    /// Text in agent, credential, method, host, reason or id; empty matches all.
    pub text: String,
    /// Only requests of this agent.
    pub agent: Option<AgentId>,
    /// Only requests for this credential.
    pub credential: Option<CredentialId>,
    /// Only methods of this risk.
    pub risk: Option<MethodRisk>,
    /// Only these credentials; `None` for all.
    pub among: Option<Vec<CredentialId>>,
    /// Sort column.
    pub by: ApprovalColumn,
    /// True for ascending order (oldest or smallest first).
    pub rising: bool,
    /// Creation time and id of the previous page's last row.
    pub beyond: Option<(UnixMillis, TxnId)>,
    /// Maximum number of rows.
    pub limit: u32,
}

/// True for headers that describe the client rather than the request, or that are shown with the body. Matches whole
/// names only, because a header with the same prefix can select what the request acts on (such as `Accept-Profile`).
fn is_usual(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "accept"
            | "accept-charset"
            | "accept-encoding"
            | "accept-language"
            | "cache-control"
            | "content-length"
            | "content-type"
            | "pragma"
            | "sec-fetch-dest"
            | "sec-fetch-mode"
            | "sec-fetch-site"
            | "sec-fetch-user"
            | "user-agent"
    )
}

impl ApprovalView {
    /// The agent's headers that are specific to this request, in order. For a header whose name marks it as secret,
    /// only its length in bytes is shown. Empty once purged.
    pub fn telling_headers(&self) -> Vec<(String, String)> {
        let told = self.headers.iter().flatten().filter(|(name, _)| !is_usual(name));
        told.map(|(name, value)| {
            let text = if is_sensitive(name.as_str()) {
                format!("… (length {})", value.len())
            } else {
                String::from_utf8_lossy(value.as_bytes()).into_owned()
            };
            (name.as_str().to_owned(), text)
        })
        .collect()
    }

    /// True if an approver may change parts of it. An MCP tool call is not known by its view.
    pub fn is_editable(&self) -> bool {
        self.row.state == ApprovalState::Pending
            && self.headers.is_some()
            && super::edit::uneditable(&self.row, false).is_none()
    }

    /// The body as text that can be edited, or the reason that it cannot.
    pub fn editable_body(&self) -> std::result::Result<&str, &'static str> {
        let is_plain = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"identity");
        let codings = self.headers.iter().flat_map(|headers| headers.get_all(CONTENT_ENCODING));
        if self.body_sha256.is_some() {
            return Err("it contains the secret of a credential");
        }
        match self.body.as_deref().map(std::str::from_utf8) {
            Some(Ok(text)) if codings.into_iter().all(is_plain) => Ok(text),
            Some(_) => Err("it is binary"),
            None => Err("it was erased"),
        }
    }

    /// Names and values of the query, decoded. `None` if a secret is not shown.
    pub fn parameters(&self) -> Option<Vec<(String, String)>> {
        (!self.target_redacted).then(|| parameters(&self.target))
    }

    /// The headers that are specific to this request and shown as they are.
    pub fn editable_headers(&self) -> Vec<(String, String)> {
        let told = self.headers.iter().flatten().filter(|(name, _)| !is_usual(name));
        told.filter(|(name, _)| !is_sensitive(name.as_str()) && *name != "x-redacted")
            .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
            .filter(|(_, value)| !value.contains(REDACTED) && value != "[REDACTED]")
            .collect()
    }

    /// Creates a view without headers and body.
    pub(super) fn from_row(row: ApprovalRow, votes: Vec<VoteRow>, redactor: &Redactor, target: &str) -> Self {
        let shown = redactor.text(target);
        let mut view = Self {
            target_redacted: shown != target,
            target: shown,
            headers: None,
            body: None,
            body_sha256: None,
            signing: None,
            exposes: Vec::new(),
            content: None,
            row,
            votes,
            asked: None,
            announced: Vec::new(),
            next_step: None,
        };
        view.set_body_text(redactor, target.as_bytes());
        // Rows from earlier versions contain the agent's original text.
        view.row.reason = view.row.reason.take().map(|reason| redactor.text(&reason));
        view
    }

    /// Adds the complete request, and the one that its agent sent if people edited it.
    pub(super) fn show_request(
        &mut self,
        redactor: &Redactor,
        request: StoredRequest,
        asked: Option<&StoredRequest>,
    ) {
        // The rule paused what the agent sent.
        let fact = content_fact(&self.row, asked.unwrap_or(&request));
        self.content = fact.map(|fact| redactor.text(&fact));
        self.asked = asked.map(|asked| {
            let (asked, edited) = (redacted(redactor, asked), redacted(redactor, &request));
            let difference = RequestDifference::between(&asked, &edited);
            AskedView { target: asked.target, body: asked.body, difference }
        });
        let StoredRequest { headers, body, .. } = request;
        for (name, value) in &headers {
            self.set_body_text(redactor, name.as_str().as_bytes());
            self.set_body_text(redactor, value.as_bytes());
        }
        self.set_body_text(redactor, &body);
        if self.row.kind == ApprovalKind::Sign {
            self.signing =
                signing::view_payload(&body).map(|shown| shown.map_text(|text| redactor.text(&text)));
        }
        self.headers = Some(redactor.headers(&headers));
        let shown = redactor.bytes(body.clone());
        self.body_sha256 = (shown != body).then(|| hex::encode(&Sha256::digest(&body)));
        self.body = Some(shown);
    }

    fn set_body_text(&mut self, redactor: &Redactor, bytes: &[u8]) {
        for name in redactor.found_in(bytes) {
            if !self.exposes.iter().any(|known| known == name) {
                self.exposes.push(name.to_owned());
            }
        }
    }

    /// The records of an edited request. `None` if no one edited it.
    pub fn edited(&self) -> Option<EditedRecord> {
        EditedRecord::new(&self.row, self.asked.as_ref().map(|asked| asked.difference.clone()))
    }

    /// Version of the data on a page that shows this transaction; see [`version_tag`].
    pub fn version_tag(&self) -> String {
        mark_of(&self.row, self.votes.len())
    }
}

/// A request without stored secrets.
fn redacted(redactor: &Redactor, request: &StoredRequest) -> StoredRequest {
    StoredRequest {
        target: redactor.text(&request.target),
        headers: redactor.headers(&request.headers),
        body: redactor.bytes(request.body.clone()),
    }
}

/// The fact that a content rule decided by.
fn content_fact(row: &ApprovalRow, request: &StoredRequest) -> Option<String> {
    if !row.rule.is(Rule::Content) {
        return None;
    }
    let target = Target::parse(&request.target).ok()?;
    let seen = content::build(&request.headers, &target, &request.body);
    match row.pattern.as_deref() {
        None => Some(policy::content::fact_without_rule(row.method.known()?, &seen)),
        Some(text) => ContentRule::parse(text).ok().map(|rule| rule.fact(&seen)),
    }
}

/// Changes whenever a page that shows the transaction should be rendered again.
pub async fn version_tag(state: &State, workspace: WorkspaceId, txn: TxnId) -> Result<String> {
    let row = row(state, workspace, txn).await?;
    let votes = votes::list(&state.store, workspace, txn).await?;
    Ok(mark_of(&row, votes.len()))
}

fn mark_of(row: &ApprovalRow, votes: usize) -> String {
    format!("{} {} {votes} {}", row.state.as_str(), row.forward_state.as_str(), row.edits)
}

/// The stored row of a transaction, with its current state.
pub async fn row(state: &State, workspace: WorkspaceId, txn: TxnId) -> Result<ApprovalRow> {
    let found = approvals::find(&state.store, workspace, txn).await?;
    expire::expire_if_due(state, found.ok_or(Error::not_found("transaction"))?).await
}

/// The complete view of a transaction.
pub async fn load_view(state: &State, workspace: WorkspaceId, txn: TxnId) -> Result<ApprovalView> {
    let row = row(state, workspace, txn).await?;
    let votes = votes::list(&state.store, workspace, txn).await?;
    let redactor =
        Redactor::of_workspace(&state.store, &state.keyring, workspace, &[row.credential_id]).await?;
    let target = target(&state.keyring, &row)?;
    let request = request(&state.store, &state.keyring, &row).await?;
    let mut view = ApprovalView::from_row(row, votes, &redactor, &target);
    if let Some(request) = request {
        let asked = edit_record::original_request(&state.store, &state.keyring, &view.row).await?;
        view.show_request(&redactor, request, asked.as_ref());
    }
    view.announced = announcement_record::load_named(&state.store, &view.row).await?;
    view.next_step = announcement_record::next_step(&state.store, &view.row).await?;
    Ok(view)
}

/// Number of a workspace's transactions that can still be decided, for the given credentials if any are named.
pub async fn pending(
    store: &Store,
    now: UnixMillis,
    workspace: WorkspaceId,
    among: Option<&[CredentialId]>,
) -> Result<u64> {
    let count = match among {
        None => approvals::count_pending(store, workspace, now).await?,
        Some(among) => approvals::count_pending_among(store, workspace, among, now).await?,
    };
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Transactions of a workspace in the order of the filter, without their bodies.
pub async fn list(state: &State, workspace: WorkspaceId, filter: &Filter) -> Result<Vec<ApprovalView>> {
    Ok(list_redacted(state, workspace, filter).await?.0)
}

/// Like [`list`], with the redactor of the workspace.
pub(super) async fn list_redacted(
    state: &State,
    workspace: WorkspaceId,
    filter: &Filter,
) -> Result<(Vec<ApprovalView>, Redactor)> {
    expire::expire_due(state).await?;
    let wanted = wanted(filter);
    let rows = match &filter.among {
        None => approvals::list(&state.store, workspace, &wanted).await?,
        Some(among) => approvals::list_for_credentials(&state.store, workspace, &wanted, among).await?,
    };
    let ids: Vec<TxnId> = rows.iter().map(|row| row.txn_id).collect();
    if rows.is_empty() {
        return Ok((Vec::new(), Redactor::default()));
    }
    let votes = votes::list_many(&state.store, workspace, &ids).await?;
    let own: Vec<CredentialId> = rows.iter().map(|row| row.credential_id).collect();
    let redactor = Redactor::of_workspace(&state.store, &state.keyring, workspace, &own).await?;
    let view = |row: ApprovalRow| {
        let votes = votes.iter().filter(|vote| vote.txn_id == row.txn_id).cloned().collect();
        let target = target(&state.keyring, &row)?;
        Ok(ApprovalView::from_row(row, votes, &redactor, &target))
    };
    let views = rows.into_iter().map(view).collect::<Result<_>>()?;
    Ok((views, redactor))
}

/// The conditions and the page of a filter, without its list of credentials.
pub(super) fn wanted(filter: &Filter) -> ApprovalFilter {
    ApprovalFilter {
        state: filter.state,
        settled: filter.settled,
        text: Some(filter.text.trim()).filter(|text| !text.is_empty()).map(str::to_owned),
        agent: filter.agent,
        credential: filter.credential,
        risk: filter.risk,
        by: filter.by,
        rising: filter.rising,
        beyond: filter.beyond,
        limit: filter.limit.clamp(1, 500),
    }
}

fn target(keyring: &Keyring, row: &ApprovalRow) -> Result<String> {
    let aad = approvals::target_aad(row.workspace_id, row.txn_id);
    let bytes = keyring.open(&aad, &row.sealed_target).map_err(|error| Error::Internal(Box::new(error)))?;
    Ok(String::from_utf8_lossy(bytes.expose()).into_owned())
}

async fn request(store: &Store, keyring: &Keyring, row: &ApprovalRow) -> Result<Option<StoredRequest>> {
    let sealed = approvals::request(store, row.workspace_id, row.txn_id).await?;
    sealed.map(|sealed| open_request(keyring, row, &sealed)).transpose()
}

pub(super) fn open_request(keyring: &Keyring, row: &ApprovalRow, sealed: &Sealed) -> Result<StoredRequest> {
    let aad = approvals::request_aad(row.workspace_id, row.txn_id);
    let bytes = keyring.open(&aad, sealed).map_err(|error| Error::Internal(Box::new(error)))?;
    StoredRequest::decode(&bytes).map_err(|error| Error::Internal(Box::new(error)))
}

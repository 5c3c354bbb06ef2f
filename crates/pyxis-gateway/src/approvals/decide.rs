//! The single function through which all human decisions take effect, whatever the channel.
//!
//! Everything is checked and changed in one transaction that locks the approval's row: eligibility, distinct people,
//! the passkey rule, the window. The last step is a compare-and-set on the state.

mod details;

use std::time::Duration;

use pyxis_core::actor::ActorId;
use pyxis_core::approval_mode::{ApprovalState, ForwardState};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::id::{AccessTokenId, GrantId, TxnId, UserId};
use pyxis_core::policy::{Method, Policy};
use pyxis_core::target::Target;
use pyxis_core::{grant, metric};
use pyxis_store::approvals::{self, ApprovalKind, ApprovalRow};
use pyxis_store::audit::{self, AuditRecord};
use pyxis_store::grants::{self, NewGrant};
use pyxis_store::votes::{self, Verdict, VoteRow};
use pyxis_store::{StoreError, StoreEvent, Tx, generations, policies};
use serde::Serialize;

use self::details::{DecisionDetail, EditDetail, GrantDetail, PasskeyDetail};
pub use super::approver::Approver;
pub use super::batch_assertion::BatchAssertion;
use super::edit::{self, PreparedEdit, Reviewed};
use super::{reason, viewer_status};
use crate::approvals::announce;
use crate::credentials::records::json;
use crate::credentials::redaction::Redactor;
use crate::error::{Error, Result};
use crate::identity::ceremony::VerifiedAssertion;
use crate::identity::voters::{self, Voter};
use crate::runtime::state::State;

/// Attempts to decide while the configuration changes.
const ATTEMPTS: usize = 5;

/// Authentication behind a decision.
pub enum AuthMethod {
    Session,
    /// An account on a chat platform that the person linked.
    Chat(ChatAccount),
    /// A personal access token.
    Token {
        id: AccessTokenId,
        /// Token name.
        name: String,
    },
    /// A passkey whose assertion was checked but not used up.
    Passkey(Box<VerifiedAssertion>),
    /// A passkey whose assertion covers a list of decisions and is used up.
    PasskeyForBatch(Box<BatchAssertion>),
}

/// An account on a chat platform.
#[derive(Clone, Debug, Serialize)]
pub struct ChatAccount {
    /// Chat platform.
    pub platform: &'static str,
    /// Account id on the platform.
    pub account: String,
    /// Account name as shown there.
    pub label: String,
}

/// A grant requested together with an approval.
#[derive(Clone, Copy, Debug)]
pub struct GrantRequest {
    /// Duration in seconds.
    pub seconds: u64,
    /// True for a grant that covers only the requesting agent.
    pub agent_only: bool,
    /// Maximum number of uses.
    pub max_uses: Option<i64>,
}

/// A person's decision.
#[derive(Clone, Debug)]
pub enum Decision {
    /// Approval, optionally with a grant.
    Approve(Option<GrantRequest>),
    /// Denial, optionally with a reason for the agent.
    Deny(Option<String>),
}

/// Result of a decision.
#[derive(Clone, Debug)]
pub struct DecisionOutcome {
    /// Current state; still pending if more approvers are needed.
    pub state: ApprovalState,
    /// Number of approvals that count.
    pub approvals: u32,
    /// Number of approvals needed.
    pub min_approvals: u32,
    /// Grant that was opened.
    pub grant: Option<GrantId>,
}

/// Applies `decision` to `txn`.
///
/// # Errors
/// `NotFound`, `AlreadyDecided` (also for a second vote by one person), `NotEligible`, `PasskeyRequired`,
/// `InvalidField` for a bad `grant_seconds`, `Unavailable`.
pub async fn decide(
    state: &State,
    approver: &Approver,
    txn: TxnId,
    decision: Decision,
) -> Result<DecisionOutcome> {
    decide_with(state, approver, txn, decision, &AuthMethod::Session, None).await
}

/// Like [`decide`], with an authentication other than a session. `note` is a comment on an approval, for the record.
///
/// # Errors
/// As [`decide`].
pub async fn decide_with(
    state: &State,
    approver: &Approver,
    txn: TxnId,
    decision: Decision,
    proof: &AuthMethod,
    note: Option<String>,
) -> Result<DecisionOutcome> {
    decide_reviewed(state, approver, txn, decision, proof, note, &Reviewed::default()).await
}

/// Like [`decide_with`], for a person who says what they read, and may change it before they approve. A request that
/// was edited is approved only by those who name its digest.
///
/// # Errors
/// As [`decide`], and `RequestChanged` if the request is no longer the one that was read. `InvalidField` for an edit
/// that cannot be made, or that leads to a request that is not allowed; nothing is changed then.
pub async fn decide_reviewed(
    state: &State,
    approver: &Approver,
    txn: TxnId,
    decision: Decision,
    proof: &AuthMethod,
    note: Option<String>,
    reviewed: &Reviewed,
) -> Result<DecisionOutcome> {
    let note = reason::trimmed(note)?;
    let redactor = match (&decision, &note) {
        (Decision::Deny(None) | Decision::Approve(None), None) => Redactor::default(),
        _ => Redactor::of_workspace(&state.store, &state.keyring, approver.workspace, &[]).await?,
    };
    let (decision, note) = redact_decision(&redactor, decision, note)?;
    let digest = reviewed.digest.as_deref();
    for _ in 0..ATTEMPTS {
        let edit = match (&decision, &reviewed.edit) {
            (Decision::Approve(_), Some(edit)) => {
                Some(edit::prepare(state, approver, txn, digest, edit).await?)
            }
            _ => None,
        };
        let submission = Submission { approver, proof, redactor: &redactor, digest, edit };
        if let Some(decided) = submission.attempt(state, txn, decision.clone(), note.clone()).await? {
            return Ok(decided);
        }
    }
    Err(Error::Conflict("the configuration is being changed right now; approve again"))
}

/// A decision that a person submitted, and what they read.
struct Submission<'a> {
    approver: &'a Approver,
    proof: &'a AuthMethod,
    redactor: &'a Redactor,
    digest: Option<&'a str>,
    edit: Option<PreparedEdit>,
}

impl Submission<'_> {
    /// Decides in one transaction. `None` if the configuration changed since the edit was checked.
    async fn attempt(
        &self,
        state: &State,
        txn: TxnId,
        decision: Decision,
        note: Option<String>,
    ) -> Result<Option<DecisionOutcome>> {
        let (now, approver) = (state.now(), self.approver);
        let mut tx = state.store.begin().await?;
        if let Decision::Approve(Some(_)) = decision {
            let row = approvals::find(&mut tx, approver.workspace, txn).await?;
            let row = row.ok_or(Error::not_found("transaction"))?;
            policies::lock(&mut tx, row.workspace_id, row.credential_id).await?;
        }
        let found = approvals::find_for_update(&mut tx, approver.workspace, txn).await?;
        let mut row = found.ok_or(Error::not_found("transaction"))?;
        let policy = voters::policy_of(&mut tx, row.workspace_id, row.credential_id).await?;
        // Current rows, not those at sign-in.
        let voter = Voter::load(&mut tx, row.workspace_id, approver.user, row.credential_id).await?;
        let voter = voter.ok_or(Error::Unauthenticated)?;
        voter.check(policy.as_ref())?;
        if row.state != ApprovalState::Pending {
            return Err(Error::AlreadyDecided(row.state));
        }
        if row.expires_at <= now {
            drop(tx);
            super::expire::expire_if_due(state, row).await?;
            return Err(Error::AlreadyDecided(ApprovalState::Expired));
        }
        if matches!(decision, Decision::Approve(_)) {
            edit::check_seen(&row, self.digest)?;
        }
        let mut void = 0;
        if let Some(edit) = &self.edit {
            (row, void) = edit.store(state, &mut tx, approver).await?;
        }
        let policy = policy.as_ref();
        let (redactor, proof) = (self.redactor, self.proof);
        let case =
            DecisionContext { state, redactor, approver, proof, voter: &voter, row: &row, policy, note, now };
        if let Some(edit) = &self.edit {
            case.record_edit(&mut tx, edit, void).await?;
            // The append has acquired the lock that a configuration change holds while it commits.
            if generations::read(&mut tx).await? != edit.generation {
                return Ok(None);
            }
        }
        let decided = match decision {
            Decision::Approve(wish) => case.approve(&mut tx, wish).await?,
            Decision::Deny(reason) => case.deny(&mut tx, reason).await?,
        };
        tx.notify(StoreEvent::Approval { workspace: row.workspace_id, txn });
        tx.commit().await?;
        count(decided.state);
        // A WebSocket is opened by its agent, who is woken by the event.
        if decided.state == ApprovalState::Approved && !row.method.is(Method::WebSocket) {
            state.work.approved(row.workspace_id, txn);
        }
        Ok(Some(decided))
    }
}

/// Counts a request that is now decided.
fn count(state: ApprovalState) {
    let decision = match state {
        ApprovalState::Approved => "approved",
        ApprovalState::Denied => "denied",
        ApprovalState::Pending | ApprovalState::Expired => return,
    };
    metrics::counter!(metric::APPROVAL_DECISIONS.name, "decision" => decision).increment(1);
}

/// One decision in progress.
struct DecisionContext<'a> {
    state: &'a State,
    /// Redacts the workspace's secrets from stored text.
    redactor: &'a Redactor,
    approver: &'a Approver,
    proof: &'a AuthMethod,
    voter: &'a Voter,
    row: &'a ApprovalRow,
    policy: Option<&'a Policy>,
    note: Option<String>,
    now: UnixMillis,
}

/// Redacts the workspace's secrets from a person's text, which is stored, sent to the agent, and exported.
fn redact_decision(
    redactor: &Redactor,
    decision: Decision,
    note: Option<String>,
) -> Result<(Decision, Option<String>)> {
    let clean = |text: Option<String>| text.map(|text| redactor.text(&text));
    let decision = match decision {
        Decision::Deny(reason) => Decision::Deny(clean(reason::trimmed(reason)?)),
        decision @ Decision::Approve(_) => decision,
    };
    Ok((decision, clean(note)))
}

impl DecisionContext<'_> {
    async fn approve(&self, tx: &mut Tx, wish: Option<GrantRequest>) -> Result<DecisionOutcome> {
        self.use_passkey(tx, wish.as_ref()).await?;
        let needed = self.approvals_needed();
        if let Some(wish) = wish {
            self.check_wish(wish, needed)?;
        }
        let before = self.counted_voters(tx).await?;
        let note = self.note.as_deref();
        self.vote(tx, Verdict::Approve, note, wish).await?;
        voters::check_distinct(tx, self.voter, &before).await?;
        let counted = self.count(tx).await?;
        let mut decided = DecisionOutcome {
            state: ApprovalState::Pending,
            approvals: counted,
            min_approvals: needed,
            grant: None,
        };
        self.record(tx, AuditEvent::ApprovalVoted, &decided, note).await?;
        if counted < needed {
            announce::voted(self.state.now(), tx, self.row).await?;
            return Ok(decided);
        }
        let (user, email) = (self.approver.user, &self.approver.email);
        let row = self.row;
        if !approvals::approve(tx, row.workspace_id, row.txn_id, user, email, self.now).await? {
            return Err(Error::AlreadyDecided(ApprovalState::Expired));
        }
        decided.state = ApprovalState::Approved;
        announce::approved(self.state.now(), tx, row).await?;
        if let Some(wish) = wish {
            decided.grant = Some(self.open_grant(tx, wish).await?);
        }
        self.record(tx, AuditEvent::ApprovalApproved, &decided, note).await?;
        Ok(decided)
    }

    async fn deny(&self, tx: &mut Tx, reason: Option<String>) -> Result<DecisionOutcome> {
        if let AuthMethod::PasskeyForBatch(batch) = self.proof {
            batch.check(tx, self.row, Verdict::Deny).await?;
        }
        self.vote(tx, Verdict::Deny, reason.as_deref(), None).await?;
        let (user, email) = (self.approver.user, &self.approver.email);
        let row = self.row;
        let denied =
            approvals::deny(tx, row.workspace_id, row.txn_id, user, email, reason.as_deref(), self.now)
                .await?;
        if !denied {
            return Err(Error::AlreadyDecided(ApprovalState::Expired));
        }
        announce::denied(&self.state.outbox, self.state.now(), tx, row, email).await?;
        let decided = DecisionOutcome {
            state: ApprovalState::Denied,
            approvals: self.count(tx).await?,
            min_approvals: self.approvals_needed(),
            grant: None,
        };
        self.record(tx, AuditEvent::ApprovalDenied, &decided, reason.as_deref()).await?;
        Ok(decided)
    }

    /// Records that this person changed the request.
    async fn record_edit(&self, tx: &mut Tx, edit: &PreparedEdit, void: u64) -> Result<()> {
        let mut record = self.base_record(AuditEvent::ApprovalEdited);
        record.detail = json(&EditDetail {
            surface: self.approver.surface.as_str(),
            token: self.token(),
            asked_digest: self.row.asked_digest.as_deref(),
            digest_before: &edit.seen,
            digest: &self.row.digest,
            parts: &edit.parts,
            void_votes: void,
        });
        audit::append_in(tx, &self.state.audit_keys, &[record]).await?;
        Ok(())
    }

    fn approvals_needed(&self) -> u32 {
        viewer_status::approvals_needed(self.row, self.policy)
    }

    fn passkey_required(&self) -> bool {
        viewer_status::passkey_required(self.row, self.policy)
    }

    /// Uses up the assertion, which must be for exactly this decision. Without one, fails if a passkey is needed.
    async fn use_passkey(&self, tx: &mut Tx, wish: Option<&GrantRequest>) -> Result<()> {
        match self.proof {
            AuthMethod::Passkey(verified) => {
                verified.check_binding(&binding(self.row, self.approver, wish))?;
                return verified.record(tx, self.now).await;
            }
            AuthMethod::PasskeyForBatch(_) if wish.is_some() => {
                return Err(Error::PasskeyRefused("it was given for decisions without a grant"));
            }
            AuthMethod::PasskeyForBatch(batch) => {
                return batch.check(tx, self.row, Verdict::Approve).await;
            }
            AuthMethod::Session | AuthMethod::Chat(_) | AuthMethod::Token { .. } => {}
        }
        if self.passkey_required() {
            let url = format!("{}/approve/{}", self.state.config.base_url, self.row.txn_id);
            return Err(Error::PasskeyRequired { url });
        }
        Ok(())
    }

    fn check_wish(&self, wish: GrantRequest, needed: u32) -> Result<()> {
        if self.row.kind == ApprovalKind::Sign {
            return Err(Error::field(
                "grant_seconds",
                "every signature needs its own approval; approve without a grant",
            ));
        }
        if self.row.edits > 0 {
            return Err(Error::field(
                "grant_seconds",
                "an edited request is approved alone, because a grant is for what the agent sends; approve without a grant",
            ));
        }
        let asked = Duration::from_secs(wish.seconds);
        grant::check_duration(self.approver.surface, self.voter.user.role, asked, needed)
            .map_err(|error| Error::field("grant_seconds", error.to_string()))
    }

    async fn vote(
        &self,
        tx: &mut Tx,
        verdict: Verdict,
        reason: Option<&str>,
        wish: Option<GrantRequest>,
    ) -> Result<()> {
        let vote = VoteRow {
            workspace_id: self.row.workspace_id,
            txn_id: self.row.txn_id,
            user_id: self.approver.user,
            email: self.approver.email.clone(),
            verdict,
            reason: reason.map(str::to_owned),
            grant_seconds: wish.map(|wish| i64::try_from(wish.seconds).unwrap_or(i64::MAX)),
            agent_only: wish.is_some_and(|wish| wish.agent_only),
            channel: self.approver.surface.into(),
            created_at: self.now,
            passkey: self.passkey().is_some(),
        };
        match votes::insert(&mut *tx, &vote).await {
            Err(StoreError::Conflict { .. }) => {}
            other => return Ok(other?),
        }
        // An approval without a passkey, from before one was needed, does not count. Repeated with a passkey, it does.
        let again = vote.passkey && verdict == Verdict::Approve && self.passkey_required();
        if again && votes::confirm(&mut *tx, &vote).await? {
            return Ok(());
        }
        Err(Error::AlreadyDecided(ApprovalState::Pending))
    }

    /// Counts approvals by people who may still approve.
    async fn count(&self, tx: &mut Tx) -> Result<u32> {
        Ok(u32::try_from(self.counted_voters(tx).await?.len()).unwrap_or(u32::MAX))
    }

    async fn counted_voters(&self, tx: &mut Tx) -> Result<Vec<UserId>> {
        let given = votes::list(&mut *tx, self.row.workspace_id, self.row.txn_id).await?;
        voters::counted_voters(tx, self.row, self.policy, &given).await
    }

    async fn open_grant(&self, tx: &mut Tx, wish: GrantRequest) -> Result<GrantId> {
        let aad = approvals::target_aad(self.row.workspace_id, self.row.txn_id);
        let opened = self.state.keyring.open(&aad, &self.row.sealed_target);
        let bytes = opened.map_err(|error| Error::Internal(Box::new(error)))?;
        let url = String::from_utf8_lossy(bytes.expose());
        let target = Target::parse(&url).map_err(|error| Error::Internal(Box::new(error)))?;
        let route = target.route();
        if self.redactor.text(&route) != route {
            let detail =
                "the URL contains a stored secret, so no grant can be opened; approve without a grant";
            return Err(Error::field("grant_seconds", detail));
        }
        let method = self.row.method.known().ok_or_else(|| {
            let detail = "no grant can cover the method of this request; approve without a grant";
            Error::field("grant_seconds", detail)
        })?;
        let grant = NewGrant {
            id: GrantId::new(self.now, &*self.state.entropy),
            workspace_id: self.row.workspace_id,
            credential_id: self.row.credential_id,
            credential_version: self.row.credential_version,
            agent_id: wish.agent_only.then_some(self.row.agent_id),
            method,
            route,
            txn_id: Some(self.row.txn_id),
            created_by: self.approver.user,
            created_by_email: self.approver.email.clone(),
            created_at: self.now,
            expires_at: self.now.plus(Duration::from_secs(wish.seconds)),
            max_uses: wish.max_uses,
        };
        grants::insert(&mut *tx, &grant).await?;
        let mut record = self.base_record(AuditEvent::GrantCreated);
        record.grant_id = Some(grant.id);
        record.detail = json(&GrantDetail {
            route: &grant.route,
            expires_at: grant.expires_at.to_rfc3339(),
            agent_only: wish.agent_only,
            max_uses: wish.max_uses,
        });
        audit::append_in(tx, &self.state.audit_keys, &[record]).await?;
        Ok(grant.id)
    }

    fn token(&self) -> Option<String> {
        match self.proof {
            AuthMethod::Token { id, name } => Some(format!("{name} {id}")),
            AuthMethod::Session
            | AuthMethod::Chat(_)
            | AuthMethod::Passkey(_)
            | AuthMethod::PasskeyForBatch(_) => None,
        }
    }

    const fn chat(&self) -> Option<&ChatAccount> {
        match self.proof {
            AuthMethod::Chat(account) => Some(account),
            AuthMethod::Session
            | AuthMethod::Token { .. }
            | AuthMethod::Passkey(_)
            | AuthMethod::PasskeyForBatch(_) => None,
        }
    }

    fn passkey(&self) -> Option<PasskeyDetail<'_>> {
        let (row, assertion, list_sha256) = match self.proof {
            AuthMethod::Passkey(verified) => (&verified.row, &verified.evidence, None),
            AuthMethod::PasskeyForBatch(batch) => (batch.passkey(), batch.evidence(), Some(batch.hash())),
            AuthMethod::Session | AuthMethod::Token { .. } | AuthMethod::Chat(_) => return None,
        };
        Some(PasskeyDetail { id: row.id, name: &row.name, assertion, list_sha256 })
    }

    fn base_record(&self, event: AuditEvent) -> AuditRecord {
        let mut record = AuditRecord::new(self.now, event);
        record.workspace_id = Some(self.row.workspace_id);
        record.actor = ActorId::User(self.approver.user);
        record.actor_name.clone_from(&self.approver.email);
        record.credential = Some(self.row.credential_name.clone());
        record.method = Some(self.row.method.clone());
        record.host = Some(self.row.target_host.clone());
        record.txn_id = Some(self.row.txn_id);
        record
    }

    async fn record(
        &self,
        tx: &mut Tx,
        event: AuditEvent,
        decided: &DecisionOutcome,
        reason: Option<&str>,
    ) -> Result<()> {
        let mut record = self.base_record(event);
        record.grant_id = decided.grant;
        record.detail = json(&DecisionDetail {
            surface: self.approver.surface.as_str(),
            chat: self.chat(),
            token: self.token(),
            passkey: self.passkey(),
            opened_by: self.voter.user.opened_by,
            channel: self.row.channel.as_str(),
            digest: &self.row.digest,
            approvals: decided.approvals,
            min_approvals: decided.min_approvals,
            reason,
        });
        audit::append_in(tx, &self.state.audit_keys, &[record]).await?;
        Ok(())
    }
}

/// True if nothing more can happen to a transaction.
pub(crate) fn is_settled(row: &ApprovalRow) -> bool {
    match row.state {
        ApprovalState::Pending => false,
        ApprovalState::Denied | ApprovalState::Expired => true,
        ApprovalState::Approved => row.forward_state == ForwardState::Done,
    }
}

/// Text that a passkey assertion for this decision is bound to: request, person and grant.
pub(super) fn binding(row: &ApprovalRow, approver: &Approver, wish: Option<&GrantRequest>) -> String {
    let grant = match wish {
        None => "no grant".to_owned(),
        Some(GrantRequest { seconds, agent_only, max_uses }) => {
            let uses = max_uses.map_or_else(|| "any".to_owned(), |uses| uses.to_string());
            format!("grant {seconds} s, agent only {agent_only}, uses {uses}")
        }
    };
    format!("approve {} {} by {}, {grant}", row.txn_id, row.digest, approver.user)
}

//! Who a chat account is, and what its word does.

use pyxis_core::actor::ActorId;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::audit_decision::AuditDecision;
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_store::audit::{self, AuditRecord};
use pyxis_store::chat_identities::{self, ChatIdentityRow};
use pyxis_store::chat_messages::ChatMessageRow;
use pyxis_store::message_subject::MessageSubject;
use pyxis_store::{Store, users};
use serde_json::json;

use super::{approval_message, code_hash, task_message};
use crate::approvals::decide::{Approver, AuthMethod, ChatAccount, Decision, GrantRequest, decide_with};
use crate::credentials::records;
use crate::error::{Error, Result};
use crate::runtime::state::State;

/// The one length of a grant that a chat opens, in seconds.
const GRANT_SECS: u64 = 1800;

/// What somebody hears whose account nobody linked.
const UNLINKED: &str = "This account is not linked to a person in Pyxis, so nothing was changed. \
                        Link it in the dashboard under Notifications.";

/// Answer to a wrong or expired code.
const BAD_CODE: &str =
    "This code is wrong or has expired. Create a new one in the dashboard under Notifications.";

/// A button, or a reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Approve,
    ApproveWithGrant,
    Deny,
}

/// What to tell the person.
pub(super) struct IncomingDecision {
    pub(super) text: String,
    /// True if their word counts.
    pub(super) done: bool,
}

/// An account on a platform.
pub(super) struct Account<'a> {
    pub(super) platform: ChatPlatform,
    pub(super) id: &'a str,
    pub(super) label: &'a str,
}

/// Records an account's decision about the request of a message. A task is decided on its page. `Err` means that nothing
/// is known to have happened, and that the platform should deliver again.
pub(super) async fn act(
    state: &State,
    message: &ChatMessageRow,
    account: &Account<'_>,
    action: Action,
) -> Result<IncomingDecision> {
    act_because(state, message, account, action, None).await
}

/// The same with the reason of a denial.
pub(super) async fn act_because(
    state: &State,
    message: &ChatMessageRow,
    account: &Account<'_>,
    action: Action,
    reason: Option<String>,
) -> Result<IncomingDecision> {
    let workspace = message.workspace_id;
    let txn = match message.subject {
        MessageSubject::Request(txn) => txn,
        MessageSubject::Task(task) => {
            let page = task_message::page(&state.config, task);
            let text = format!("A task is read and decided on its page: {page}");
            return Ok(IncomingDecision { text, done: false });
        }
    };
    let Some(approver) = approver(&state.store, workspace, account).await? else {
        record_stranger(state, workspace, txn, account).await?;
        return Ok(IncomingDecision { text: UNLINKED.to_owned(), done: false });
    };
    // Read before the transaction of the decision. A request that is edited meanwhile is refused there.
    if action != Action::Deny
        && let Some(url) = approval_message::must_be_read_at(state, message).await?
    {
        return Ok(IncomingDecision {
            text: format!("The chat does not show the full request. Read and approve it here: {url}"),
            done: false,
        });
    }
    let word = match action {
        Action::Approve => Decision::Approve(None),
        Action::ApproveWithGrant => {
            Decision::Approve(Some(GrantRequest { seconds: GRANT_SECS, agent_only: false, max_uses: None }))
        }
        Action::Deny => Decision::Deny(reason),
    };
    let proof = AuthMethod::Chat(ChatAccount {
        platform: account.platform.as_str(),
        account: account.id.to_owned(),
        label: account.label.to_owned(),
    });
    let outcome = decide_with(state, &approver, txn, word, &proof, None).await;
    let done = outcome.is_ok();
    let text = match outcome {
        Ok(decided) => match (decided.state, decided.grant) {
            (ApprovalState::Approved, Some(_)) => {
                "Approved. Matching requests are allowed for 30 minutes.".to_owned()
            }
            (ApprovalState::Approved, None) => "Approved. The request is being sent.".to_owned(),
            (ApprovalState::Denied, _) => "Denied. Nothing was sent.".to_owned(),
            (ApprovalState::Pending | ApprovalState::Expired, _) => {
                format!("Your approval counts: {} of {}.", decided.approvals, decided.min_approvals)
            }
        },
        Err(Error::AlreadyDecided(ApprovalState::Pending)) => "You have already decided.".to_owned(),
        Err(Error::AlreadyDecided(now)) => format!("Too late: the request is already {now}."),
        Err(Error::RequestChanged) => {
            let page = approval_message::page(&state.config, txn);
            format!("Someone edited this request. Read and approve it here: {page}")
        }
        Err(Error::NotEligible(why)) => format!("You cannot decide this: {why}."),
        Err(Error::PasskeyRequired { url }) => {
            format!("This request needs a passkey. Approve it here: {url}")
        }
        Err(Error::InvalidField { detail, .. }) => format!("Not possible: {detail}."),
        Err(Error::NotFound(_)) => "The request no longer exists.".to_owned(),
        Err(error) => return Err(error),
    };
    Ok(IncomingDecision { text, done })
}

/// True if the account's person is known and may still come in.
pub(super) async fn is_linked(store: &Store, workspace: WorkspaceId, account: &Account<'_>) -> Result<bool> {
    Ok(approver(store, workspace, account).await?.is_some())
}

/// The person behind an account, if somebody linked it and may still come in.
async fn approver(store: &Store, workspace: WorkspaceId, account: &Account<'_>) -> Result<Option<Approver>> {
    let linked = chat_identities::find(store, workspace, account.platform, account.id).await?;
    let Some(linked) = linked else { return Ok(None) };
    let user = users::find(store, workspace, linked.user_id).await?;
    Ok(user.filter(|user| user.disabled_at.is_none()).map(|user| Approver {
        workspace,
        user: user.id,
        email: user.email,
        role: user.role,
        surface: DecisionSurface::Chat,
    }))
}

async fn record_stranger(
    state: &State,
    workspace: WorkspaceId,
    txn: TxnId,
    account: &Account<'_>,
) -> Result<()> {
    let mut record = AuditRecord::new(state.now(), AuditEvent::ChatStrangerRefused);
    record.workspace_id = Some(workspace);
    record.actor = ActorId::Other(format!("{}:{}", account.platform.as_str(), account.id));
    account.label.clone_into(&mut record.actor_name);
    record.decision = Some(AuditDecision::Refused.into());
    record.txn_id = Some(txn);
    let mut tx = state.store.begin().await?;
    audit::append_in(&mut tx, &state.audit_keys, &[record]).await?;
    Ok(tx.commit().await?)
}

/// Links the account by a code that the dashboard showed; the answer to send.
pub(super) async fn link(state: &State, account: &Account<'_>, code: &str) -> Result<String> {
    let now = state.now();
    let mut tx = state.store.begin().await?;
    let taken = chat_identities::take_code(&mut tx, account.platform, &code_hash(code), now).await?;
    let Some(taken) = taken else {
        return Ok(BAD_CODE.to_owned());
    };
    let user = users::find(&mut tx, taken.workspace_id, taken.user_id).await?;
    let Some(user) = user.filter(|user| user.disabled_at.is_none()) else {
        return Ok("The person who created this code can no longer sign in.".to_owned());
    };
    let row = ChatIdentityRow {
        workspace_id: taken.workspace_id,
        platform: account.platform,
        external_id: account.id.to_owned(),
        user_id: user.id,
        label: account.label.to_owned(),
        linked_at: now,
    };
    chat_identities::link(&mut tx, &row).await?;
    let mut record = AuditRecord::new(now, AuditEvent::ChatLinked);
    record.workspace_id = Some(taken.workspace_id);
    record.actor = ActorId::User(user.id);
    record.actor_name.clone_from(&user.email);
    record.detail = records::json(&json!({
        "platform": account.platform.as_str(), "account": account.id, "label": account.label,
    }));
    audit::append_in(&mut tx, &state.audit_keys, &[record]).await?;
    tx.commit().await?;
    Ok(format!("Linked to {}. Your buttons and reactions now count.", user.email))
}

//! Content of a chat message about a single request, whatever the platform.

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::brand::SECURED_BY;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_core::policy::Policy;
use pyxis_core::preview::preview;
use pyxis_store::Store;
use pyxis_store::approvals::ApprovalKind;
use pyxis_store::chat_messages::ChatMessageRow;
use pyxis_store::message_subject::MessageSubject;

use super::flat::{fits, one_line};
use super::link_card::LinkCard;
use super::message_content::{Common, DecideIn, MessageBrand, MessageContent, fits_in, time_of_day};
use super::payload;
use crate::approvals::announce::chats::nonce;
use crate::approvals::view::{self, ApprovalView};
use crate::approvals::viewer_status;
use crate::config::Config;
use crate::error::Result;
use crate::identity::voters;
use crate::runtime::state::State;

/// Room for headers, marks and ends of lines included, in UTF-16 units as platforms count.
const HEADERS: usize = 500;

/// The message about a transaction as it should be now; `None` when there is nothing to tell any more.
pub(super) async fn load(
    state: &State,
    message: &ChatMessageRow,
    txn: TxnId,
    common: &Common,
) -> Result<Option<MessageContent>> {
    let Some(seen) = load_view(state, message.workspace_id, txn).await? else { return Ok(None) };
    let brand = MessageBrand::load(&state.store, &state.config, message.workspace_id).await?;
    let row = &seen.row;
    let policy = voters::policy_of(&state.store, row.workspace_id, row.credential_id).await?;
    let (passkey, needed) = (
        viewer_status::passkey_required(row, policy.as_ref()),
        viewer_status::approvals_needed(row, policy.as_ref()),
    );
    let url = page(&state.config, row.txn_id);
    let grantable = !passkey && viewer_status::grantable(row, needed);
    let mut after = Vec::new();
    if row.state == ApprovalState::Pending {
        after.extend(tally(&state.store, &seen, policy.as_ref(), needed).await?);
        if grantable {
            let recent = common.recent(&state.store, row.workspace_id).await?;
            after.extend(recent.of_view(&seen, needed).map(|lately| grant_line(&lately.in_words())));
        }
        after.push(format!("Expires at {}", time_of_day(row.expires_at)));
    } else {
        after.extend(ending(&seen));
    }
    let decides = message.platform.spec().decides;
    let compose = |(told, whole): (Vec<String>, bool)| {
        let place = match (passkey, whole && decides) {
            (true, _) => DecideIn::Ceremony,
            (false, true) => DecideIn::Chat,
            (false, false) => DecideIn::Page,
        };
        let link = (row.state == ApprovalState::Pending).then(|| format!("{}: {url}", place.way()));
        let lines =
            [request_lines(&seen, &brand.name), told, after.clone(), link.into_iter().collect()].concat();
        (place, [lines, vec![SECURED_BY.to_owned()]].concat(), whole)
    };
    let (mut place, mut lines, mut whole) = compose(content(&seen));
    if !fits_in(&lines, message.platform.spec().message_max) {
        let too_long = "Not shown here: it is longer than a message.".to_owned();
        (place, lines, whole) = compose((vec![too_long], false));
    }
    Ok(Some(MessageContent {
        subject: message.subject,
        state: row.state.into(),
        expires_at: row.expires_at,
        nonce: nonce(&state.keyring, message.id),
        place,
        whole,
        grantable,
        link: link_card(&seen, &brand.name, after, (place, url)),
        brand,
        lines,
    }))
}

/// The message with only a link. The address is reduced to its host, and headers, body and payload are left out.
fn link_card(
    seen: &ApprovalView,
    brand: &str,
    status: Vec<String>,
    (place, url): (DecideIn, String),
) -> LinkCard {
    let row = &seen.row;
    let (agent, credential) = (one_line(&row.agent_name), one_line(&row.credential_name));
    let brand = one_line(brand);
    let text = format!("{agent} wants {} {credential}", wish(row.kind));
    let facts = [
        ("Agent", Some(agent)),
        ("Credential", Some(credential)),
        ("Method", Some(one_line(row.method.as_str()))),
        ("Host", Some(one_line(&row.target_host))),
        ("Reason", row.reason.as_deref().map(one_line)),
        ("Edited", edit(seen)),
    ];
    LinkCard {
        title: format!("{brand} · {}", headline(row.state)),
        brand,
        text,
        facts: facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect(),
        status,
        link: place.label(),
        url,
    }
}

const fn wish(kind: ApprovalKind) -> &'static str {
    match kind {
        ApprovalKind::Forward => "to use",
        ApprovalKind::Sign => "a signature with",
    }
}

/// Where a pending transaction must be read before it is approved, if a message does not show enough of it. Nor
/// does an old button or a typed reaction approve it unseen.
pub(super) async fn must_be_read_at(state: &State, message: &ChatMessageRow) -> Result<Option<String>> {
    let MessageSubject::Request(txn) = message.subject else { return Ok(None) };
    let shown = load(state, message, txn, &Common::default()).await?;
    let unread = shown.filter(|shown| shown.state == ApprovalState::Pending && !shown.whole);
    Ok(unread.map(|shown| shown.link.url))
}

/// The request; `None` if it was deleted.
async fn load_view(state: &State, workspace: WorkspaceId, txn: TxnId) -> Result<Option<ApprovalView>> {
    match view::load_view(state, workspace, txn).await {
        Err(crate::Error::NotFound(_)) => Ok(None),
        other => other.map(Some),
    }
}

/// The page of a transaction.
pub(super) fn page(config: &Config, txn: TxnId) -> String {
    format!("{}/approve/{txn}", config.base_url)
}

/// Who asks for what.
fn request_lines(seen: &ApprovalView, brand: &str) -> Vec<String> {
    let row = &seen.row;
    let mut lines = vec![
        format!("{} · {}", one_line(brand), headline(row.state)),
        format!("{} wants {} {}", one_line(&row.agent_name), wish(row.kind), one_line(&row.credential_name)),
        format!("{} {}", row.method, one_line(&seen.target)),
    ];
    if let Some(reason) = &row.reason {
        lines.push(format!("Reason: “{}”", one_line(reason)));
    }
    lines.extend(edit(seen).map(|edit| format!("Edited {edit}")));
    lines
}

/// The person who edited the request, and the parts: `by b@example.com (body)`.
fn edit(seen: &ApprovalView) -> Option<String> {
    let by = seen.row.edited_by_email.as_deref().filter(|_| seen.row.edits > 0)?;
    let parts = seen.asked.as_ref().map(|asked| asked.difference.parts().join(", "));
    let parts = parts.map(|parts| format!(" ({parts})")).unwrap_or_default();
    Some(format!("by {}{parts}", one_line(by)))
}

/// What is asked for, and whether that is enough to approve by: only what a message shows whole is.
fn content(seen: &ApprovalView) -> (Vec<String>, bool) {
    let (lines, whole) = match seen.row.kind {
        ApprovalKind::Sign => seen.signing.as_ref().map_or((Vec::new(), false), payload::payload_lines),
        ApprovalKind::Forward => forwarded(seen),
    };
    // What was edited is read with the difference, which is on the page.
    let whole = whole && seen.row.edits == 0;
    (lines, whole && seen.exposes.is_empty() && seen.row.reason.as_deref().is_none_or(fits))
}

/// Headers and body of a request, and whether the message shows all of it, its address included.
fn forwarded(seen: &ApprovalView) -> (Vec<String>, bool) {
    let Some(body) = seen.body.as_deref() else { return (Vec::new(), false) };
    let (mut lines, all_headers) = headers(seen);
    let shown = preview(body);
    let all_body = body.is_empty() || shown.as_ref().is_some_and(|shown| shown.as_bytes() == body);
    match &shown {
        Some(text) => {
            lines.push("Body:".to_owned());
            lines.extend(text.lines().map(|line| format!("{}{line}", payload::MARK)));
        }
        None if body.is_empty() => {}
        None => lines.push(format!("Body: {} bytes not shown here", body.len())),
    }
    (lines, all_headers && all_body && one_line(&seen.target) == seen.target)
}

/// The headers that say something, all or none, and whether they are shown as they are.
fn headers(seen: &ApprovalView) -> (Vec<String>, bool) {
    let headers = seen.telling_headers();
    if headers.is_empty() {
        return (Vec::new(), true);
    }
    let texts: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let marked = |text: &String| format!("{}{}", payload::MARK, one_line(text));
    let mut lines = vec!["Headers:".to_owned()];
    lines.extend(texts.iter().map(marked));
    if lines.join("\n").encode_utf16().count() > HEADERS {
        return (vec![format!("Headers: {} not shown here", texts.len())], false);
    }
    let whole = texts.iter().all(|text| one_line(text) == *text);
    (lines, whole)
}

/// How many have approved, where several must: those whose word would count now.
async fn tally(
    store: &Store,
    seen: &ApprovalView,
    policy: Option<&Policy>,
    needed: u32,
) -> Result<Option<String>> {
    if needed <= 1 {
        return Ok(None);
    }
    let mut tx = store.begin().await?;
    let given = voters::counted_voters(&mut tx, &seen.row, policy, &seen.votes).await?.len();
    Ok(Some(format!("Approvals: {given} of {needed}")))
}

/// How it ended.
fn ending(seen: &ApprovalView) -> Vec<String> {
    let row = &seen.row;
    match row.state {
        ApprovalState::Pending => Vec::new(),
        ApprovalState::Approved | ApprovalState::Denied => {
            let by = row.decided_by_email.as_deref().unwrap_or("someone");
            let at = row.decided_at.unwrap_or(row.expires_at);
            let decided = format!("{} by {} at {}", headline(row.state), one_line(by), time_of_day(at));
            let reason = row.deny_reason.as_ref().map(|reason| format!("Reason: “{}”", one_line(reason)));
            std::iter::once(decided).chain(reason).collect()
        }
        ApprovalState::Expired if row.withdrawn => vec!["The agent withdrew the request.".to_owned()],
        ApprovalState::Expired => vec!["No one decided in time.".to_owned()],
    }
}

fn grant_line(lately: &str) -> String {
    format!("30 min grant: {}", one_line(lately))
}

fn headline(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "Approval needed",
        ApprovalState::Approved => "Approved",
        ApprovalState::Denied => "Denied",
        ApprovalState::Expired => "Expired",
    }
}

//! What a chat message says about an approval, whatever the platform.

use std::collections::HashMap;
use std::sync::Arc;

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::brand::{Accent, DEFAULT_NAME, SECURED_BY};
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::{TxnId, WorkspaceId};
use pyxis_core::policy::Policy;
use pyxis_core::preview::preview;
use pyxis_store::Store;
use pyxis_store::approvals::ApprovalKind;
use pyxis_store::chat_messages::ChatMessageRow;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use super::flat::{fits, one_line};
use super::payload;
use super::request_facts::RequestFacts;
use crate::approvals::coverage::RecentRequests;
use crate::approvals::view::{self, ApprovalView};
use crate::approvals::viewer_status;
use crate::config::Config;
use crate::error::Result;
use crate::identity::voters;
use crate::notifications::announce::chats::nonce;
use crate::notifications::brand::{self, Brand};
use crate::runtime::state::State;

/// Room for headers, marks and ends of lines included, in UTF-16 units as platforms count.
const HEADERS: usize = 500;

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct ApprovalMessage {
    /// How the transaction stands.
    pub(crate) state: ApprovalState,
    /// What its buttons carry.
    pub(crate) nonce: String,
    /// Where a person decides with all before their eyes.
    pub(crate) url: String,
    /// Where a person approves.
    pub(crate) place: DecideIn,
    /// True if the message shows the whole request.
    whole: bool,
    /// True if an approval can open a grant.
    pub(crate) grantable: bool,
    /// The color of the first line, where a platform has colors.
    accent: Option<Accent>,
    /// Where the platform itself can fetch the logo, if there is one and it can.
    pub(crate) logo: Option<String>,
    lines: Vec<String>,
    /// Shown instead of the lines where a message has only a link.
    pub(crate) facts: RequestFacts,
}

/// Where a person approves. Everything can be denied in the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecideIn {
    /// In the chat, by a button or a reaction.
    Chat,
    /// On the page that shows everything: the message does not, or it warns.
    Page,
    /// There, in a passkey ceremony.
    Ceremony,
}

impl DecideIn {
    /// Words before the link to the page.
    const fn way(self) -> &'static str {
        match self {
            Self::Chat => "Details",
            Self::Page => "Read the full request and approve",
            Self::Ceremony => "Approve with your passkey",
        }
    }
}

/// What the cards of one round have in common, looked up once for each workspace.
#[derive(Default)]
pub(crate) struct Common {
    recent: Mutex<HashMap<WorkspaceId, Arc<RecentRequests>>>,
}

impl Common {
    async fn recent(&self, store: &Store, workspace: WorkspaceId) -> Result<Arc<RecentRequests>> {
        let mut known = self.recent.lock().await;
        if let Some(recent) = known.get(&workspace) {
            return Ok(Arc::clone(recent));
        }
        let recent = Arc::new(RecentRequests::load(store, workspace).await?);
        known.insert(workspace, Arc::clone(&recent));
        Ok(recent)
    }
}

impl ApprovalMessage {
    /// The message as it should be now; `None` when there is nothing to tell any more.
    pub(crate) async fn load(
        state: &State,
        message: &ChatMessageRow,
        common: &Common,
    ) -> Result<Option<Self>> {
        let Some(seen) = load_view(state, message).await? else { return Ok(None) };
        let brand = brand::get(&state.store, message.workspace_id).await?;
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
        let facts = RequestFacts::new(&seen, name_of(&brand), headline(row.state), &after);
        let decides = message.platform.spec().decides;
        let compose = |(told, whole): (Vec<String>, bool)| {
            let place = match (passkey, whole && decides) {
                (true, _) => DecideIn::Ceremony,
                (false, true) => DecideIn::Chat,
                (false, false) => DecideIn::Page,
            };
            let link = (row.state == ApprovalState::Pending).then(|| format!("{}: {url}", place.way()));
            let lines =
                [request_lines(&seen, &brand), told, after.clone(), link.into_iter().collect()].concat();
            (place, [lines, vec![SECURED_BY.to_owned()]].concat(), whole)
        };
        let (mut place, mut lines, mut whole) = compose(content(&seen));
        if !fits_in(&lines, message.platform.spec().message_max) {
            let too_long = "Not shown here: it is longer than a message.".to_owned();
            (place, lines, whole) = compose((vec![too_long], false));
        }
        Ok(Some(Self {
            state: row.state,
            whole,
            nonce: nonce(&state.keyring, message.id),
            logo: (brand.has_logo && brand::is_public(&state.config))
                .then(|| brand::logo_url(&state.config, message.workspace_id)),
            accent: brand.accent.as_deref().and_then(Accent::parse),
            url,
            place,
            grantable,
            lines,
            facts,
        }))
    }

    /// The text, line by line.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The same with the first line in the color of the brand; `None` where the brand has none.
    pub(crate) fn html(&self) -> Option<String> {
        let accent = self.accent?;
        let mut lines = self.lines.iter().map(|line| escaped(line));
        let first = lines.next().unwrap_or_default();
        let first = format!(
            "<span data-mx-bg-color=\"{accent}\" data-mx-color=\"{}\"> {first} </span>",
            accent.text_on()
        );
        Some(std::iter::once(first).chain(lines).collect::<Vec<_>>().join("<br>"))
    }

    /// The color of the brand, where it has one.
    pub(crate) const fn accent(&self) -> Option<Accent> {
        self.accent
    }

    /// Differs whenever the message says something else.
    pub(crate) fn version(&self) -> String {
        hex::encode(&Sha256::digest(self.text())[..8])
    }
}

/// Where a pending transaction must be read before it is approved, if a message does not show enough of it. Nor
/// does an old button or a typed reaction approve it unseen.
pub(super) async fn must_be_read_at(state: &State, message: &ChatMessageRow) -> Result<Option<String>> {
    let shown = ApprovalMessage::load(state, message, &Common::default()).await?;
    let unread = shown.filter(|shown| shown.state == ApprovalState::Pending && !shown.whole);
    Ok(unread.map(|shown| shown.url))
}

/// What a message is about; `None` when it is gone.
async fn load_view(state: &State, message: &ChatMessageRow) -> Result<Option<ApprovalView>> {
    match view::load_view(state, message.workspace_id, message.txn_id).await {
        Err(crate::Error::NotFound(_)) => Ok(None),
        other => other.map(Some),
    }
}

/// The page of a transaction.
pub(super) fn page(config: &Config, txn: TxnId) -> String {
    format!("{}/approve/{txn}", config.base_url)
}

/// Name of the workspace in its messages.
fn name_of(brand: &Brand) -> &str {
    brand.display_name.as_deref().unwrap_or(DEFAULT_NAME)
}

/// Who asks for what.
fn request_lines(seen: &ApprovalView, brand: &Brand) -> Vec<String> {
    let row = &seen.row;
    let wish = match row.kind {
        ApprovalKind::Forward => "to use",
        ApprovalKind::Sign => "a signature with",
    };
    let mut lines = vec![
        format!("{} · {}", one_line(name_of(brand)), headline(row.state)),
        format!("{} wants {wish} {}", one_line(&row.agent_name), one_line(&row.credential_name)),
        format!("{} {}", row.method, one_line(&seen.target)),
    ];
    if let Some(reason) = &row.reason {
        lines.push(format!("Reason: “{}”", one_line(reason)));
    }
    lines.extend(edit_line(seen));
    lines
}

/// Line that names the person who edited the request, and the parts.
fn edit_line(seen: &ApprovalView) -> Option<String> {
    let by = seen.row.edited_by_email.as_deref().filter(|_| seen.row.edits > 0)?;
    let parts = seen.asked.as_ref().map(|asked| asked.difference.parts().join(", "));
    let parts = parts.map(|parts| format!(" ({parts})")).unwrap_or_default();
    Some(format!("Edited by {}{parts}", one_line(by)))
}

/// True if a platform with messages of at most `max` UTF-16 units can show these lines.
fn fits_in(lines: &[String], max: usize) -> bool {
    lines.iter().map(|line| line.encode_utf16().count() + 1).sum::<usize>() <= max
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

/// Text as HTML that says the same, blanks included.
pub(super) fn escaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out.replace("  ", "&nbsp; ")
}

fn headline(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "Approval needed",
        ApprovalState::Approved => "Approved",
        ApprovalState::Denied => "Denied",
        ApprovalState::Expired => "Expired",
    }
}

/// `14:30 UTC`.
fn time_of_day(at: UnixMillis) -> String {
    let text = at.to_rfc3339();
    format!("{} UTC", text.get(11..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_no_markup() {
        let escaped = escaped("<b onclick='x'>  \"&amp;\"</b>");
        assert_eq!(escaped, "&lt;b onclick=&#39;x&#39;&gt;&nbsp; &quot;&amp;amp;&quot;&lt;/b&gt;");
    }

    #[test]
    fn a_message_fits_if_its_lines_and_their_ends_do() {
        let lines = ["ab".to_owned(), "😀".to_owned()];
        assert!(fits_in(&lines, 6));
        assert!(!fits_in(&lines, 5));
    }

    #[test]
    fn a_time_is_shown_to_the_minute() {
        assert_eq!(time_of_day(UnixMillis(1_767_225_600_000)), "00:00 UTC");
    }
}

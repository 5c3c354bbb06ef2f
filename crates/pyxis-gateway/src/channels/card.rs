//! What a chat message says about an approval, whatever the platform.

use pyxis_core::clock::UnixMillis;
use pyxis_core::mode::ApprovalState;
use pyxis_core::policy::Rule;
use pyxis_core::preview::{preview, visible};
use pyxis_store::approvals::{ApprovalKind, ApprovalRow};
use pyxis_store::chat_messages::ChatMessageRow;

use super::nonce;
use crate::approvals::{standing, view};
use crate::error::Result;
use crate::service::{brand, policies};
use crate::state::State;

/// Longest single-line field, in characters.
const LINE: usize = 700;

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// How the transaction stands.
    pub(crate) state: ApprovalState,
    /// What its buttons carry.
    pub(crate) nonce: String,
    /// Where a person decides with all before their eyes.
    pub(crate) url: String,
    /// Whether only a passkey ceremony can approve.
    pub(crate) passkey: bool,
    /// Whether an approval can open a grant.
    pub(crate) grantable: bool,
    lines: Vec<String>,
}

impl Card {
    /// The message as it should be now; `None` when there is nothing to tell any more.
    pub(crate) async fn of(state: &State, message: &ChatMessageRow) -> Result<Option<Self>> {
        let seen = match view::one(state, message.workspace_id, message.txn_id).await {
            Err(crate::Error::NotFound(_)) => return Ok(None),
            other => other?,
        };
        let brand = brand::name(state, message.workspace_id).await?;
        let row = &seen.row;
        let policy = policies::by_id(state, row.workspace_id, row.credential_id).await?;
        let (passkey, needed) =
            (standing::passkey_required(row, policy.as_ref()), standing::needed(row, policy.as_ref()));
        let url = format!("{}/approve/{}", state.config.base_url, row.txn_id);
        let mut lines = vec![
            format!("{} · {}", one_line(&brand), headline(row.state)),
            format!("{} wants to use {}", one_line(&row.agent_name), one_line(&row.credential_name)),
            format!("{} {}", row.method, one_line(&seen.target)),
        ];
        if let Some(reason) = &row.reason {
            lines.push(format!("Reason: “{}”", one_line(reason)));
        }
        if let Some(body) = seen.body.as_deref().and_then(preview) {
            // Marked on every line, so that a body cannot pass for lines of ours.
            lines.push("Body:".to_owned());
            lines.extend(body.lines().map(|line| format!("│ {line}")));
        }
        match row.state {
            ApprovalState::Pending => {
                if needed > 1 {
                    let given = seen.votes.iter().filter(|vote| standing::counts(vote, row, policy.as_ref()));
                    lines.push(format!("Approvals: {} of {needed}", given.count()));
                }
                lines.push(format!("Until {}", time_of_day(row.expires_at)));
                lines.push(if passkey {
                    format!("Approve with your passkey: {url}")
                } else {
                    format!("Everything about it: {url}")
                });
            }
            ApprovalState::Approved | ApprovalState::Denied => {
                let by = row.decided_by_email.as_deref().unwrap_or("somebody");
                let at = row.decided_at.unwrap_or(row.expires_at);
                lines.push(format!("{} by {} at {}", headline(row.state), one_line(by), time_of_day(at)));
                if let Some(reason) = &row.deny_reason {
                    lines.push(format!("Reason: “{}”", one_line(reason)));
                }
            }
            ApprovalState::Expired if row.withdrawn => lines.push("The agent withdrew it.".to_owned()),
            ApprovalState::Expired => lines.push("Nobody decided in time.".to_owned()),
        }
        lines.push("Secured by Pyxis".to_owned());
        Ok(Some(Self {
            state: row.state,
            nonce: nonce(state, message.id),
            url,
            passkey,
            grantable: !passkey && needed <= 1 && row.kind == ApprovalKind::Forward && !always_asks(row),
            lines,
        }))
    }

    /// The text, line by line.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }
}

/// Whether a grant would be of no use: the address asks whatever was granted.
fn always_asks(row: &ApprovalRow) -> bool {
    row.rule == Rule::RequireUrl.as_str()
}

fn headline(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "Approval needed",
        ApprovalState::Approved => "Approved",
        ApprovalState::Denied => "Denied",
        ApprovalState::Expired => "Expired",
    }
}

/// Text of others on one line, with signs that cannot be seen made visible, and not too long.
fn one_line(text: &str) -> String {
    let flat = |c: char| if c.is_whitespace() { ' ' } else { visible(c) };
    let mut line: String = text.chars().take(LINE).map(flat).collect();
    if text.chars().nth(LINE).is_some() {
        line.push('…');
    }
    line
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
    fn text_of_others_stays_on_its_line_and_ends_somewhere() {
        assert_eq!(one_line("a\nSecured by\u{202e} me"), "a Secured by\u{fffd} me");
        assert_eq!(one_line(&"é".repeat(LINE + 1)).chars().count(), LINE + 1);
        assert_eq!(time_of_day(UnixMillis(1_767_225_600_000)), "00:00 UTC");
    }
}

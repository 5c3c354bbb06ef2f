//! Messages and windows in Block Kit. Text of others is plain text, so that nothing in it is ever read as markup.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Press;
use crate::notifications::channels::link_card::LinkCard;
use crate::notifications::channels::message_content::{DecideIn, MessageContent};
use crate::notifications::channels::sections::sections;

/// Longest header, in characters.
const HEADER: usize = 150;
/// Longest section, in characters.
const SECTION: usize = 3000;
/// Longest text that a notification shows, in characters.
const NOTICE: usize = 400;
/// Name of the window that asks for a reason, and of its field.
pub(super) const REASON: &str = "reason";
/// Longest reason, in characters. More is refused anyway.
const REASON_MAX: usize = 2000;

/// Button that opened a window.
#[derive(Deserialize, Serialize)]
pub(super) struct Origin {
    pub(super) nonce: String,
    /// Channel of the message.
    pub(super) channel: String,
}

/// Text, blocks and buttons of a message.
pub(super) fn content(card: &MessageContent) -> Value {
    message(&card.text(), &buttons(card))
}

/// Text, blocks and link of a message that only carries a link.
pub(super) fn link(card: &LinkCard) -> Value {
    // Plain text is no link.
    let open = json!({
        "type": "button",
        "text": plain(card.link),
        "action_id": Press::Open.as_str(),
        "value": Press::Open.as_str(),
        "url": card.url,
    });
    message(&card.plain_text(), &[open])
}

fn message(text: &str, buttons: &[Value]) -> Value {
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default();
    let mut blocks = vec![json!({ "type": "header", "text": plain(&cut(first, HEADER)) })];
    blocks.extend(
        sections(lines, SECTION, escaped)
            .iter()
            .map(|text| json!({ "type": "section", "text": plain(text) })),
    );
    if !buttons.is_empty() {
        blocks.push(json!({ "type": "actions", "elements": buttons }));
    }
    let notice: Vec<&str> = text.split('\n').take(2).collect();
    json!({
        "text": cut(&notice.join("\n"), NOTICE),
        "blocks": blocks,
        "mrkdwn": false,
        "unfurl_links": false,
        "unfurl_media": false,
    })
}

/// Buttons carry the message's nonce, never the transaction.
fn buttons(card: &MessageContent) -> Vec<Value> {
    if !card.is_pending() {
        return Vec::new();
    }
    let button = |text: &str, press: Press| json!({ "type": "button", "text": plain(text), "action_id": press.as_str(), "value": card.nonce });
    let styled = |mut button: Value, style: &str| {
        button["style"] = style.into();
        button
    };
    let link = |text: &str| {
        let mut link = button(text, Press::Open);
        link["url"] = card.url().into();
        link
    };
    let approve = styled(button("Approve", Press::Approve), "primary");
    let deny = styled(button("Deny", Press::Deny), "danger");
    match (card.place, card.grantable) {
        (DecideIn::TaskPage, _) => vec![link("Read and decide")],
        (DecideIn::Page, _) => vec![link("Read and approve"), deny],
        (DecideIn::Ceremony, _) => vec![link("Approve with passkey"), deny],
        (DecideIn::Chat, true) => {
            vec![approve, button("Approve for 30 min", Press::ApproveWithGrant), deny, link("Details")]
        }
        (DecideIn::Chat, false) => vec![approve, deny, link("Details")],
    }
}

/// The window that asks why a request is denied.
pub(super) fn reason_window(origin: &Origin) -> Value {
    json!({
        "type": "modal",
        "callback_id": REASON,
        "private_metadata": serde_json::to_string(origin).unwrap_or_default(),
        "title": plain("Deny request"),
        "submit": plain("Deny"),
        "close": plain("Cancel"),
        "blocks": [{
            "type": "input",
            "block_id": REASON,
            "optional": true,
            "label": plain("Reason, for the agent and the audit trail"),
            "element": {
                "type": "plain_text_input",
                "action_id": REASON,
                "multiline": true,
                "max_length": REASON_MAX,
            },
        }],
    })
}

fn plain(escaped: &str) -> Value {
    json!({ "type": "plain_text", "text": escaped, "emoji": false })
}

/// Text as Slack wants it: these three characters begin control sequences.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Escaped text of at most `max` characters, without a part of an entity at its end.
fn cut(text: &str, max: usize) -> String {
    let mut out = String::new();
    let mut length = 0;
    for c in text.chars() {
        let piece = escaped(c.encode_utf8(&mut [0; 4]));
        length += piece.chars().count();
        if length >= max {
            out.push('…');
            break;
        }
        out.push_str(&piece);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_before_it_is_cut_and_no_entity_is_split() {
        assert_eq!(cut("a<b>&", 100), "a&lt;b&gt;&amp;");
        for length in 140..160 {
            let text = format!("{}&&", "x".repeat(length));
            let cut = cut(&text, HEADER);
            assert!(cut.chars().count() <= HEADER, "{length}");
            let rest = cut.trim_end_matches('…').trim_start_matches('x');
            assert!(["", "&amp;", "&amp;&amp;"].contains(&rest), "{rest}");
        }
    }
}

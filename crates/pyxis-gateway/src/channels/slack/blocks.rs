//! Messages and windows in Block Kit. Text of others is plain text, so that nothing in it is ever read as markup.

use pyxis_core::approval_mode::ApprovalState;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Press;
use crate::channels::approval_message::{ApprovalMessage, DecideIn};

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
pub(super) fn content(card: &ApprovalMessage) -> Value {
    let text = card.text();
    let mut lines = text.split('\n');
    let first = lines.next().unwrap_or_default();
    let mut blocks = vec![json!({ "type": "header", "text": plain(&cut(first, HEADER)) })];
    blocks.extend(sections(lines).iter().map(|text| json!({ "type": "section", "text": plain(text) })));
    let buttons = buttons(card);
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
fn buttons(card: &ApprovalMessage) -> Vec<Value> {
    if card.state != ApprovalState::Pending {
        return Vec::new();
    }
    let button = |text: &str, press: Press| json!({ "type": "button", "text": plain(text), "action_id": press.as_str(), "value": card.nonce });
    let styled = |mut button: Value, style: &str| {
        button["style"] = style.into();
        button
    };
    let link = |text: &str| {
        let mut link = button(text, Press::Open);
        link["url"] = card.url.as_str().into();
        link
    };
    let approve = styled(button("Approve", Press::Approve), "primary");
    let deny = styled(button("Deny", Press::Deny), "danger");
    match (card.place, card.grantable) {
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

/// Escaped lines, as many in a section as fit. A longer line is continued in the next section.
fn sections<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let (mut section, mut length) = (String::new(), 0);
    for (number, line) in lines.enumerate() {
        let line_length = escaped(line).chars().count();
        if length > 0 && length + 1 + line_length > SECTION {
            all.push(std::mem::take(&mut section));
            length = 0;
        } else if number > 0 && length > 0 {
            section.push('\n');
            length += 1;
        }
        for c in line.chars() {
            let piece = escaped(c.encode_utf8(&mut [0; 4]));
            let units = piece.chars().count();
            if length + units > SECTION {
                all.push(std::mem::take(&mut section));
                length = 0;
            }
            section.push_str(&piece);
            length += units;
        }
    }
    all.push(section);
    all.retain(|section| !section.trim().is_empty());
    all
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

    #[test]
    fn every_line_is_in_a_section_and_no_section_is_too_long() {
        let lines: Vec<String> = (0..40).map(|n| format!("{n} {}", "<é".repeat(n * 10))).collect();
        let sections = sections(lines.iter().map(String::as_str));
        assert!(sections.iter().all(|section| section.chars().count() <= SECTION && !section.is_empty()));
        assert!(sections.len() > 5 && sections.len() < 50);
        assert_eq!(sections.join("\n"), escaped(&lines.join("\n")));
    }

    #[test]
    fn a_line_longer_than_a_section_is_continued_and_blank_lines_make_no_section() {
        let long = "&".repeat(SECTION);
        let found = sections(["", long.as_str()].into_iter());
        assert_eq!(found.len(), 5);
        assert_eq!(found.concat(), escaped(&long));
        assert!(sections(["", " "].into_iter()).is_empty());
    }
}

//! Messages, windows and responses in Discord's format.
//!
//! A backslash makes the punctuation character after it literal. Untrusted text has one before every ASCII punctuation
//! character. So none of it is markup, a link or a mention, and it is shown as written.

use serde_json::{Value, json};

use super::interaction::{Press, REASON};
use crate::notifications::channels::link_card::LinkCard;
use crate::notifications::channels::message_content::{DecideIn, MessageContent};
use crate::notifications::channels::sections::sections;

/// Longest content, in characters.
const CONTENT: usize = 2000;
/// Longest description of an embed, in UTF-16 units. Discord removes blanks at its ends, so no line of a message that
/// shows its request whole is longer.
const SECTION: usize = 4096;
/// Longest descriptions together, in UTF-16 units.
const EMBEDS: usize = 6000;
/// Lines above the embed, which notifications also show.
const HEAD: usize = 2;
/// Longest nonce of a post, in characters.
const NONCE: usize = 25;
/// Longest reason, in characters. More is refused anyway.
const REASON_MAX: usize = 2000;
/// Styles of buttons.
const GREEN: u8 = 3;
const GRAY: u8 = 2;
const RED: u8 = 4;
const LINK: u8 = 5;
/// A message that one person sees.
const EPHEMERAL: u32 = 64;

/// Text, embeds and buttons of a message.
pub(super) fn message(card: &MessageContent) -> Value {
    let (head, mut embeds) = head_and_embeds(&card.text());
    if let Some(accent) = card.accent() {
        let [red, green, blue] = accent.rgb();
        for embed in &mut embeds {
            embed["color"] = u32::from_be_bytes([0, red, green, blue]).into();
        }
    }
    if let (Some(first), Some(logo)) = (embeds.first_mut(), card.logo()) {
        first["thumbnail"] = json!({ "url": logo });
    }
    let buttons = buttons(card);
    let rows: Vec<Value> =
        if buttons.is_empty() { Vec::new() } else { vec![json!({ "type": 1, "components": buttons })] };
    assembled(&head, &embeds, &rows)
}

/// Text, embeds and link of a message that only carries a link.
pub(super) fn link_message(card: &LinkCard) -> Value {
    let (head, embeds) = head_and_embeds(&card.plain_text());
    // Escaped text is no link. Discord refuses buttons with links that are not https.
    let is_public = card.url.starts_with("https://");
    let button = json!({ "type": 2, "style": LINK, "label": card.link, "url": card.url });
    let row = is_public.then(|| json!({ "type": 1, "components": [button] }));
    assembled(&head, &embeds, row.as_slice())
}

fn assembled(head: &str, embeds: &[Value], rows: &[Value]) -> Value {
    json!({
        "content": head,
        "embeds": embeds,
        "components": rows,
        "allowed_mentions": no_mentions(),
    })
}

fn head_and_embeds(text: &str) -> (String, Vec<Value>) {
    let (head, rest) = split(text);
    let described = descriptions(rest.into_iter()).into_iter();
    (head, described.map(|description| json!({ "description": description })).collect())
}

/// Escaped first lines, and the others.
fn split(text: &str) -> (String, Vec<&str>) {
    let lines: Vec<&str> = text.split('\n').collect();
    let fits = |count: &usize| escaped(&lines[..*count].join("\n")).chars().count() <= CONTENT;
    let count = (1..=HEAD.min(lines.len())).rev().find(fits).unwrap_or_default();
    (escaped(&lines[..count].join("\n")), lines[count..].to_vec())
}

/// Escaped descriptions. A message that shows its request whole always fits.
fn descriptions<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut room = EMBEDS;
    let fits = |section: &String| {
        let left = room.checked_sub(section.encode_utf16().count());
        room = left.unwrap_or_default();
        left.is_some()
    };
    sections(lines, SECTION, escaped).into_iter().take_while(fits).collect()
}

/// Buttons carry the message's nonce, never the transaction.
fn buttons(card: &MessageContent) -> Vec<Value> {
    if !card.is_pending() {
        return Vec::new();
    }
    let button = |label: &str, press: Press, style: u8| json!({ "type": 2, "style": style, "label": label, "custom_id": press.id(&card.nonce) });
    // Discord refuses buttons with links that are not https. The text has the link in any case.
    let link = |label: &str| {
        let is_public = card.url().starts_with("https://");
        is_public.then(|| json!({ "type": 2, "style": LINK, "label": label, "url": card.url() }))
    };
    let approve = button("Approve", Press::Approve, GREEN);
    let grant = button("Approve for 30 min", Press::ApproveWithGrant, GRAY);
    let deny = button("Deny", Press::Deny, RED);
    let all = match (card.place, card.grantable) {
        (DecideIn::TaskPage, _) => vec![link("Read and decide")],
        (DecideIn::Page, _) => vec![link("Read and approve"), Some(deny)],
        (DecideIn::Ceremony, _) => vec![link("Approve with passkey"), Some(deny)],
        (DecideIn::Chat, true) => vec![Some(approve), Some(grant), Some(deny), link("Details")],
        (DecideIn::Chat, false) => vec![Some(approve), Some(deny), link("Details")],
    };
    all.into_iter().flatten().collect()
}

/// Nonce by which Discord recognizes a repeated post: the last letters and digits of a message's id.
pub(super) fn post_nonce(id: &str) -> String {
    let digits: Vec<char> = id.chars().filter(char::is_ascii_alphanumeric).collect();
    digits[digits.len().saturating_sub(NONCE)..].iter().collect()
}

/// The window that asks why a request is denied.
pub(super) fn reason_window(nonce: &str) -> Value {
    json!({
        "custom_id": format!("{REASON}:{nonce}"),
        "title": "Deny request",
        "components": [{
            "type": 18,
            "label": "Reason",
            "description": "For the agent and the audit trail. It may stay blank.",
            "component": {
                "type": 4,
                "custom_id": REASON,
                "style": 2,
                "required": false,
                "max_length": REASON_MAX,
            },
        }],
    })
}

/// Text that one person sees.
pub(super) fn private(text: &str) -> Value {
    json!({ "content": escaped(text), "flags": EPHEMERAL, "allowed_mentions": no_mentions() })
}

/// Deferred response with such a text.
pub(super) fn private_later() -> Value {
    json!({ "flags": EPHEMERAL })
}

fn no_mentions() -> Value {
    json!({ "parse": [] })
}

/// Text in which nothing is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use pyxis_core::chat::ChatPlatform;

    use super::*;

    #[test]
    fn every_sign_is_escaped_and_nothing_else() {
        assert_eq!(escaped("a *b* @everyone <#1>\n1. é│"), "a \\*b\\* \\@everyone \\<\\#1\\>\n1\\. é│");
        assert_eq!(escaped("https://x.example/`"), "https\\:\\/\\/x\\.example\\/\\`");
    }

    #[test]
    fn content_is_the_first_lines_as_far_as_they_fit() {
        assert_eq!(split("a\nb\nc"), ("a\nb".to_owned(), vec!["c"]));
        let long = "*".repeat(1000);
        let text = format!("a\n{long}\nc");
        assert_eq!(split(&text), ("a".to_owned(), vec![long.as_str(), "c"]));
        let text = format!("{long}**\nb");
        assert_eq!(split(&text).0, "");
    }

    #[test]
    fn descriptions_are_never_too_long_together() {
        // The longest text and the longest line of a message that shows its request whole.
        let most = ChatPlatform::DISCORD.spec().message_max;
        let long = vec!["*".repeat(700); most / 700];
        let whole = descriptions(long.iter().map(String::as_str));
        assert_eq!(whole.join("\n"), escaped(&long.join("\n")));
        assert_eq!(descriptions(std::iter::once(&*"*".repeat(1500))).len(), 1);
        let lines = vec!["*".repeat(700); 10];
        let found = descriptions(lines.iter().map(String::as_str));
        assert!(found.iter().map(|section| section.chars().count()).sum::<usize>() <= EMBEDS);
        assert!(found.len() > 1);
    }

    #[test]
    fn a_nonce_is_short_and_differs_where_ids_do() {
        let mark = post_nonce("0197b2c4-6a1e-7cc3-9f5d-2f4d1e0a9b7c");
        assert_eq!((mark.as_str(), mark.len()), ("46a1e7cc39f5d2f4d1e0a9b7c", NONCE));
        assert_eq!(post_nonce("1"), "1");
    }
}

//! Validation of messages and windows, and their text as people see it.
//!
//! The limits are those of <https://docs.discord.com/developers/resources/message> and
//! <https://docs.discord.com/developers/components/reference>.

use serde_json::Value;

/// Visible content of a message.
pub(super) struct VisibleContent {
    pub(super) content: String,
    pub(super) text: String,
    pub(super) has_markup: bool,
    /// Label and component.
    pub(super) buttons: Vec<(String, Value)>,
}

/// Characters of a text that may be missing.
fn length(value: &Value) -> usize {
    value.as_str().unwrap_or_default().chars().count()
}

/// Checks the content of a message. The error is a code of Discord's.
pub(super) fn content(body: &Value) -> Result<VisibleContent, u32> {
    const INVALID: u32 = 50035;
    const EMPTY: u32 = 50006;
    let list = |name: &str| match &body[name] {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => Ok(items.clone()),
        _ => Err(INVALID),
    };
    let (embeds, rows) = (list("embeds")?, list("components")?);
    if length(&body["content"]) > 2000 || embeds.len() > 10 || rows.len() > 5 {
        return Err(INVALID);
    }
    let content = body["content"].as_str().unwrap_or_default();
    let mut parts = vec![content];
    let mut total = 0;
    for embed in &embeds {
        let is_color =
            embed.get("color").is_none_or(|color| color.as_u64().is_some_and(|rgb| rgb <= 0x00ff_ffff));
        if length(&embed["title"]) > 256 || length(&embed["description"]) > 4096 || !is_color {
            return Err(INVALID);
        }
        total += length(&embed["title"]) + length(&embed["description"]);
        parts.extend(embed["title"].as_str());
        parts.extend(embed["description"].as_str());
    }
    if total > 6000 {
        return Err(INVALID);
    }
    parts.retain(|part| !part.trim().is_empty());
    if parts.is_empty() {
        return Err(EMPTY);
    }
    let mut buttons = Vec::new();
    for row in &rows {
        read_row(row, &mut buttons).ok_or(INVALID)?;
    }
    let shown: Vec<(String, bool)> = parts.iter().map(|part| visible(part)).collect();
    let pings = body["allowed_mentions"]["parse"] != Value::Array(Vec::new());
    Ok(VisibleContent {
        content: visible(content).0,
        has_markup: pings || shown.iter().any(|(_, has_markup)| *has_markup),
        text: shown.into_iter().map(|(text, _)| text).collect::<Vec<_>>().join("\n"),
        buttons,
    })
}

/// Text as people see it, and true if a part of it is markup. A backslash makes the character after it literal.
pub(super) fn visible(text: &str) -> (String, bool) {
    let (mut out, mut has_markup) = (String::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\\'
            && let Some(sign) = rest.next_if(|next| !next.is_ascii_alphanumeric() && !next.is_whitespace())
        {
            out.push(sign);
        } else {
            has_markup |= "*_~`|>#-[]<@:.\\".contains(c);
            out.push(c);
        }
    }
    (out, has_markup)
}

/// Checks a row of buttons.
fn read_row(row: &Value, all: &mut Vec<(String, Value)>) -> Option<()> {
    let buttons =
        row["components"].as_array().filter(|all| row["type"] == 1 && (1..=5).contains(&all.len()))?;
    for button in buttons {
        let is_link = button["style"] == 5;
        let is_sound = button["type"] == 2 && (1..=80).contains(&length(&button["label"]));
        let is_addressed = if is_link {
            button["url"].as_str()?.starts_with("https://") && button["custom_id"].is_null()
        } else {
            (1..=100).contains(&length(&button["custom_id"]))
                && button["url"].is_null()
                && button["style"].as_u64().is_some_and(|style| (1..=4).contains(&style))
        };
        let is_unique = is_link || all.iter().all(|(_, other)| other["custom_id"] != button["custom_id"]);
        if !is_sound || !is_addressed || !is_unique {
            return None;
        }
        all.push((button["label"].as_str()?.to_owned(), button.clone()));
    }
    Some(())
}

/// True for a window that Discord opens.
pub(super) fn is_window(window: &Value) -> bool {
    let is_field = |label: &Value| {
        let input = &label["component"];
        label["type"] == 18
            && (1..=45).contains(&length(&label["label"]))
            && length(&label["description"]) <= 100
            && input["type"] == 4
            && (1..=100).contains(&length(&input["custom_id"]))
            && input["style"].as_u64().is_some_and(|style| (1..=2).contains(&style))
            && input["max_length"].as_u64().is_none_or(|max| (1..=4000).contains(&max))
    };
    (1..=45).contains(&length(&window["title"]))
        && (1..=100).contains(&length(&window["custom_id"]))
        && window["components"]
            .as_array()
            .is_some_and(|all| (1..=5).contains(&all.len()) && all.iter().all(is_field))
}

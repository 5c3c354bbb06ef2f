//! Validation of texts, blocks and windows, as <https://docs.slack.dev/reference/block-kit/> describes them.

use serde_json::Value;

/// Visible content of a message.
pub(super) struct VisibleContent {
    pub(super) text: String,
    /// Label and element.
    pub(super) buttons: Vec<(String, Value)>,
}

const INVALID: &str = "invalid_blocks";

/// Checks the content of a message.
pub(super) fn content(arguments: &Value) -> Result<VisibleContent, &'static str> {
    let text = arguments["text"].as_str().unwrap_or_default();
    let blocks = match &arguments["blocks"] {
        Value::Null => &[][..],
        Value::Array(blocks) => blocks,
        _ => return Err("invalid_blocks_format"),
    };
    if text.is_empty() && blocks.is_empty() {
        return Err("no_text");
    }
    if blocks.is_empty() {
        return Ok(VisibleContent { text: unescaped(text), buttons: Vec::new() });
    }
    if blocks.len() > 50 {
        return Err(INVALID);
    }
    let mut shown = VisibleContent { text: String::new(), buttons: Vec::new() };
    let mut length = 0;
    for block in blocks {
        let max = match block["type"].as_str() {
            Some("header") => 150,
            Some("section") => 3000,
            Some("actions") => {
                buttons(block, &mut shown.buttons)?;
                continue;
            }
            _ => return Err(INVALID),
        };
        let text = text_object(&block["text"], max)?;
        if block["type"] == "header" && block["text"]["type"] != "plain_text" {
            return Err(INVALID);
        }
        length += text.chars().count();
        if !shown.text.is_empty() {
            shown.text.push('\n');
        }
        shown.text.push_str(&unescaped(text));
    }
    if length > 13_200 { Err("msg_blocks_too_long") } else { Ok(shown) }
}

/// Text of a text object, which must be escaped.
fn text_object(object: &Value, max: usize) -> Result<&str, &'static str> {
    let text = object["text"].as_str().ok_or(INVALID)?;
    if !matches!(object["type"].as_str(), Some("plain_text" | "mrkdwn")) {
        return Err(INVALID);
    }
    let is_escaped = !text.contains(['<', '>'])
        && text
            .match_indices('&')
            .all(|(at, _)| ["&amp;", "&lt;", "&gt;"].iter().any(|entity| text[at..].starts_with(entity)));
    // Slack takes what is not escaped for a control sequence.
    let fits = (1..=max).contains(&text.chars().count());
    if fits && is_escaped { Ok(text) } else { Err(INVALID) }
}

fn buttons(block: &Value, all: &mut Vec<(String, Value)>) -> Result<(), &'static str> {
    let elements = block["elements"].as_array().filter(|all| (1..=25).contains(&all.len())).ok_or(INVALID)?;
    for element in elements {
        let label = text_object(&element["text"], 75)?;
        let length = |name: &str| element[name].as_str().unwrap_or_default().chars().count();
        let is_sound = element["type"] == "button"
            && (1..=255).contains(&length("action_id"))
            && length("value") <= 2000
            && length("url") <= 3000
            && matches!(element["style"].as_str(), None | Some("primary" | "danger"));
        let is_link = element["url"].as_str().is_none_or(|url| url.starts_with("http"));
        let is_unique = all.iter().all(|(_, other)| other["action_id"] != element["action_id"]);
        if !is_sound || !is_link || !is_unique {
            return Err(INVALID);
        }
        all.push((unescaped(label), element.clone()));
    }
    Ok(())
}

/// Checks a window.
pub(super) fn check_view(view: &Value) -> Result<(), &'static str> {
    const INVALID: &str = "invalid_arguments";
    let length = |value: &Value| value.as_str().unwrap_or_default().chars().count();
    for name in ["title", "submit", "close"] {
        if !(1..=24).contains(&length(&view[name]["text"])) || view[name]["type"] != "plain_text" {
            return Err(INVALID);
        }
    }
    let blocks = view["blocks"].as_array().ok_or(INVALID)?;
    let is_input = |block: &Value| {
        let max = &block["element"]["max_length"];
        block["type"] == "input"
            && (1..=2000).contains(&length(&block["label"]["text"]))
            && block["element"]["type"] == "plain_text_input"
            && max.as_u64().is_none_or(|max| (1..=3000).contains(&max))
    };
    let is_sound = view["type"] == "modal"
        && length(&view["private_metadata"]) <= 3000
        && length(&view["callback_id"]) <= 255
        && !blocks.is_empty()
        && blocks.iter().all(is_input);
    if is_sound { Ok(()) } else { Err(INVALID) }
}

/// Text as people see it.
pub(super) fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

//! Escalation steps as lines of a form: the minutes, then `eligible`, a room field with a room, or e-mail addresses.

use pyxis_core::chat::ChatPlatform;
use pyxis_core::policy::{EscalationStep, Policy};
use serde_json::{Map, Value, json};

/// The steps of a policy, one per line.
pub(super) fn text(policy: &Policy) -> String {
    let lines: Vec<String> = policy.escalation.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// The steps that lines describe, as in a policy document. Problems are left to the policy's own check.
pub(super) fn document<S: AsRef<str>>(lines: &[S]) -> Value {
    lines.iter().map(|line| step(line.as_ref())).collect()
}

fn step(line: &str) -> Value {
    let (minutes, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    let mut step = Map::new();
    let after = minutes.parse::<u64>().map_or_else(|_| json!(minutes), Value::from);
    step.insert("after_minutes".to_owned(), after);
    let rest = rest.trim();
    let (first, room) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if rest == EscalationStep::ELIGIBLE {
        step.insert("people".to_owned(), json!(rest));
    } else if first.contains('@') {
        let emails: Vec<&str> = rest.split([' ', '\t', ',']).filter(|email| !email.is_empty()).collect();
        step.insert("people".to_owned(), json!(emails));
    } else if !first.is_empty() {
        let room = if ChatPlatform::of_room_field(first).is_some() { room.trim() } else { room };
        step.insert(first.to_owned(), json!(room));
    }
    Value::Object(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_survive_the_form() {
        let policy = Policy::from_json(
            br#"{"escalation":[{"after_minutes":5,"slack_channel":"C0OPS"},{"after_minutes":6,"email_to":"a@b.c, d@e.f"},
                {"after_minutes":7,"people":"eligible"},{"after_minutes":8,"people":["a@b.c","d@e.f"]}]}"#,
        )
        .unwrap();
        let text = text(&policy);
        let lines: Vec<&str> = text.lines().collect();
        let again = json!({ "escalation": document(&lines) }).to_string();
        assert_eq!(Policy::from_json(again.as_bytes()).unwrap(), policy);
    }

    #[test]
    fn lines_that_are_no_steps_are_refused_by_the_policy() {
        for (line, says) in [
            ("soon eligible", "after_minutes must be a whole number"),
            ("5", "names no one"),
            ("5 everyone", "unknown field"),
            ("5 slack_channel", "slack_channel: must be"),
            ("5 a@b.c,nobody", "not an e-mail address"),
        ] {
            let document = json!({ "escalation": document(&[line]) }).to_string();
            let error = Policy::from_json(document.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}

//! From JSON to the steps of an escalation.

use serde_json::{Map, Value};

use super::{Detail, emails, parse_room, quoted, whole_number};
use crate::chat::ChatPlatform;
use crate::nearest::suggestion;
use crate::policy::limits::{MAX_STEPS, STEP_MINUTES};
use crate::policy::{EscalationStep, EscalationTarget};

const AFTER: &str = "after_minutes";
const PEOPLE: &str = "people";

/// The steps of a policy, in ascending order of time.
pub(super) fn steps(value: &Value) -> Result<Vec<EscalationStep>, Detail> {
    let list = value.as_array().ok_or("must be a list of steps; write [] for none")?;
    if list.len() > MAX_STEPS {
        return Err(format!("has {} steps; at most {MAX_STEPS} are allowed", list.len()));
    }
    let mut steps: Vec<EscalationStep> = Vec::new();
    for (index, value) in list.iter().enumerate() {
        let number = index + 1;
        let step = step(value).map_err(|detail| format!("step {number}: {detail}"))?;
        if steps.last().is_some_and(|last| last.after_minutes >= step.after_minutes) {
            return Err(format!(
                "step {number}: {AFTER} must be greater than that of the step before; order the steps by time"
            ));
        }
        steps.push(step);
    }
    Ok(steps)
}

fn step(value: &Value) -> Result<EscalationStep, Detail> {
    let fields = value.as_object().ok_or_else(|| {
        format!(
            "must be an object, such as {{\"{AFTER}\": 10, \"{PEOPLE}\": \"{}\"}}",
            EscalationStep::ELIGIBLE
        )
    })?;
    let after = fields.get(AFTER).ok_or_else(|| format!("{AFTER} is missing; write the minutes to wait"))?;
    let after_minutes = whole_number(after, &STEP_MINUTES).map_err(|detail| format!("{AFTER} {detail}"))?;
    let mut targets = targets(fields)?;
    match (targets.pop(), targets.is_empty()) {
        (Some(target), true) => Ok(EscalationStep { after_minutes, target }),
        (Some(_), false) => Err("names several rooms or people; make it one step each".to_owned()),
        (None, _) => Err(format!("names no one; add {PEOPLE} or a room field, such as slack_channel")),
    }
}

fn targets(fields: &Map<String, Value>) -> Result<Vec<EscalationTarget>, Detail> {
    let mut targets = Vec::new();
    for (field, value) in fields.iter().filter(|(field, value)| *field != AFTER && !value.is_null()) {
        let in_field = |detail: Detail| format!("{field}: {detail}");
        match (field.as_str(), ChatPlatform::of_room_field(field)) {
            (PEOPLE, _) => targets.push(people(value).map_err(in_field)?),
            (_, Some(platform)) => {
                let room = parse_room(value).map_err(in_field)?;
                targets.push(EscalationTarget::Room(platform, room));
            }
            (unknown, None) => return Err(unknown_field(unknown)),
        }
    }
    Ok(targets)
}

fn people(value: &Value) -> Result<EscalationTarget, Detail> {
    if value.as_str() == Some(EscalationStep::ELIGIBLE) {
        return Ok(EscalationTarget::Eligible);
    }
    if !value.is_array() {
        return Err(format!("must be \"{}\" or a list of e-mail addresses", EscalationStep::ELIGIBLE));
    }
    match emails(value)? {
        emails if emails.is_empty() => {
            Err(format!("is empty; name someone, or write \"{}\"", EscalationStep::ELIGIBLE))
        }
        emails => Ok(EscalationTarget::People(emails)),
    }
}

fn unknown_field(field: &str) -> Detail {
    let rooms = ChatPlatform::ALL.iter().map(|platform| platform.spec().room_field);
    let known: Vec<_> = [AFTER, PEOPLE].into_iter().chain(rooms).collect();
    let suggestion = suggestion(field, known.iter().copied());
    format!("unknown field {}{suggestion}; known fields: {}", quoted(field), known.join(", "))
}

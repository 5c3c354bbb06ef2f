//! Line of a request's page with the people and rooms that were asked, and the next escalation step.

use pyxis_core::chat::ChatPlatform;
use pyxis_gateway::approvals::announcement_record::NamedAnnouncement;
use pyxis_gateway::approvals::view::ApprovalView;

use crate::text;

/// `Slack channel C0OPS at 09:05 UTC; browsers of ann@example.com at 09:10 UTC. Next step at 09:20 UTC.` Empty if no
/// one was asked and no step is left.
pub(super) fn line(view: &ApprovalView) -> String {
    let asked: Vec<String> = view.announced.iter().map(announcement).collect();
    let next = view.next_step.map(|at| format!("Next step at {}.", text::time_of_day(at)));
    let asked = (!asked.is_empty()).then(|| format!("{}.", asked.join("; ")));
    [asked, next].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn announcement(one: &NamedAnnouncement) -> String {
    let platform = ChatPlatform::from_name(&one.channel);
    let whom = match (&one.room, platform) {
        (Some(room), Some(platform)) => format!("{} {room}", platform.room_label()),
        (Some(room), None) => room.clone(),
        (None, Some(platform)) => format!("{} on {}", people(one), platform.spec().label),
        (None, None) => format!("browsers of {}", people(one)),
    };
    format!("{whom} at {}", text::time_of_day(one.at))
}

fn people(one: &NamedAnnouncement) -> String {
    if one.people.is_empty() { "a former member".to_owned() } else { one.people.join(", ") }
}

#[cfg(test)]
mod tests {
    use pyxis_core::clock::UnixMillis;

    use super::*;

    #[test]
    fn rooms_are_named_by_their_platform_and_people_by_their_address() {
        let said = |channel: &str, room: Option<&str>, people: &[&str]| {
            announcement(&NamedAnnouncement {
                channel: channel.to_owned(),
                room: room.map(str::to_owned),
                people: people.iter().map(|one| (*one).to_owned()).collect(),
                at: UnixMillis(300_000),
            })
        };
        assert_eq!(said("slack", Some("C0OPS"), &[]), "Slack channel C0OPS at 00:05 UTC");
        assert_eq!(said("telegram", None, &["a@b.c", "d@e.f"]), "a@b.c, d@e.f on Telegram at 00:05 UTC");
        assert_eq!(said("push", None, &["a@b.c"]), "browsers of a@b.c at 00:05 UTC");
        assert_eq!(said("push", None, &[]), "browsers of a former member at 00:05 UTC");
    }
}

//! Escalation in the policy editor and on the page of a request, and quiet hours of the account.

use http::StatusCode;
use pyxis_core::policy::Policy;
use pyxis_gateway::admin::policies;
use pyxis_testkit::engines;

use crate::support::{Browser, Page, Server, Team};

const ACCOUNT: &str = "/app/account";
const EDITOR: &str = "/app/policies/billing";

async fn save(owner: &mut Browser, on_call: &str, escalation: &str) -> Page {
    let fields =
        [("min_approvals", "1"), ("channel", "dashboard"), ("on_call", on_call), ("escalation", escalation)];
    owner.submit(EDITOR, EDITOR, &fields).await
}

async fn stored(server: &Server, team: &Team) -> Option<Policy> {
    policies::get(&server.gateway.store, team.id, "billing").await.unwrap().map(|(_, policy)| policy)
}

async fn set_quiet(owner: &mut Browser, zone: &str, from: &str, to: &str) -> Page {
    let fields = [("time_zone", zone), ("from", from), ("to", to)];
    owner.submit(ACCOUNT, "/app/account/quiet-hours", &fields).await
}

engines! {
    async fn the_editor_stores_and_shows_people_on_call_and_steps(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let steps = "5 slack_channel C0OPS\r\n20 eligible\r\n30 ana@example.com";
        let saved = save(&mut owner, "ana@example.com", steps).await;
        assert_eq!(saved.location(), EDITOR, "{}", saved.text);
        let policy = stored(&server, &team).await.unwrap();
        assert_eq!(policy.on_call, ["ana@example.com"]);
        let lines: Vec<String> = policy.escalation.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["5 slack_channel C0OPS", "20 eligible", "30 ana@example.com"]);
        let shown = owner.get(EDITOR).await.text;
        for label in ["<label for=\"on_call\">", "<label for=\"escalation\">", "aria-describedby=\"escalation-hint\""] {
            assert!(shown.contains(label), "{label}");
        }
        assert!(shown.contains("5 slack_channel C0OPS\n20 eligible\n30 ana@example.com</textarea>"), "{shown}");
        // An older form, without these fields, leaves them as they are.
        let fields = [("min_approvals", "1"), ("channel", "dashboard")];
        assert_eq!(owner.submit(EDITOR, EDITOR, &fields).await.location(), EDITOR);
        assert_eq!(stored(&server, &team).await.unwrap().escalation, policy.escalation);
    }

    async fn what_does_not_fit_is_said_at_its_field_and_nothing_is_saved(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        for (on_call, steps, field, says) in [
            ("nobody@example.com", "", "on_call", "may not decide here"),
            ("", "soon eligible", "escalation", "must be a whole number from 1 to 1440"),
            ("", "5 everyone", "escalation", "unknown field"),
            ("", "5 eligible\n5 eligible", "escalation", "order the steps by time"),
        ] {
            let refused = save(&mut owner, on_call, steps).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{steps}");
            assert!(refused.text.contains(&format!("id=\"{field}-problem\"")), "{}", refused.text);
            assert!(refused.text.contains(says), "{says}: {}", refused.text);
        }
        assert!(stored(&server, &team).await.is_none());
    }

    async fn the_page_of_a_request_says_when_the_next_step_comes(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        save(&mut owner, "", "10 eligible").await;
        let txn = server.post_pending(&team, "/v1/pay", "", "{}").await;
        let page = owner.get(&format!("/approve/{txn}")).await.text;
        assert!(page.contains("<dt>Asked</dt>") && page.contains("Next step at "), "{page}");
    }

    async fn quiet_hours_are_set_shown_and_removed_on_the_account_page(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        let empty = owner.get(ACCOUNT).await.text;
        for label in ["for=\"quiet-zone\"", "for=\"quiet-from\"", "for=\"quiet-to\""] {
            assert!(empty.contains(label), "{label}");
        }
        assert!(!empty.contains("Remove quiet hours"));
        let refused = set_quiet(&mut owner, "Mars", "22:00", "07:00").await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refused.text.contains("id=\"time_zone-problem\"") && refused.text.contains("value=\"Mars\""));
        assert_eq!(set_quiet(&mut owner, "Europe/Berlin", "22:00", "07:00").await.location(), ACCOUNT);
        let shown = owner.get(ACCOUNT).await.text;
        for value in ["value=\"Europe/Berlin\"", "value=\"22:00\"", "value=\"07:00\"", "Remove quiet hours"] {
            assert!(shown.contains(value), "{value}");
        }
        let removed = owner.submit(ACCOUNT, "/app/account/quiet-hours/remove", &[]).await;
        assert_eq!(removed.location(), ACCOUNT);
        assert!(!owner.get(ACCOUNT).await.text.contains("value=\"Europe/Berlin\""));
    }
}

//! The page of the audit trail: search, filters and the chart.

use std::time::Duration;

use pyxis_core::audit_event::AuditEvent;
use pyxis_core::policy::Policy;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::policies;
use pyxis_testkit::engines;

use crate::support::{Browser, Server, Team};

/// A pending request with `billing`, and one with `mail` that the policy denies.
async fn two_requests(server: &Server, team: &Team) {
    let actor = Actor::cli(team.id);
    server.add_bearer(team.id, "mail", "mail.example.com").await;
    let policy = Policy::from_json(br#"{"deny_methods":["DELETE"]}"#).unwrap();
    policies::put(&server.gateway, &actor, "mail", &policy).await.unwrap();
    server.post_pending(team, "/v1/invoices", "for March", "{}").await;
    let denied = team.request("mail", "DELETE", "https://mail.example.com/v1/messages");
    assert_eq!(server.send(denied).await, http::StatusCode::FORBIDDEN);
    server.gateway.audit.flush().await.unwrap();
    server.later(Duration::from_mins(10));
}

/// The rows of the page, without the places where a line may break.
async fn rows(owner: &mut Browser, query: &str) -> String {
    let page = owner.get(&format!("/app/audit{query}")).await.text;
    let (_, rows) = page.split_once("<table class=\"log\">").unwrap_or_default();
    rows.replace("<wbr>", "")
}

engines! {
    async fn search_and_filters_leave_the_records_that_fit(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        two_requests(&server, &team).await;
        let both = rows(&mut owner, "").await;
        assert!(both.contains("/v1/invoices") && both.contains("/v1/messages"), "{both}");
        let today = "from=2026-01-01&to=2026-01-01";
        for (query, waiting, denied) in [
            ("?q=INVOICES", true, false),
            ("?q=mail.example", false, true),
            ("?outcome=asked", true, false),
            ("?outcome=denied", false, true),
            ("?outcome=expired", false, false),
            ("?credential=billing", true, false),
            ("?credential=mail", false, true),
            ("?credential=mail&outcome=asked", false, false),
            ("?event=requests", true, true),
            ("?event=changes", false, false),
            ("?event=people", false, false),
            ("?event=request.received", true, true),
            ("?event=forward", true, true),
            (&format!("?{today}"), true, true),
            ("?to=2025-12-31", false, false),
            ("?from=2026-01-02", false, false),
        ] {
            let found = rows(&mut owner, query).await;
            let shown = (found.contains("/v1/invoices"), found.contains("/v1/messages"));
            assert_eq!(shown, (waiting, denied), "{query}: {found}");
            let csv = owner.get(&format!("/app/audit/export.csv{query}")).await.text;
            let exported = (csv.contains("/v1/invoices"), csv.contains("/v1/messages"));
            assert_eq!(exported, (waiting, denied), "{query}: {csv}");
        }
        assert!(owner.get("/app/audit?q=nothing+like+it").await.text.contains("No matching events"));
    }

    async fn the_filter_lists_every_event_by_label(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        let page = owner.get("/app/audit?event=sign_in").await.text;
        let list = page.split("<select id=\"event\"").nth(1).unwrap().split("</select>").next().unwrap();
        let chosen = "<option value=\"user.signed_in\" selected>Signed in</option>";
        assert!(list.contains(chosen), "{list}");
        let list = list.split("<optgroup").nth(1).unwrap();
        let labels: Vec<String> = list
            .split("</option>")
            .filter_map(|option| Some(option.rsplit_once('>')?.1.to_lowercase()))
            .filter(|label| !label.is_empty())
            .collect();
        assert!(labels.is_sorted(), "{labels:?}");
        for event in AuditEvent::ALL.iter().filter(|event| **event != AuditEvent::RequestCompleted) {
            assert!(list.contains(&format!("value=\"{event}\"")), "{event}");
        }
    }

    async fn the_chart_can_be_read_without_being_seen(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        assert!(!owner.get("/app/audit").await.text.contains("chart-svg-title"), "nothing to draw");
        two_requests(&server, &team).await;
        let page = owner.get("/app/audit").await.text;
        assert!(page.contains("role=\"img\" aria-labelledby=\"chart-svg-title chart-svg-desc\""), "{page}");
        assert!(page.contains("<title id=\"chart-svg-title\">Requests by decision</title>"), "{page}");
        let sentence = "<desc id=\"chart-svg-desc\">2 requests from ";
        let (_, described) = page.split_once(sentence).expect("a sentence");
        let counts = ": 0 allowed, 0 allowed by a grant or a task, 1 sent for approval, 1 denied or refused.</desc>";
        assert!(described.contains(counts), "{page}");
        let cells: String = [0, 0, 1, 1].map(|n| format!("<td class=\"num\">{n}</td>")).concat();
        let row = format!("<tr><th scope=\"row\">2026-01-01 00:00</th>{cells}</tr>");
        assert!(page.contains(&row), "{page}");
        let tip = "<title>2026-01-01 00:00: 1 sent for approval, 1 denied or refused</title>";
        assert!(page.contains(tip), "{page}");
    }
}

//! Members' access to the dashboard, and managing people.

use http::StatusCode;
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::audit_event::AuditEvent;
use pyxis_core::id::TxnId;
use pyxis_core::policy::Policy;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::{agents, people, policies};
use pyxis_gateway::approvals::view;
use pyxis_store::audit::{self, AuditFilter};
use pyxis_testkit::engines;
use serde_json::Value;

use crate::support::Server;

const EDITOR: &str = "/app/policies/billing";

engines! {
    async fn a_member_sees_and_decides_only_what_was_granted(server: Server) {
        let (team, _) = server.with_owner().await;
        let txn = server.post_pending(&team, "/v1/items", "", "{}").await;
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let (page, link) = (format!("/app/approvals/{txn}"), format!("/approve/{txn}"));
        assert!(!member.get("/app/inbox").await.text.contains(&txn));
        for path in [&page, &link] {
            assert_eq!(member.get(path).await.status, StatusCode::FORBIDDEN, "{path}");
        }
        member.submit("/app/account", &format!("{page}/approve"), &[]).await;
        let state = async || {
            let txn: TxnId = txn.parse().unwrap();
            view::load_view(&server.gateway, team.id, txn).await.unwrap().row.state
        };
        assert_eq!(state().await, ApprovalState::Pending);
        server.grant(&team, "mem@example.com", true, false).await;
        assert!(member.get("/app/inbox").await.text.contains(&txn));
        assert_eq!(member.get(&page).await.status, StatusCode::OK);
        assert!(member.get(&link).await.text.contains("Also allow every"));
        assert_eq!(member.get("/app/policies/billing").await.status, StatusCode::FORBIDDEN);
        member.submit(&link, &format!("{page}/approve"), &[("from", "standalone")]).await;
        assert_eq!(state().await, ApprovalState::Approved);
    }

    async fn grants_are_set_on_a_members_page_and_invitations_withdrawn(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let fields = [("email", "mem@example.com"), ("role", "member")];
        assert!(owner.submit("/app/new/person", "/app/people", &fields).await.text.contains("/link/"));
        let user = people::by_email(&server.gateway.store, team.id, "mem@example.com").await.unwrap();
        let page = format!("/app/people/{}", user.id);
        assert!(owner.get(&page).await.text.contains("billing"));
        let ticked = [("credential", "billing"), ("approve", "billing")];
        owner.submit(&page, &format!("{page}/grants"), &ticked).await;
        assert!(owner.get("/app/people").await.text.contains("1 credential"));
        owner.submit(&page, &format!("{page}/withdraw"), &[]).await;
        assert!(people::by_email(&server.gateway.store, team.id, "mem@example.com").await.is_err());
    }

    async fn people_are_searched_and_an_empty_result_says_so(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        server.with_person(&team, "bo@example.com", Role::Admin).await;
        let found = owner.get("/app/people?q=BO%40").await.text;
        assert!(found.contains("bo@example.com") && !found.contains("ana@example.com</th>"));
        assert!(owner.get("/app/people?q=nobody").await.text.contains("No results for"));
    }

    async fn deny_all_stops_the_agent_and_settles_what_it_waits_for(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let waiting = [server.post_pending(&team, "/a", "", "{}").await, server.post_pending(&team, "/b", "", "{}").await];
        let agent = agents::list(&server.gateway.store, team.id).await.unwrap().remove(0);
        let page = format!("/app/agents/{}", agent.row.id);
        owner.submit(&page, &format!("{page}/deny-all"), &[]).await;
        for txn in waiting {
            let txn: TxnId = txn.parse().unwrap();
            let row = view::load_view(&server.gateway, team.id, txn).await.unwrap().row;
            assert_eq!(row.state, ApprovalState::Denied);
        }
        assert!(owner.get(&page).await.text.contains("Disabled"));
    }

    async fn owners_and_admins_change_a_policy_at_once(server: Server) {
        let (team, owner) = server.with_owner().await;
        let admin = server.with_person(&team, "bo@example.com", Role::Admin).await;
        server.with_person(&team, "cleo@example.com", Role::Admin).await;
        for (mut manager, needed) in [(owner, "2"), (admin, "3")] {
            let fields = [("method_GET", "auto"), ("min_approvals", needed), ("channel", "dashboard")];
            let saved = manager.submit(EDITOR, EDITOR, &fields).await;
            assert_eq!(saved.location(), EDITOR, "{}", saved.text);
            let (_, stored) = policies::get(&server.gateway.store, team.id, "billing").await.unwrap().unwrap();
            assert_eq!(stored.min_approvals.to_string(), needed);
            assert!(!manager.get("/app/policies").await.text.contains("/app/staged/"), "nothing is proposed");
            let txn = server.post_pending(&team, &format!("/v1/{needed}"), "", "{}").await;
            manager.submit("/app/account", &format!("/app/approvals/{txn}/approve"), &[]).await;
            let row = view::load_view(&server.gateway, team.id, txn.parse().unwrap()).await.unwrap().row;
            assert_eq!(row.state, ApprovalState::Pending, "the next request asks {needed} people");
        }
    }

    async fn every_answer_on_a_page_is_on_record_with_the_surface_where_it_was_given(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let newest = async |event: AuditEvent| {
            let filter = AuditFilter { events: vec![event], ..AuditFilter::default() };
            let found = audit::search(&server.gateway.store, team.id, &filter).await.unwrap();
            let record = &found[0].record.record;
            let detail: Value = serde_json::from_str(&record.detail).unwrap();
            (record.txn_id.unwrap().to_string(), detail["surface"].as_str().unwrap().to_owned())
        };
        for (verb, event) in [("approve", AuditEvent::ApprovalApproved), ("deny", AuditEvent::ApprovalDenied)] {
            for place in ["/app/inbox", "/app/approvals/{txn_id}", "/approve/{txn_id}"] {
                let surface = if place.starts_with("/app/") { "dashboard" } else { "standalone" };
                let txn = server.post_pending(&team, "/v1/items", "", &format!("{verb} on {place}")).await;
                let page = place.replace("{txn_id}", &txn);
                let to = format!("/app/approvals/{txn}/{verb}");
                let shown = owner.get(&page).await.text;
                let form = shown.split(&format!("action=\"{to}\"")).nth(1).expect("a form");
                let from = form.split("name=\"from\" value=\"").nth(1).unwrap().split('"').next().unwrap();
                owner.submit(&page, &to, &[("from", from)]).await;
                assert_eq!(newest(event).await, (txn, surface.to_owned()), "{verb} on {place}");
            }
        }
        let txn = server.post_pending(&team, "/deny/all", "", "{}").await;
        let agent = agents::list(&server.gateway.store, team.id).await.unwrap().remove(0);
        let page = format!("/app/agents/{}", agent.row.id);
        owner.submit(&page, &format!("{page}/deny-all"), &[]).await;
        assert_eq!(newest(AuditEvent::ApprovalDenied).await, (txn, "dashboard".to_owned()));
    }

    async fn the_inbox_says_how_often_somebody_was_asked_and_a_grant_what_it_would_have_covered(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        for n in 0..21 {
            server.post_pending(&team, "/v1/items", "", &format!("{{\"n\":{n}}}")).await;
        }
        let inbox = owner.get("/app/inbox").await.text;
        assert!(inbox.contains("Last hour: 21 requests."), "{inbox}");
        assert!(inbox.contains("too many to review with care"));
        assert!(inbox.contains("21 of 21 recent requests match, from default-agent."));
    }

    async fn what_others_alone_may_decide_is_not_counted_as_asked_of_somebody(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let mut bo = server.with_person(&team, "bo@example.com", Role::Admin).await;
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        server.grant(&team, "mem@example.com", true, false).await;
        let policy = Policy::from_json(br#"{"allowed_approvers":["bo@example.com"]}"#).unwrap();
        policies::put(&server.gateway, &Actor::cli(team.id), "billing", &policy).await.unwrap();
        for n in 0..3 {
            server.post_pending(&team, "/v1/items", "", &format!("{{\"n\":{n}}}")).await;
        }
        let asked = "Last hour: 3 requests.";
        assert!(bo.get("/app/inbox").await.text.contains(asked));
        for other in [&mut owner, &mut member] {
            assert!(!other.get("/app/inbox").await.text.contains(asked));
        }
    }

    async fn a_token_is_made_shown_once_and_revoked(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        let fields = [("name", "ci"), ("scope", "px:approve"), ("expires_in_days", "90")];
        let made = owner.submit("/app/account", "/app/account/tokens", &fields).await.text;
        assert!(made.contains("px_pat_"));
        let page = owner.get("/app/account").await.text;
        assert!(page.contains("ci") && page.matches("px_pat_").count() == 1, "only the hint");
        let nothing = [("name", "none"), ("expires_in_days", "90")];
        let refused = owner.submit("/app/account", "/app/account/tokens", &nothing).await;
        assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(refused.text.contains("Name at least one"), "{}", refused.text);
        let id = page.split("/app/account/tokens/").nth(1).unwrap().split('/').next().unwrap().to_owned();
        owner.submit("/app/account", &format!("/app/account/tokens/{id}/revoke"), &[]).await;
        assert!(owner.get("/app/account").await.text.contains("No tokens yet"));
    }
}

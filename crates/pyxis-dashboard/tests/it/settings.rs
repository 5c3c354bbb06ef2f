//! The settings of the workspace.

use std::time::Duration;

use http::StatusCode;
use pyxis_core::approval_mode::ApprovalMode;
use pyxis_gateway::admin::workspaces;
use pyxis_gateway::approvals::view;
use pyxis_testkit::engines;

use crate::support::{Server, Team};

/// Stored mode and window.
async fn stored(server: &Server, team: &Team) -> (ApprovalMode, Option<i64>) {
    let row = workspaces::get(&server.gateway.store, team.id).await.unwrap();
    (row.mode, row.approval_timeout_secs)
}

engines! {
    async fn mode_and_window_are_saved_and_hold_from_then_on(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let mut save = async |mode: &str, minutes: &str| {
            let fields = [("default_approval_mode", mode), ("approval_timeout_minutes", minutes)];
            let saved = owner.submit("/app/settings", "/app/settings", &fields).await;
            assert_eq!((saved.status, saved.location()), (StatusCode::SEE_OTHER, "/app/settings"));
            owner.get("/app/settings").await.text
        };
        let page = save("autonomous", "5").await;
        assert_eq!(stored(&server, &team).await, (ApprovalMode::Autonomous, Some(300)));
        assert!(page.contains("value=\"autonomous\" checked") && page.contains("value=\"5\""), "{page}");

        save("gated", "5").await;
        assert_eq!(stored(&server, &team).await, (ApprovalMode::Gated, Some(300)));
        let txn = server.post_pending(&team, "/v1/items", "", "{}").await.parse().unwrap();
        let row = view::load_view(&server.gateway, team.id, txn).await.unwrap().row;
        assert_eq!(row.expires_at.since(row.created_at), Duration::from_mins(5));

        let page = save("gated", "").await;
        assert_eq!(stored(&server, &team).await, (ApprovalMode::Gated, None));
        assert!(page.contains("value=\"gated\" checked") && !page.contains("value=\"5\""), "{page}");
    }

    async fn an_invalid_window_is_refused_next_to_its_field_and_changes_nothing(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        for typed in ["x", "0", "-5", "1.5", "10081"] {
            let fields = [("default_approval_mode", "autonomous"), ("approval_timeout_minutes", typed)];
            let refused = owner.submit("/app/settings", "/app/settings", &fields).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{typed}");
            assert!(refused.text.contains("id=\"approval_timeout_minutes-problem\""), "{}", refused.text);
            assert!(refused.text.contains("Enter 1 to 10080 whole minutes"), "{}", refused.text);
            assert!(refused.text.contains(&format!("value=\"{typed}\"")), "what was typed stays");
            assert_eq!(stored(&server, &team).await, (ApprovalMode::Gated, None), "{typed}");
        }
    }

    async fn the_longest_window_is_named_next_to_its_field_and_accepted(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        for path in ["/app/settings", "/app/policies/billing"] {
            let page = owner.get(path).await.text;
            let (_, label) = page.split_once("<label for=\"approval_timeout_minutes\">").expect(path);
            let told = "Minutes to decide <span class=\"optional\">1 to 10080, which is 7 days";
            assert!(label.starts_with(told), "{label}");
            assert!(page.contains("type=\"number\" min=\"1\" max=\"10080\""), "{page}");
        }
        let fields = [("default_approval_mode", "gated"), ("approval_timeout_minutes", "10080")];
        owner.submit("/app/settings", "/app/settings", &fields).await;
        assert_eq!(stored(&server, &team).await, (ApprovalMode::Gated, Some(604_800)));
        let fields = [("min_approvals", "1"), ("channel", "dashboard"), ("approval_timeout_minutes", "10081")];
        let refused = owner.submit("/app/policies/billing", "/app/policies/billing", &fields).await;
        assert!(refused.text.contains("Enter 1 to 10080 whole minutes"), "{}", refused.text);
    }
}

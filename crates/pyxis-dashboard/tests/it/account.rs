//! Changing the own password on the Account page.

use std::time::Duration;

use http::StatusCode;
use pyxis_core::audit_event::AuditEvent;
use pyxis_store::audit::{self, AuditFilter};
use pyxis_testkit::engines;

use crate::support::{Browser, PASSWORD, Page, Server};

const ACCOUNT: &str = "/app/account";
const OTHER: &str = "four unrelated words here";

async fn change(browser: &mut Browser, present: &str, new: &str, again: &str) -> Page {
    let fields = [("password", present), ("new_password", new), ("new_password_again", again)];
    browser.submit(ACCOUNT, "/app/account/password", &fields).await
}

engines! {
    async fn a_password_is_changed_after_the_present_one_and_other_sessions_end(server: Server) {
        let (team, mut here) = server.with_owner().await;
        let mut elsewhere = server.browser();
        elsewhere.sign_in("ana@example.com", PASSWORD).await;
        assert_eq!(elsewhere.get(ACCOUNT).await.status, StatusCode::OK);
        let done = change(&mut here, PASSWORD, OTHER, OTHER).await;
        assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, ACCOUNT));
        assert!(here.get(ACCOUNT).await.text.contains("All your other sessions have ended"));
        assert!(elsewhere.get(ACCOUNT).await.location().starts_with("/sign-in"));
        assert_eq!(elsewhere.sign_in("ana@example.com", PASSWORD).await.status, StatusCode::UNAUTHORIZED);
        assert_eq!(elsewhere.sign_in("ana@example.com", OTHER).await.status, StatusCode::SEE_OTHER);
        let filter = AuditFilter { events: vec![AuditEvent::UserPasswordSet], ..AuditFilter::default() };
        let records = audit::search(&server.gateway.store, team.id, &filter).await.unwrap();
        assert_eq!(records.len(), 2, "the first one, and this one");
        assert_eq!(records[0].record.record.actor_name, "ana@example.com");
    }

    async fn what_does_not_fit_changes_nothing_and_is_said_at_its_field(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        for (present, new, again, says) in [
            ("wrong", OTHER, OTHER, "current password is wrong"),
            (PASSWORD, OTHER, "something else", "The passwords differ"),
            (PASSWORD, "short", "short", "12 to 256 characters"),
            (PASSWORD, PASSWORD, PASSWORD, "Must differ from the current password"),
        ] {
            let refused = change(&mut owner, present, new, again).await;
            assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY, "{says}");
            assert!(refused.text.contains(says), "{says}: {}", refused.text);
            assert!(!refused.text.contains(OTHER) && !refused.text.contains(PASSWORD), "no password comes back");
        }
        let mut elsewhere = server.browser();
        assert_eq!(elsewhere.sign_in("ana@example.com", PASSWORD).await.status, StatusCode::SEE_OTHER);
    }

    async fn an_open_session_is_no_place_to_try_passwords_at(server: Server) {
        let (_, mut owner) = server.with_owner().await;
        for _ in 0..5 {
            change(&mut owner, "wrong", OTHER, OTHER).await;
        }
        let locked = change(&mut owner, PASSWORD, OTHER, OTHER).await;
        assert!(locked.text.contains("Try again in 15 minutes"), "{}", locked.text);
        server.later(Duration::from_mins(15));
        assert_eq!(change(&mut owner, PASSWORD, OTHER, OTHER).await.status, StatusCode::SEE_OTHER);
    }
}

//! Quiet hours by the API (`docs/reference/notifications.md#escalation-and-quiet-hours`).

use pyxis_testkit::engines;
use serde_json::json;

use super::tokens::token;
use crate::support::{Setup, Site};

const PATH: &str = "/admin/quiet-hours";

engines! {
    async fn a_person_sets_reads_and_removes_their_own_quiet_hours(setup: Setup) {
        let site = Site::with(setup).await;
        let owner = &site.owner.client;
        owner.get(PATH).send().await.problem(404, "not_found");
        let hours = json!({"time_zone": "Europe/Berlin", "from": "22:00", "to": "07:00"});
        assert_eq!(owner.put(PATH, &hours).send().await.expect(200).json(), hours);
        assert_eq!(owner.get(PATH).send().await.expect(200).json(), hours);
        let other = json!({"time_zone": "utc", "from": "9:00", "to": "17:30"});
        let stored = json!({"time_zone": "UTC", "from": "09:00", "to": "17:30"});
        assert_eq!(owner.put(PATH, &other).send().await.expect(200).json(), stored);
        let admin = site.app.admin("bo@people.example").await;
        admin.client.get(PATH).send().await.problem(404, "not_found");
        admin.client.delete(PATH).send().await.problem(404, "not_found");
        owner.delete(PATH).send().await.expect(204);
        owner.get(PATH).send().await.problem(404, "not_found");
        let audit = site.app.audit().await;
        assert_eq!(audit.iter().filter(|record| record["kind"] == "user.quiet_hours_changed").count(), 3);
    }

    async fn quiet_hours_that_are_none_are_refused_by_field(setup: Setup) {
        let site = Site::with(setup).await;
        for (zone, from, to, field) in [
            ("Europe/Nowhere", "22:00", "07:00", "time_zone"),
            ("UTC", "25:00", "07:00", "from"),
            ("UTC", "22:00", "soon", "to"),
            ("UTC", "22:00", "22:00", "to"),
        ] {
            let body = json!({"time_zone": zone, "from": from, "to": to});
            let refused = site.owner.client.put(PATH, &body).send().await.problem(422, "invalid_field");
            assert_eq!(refused["field"], field, "{refused}");
        }
        let made = token(&site.owner, "all", &["px:approve", "px:admin"]).await;
        let program = site.app.person(made["token"].as_str().unwrap());
        program.client.get(PATH).send().await.problem(403, "forbidden");
    }
}

//! Sign-in, lockout, end (`docs/reference/behavior/proxy.md#sessions`).

use pyxis_testkit::engines;
use serde_json::json;

use crate::support::{App, HttpResponse, Setup};

const EMAIL: &str = "somebody@people.example";

async fn sign_in(app: &App, password: &str) -> HttpResponse {
    app.anonymous().post("/session", &json!({"email": EMAIL, "password": password})).send().await
}

engines! {
    async fn a_session_begins_with_the_password_and_ends_when_told(setup: Setup) {
        let app = App::start(setup).await;
        let person = app.admin(EMAIL).await;
        person.client.get("/admin/agents").send().await.expect(200);
        sign_in(&app, "wrong").await.expect(401);
        let ended = person.client.delete("/session").send().await;
        assert!([200, 204].contains(&ended.status), "{ended:?}");
        person.client.get("/admin/agents").send().await.expect(401);
    }

    async fn five_wrong_passwords_lock_the_door(setup: Setup) {
        let app = App::start(setup).await;
        app.admin(EMAIL).await;
        for _ in 0..5 {
            sign_in(&app, "wrong").await.expect(401);
        }
        let right = sign_in(&app, crate::support::parties::PASSWORD).await;
        assert!([401, 423, 429].contains(&right.status), "{right:?}");
    }

    async fn wrong_passwords_at_the_same_time_get_no_more_tries_than_one_after_another(setup: Setup) {
        let app = App::start(setup).await;
        app.admin(EMAIL).await;
        let body = json!({"email": EMAIL, "password": "wrong"});
        let calls: Vec<_> =
            (0..40).map(|_| tokio::spawn(app.anonymous().post("/session", &body).send())).collect();
        let mut tried = 0;
        for call in calls {
            let answer = call.await.unwrap();
            match answer.status {
                // The password was checked.
                401 => tried += 1,
                _ => drop(answer.problem(429, "locked")),
            }
        }
        assert_eq!(tried, 5);
        sign_in(&app, crate::support::parties::PASSWORD).await.problem(429, "locked");
    }

    async fn right_passwords_for_one_workspace_lock_nobody_out_of_it_who_is_in_another_too(setup: Setup) {
        let app = App::start(setup).await;
        app.admin(EMAIL).await;
        app.cli_json(&["workspace", "add", "other", "--owner-email", EMAIL]).await;
        for _ in 0..8 {
            sign_in(&app, crate::support::parties::PASSWORD).await.expect(200);
        }
        for _ in 0..5 {
            sign_in(&app, "wrong").await;
        }
        sign_in(&app, crate::support::parties::PASSWORD).await.problem(429, "locked");
    }

    async fn somebody_who_is_disabled_is_out_at_once(setup: Setup) {
        let app = App::start(setup).await;
        let person = app.admin(EMAIL).await;
        app.cli(&["user", "disable", EMAIL]).await.expect(0);
        person.client.get("/admin/agents").send().await.expect(401);
        sign_in(&app, crate::support::parties::PASSWORD).await.expect(401);
        app.cli(&["user", "enable", EMAIL]).await.expect(0);
        sign_in(&app, crate::support::parties::PASSWORD).await.expect(200);
    }
}

#[tokio::test]
async fn an_unknown_address_and_a_wrong_password_get_the_same_answer() {
    let app = App::start(Setup::new()).await;
    app.admin(EMAIL).await;
    let wrong = sign_in(&app, "wrong").await.expect(401).json();
    let body = json!({"email": "nobody@people.example", "password": "wrong"});
    let unknown = app.anonymous().post("/session", &body).send().await.expect(401).json();
    assert_eq!((&wrong["code"], &wrong["detail"]), (&unknown["code"], &unknown["detail"]));
    let mut locked = Vec::new();
    for email in [EMAIL, "nobody@people.example"] {
        let body = json!({"email": email, "password": "wrong"});
        for _ in 1..5 {
            app.anonymous().post("/session", &body).send().await.expect(401);
        }
        let mut problem = app.anonymous().post("/session", &body).send().await.problem(429, "locked");
        for of_this_one in ["locked_until", "request_id", "detail"] {
            problem.as_object_mut().unwrap().remove(of_this_one).unwrap();
        }
        locked.push(problem);
    }
    assert_eq!(locked[0], locked[1]);
}

#[tokio::test]
async fn what_is_no_session_opens_nothing() {
    let app = App::start(Setup::new()).await;
    for authorization in ["Bearer nonsense", "Bearer ", "Basic eDp5", app.default_agent().key.as_str()] {
        let client = app.anonymous().with("authorization", authorization);
        for path in ["/admin/agents", "/admin/credentials", "/approvals", "/admin/audit"] {
            client.get(path).send().await.expect(401);
        }
    }
}

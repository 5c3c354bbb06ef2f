//! The score as its holder sees it on the self-check page (`docs/guides/let-holders-check-their-score.md`).

use axum::body::Body;
use http::{Method, Request, StatusCode};
use pyxis_core::actor::Actor;
use pyxis_core::catalogue::Platform;
use pyxis_core::id::ScorerId;
use pyxis_scoring::service::catalogue;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{HttpResponse, Scene, wallet};
use super::widget::{PAGE, TestPage, Wallet};

/// Origin of the server itself, as its settings name it.
pub(super) const OWN: &str = "http://localhost:8700";

/// A request of a page without a key.
pub(super) async fn send_from_page(
    scene: &Scene,
    scorer: ScorerId,
    path: &str,
    origin: &str,
    token: &str,
    body: Value,
) -> HttpResponse {
    let request = Request::builder().method(Method::POST).uri(format!("/widget/v1/{scorer}{path}"));
    let request = request.header("Origin", origin).header("Authorization", format!("Bearer {token}"));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    scene.send(request.body(Body::from(body)).unwrap()).await
}

/// Signs in on the server's own page and returns the session's token.
pub(super) async fn sign_in(scene: &Scene, scorer: ScorerId, wallet: &Wallet) -> String {
    let asked = json!({ "address": wallet.address(), "chain_id": 1 });
    let nonce = send_from_page(scene, scorer, "/nonce", OWN, "", asked).await;
    assert_eq!(nonce.status, StatusCode::OK, "{}", nonce.text);
    let message = nonce.json()["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("http://localhost:8700 wants you to sign in"), "{message}");
    let signed = json!({ "message": message, "signature": wallet.sign(&message) });
    let session = send_from_page(scene, scorer, "/session", OWN, "", signed).await;
    assert_eq!(session.status, StatusCode::OK, "{}", session.text);
    session.json()["token"].as_str().unwrap().to_owned()
}

fn by_name<'v>(items: &'v Value, name: &str) -> &'v Value {
    items.as_array().unwrap().iter().find(|item| item["name"] == name).unwrap_or(&Value::Null)
}

engines! {
    async fn a_holder_sees_what_counts_what_does_not_and_what_would_help(scene: &Scene) {
        let weights = [("A", "2"), ("B", "1"), ("C", "4"), ("D", "0.5"), ("Discord", "3")];
        let scorer = scene.scorer("9", &weights).await;
        TestPage::for_origins(scene, scorer, &[OWN]).await;
        let holder = Wallet::number(1);
        scene.verify(wallet(2), "C", "c:1", 90).await;
        scene.score(scorer, wallet(2)).await;
        scene.verify(holder.address(), "A", "a:1", 90).await;
        scene.verify(holder.address(), "B", "b:1", 3).await;
        scene.verify(holder.address(), "Other", "o:1", 90).await;
        let revoked = scene.verify(holder.address(), "D", "d:1", 90).await;
        scene.score(scorer, holder.address()).await;
        scene.verify(holder.address(), "C", "c:1", 80).await;
        scene.revoke(holder.address(), &revoked).await;
        scene.on_day(4);
        let token = sign_in(scene, scorer, &holder).await;
        let answer = send_from_page(scene, scorer, "/check", OWN, &token, Value::Null).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let check = answer.json();
        assert_eq!((&check["score"], &check["missing"]), (&json!("2.00000"), &json!("7.00000")));
        assert_eq!((&check["passing"], &check["address"]), (&json!(false), &json!(holder.address())));
        let statuses = [("A", "counts"), ("B", "expired"), ("C", "deduplicated"), ("Other", "no_weight")];
        for (name, status) in statuses {
            assert_eq!(by_name(&check["stamps"], name)["status"], status, "{name}: {check}");
        }
        assert!(by_name(&check["stamps"], "C")["until"].is_string(), "{check}");
        assert!(check["stamps"].to_string().find(&wallet(2).to_string()).is_none(), "not who holds it");
        let suggested: Vec<_> =
            check["suggestions"].as_array().unwrap().iter().map(|stamp| stamp["name"].as_str().unwrap()).collect();
        assert_eq!(suggested, ["Discord", "B", "D"], "not the one that another address holds");
        assert!(by_name(&check["suggestions"], "Discord")["platform"].is_string());
        let causes = check["changes"][0]["causes"].to_string();
        assert!(causes.contains("stamp_removed") && causes.contains("stamp_expired"), "{check}");
    }

    async fn a_suggestion_links_to_the_page_that_issues_it(scene: &Scene) {
        let scorer = scene.scorer("9", &[("Forum", "2"), ("Discord", "1")]).await;
        TestPage::for_origins(scene, scorer, &[OWN]).await;
        let platform = |url: Option<&str>| {
            let text = json!({
                "id": "forum", "icon": "/assets/stamps/forum.svg", "name": "Forum", "description": "Our forum",
                "connectMessage": "Sign in.", "groups": [{"name": "Members", "stamps": [
                    {"name": "Forum", "description": "Is a member", "hash": ""},
                ]}],
            });
            let platform: Platform = serde_json::from_value(text).unwrap();
            Platform { url: url.map(ToOwned::to_owned), ..platform }
        };
        let actor = Actor::cli(scene.workspace);
        let replace = async |url| catalogue::replace(&scene.state.audited, &actor, vec![platform(url)]).await;
        for bad in ["http://forum.example/", "javascript:alert(1)", "https://a@forum.example/", "forum"] {
            replace(Some(bad)).await.unwrap_err();
        }
        replace(Some("https://forum.example/stamp")).await.unwrap();
        let holder = Wallet::number(1);
        let token = sign_in(scene, scorer, &holder).await;
        let check = send_from_page(scene, scorer, "/check", OWN, &token, Value::Null).await.json();
        let suggestions = &check["suggestions"];
        assert_eq!(by_name(suggestions, "Forum")["url"], "https://forum.example/stamp", "{check}");
        assert_eq!(by_name(suggestions, "Discord")["url"], Value::Null, "{check}");
        replace(None).await.unwrap();
        let check = send_from_page(scene, scorer, "/check", OWN, &token, Value::Null).await.json();
        assert_eq!(by_name(&check["suggestions"], "Forum")["url"], Value::Null, "{check}");
    }

    async fn the_servers_own_page_needs_no_key_and_every_other_page_does(scene: &Scene) {
        let scorer = scene.scorer("9", &[("A", "2")]).await;
        let holder = Wallet::number(1);
        let asked = json!({ "address": holder.address(), "chain_id": 1 });
        let status = async |origin, scorer| send_from_page(scene, scorer, "/nonce", origin, "", asked.clone()).await.status;
        assert_eq!(status(OWN, scorer).await, 401, "no key allows the server's origin");
        let page = TestPage::for_origins(scene, scorer, &[OWN, PAGE]).await;
        assert_eq!(status(OWN, scorer).await, 200);
        assert_eq!(status(PAGE, scorer).await, 401);
        assert_eq!(status("http://localhost:8701", scorer).await, 401);
        assert_eq!(status(OWN, scene.scorer("9", &[]).await).await, 401, "another scorer");
        // A session is of its page, and of nobody else's.
        let token = sign_in(scene, scorer, &holder).await;
        assert_eq!(send_from_page(scene, scorer, "/check", OWN, &token, Value::Null).await.status, 200);
        assert_eq!(send_from_page(scene, scorer, "/check", OWN, "px_wid_x", Value::Null).await.status, 401);
        assert_eq!(page.score(&token).await.status, 401);
    }
}

//! API keys, and access to history.

use axum::body::Body;
use http::{Request, StatusCode};
use pyxis_gateway::Actor;
use pyxis_scoring::service::api_keys;
use pyxis_testkit::engines;
use tower::ServiceExt;

use super::with_scorer;
use crate::support::Server;

/// The API's status for this key.
async fn status_for_key(server: &Server, key: &str, path: &str) -> StatusCode {
    let request = Request::get(path).header("x-api-key", key).body(Body::empty()).unwrap();
    pyxis_scoring::router(server.scoring.clone()).oneshot(request).await.unwrap().status()
}

/// The key that a page shows.
fn key_in(page: &str) -> String {
    let of_a_key = |c: &char| c.is_ascii_alphanumeric() || *c == '_' || *c == '-';
    page[page.find("px_api_").unwrap()..].chars().take_while(of_a_key).collect()
}

engines! {
    async fn a_key_gets_other_permissions_and_budgets_and_says_when_it_was_used_last(server: Server) {
        let (team, mut browser, _) = with_scorer(&server).await;
        let fields = [("name", "server"), ("can_read", "on"), ("stamps_tier", "1"), ("models_tier", "1")];
        let key = key_in(&browser.submit("/app/new/api-key", "/app/api-keys", &fields).await.text);
        let row = async || api_keys::list(&server.scoring.store, team.id).await.unwrap().remove(0);
        let path = format!("/app/api-keys/{}", row().await.id);
        assert!(browser.get(&path).await.text.contains("never used"));
        assert_eq!(status_for_key(&server, &key, "/v2/stamps/metadata").await, StatusCode::OK);
        assert!(browser.get(&path).await.text.contains("last used <time"));
        let edit = format!("{path}/edit");
        let changed = [
            ("name", "writer"),
            ("can_write", "on"),
            ("stamps_tier", "2"),
            ("models_tier", "4"),
            ("models_limit", "5000"),
        ];
        browser.submit(&path, &edit, &changed).await;
        let row = row().await;
        assert_eq!((row.name.as_str(), row.can_read, row.can_write), ("writer", false, true));
        assert_eq!((row.stamps_tier, row.stamps_limit), (2, None));
        assert_eq!((row.models_tier, row.models_limit), (4, Some(5000)));
        assert_eq!(status_for_key(&server, &key, "/v2/stamps/metadata").await, StatusCode::FORBIDDEN);
        let wrong = browser.submit(&path, &edit, &[("name", "x"), ("stamps_tier", "1")]).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(wrong.text.contains("Select at least one permission"));
    }

    async fn a_key_is_shown_once_works_and_ends_when_it_is_revoked(server: Server) {
        let (team, mut browser, scorer) = with_scorer(&server).await;
        let fields = [
            ("name", "server"),
            ("can_read", "on"),
            ("stamps_tier", "4"),
            ("stamps_limit", "5000"),
            ("models_tier", "2"),
        ];
        let shown = browser.submit("/app/new/api-key", "/app/api-keys", &fields).await;
        assert_eq!(shown.status, StatusCode::OK);
        let key = key_in(&shown.text);
        assert!(shown.text.contains(&format!("/v2/stamps/{}/score/", scorer.id)), "a command to try");
        assert_eq!(status_for_key(&server, &key, "/v2/stamps/metadata").await, StatusCode::OK);
        let row = &api_keys::list(&server.scoring.store, team.id).await.unwrap()[0];
        assert_eq!((row.stamps_limit, row.models_tier, row.can_write), (Some(5000), 2, false));
        let path = format!("/app/api-keys/{}", row.id);
        for page in ["/app/api-keys".to_owned(), path.clone()] {
            let text = browser.get(&page).await.text;
            assert!(!text.contains(&key), "{page}");
            assert!(text.contains("1 of 5,000"), "{page}: used in this window");
        }
        assert!(browser.get(&path).await.text.contains("1 request answered and 0 refused over the limit"));
        browser.submit("/app/api-keys", &format!("{path}/revoke"), &[]).await;
        assert_eq!(status_for_key(&server, &key, "/v2/stamps/metadata").await, StatusCode::UNAUTHORIZED);
        assert!(browser.get(&path).await.text.contains("Requests with this key get 401"));
    }

    async fn a_key_form_names_what_is_wrong_with_it(server: Server) {
        let (team, mut browser) = server.with_owner().await;
        let cases: [(&[(&str, &str)], &str); 4] = [
            (&[("name", "a"), ("stamps_tier", "1")], "Select at least one permission"),
            (
                &[("name", "a"), ("can_read", "on"), ("stamps_tier", "4"), ("stamps_limit", "many")],
                "as a whole number",
            ),
            (
                &[("name", "a"), ("can_read", "on"), ("stamps_tier", "4"), ("stamps_limit", "100")],
                "more than 2000",
            ),
            (&[("name", " "), ("can_read", "on"), ("stamps_tier", "1")], "Must not be empty"),
        ];
        for (fields, said) in cases {
            let page = browser.submit("/app/new/api-key", "/app/api-keys", fields).await;
            assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{said}");
            assert!(page.text.contains(said), "{said}");
        }
        assert!(api_keys::list(&server.scoring.store, team.id).await.unwrap().is_empty());
    }

    async fn history_is_read_only_after_somebody_approved_the_use_case(server: Server) {
        let (team, mut browser) = server.with_owner().await;
        let input = api_keys::ApiKeyInput::with_name("server");
        let (row, _) = api_keys::create(&server.scoring, &Actor::cli(team.id), input).await.unwrap();
        let path = format!("/app/api-keys/{}", row.id);
        let may = async || api_keys::get(&server.scoring.store, team.id, row.id).await.unwrap().can_read_history;
        let empty = browser.submit(&path, &format!("{path}/history"), &[("use_case", "  ")]).await;
        assert_eq!(empty.status, StatusCode::UNPROCESSABLE_ENTITY);
        for (verb, granted, said) in [("refuse", false, "Refused earlier"), ("approve", true, "Granted")] {
            browser.submit(&path, &format!("{path}/history"), &[("use_case", "pay by the snapshot")]).await;
            let list = browser.get("/app/api-keys").await.text;
            assert!(list.contains("pay by the snapshot") && list.contains("ana@example.com"));
            let request = list.split("/app/history-requests/").nth(1).unwrap().split('/').next().unwrap();
            let to = format!("/app/history-requests/{request}/{verb}");
            browser.submit("/app/api-keys", &to, &[]).await;
            assert_eq!(may().await, granted, "{verb}");
            assert!(browser.get(&path).await.text.contains(said), "{said}");
            browser.submit("/app/api-keys", &to, &[]).await;
            assert!(browser.get("/app/api-keys").await.text.contains("Already decided"), "{verb} twice");
        }
        browser.submit(&path, &format!("{path}/withdraw"), &[]).await;
        assert!(!may().await);
    }
}

engines! {
    async fn a_publishable_key_comes_with_the_code_for_its_page_and_keeps_its_origins(server: Server) {
        let (team, mut browser, scorer) = with_scorer(&server).await;
        assert!(browser.get("/app/api-keys").await.text.contains("/app/new/publishable-key"));
        let id = scorer.id.to_string();
        let fields = [("name", "shop"), ("scorer_id", id.as_str()), ("origins", "http://shop.example"), ("stamps_tier", "2")];
        let wrong = browser.submit("/app/new/publishable-key", "/app/publishable-keys", &fields).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(wrong.text.contains("use https; plain http is allowed for localhost only"), "{}", wrong.text);
        let fields = [
            ("name", "shop"),
            ("scorer_id", id.as_str()),
            ("origins", "https://shop.example\r\nhttp://localhost:*"),
            ("stamps_tier", "2"),
        ];
        let shown = browser.submit("/app/new/publishable-key", "/app/publishable-keys", &fields).await;
        assert_eq!(shown.status, StatusCode::OK);
        let script = &*pyxis_scoring::widget::SCRIPT;
        for part in ["px_pub_", "pyxis-passport", &script.pinned_path, &script.integrity, "connect-src"] {
            assert!(shown.text.contains(part), "{part}");
        }
        let row = api_keys::list(&server.scoring.store, team.id).await.unwrap().remove(0);
        assert_eq!((row.can_read, row.can_write, row.stamps_tier), (false, false, 2));
        let path = format!("/app/api-keys/{}", row.id);
        let page = browser.get(&path).await.text;
        assert!(page.contains("Origins and limit") && !page.contains("Request history access"));
        let edit = format!("{path}/edit");
        let fields = [("name", "shop"), ("origins", "https://new.example"), ("stamps_tier", "1")];
        browser.submit(&path, &edit, &fields).await;
        let stored = api_keys::publishable_of(&server.scoring.store, team.id, row.id).await.unwrap().unwrap();
        assert_eq!(stored.origins, ["https://new.example"]);
        let wrong = browser.submit(&path, &edit, &[("name", "shop"), ("origins", "*"), ("stamps_tier", "1")]).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(wrong.text.contains("the only pattern is http://localhost:*"), "{}", wrong.text);
    }
}

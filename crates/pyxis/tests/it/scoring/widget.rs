//! Publishable keys at a whole server: how they are made, and that they open nothing but the widget.

use pyxis::openapi::document;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::ScoringSite;
use crate::support::{Client, HttpResponse, Setup};

const PAGE: &str = "https://app.example.org";
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Every operation of the description: method, path with values, and its security.
fn operations(scorer: &str) -> Vec<(String, String, Value)> {
    let document = document("https://pyxis.example.org").unwrap();
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let segment = |segment: &str| match segment {
            "{scorer_id}" => scorer.to_owned(),
            "{address}" => "0x0101010101010101010101010101010101010101".to_owned(),
            _ if segment.starts_with('{') => "key_0123456789abcdef".to_owned(),
            _ => segment.to_owned(),
        };
        let filled: Vec<String> = path.split('/').map(segment).collect();
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                all.push((method.to_uppercase(), filled.join("/"), operation["security"].clone()));
            }
        }
    }
    all
}

fn page(site: &ScoringSite, key: &str) -> Client {
    site.app.anonymous().with("x-api-key", key).with("origin", PAGE)
}

fn code(answer: &HttpResponse) -> Value {
    serde_json::from_str::<Value>(&answer.text()).map(|body| body["code"].clone()).unwrap_or_default()
}

engines! {
    async fn a_publishable_key_opens_no_operation_but_those_of_the_widget(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let input = json!({
            "name": "page", "kind": "publishable", "scorer_id": site.app.bootstrap["scorer_id"], "origins": [PAGE],
            "stamps_tier": 3
        });
        let made = site.post("/admin/api-keys", &input).await.expect(201).json();
        let key = made["key"].as_str().unwrap();
        // As the key in every place where a key or token is expected.
        let bearer = format!("Bearer {key}");
        let client = page(&site, key).with("authorization", &bearer).with("x-px-key", key);
        let mut opened = Vec::new();
        let operations = operations(&site.scorer());
        assert!(operations.len() > 120, "{}", operations.len());
        for (method, path, security) in operations {
            // Anyone may call the others, without a key.
            if security.is_null() || security.as_array().is_some_and(|ways| ways.iter().any(|way| way == &json!({}))) {
                continue;
            }
            let answer = client.call(&method, &path).json(&json!({})).send().await;
            if security.to_string().contains("publishableKey") {
                opened.push((method, path.replace(&site.scorer(), "1"), answer.status));
            } else {
                assert!(matches!(answer.status, 401 | 403), "{method} {path}: {} {}", answer.status, answer.text());
                if path.starts_with("/v2/") || path.starts_with("/registry/") || path.starts_with("/passport/") {
                    assert_eq!((answer.status, code(&answer)), (403, json!("publishable_key")), "{method} {path}");
                }
            }
        }
        opened.sort();
        let expected = [
            ("DELETE", "/widget/v1/1/session", 204),
            ("GET", "/widget/v1/1", 200),
            ("GET", "/widget/v1/1/score", 401),
            ("POST", "/widget/v1/1/check", 401),
            ("POST", "/widget/v1/1/issue", 422),
            ("POST", "/widget/v1/1/nonce", 422),
            ("POST", "/widget/v1/1/review", 422),
            ("POST", "/widget/v1/1/score", 401),
            ("POST", "/widget/v1/1/session", 422),
        ];
        let expected = expected.map(|(method, path, status)| (method.to_owned(), path.to_owned(), status));
        assert_eq!(opened, expected);
    }

    async fn publishable_keys_are_made_listed_and_changed_by_api_and_command_line(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let scorer = site.scorer();
        let add = ["api-key", "add", "shop", "--kind", "publishable", "--scorer", &scorer, "--origin", PAGE, "--origin", "http://localhost:*"];
        let made = app.cli_json(&add).await;
        assert!(made["key"].as_str().unwrap().starts_with("px_pub_"), "{made}");
        assert_eq!((&made["kind"], &made["origins"]), (&json!("publishable"), &json!(["http://localhost:*", PAGE])));
        let client = page(&site, made["key"].as_str().unwrap());
        let path = format!("/widget/v1/{scorer}");
        client.get(&path).send().await.expect(200);

        let id = made["id"].as_str().unwrap();
        app.cli(&["api-key", "set-origins", id, PAGE, "http://localhost:*"]).await.expect(3);
        let said = app.cli(&["api-key", "set-origins", id, "https://new.example"]).await.expect(0);
        assert!(said.stdout.contains(&format!("widget of scorer {scorer} in https://new.example")), "{}", said.stdout);
        assert_eq!(code(&client.get(&path).send().await.expect(403)), "origin_not_allowed");
        let shown = site.get(&format!("/admin/api-keys/{id}")).await;
        assert_eq!((&shown["kind"], &shown["scorer_id"], &shown["origins"]), (&json!("publishable"), &app.bootstrap["scorer_id"], &json!(["https://new.example"])));
        let listed = site.get("/admin/api-keys").await;
        let kinds: Vec<_> = listed["api_keys"].as_array().unwrap().iter().map(|key| key["kind"].clone()).collect();
        assert_eq!(kinds, ["server", "publishable"]);

        for bad in [
            &["api-key", "add", "x", "--kind", "publishable", "--scorer", &scorer, "--origin", "http://shop.example"][..],
            &["api-key", "add", "x", "--kind", "publishable", "--scorer", "99", "--origin", PAGE],
            &["api-key", "add", "x", "--kind", "publishable", "--scorer", &scorer, "--origin", PAGE, "--write"],
            &["api-key", "add", "x", "--scorer", &scorer],
            &["api-key", "allow-history", id],
        ] {
            app.cli(bad).await.expect(1);
        }
        app.cli(&["api-key", "add", "x", "--kind", "publishable"]).await.expect(2);
        for (field, change) in [
            ("origins", json!({"kind": "publishable", "scorer_id": 1, "origins": ["https://*.example.org"]})),
            ("origins", json!({"kind": "publishable", "scorer_id": 1})),
            ("origins", json!({"origins": [PAGE]})),
            ("scorer_id", json!({"kind": "publishable", "origins": [PAGE]})),
            ("scorer_id", json!({"kind": "publishable", "scorer_id": 0, "origins": [PAGE]})),
            ("can_read", json!({"kind": "publishable", "scorer_id": app.bootstrap["scorer_id"], "origins": [PAGE], "can_read": true})),
        ] {
            let mut input = json!({"name": "x"});
            input.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let problem = site.post("/admin/api-keys", &input).await.problem(422, "invalid_field");
            assert_eq!(problem["field"], field, "{input}");
        }
        let history = json!({"api_key_id": id, "use_case": "an airdrop"});
        assert_eq!(site.post("/admin/history-requests", &history).await.problem(422, "invalid_field")["field"], "api_key_id");
    }

    async fn the_module_is_served_to_pages_of_every_origin_under_a_name_that_pins_it(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let client = site.app.anonymous();
        let script = client.get("/assets/widget/v1/pyxis-passport.js").send().await.expect(200);
        for (name, value) in [
            ("content-type", "text/javascript; charset=utf-8"),
            ("cache-control", "public, max-age=300, stale-while-revalidate=86400"),
            ("access-control-allow-origin", "*"),
            ("cross-origin-resource-policy", "cross-origin"),
        ] {
            assert_eq!(script.header(name), Some(value), "{name}");
        }
        let pinned = client.get(&pyxis_scoring::widget::SCRIPT.pinned_path).send().await.expect(200);
        assert_eq!(pinned.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert_eq!(pinned.text(), script.text());
        let etag = script.header("etag").unwrap();
        client.get("/assets/widget/v1/pyxis-passport.js").header("if-none-match", etag).send().await.expect(304);
        client.get("/assets/widget/v1/other.js").send().await.expect(404);
    }
}

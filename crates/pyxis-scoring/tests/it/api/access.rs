//! Access control and the errors for refused requests (`docs/reference/errors.md#scoring`).

use axum::body::Body;
use http::{Method, Request, StatusCode};
use pyxis_core::id::ScorerId;
use pyxis_testkit::engines;

use super::scene::{HttpResponse, START, Scene, request, score_path, wallet};

const EARLIER: [&str; 3] = ["/registry/score/1/0x00", "/registry/stamps/0x00", "/registry/stamp-metadata"];

/// Every endpoint, with every possible fault other than the key.
fn everything() -> Vec<(Method, String)> {
    let mut all = vec![
        (Method::GET, "/v2/stamps/abc/score/0x00".to_owned()),
        (Method::GET, "/v2/stamps/abc/score/0x00?explain=maybe".to_owned()),
        (Method::GET, "/v2/stamps/abc/score/0x00?signed=maybe".to_owned()),
        (Method::POST, "/v2/stamps/abc/score/0x00?signed=maybe".to_owned()),
        (Method::GET, "/v2/stamps/abc/score/0x00/history".to_owned()),
        (Method::GET, "/v2/stamps/0x00?limit=abc&include_metadata=maybe&token=x".to_owned()),
        (Method::GET, "/v2/stamps/metadata".to_owned()),
        (Method::POST, "/v2/stamps/0x00".to_owned()),
        (Method::DELETE, "/v2/stamps/0x00".to_owned()),
        (Method::POST, "/v2/stamps/abc/scores".to_owned()),
        (Method::POST, "/registry/submit-passport".to_owned()),
    ];
    all.extend(EARLIER.map(|path| (Method::GET, path.to_owned())));
    // And a request that is otherwise correct.
    all.push((Method::GET, format!("/v2/stamps/1/score/{}", wallet(1))));
    all
}

/// All endpoints about one address.
fn doors_of(scorer: &str, address: &str) -> [String; 7] {
    [
        format!("/v2/stamps/{scorer}/score/{address}"),
        format!("/v2/stamps/{scorer}/score/{address}?explain=true"),
        format!("/v2/stamps/{scorer}/score/{address}/history?created_at=2026-01-01"),
        format!("/v2/stamps/{address}"),
        format!("/v2/models/score/{address}"),
        format!("/registry/score/{scorer}/{address}"),
        format!("/passport/analysis/{address}"),
    ]
}

async fn detail(scene: &Scene, key: &str, path: &str) -> HttpResponse {
    scene.get_as(key, path).await
}

engines! {
    async fn a_key_that_is_missing_wrong_or_revoked_is_401_everywhere_and_looked_at_first(scene: &Scene) {
        let revoked = scene.add_key(|key| key.revoked_at = Some(START)).await;
        for (method, path) in everything() {
            for key in ["", "px_api_wrong", &revoked] {
                scene.send_with_key(method.clone(), &path, key, "{".to_owned()).await.refuses(401, "Invalid API Key.");
            }
            let without = Request::builder().method(method).uri(&path).body(Body::empty()).unwrap();
            scene.send(without).await.refuses(401, "Invalid API Key.");
        }
    }

    async fn history_checks_key_parameters_permission_scorer_and_address_in_this_order(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        let without = scene.add_key(|key| key.can_read_history = false).await;
        let path = |scorer: &str, address: &str, query: &str| {
            format!("/v2/stamps/{scorer}/score/{address}/history{query}")
        };
        let good = "?created_at=2026-01-01";
        detail(scene, "wrong", &path("abc", "0x", "")).await.refuses(401, "Invalid API Key.");
        detail(scene, &without, &path("abc", "0x", good)).await.complains_about("path", "scorer_id");
        detail(scene, &without, &path("999", "0x", "")).await.complains_about("query", "created_at");
        detail(scene, &without, &path("999", "0x", good))
            .await
            .refuses(403, "Invalid permissions for action.");
        detail(scene, &scene.key, &path("999", "0x", good))
            .await
            .refuses(404, "No scorer matches the given criteria.");
        let number = scorer.to_string();
        detail(scene, &scene.key, &path(&number, "0x", good)).await.refuses(400, "Invalid address.");
        let found = detail(scene, &scene.key, &path(&number, &wallet(1).to_string(), good)).await;
        assert_eq!((found.status, found.text.as_str()), (StatusCode::OK, r#"{"items":[]}"#));
    }

    async fn a_score_checks_in_the_same_order(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await.to_string();
        let without = scene.add_key(|key| key.can_read = false).await;
        let address = wallet(1).to_string();
        for query in ["", "?explain=true"] {
            let path = |scorer: &str, address: &str| format!("/v2/stamps/{scorer}/score/{address}{query}");
            detail(scene, "wrong", &path("abc", "0x")).await.refuses(401, "Invalid API Key.");
            detail(scene, &without, &path("abc", "0x")).await.complains_about("path", "scorer_id");
            detail(scene, &without, &path("999", "0x")).await.refuses(403, "Invalid permissions for action.");
            detail(scene, &without, &path("999", &address))
                .await
                .refuses(403, "Invalid permissions for action.");
            detail(scene, &scene.key, &path("999", "0x"))
                .await
                .refuses(404, "No scorer matches the given criteria.");
            detail(scene, &scene.key, &path("999", &address))
                .await
                .refuses(404, "No scorer matches the given criteria.");
            detail(scene, &scene.key, &path(&scorer, "0x")).await.refuses(400, "Invalid address.");
            assert_eq!(detail(scene, &scene.key, &path(&scorer, &address)).await.status, StatusCode::OK);
        }
        detail(scene, &without, &format!("/v2/stamps/{scorer}/score/{address}?explain=maybe"))
            .await
            .complains_about("query", "explain");
    }

    async fn a_page_of_stamps_checks_in_the_same_order(scene: &Scene) {
        let without = scene.add_key(|key| key.can_read = false).await;
        for (query, name) in [
            ("limit=abc", "limit"),
            ("limit=", "limit"),
            ("limit=1.5", "limit"),
            ("include_metadata=maybe", "include_metadata"),
            ("include_metadata=", "include_metadata"),
        ] {
            detail(scene, &without, &format!("/v2/stamps/0x?{query}")).await.complains_about("query", name);
        }
        detail(scene, &without, "/v2/stamps/0x?limit=1")
            .await
            .refuses(403, "Invalid permissions for action.");
        detail(scene, &scene.key, "/v2/stamps/0x?limit=1&token=x").await.refuses(400, "Invalid address.");
        detail(scene, &scene.key, &format!("/v2/stamps/{}?token=x", wallet(1)))
            .await
            .refuses(400, "Invalid token.");
        detail(scene, &without, "/v2/stamps/metadata").await.refuses(403, "Invalid permissions for action.");
    }

    async fn writing_needs_permission_to_write(scene: &Scene) {
        let reader = scene.add_key(|key| key.can_write = false).await;
        let path = format!("/v2/stamps/{}", wallet(1));
        let credential = scene.credential(wallet(1), "A", "n:1", 9);
        let posted = scene.send_with_key(Method::POST, &path, &reader, format!("[{credential}]")).await;
        posted.refuses(403, "Invalid permissions for action.");
        let deleted = scene.send_with_key(Method::DELETE, &format!("{path}?provider=A"), &reader, String::new()).await;
        deleted.refuses(403, "Invalid permissions for action.");
        assert_eq!(scene.count("holders").await, 0);
    }

    async fn head_answers_as_get_does_without_a_body(scene: &Scene) {
        let scorer = scene.scorer("20", &[("A", "1")]).await;
        scene.verify(wallet(1), "A", "n:1", 9).await;
        let paths = [
            score_path(scorer, wallet(1)),
            format!("{}/history?created_at=2026-01-02", score_path(scorer, wallet(1))),
            format!("/v2/stamps/{}", wallet(1)),
            "/v2/stamps/metadata".to_owned(),
            format!("/v2/models/score/{}", wallet(1)),
            format!("/v2/models/score/{}?model=nothing", wallet(1)),
            score_path("999".parse().unwrap(), wallet(1)),
        ];
        for path in paths {
            let got = scene.get(&path).await;
            let head = scene.send_with_key(Method::HEAD, &path, &scene.key, String::new()).await;
            assert_eq!((head.status, head.text.as_str()), (got.status, ""), "{path}");
            for name in ["content-type", "content-length", "ratelimit-limit"] {
                // The length may be absent, but not different.
                let (of_head, of_get) = (head.header(name), got.header(name));
                assert!(
                    of_head == of_get || (name == "content-length" && of_get.is_empty()),
                    "{path} {name}"
                );
            }
        }
    }

    async fn pages_of_any_origin_may_read_with_a_key(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        for path in [score_path(scorer, wallet(1)), format!("/v2/models/score/{}", wallet(1))] {
            let preflight = Request::builder()
                .method(Method::OPTIONS)
                .uri(&path)
                .header("origin", "https://app.example")
                .header("access-control-request-method", "GET")
                .header("access-control-request-headers", "x-api-key,content-type")
                .body(Body::empty())
                .unwrap();
            let allowed = scene.send(preflight).await;
            assert!(allowed.status.is_success(), "{allowed:?}");
            assert_eq!(allowed.header("access-control-allow-origin"), "*");
            assert!(
                allowed.header("access-control-allow-methods").split(',').any(|method| method.trim() == "GET")
            );
            let headers = allowed.header("access-control-allow-headers").to_ascii_lowercase();
            assert!(headers.contains("x-api-key") && headers.contains("content-type"), "{headers}");
            assert!(!allowed.header("access-control-allow-methods").contains("DELETE"));
            assert_eq!(scene.get(&path).await.header("access-control-allow-origin"), "*", "no origin was named");
            // Refusals are readable too.
            for (key, status) in [(scene.key.as_str(), 200), ("wrong", 401)] {
                let mut asked = request(Method::GET, &path, key, String::new());
                asked.headers_mut().insert("origin", "https://app.example".parse().unwrap());
                let answer = scene.send(asked).await;
                assert_eq!(answer.status.as_u16(), status);
                assert_eq!(answer.header("access-control-allow-origin"), "*");
                let exposed = answer.header("access-control-expose-headers").to_ascii_lowercase();
                for name in
                    ["retry-after", "deprecation", "link", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"]
                {
                    assert!(exposed.split(',').any(|header| header.trim() == name), "{name}: {exposed}");
                }
            }
        }
    }

    async fn a_page_may_ask_in_every_way_that_a_path_takes_and_read_every_answer(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await.to_string();
        let wallet = wallet(1).to_string();
        let limited = scene.add_key(|key| (key.stamps_tier, key.stamps_limit) = (4, Some(1))).await;
        let batch = format!("/v2/stamps/{scorer}/scores");
        for (path, methods) in [
            (batch.clone(), "POST"),
            ("/registry/submit-passport".to_owned(), "POST"),
            (format!("/v2/stamps/{wallet}"), "GET,HEAD,POST,DELETE"),
            ("/v2/stamps/metadata".to_owned(), "GET,HEAD"),
            (format!("/v2/stamps/{scorer}/score/{wallet}"), "GET,HEAD,POST"),
            ("/.well-known/jwks.json".to_owned(), "GET,HEAD"),
        ] {
            let preflight = Request::builder()
                .method(Method::OPTIONS)
                .uri(&path)
                .header("origin", "https://app.example")
                .header("access-control-request-method", "POST")
                .header("access-control-request-headers", "content-type,x-api-key")
                .body(Body::empty())
                .unwrap();
            let allowed = scene.send(preflight).await;
            assert_eq!(allowed.status, StatusCode::OK, "{path}");
            assert_eq!(allowed.header("access-control-allow-methods"), methods, "{path}");
            assert_eq!(allowed.header("access-control-allow-headers"), "content-type,x-api-key", "{path}");
        }
        let page_with = async |method: Method, path: &str, key: &str, body: String| {
            let mut asked = request(method, path, key, body);
            asked.headers_mut().insert("origin", "https://app.example".parse().unwrap());
            scene.send(asked).await
        };
        let large = page_with(Method::POST, &batch, &scene.key, " ".repeat(200_000)).await;
        assert_eq!(large.status.as_u16(), 413);
        assert_eq!(large.header("access-control-allow-origin"), "*");
        let page = async |method: Method, path: &str, key: &str| {
            page_with(method, path, key, "{".to_owned()).await
        };
        for (method, path, key, status) in [
            (Method::POST, batch.as_str(), scene.key.as_str(), 400),
            (Method::POST, &format!("{batch}?strict=true"), &scene.key, 400),
            (Method::POST, &batch, "wrong", 401),
            (Method::GET, &batch, &scene.key, 405),
            (Method::PATCH, "/v2/stamps/metadata", &scene.key, 405),
            (Method::GET, &format!("/v2/stamps/999/score/{wallet}"), &scene.key, 404),
            (Method::GET, "/v2/models/score/nobody", &scene.key, 400),
            (Method::GET, &format!("/v2/stamps/{scorer}/score/{wallet}/history"), &scene.key, 422),
            (Method::GET, "/v2/stamps/metadata", &limited, 200),
            (Method::GET, "/v2/stamps/metadata", &limited, 429),
            (Method::GET, &format!("/v2/stamps/{scorer}/score/{wallet}"), &limited, 429),
            (Method::POST, "/registry/submit-passport", &limited, 429),
        ] {
            let answer = page(method, path, key).await;
            assert_eq!(answer.status.as_u16(), status, "{path}: {}", answer.text);
            assert_eq!(answer.header("access-control-allow-origin"), "*", "{path} {status}");
            let exposed = answer.header("access-control-expose-headers");
            for name in ["retry-after", "ratelimit-remaining", "x-request-id", "allow", "link", "deprecation"] {
                assert!(exposed.split(',').any(|header| header == name), "{name}: {exposed}");
            }
        }
    }

    async fn a_get_that_announces_json_and_has_no_body_is_normal(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        let score = score_path(scorer, wallet(1));
        let history = format!("{score}/history?created_at=2026-01-01");
        let (stamps, model) =
            (format!("/v2/stamps/{}", wallet(1)), format!("/v2/models/score/{}", wallet(1)));
        for path in [&score, &history, &stamps, &model, "/v2/stamps/metadata"] {
            let mut asked = request(Method::GET, path, &scene.key, String::new());
            asked.headers_mut().insert("content-type", "application/json".parse().unwrap());
            let answer = scene.send(asked).await;
            assert_eq!(answer.status, StatusCode::OK, "{path}");
            assert_eq!(answer.header("content-type"), "application/json", "{path}");
        }
    }

    async fn addresses_are_read_in_any_case_and_answered_in_lower_case(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        let digits = "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"; // with its checksum (ERC-55)
        for spelled in [digits.to_owned(), digits.to_lowercase(), digits.to_uppercase()] {
            for path in doors_of(&scorer.to_string(), &format!("0x{spelled}")) {
                let answer = scene.get(&path).await;
                assert_eq!(answer.status, StatusCode::OK, "{path}");
                if let Some(address) = answer.json().get("address") {
                    assert_eq!(*address, format!("0x{}", digits.to_lowercase()), "{path}");
                }
            }
        }
    }

    async fn a_wrong_checksum_is_no_address_for_scores_stamps_and_models_alike(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await.to_string();
        for wrong in ["0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed", "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed"] {
            for path in doors_of(&scorer, wrong) {
                scene.get(&path).await.refuses(400, "Invalid address.");
            }
            let body = serde_json::json!({"address": wrong, "scorer_id": scorer}).to_string();
            let submitted = scene.send_with_key(Method::POST, "/registry/submit-passport", &scene.key, body).await;
            submitted.refuses(400, "Invalid address.");
            for (method, query) in [(Method::POST, ""), (Method::DELETE, "?provider=A")] {
                let path = format!("/v2/stamps/{wrong}{query}");
                scene.send_with_key(method, &path, &scene.key, "[]".to_owned()).await.refuses(400, "Invalid address.");
            }
        }
    }

    async fn anything_else_is_no_address(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        let good = &wallet(1).to_string()[2..];
        let bad = [
            "vitalik.eth".to_owned(),
            "0x".to_owned(),
            good.to_owned(),
            format!("0X{good}"),
            format!("0x{}", &good[1..]),
            format!("0x{good}0"),
            format!("0x{}g", &good[1..]),
            format!("0x{good}%20"),
            format!("%200x{good}"),
            format!("0x{}%00", &good[1..]),
            format!("0x{}%ff", &good[1..]),
            format!("0x{}%C3%A9", &good[2..]),
            "%2e%2e".to_owned(),
            "null".to_owned(),
            format!("0x+{}", &good[1..]),
        ];
        for text in &bad {
            for path in [
                format!("/v2/stamps/{scorer}/score/{text}"),
                format!("/v2/stamps/{scorer}/score/{text}/history?created_at=2026-01-01"),
                format!("/v2/stamps/{text}"),
                format!("/registry/score/{scorer}/{text}"),
                format!("/registry/stamps/{text}"),
            ] {
                scene.get(&path).await.refuses(400, "Invalid address.");
            }
        }
        assert_eq!(scene.count("holders").await, 0);
    }

    async fn a_scorer_that_is_no_integer_is_422_and_one_that_is_not_ours_404(scene: &Scene) {
        let (_, theirs, scorer) = scene.neighbor().await;
        let ours = scene.scorer("20", &[]).await;
        let all = |scorer: &str| {
            let score = format!("/v2/stamps/{scorer}/score/{}", wallet(1));
            [score.clone(), format!("{score}?explain=true"), format!("{score}/history?created_at=2026-01-01")]
        };
        for text in ["abc", "1.0", "1e3", "0x1", "%20", "1%20", "-", "%E2%88%9E", "%ff"] {
            for path in all(text) {
                scene.get(&path).await.complains_about("path", "scorer_id");
            }
        }
        for number in ["0", "-1", "999", "99999999999999999999", &scorer.to_string()] {
            for path in all(number) {
                scene.get(&path).await.refuses(404, "No scorer matches the given criteria.");
            }
        }
        for path in all(&ours.to_string()) {
            scene.get_as(&theirs, &path).await.refuses(404, "No scorer matches the given criteria.");
        }
        let batch = scene
            .send_with_key(
                Method::POST,
                &format!("/v2/stamps/{scorer}/scores"),
                &scene.key,
                r#"{"addresses":[]}"#.into(),
            )
            .await;
        batch.refuses(404, "No scorer matches the given criteria.");
    }
}

#[tokio::test]
async fn a_scorer_of_another_number_is_another() {
    let scene = Scene::on_sqlite().await;
    let scorers: [ScorerId; 2] =
        [scene.scorer("1", &[("A", "1")]).await, scene.scorer("2", &[("A", "1")]).await];
    scene.verify(wallet(1), "A", "n:1", 9).await;
    assert_eq!(scene.score(scorers[0], wallet(1)).await["passing_score"], true);
    assert_eq!(scene.score(scorers[1], wallet(1)).await["passing_score"], false);
}

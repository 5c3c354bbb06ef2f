//! Rate limits (`docs/reference/behavior/scoring.md#rate-limits`): exact across processes.

use std::time::Duration;

use http::{Method, StatusCode};
use pyxis_core::clock::{Clock, UnixMillis};
use pyxis_core::id::WorkspaceId;
use pyxis_scoring::{Config, limit_of_models, limit_of_stamps};
use pyxis_store::api_keys::{self, ApiKeyChange, ApiKeyRow, Tier};
use pyxis_store::usage::{self, Batch, Surface};
use pyxis_testkit::engines;

use super::scene::{HttpResponse, START, Scene, request, score_path, send, wallet};

const QUARTER: i64 = 15 * 60 * 1000;

/// A key with its own limit.
async fn limited(scene: &Scene, limit: i64) -> (String, ApiKeyRow) {
    scene.add_key_row(|key| (key.stamps_tier, key.stamps_limit) = (4, Some(limit))).await
}

fn head(answer: &HttpResponse) -> (u16, &str, &str, &str, &str) {
    (
        answer.status.as_u16(),
        answer.header("ratelimit-limit"),
        answer.header("ratelimit-remaining"),
        answer.header("ratelimit-reset"),
        answer.header("retry-after"),
    )
}

/// Admitted and refused requests of a key to the Stamps endpoints, window by window.
async fn windows(scene: &Scene, workspace: WorkspaceId, key: &ApiKeyRow) -> Vec<(i64, i64, i64)> {
    windows_of(scene, workspace, key, Surface::Stamps).await
}

async fn windows_of(
    scene: &Scene,
    workspace: WorkspaceId,
    key: &ApiKeyRow,
    surface: Surface,
) -> Vec<(i64, i64, i64)> {
    let (from, to) = (UnixMillis(0), UnixMillis(i64::MAX));
    let rows = usage::windows(&scene.state.store, workspace, key.id, from, to).await.unwrap();
    rows.iter()
        .filter(|row| row.surface == surface)
        .map(|row| ((row.window_start_at.0 - START.0) / QUARTER, row.admitted, row.refused))
        .collect()
}

/// Every path of the Stamps endpoints and of the models endpoint, each with methods that it does not accept.
fn wrong_methods() -> [(Surface, Vec<(Method, &'static str)>); 2] {
    let stamps = [
        (Method::PATCH, "/v2/stamps/1/score/0x"),
        (Method::DELETE, "/v2/stamps/1/score/0x/history"),
        (Method::GET, "/v2/stamps/1/scores"),
        (Method::PUT, "/v2/stamps/0x"),
        (Method::PATCH, "/v2/stamps/metadata"),
        (Method::POST, "/registry/score/1/0x"),
        (Method::GET, "/registry/submit-passport"),
        (Method::POST, "/registry/stamps/0x"),
        (Method::DELETE, "/registry/stamp-metadata"),
    ];
    let models = [(Method::POST, "/v2/models/score/0x"), (Method::PUT, "/passport/analysis/0x")];
    [(Surface::Stamps, stamps.to_vec()), (Surface::Models, models.to_vec())]
}

engines! {
    async fn a_window_admits_exactly_the_limit_of_requests_at_once_at_two_nodes(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        let (key, row) = scene.add_key_row(|key| (key.stamps_tier, key.stamps_limit) = (1, None)).await;
        let nodes = [scene.node(Config::default()), scene.node(Config::default())];
        let path = score_path(scorer, wallet(1));
        let asked: Vec<_> = (0..200)
            .map(|number| {
                let router = nodes[number % 2].router();
                let request = request(Method::GET, &path, &key, String::new());
                tokio::spawn(async move { send(&router, request).await })
            })
            .collect();
        let (mut admitted, mut refused, mut remaining) = (0, 0, Vec::new());
        for task in asked {
            let answer = task.await.unwrap();
            if answer.status == StatusCode::OK {
                admitted += 1;
                remaining.push(answer.header("ratelimit-remaining").parse::<i64>().unwrap());
            } else {
                answer.refuses(429, "You have been rate limited!");
                refused += 1;
            }
        }
        assert_eq!((admitted, refused), (125, 75));
        // Each got a different number.
        remaining.sort_unstable();
        assert_eq!(remaining, (0..125).collect::<Vec<_>>());
        assert_eq!(windows(scene, scene.workspace, &row).await, [(0, 125, 75)]);
        // A third one, started later, continues the count.
        scene.node(Config::default()).get(&key, &path).await.refuses(429, "You have been rate limited!");
    }

    async fn requests_far_from_the_limit_are_all_counted_and_the_limit_stays_exact(scene: &Scene) {
        const LIMIT: i64 = 30_500;
        let (key, row) = limited(scene, LIMIT).await;
        let nodes = [scene.node(Config::default()), scene.node(Config::default())];
        let statuses = async |asked: usize| {
            let tasks: Vec<_> = (0..asked)
                .map(|number| {
                    let router = nodes[number % 2].router();
                    let request = request(Method::GET, "/v2/stamps/metadata", &key, String::new());
                    tokio::spawn(async move { send(&router, request).await.status })
                })
                .collect();
            let mut admitted = 0;
            for task in tasks {
                admitted += i64::from(task.await.unwrap() == StatusCode::OK);
            }
            for node in &nodes {
                node.state.flush().await;
            }
            admitted
        };
        assert_eq!(statuses(400).await, 400);
        assert_eq!(windows(scene, scene.workspace, &row).await, [(0, 400, 0)]);
        // Another process uses all but twenty.
        let rest = Batch {
            key: row.id,
            surface: Surface::Stamps,
            window_start: START,
            requests: LIMIT - 420,
            limit: LIMIT,
            now: START,
        };
        usage::count(&scene.state.store, &rest).await.unwrap();
        assert_eq!(statuses(60).await, 20);
        assert_eq!(windows(scene, scene.workspace, &row).await, [(0, LIMIT, 40)]);
    }

    async fn windows_begin_at_every_quarter_of_the_hour(scene: &Scene) {
        let (key, row) = limited(scene, 2).await;
        let ask = async || scene.get_as(&key, "/v2/stamps/metadata").await;
        for quarter in 0..5 {
            scene.clock.set(UnixMillis(START.0 + quarter * QUARTER));
            assert_eq!(head(&ask().await), (200, "2", "1", "900", ""));
            scene.clock.advance(Duration::from_millis(1));
            assert_eq!(head(&ask().await), (200, "2", "0", "900", ""));
            scene.clock.set(UnixMillis(START.0 + (quarter + 1) * QUARTER - 1));
            let last = ask().await;
            last.refuses(429, "You have been rate limited!");
            assert_eq!(head(&last), (429, "2", "0", "1", "1"));
            scene.clock.set(UnixMillis(START.0 + quarter * QUARTER + 60_500));
            assert_eq!(head(&ask().await), (429, "2", "0", "840", "840"));
        }
        assert_eq!(
            windows(scene, scene.workspace, &row).await,
            [(0, 2, 2), (1, 2, 2), (2, 2, 2), (3, 2, 2), (4, 2, 2)]
        );
    }

    async fn a_change_of_tier_holds_from_the_next_request_on(scene: &Scene) {
        let (key, row) = limited(scene, 3).await;
        let ask = async || scene.get_as(&key, "/v2/stamps/metadata").await.status.as_u16();
        let set = async |tier: i64, limit: Option<i64>| {
            let change = ApiKeyChange { stamps: Some(Tier { tier, limit }), ..ApiKeyChange::default() };
            assert!(api_keys::update(&scene.state.store, scene.workspace, row.id, change).await.unwrap());
        };
        assert_eq!(
            [ask().await, ask().await, ask().await, ask().await, ask().await],
            [200, 200, 200, 429, 429]
        );
        // Refused requests were not counted: one more fits exactly once.
        set(4, Some(4)).await;
        assert_eq!([ask().await, ask().await], [200, 429]);
        set(4, Some(2)).await;
        assert_eq!(head(&scene.get_as(&key, "/v2/stamps/metadata").await).1, "2");
        set(2, None).await;
        let answer = scene.get_as(&key, "/v2/stamps/metadata").await;
        assert_eq!((answer.header("ratelimit-limit"), answer.header("ratelimit-remaining")), ("350", "345"));
    }

    async fn every_request_with_a_valid_key_counts_whatever_the_answer(scene: &Scene) {
        let scorer = scene.scorer("20", &[]).await;
        let (key, row) = limited(scene, 100).await;
        let refused = [
            "/v2/stamps/abc/score/0x".to_owned(),
            format!("/v2/stamps/999/score/{}", wallet(1)),
            format!("/v2/stamps/{scorer}/score/0x"),
            format!("{}/history", score_path(scorer, wallet(1))),
            "/v2/stamps/0x".to_owned(),
            format!("/v2/stamps/{}?limit=-1", wallet(1)),
            format!("/v2/stamps/{}?token=x", wallet(1)),
            "/registry/score/abc/0x".to_owned(),
            "/registry/stamps/0x".to_owned(),
        ];
        for (number, path) in refused.iter().enumerate() {
            let answer = scene.get_as(&key, path).await;
            assert!(answer.status.is_client_error(), "{path}");
            assert_eq!(answer.header("ratelimit-remaining"), (99 - number).to_string(), "{path}");
        }
        for (method, path) in [
            (Method::POST, "/v2/stamps/0x"),
            (Method::DELETE, "/v2/stamps/0x"),
            (Method::POST, "/v2/stamps/abc/scores"),
            (Method::POST, "/registry/submit-passport"),
            (Method::HEAD, "/v2/stamps/metadata"),
        ] {
            scene.send_with_key(method, path, &key, "x".to_owned()).await;
        }
        let counted = i64::try_from(refused.len()).unwrap() + 5;
        assert_eq!(windows(scene, scene.workspace, &row).await, [(0, counted, 0)]);
    }

    async fn a_request_with_a_wrong_method_counts_once_and_where_the_path_counts(scene: &Scene) {
        for (surface, asked) in wrong_methods() {
            let limit = i64::try_from(asked.len()).unwrap();
            let (key, row) = scene
                .add_key_row(|key| {
                    (key.stamps_tier, key.stamps_limit) = (4, Some(limit));
                    (key.models_tier, key.models_limit) = (4, Some(limit));
                })
                .await;
            for ((method, path), left) in asked.iter().zip((0..limit).rev()) {
                let answer = scene.send_with_key(method.clone(), path, &key, String::new()).await;
                answer.refuses(405, "Method Not Allowed");
                assert!(!answer.header("allow").is_empty(), "{method} {path}");
                assert_eq!(answer.header("ratelimit-remaining"), left.to_string(), "{method} {path}");
            }
            let (method, path) = asked[0].clone();
            let more = scene.send_with_key(method, path, &key, String::new()).await;
            more.refuses(429, "You have been rate limited!");
            for each in [Surface::Stamps, Surface::Models] {
                let counted = windows_of(scene, scene.workspace, &row, each).await;
                assert_eq!(counted, if each == surface { vec![(0, limit, 1)] } else { Vec::new() });
            }
        }
    }

    async fn a_key_without_permission_is_limited_like_any_other(scene: &Scene) {
        let key = scene.add_key(|key| (key.stamps_limit, key.can_read) = (Some(1), false)).await;
        scene.get_as(&key, "/v2/stamps/metadata").await.refuses(403, "Invalid permissions for action.");
        scene.get_as(&key, "/v2/stamps/metadata").await.refuses(429, "You have been rate limited!");
    }

    async fn a_key_that_is_not_valid_uses_nobodys_budget(scene: &Scene) {
        let (key, row) = limited(scene, 1).await;
        let (other, gone) = limited(scene, 1).await;
        api_keys::revoke(&scene.state.store, scene.workspace, gone.id, START).await.unwrap();
        let mut asked = ["/v2/stamps/metadata", "/v2/stamps/0x", "/registry/stamp-metadata"]
            .map(|path| (Method::GET, path))
            .to_vec();
        asked.extend(wrong_methods().into_iter().flat_map(|(_, wrong)| wrong));
        for wrong in
            ["", "px_api_wrong", &other, &key[..key.len() - 1], &format!("{key} "), &key.to_uppercase()]
        {
            for (method, path) in &asked {
                let answer = scene.send_with_key(method.clone(), path, wrong, String::new()).await;
                // A space around a value is not part of it (RFC 9110, 5.5); servers remove it.
                if wrong.trim() != key {
                    answer.refuses(401, "Invalid API Key.");
                    assert_eq!(answer.header("ratelimit-limit"), "");
                }
            }
        }
        assert!(windows(scene, scene.workspace, &gone).await.is_empty());
        assert_eq!(scene.get_as(&key, "/v2/stamps/metadata").await.status, StatusCode::OK);
        assert_eq!(windows(scene, scene.workspace, &row).await, [(0, 1, 0)]);
    }

    async fn keys_and_surfaces_have_counters_of_their_own(scene: &Scene) {
        let (one, row) = limited(scene, 1).await;
        let (two, _) = limited(scene, 1).await;
        let models = Batch {
            key: row.id,
            surface: Surface::Models,
            window_start: START,
            requests: 15,
            limit: limit_of_models(row.models_tier, row.models_limit),
            now: scene.clock.now(),
        };
        let counted = usage::count(&scene.state.store, &models).await.unwrap();
        assert_eq!(counted.admitted, 15);
        assert_eq!(
            usage::count(&scene.state.store, &Batch { requests: 1, ..models }).await.unwrap().admitted,
            0
        );
        for key in [&one, &two] {
            assert_eq!(scene.get_as(key, "/v2/stamps/metadata").await.status, StatusCode::OK);
            scene.get_as(key, "/v2/stamps/metadata").await.refuses(429, "You have been rate limited!");
        }
    }

    async fn requests_that_are_given_up_are_counted(scene: &Scene) {
        let (key, row) = limited(scene, 100).await;
        for _ in 0..20 {
            let asking = scene.get_as(&key, "/v2/stamps/metadata");
            // Polled once, so it is in progress, and dropped.
            let _ = polled_once(asking).await;
        }
        let last = scene.get_as(&key, "/v2/stamps/metadata").await;
        let remaining: i64 = last.header("ratelimit-remaining").parse().unwrap();
        assert_eq!(windows(scene, scene.workspace, &row).await, [(0, 100 - remaining, 0)]);
    }
}

/// Polls a future once.
async fn polled_once<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        value = work => Some(value),
        () = std::future::ready(()) => None,
    }
}

#[test]
fn tiers_admit_the_documented_numbers() {
    let stamps: Vec<i64> = (1..=3).map(|tier| limit_of_stamps(tier, None)).collect();
    assert_eq!(stamps, [125, 350, 2000]);
    let models: Vec<i64> = (1..=3).map(|tier| limit_of_models(tier, None)).collect();
    assert_eq!(models, [15, 350, 2000]);
    assert_eq!((limit_of_stamps(4, Some(100_000)), limit_of_models(4, Some(5000))), (100_000, 5000));
    // Only tier 4 has a limit of its own.
    assert_eq!((limit_of_stamps(1, Some(9)), limit_of_models(2, Some(9))), (125, 350));
}

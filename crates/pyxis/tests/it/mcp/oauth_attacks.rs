//! Attacks on connections: replays, stolen codes, tokens that outlive what allowed them.

use pyxis_testkit::engines;
use serde_json::json;

use super::oauth_client::{Scene, VERIFIER, form, register, text};
use crate::support::{HttpResponse, Setup};

fn invalid_grant(answer: HttpResponse) {
    assert_eq!(answer.expect(400).json()["error"], "invalid_grant");
}

engines! {
    async fn a_code_that_comes_again_ends_the_connection_that_it_opened(setup: Setup) {
        let scene = Scene::start(setup).await;
        let code = scene.code(&[]).await;
        let tokens = scene.exchange(&code, &[]).send().await.expect(200).json();
        assert_eq!(scene.status(&text(&tokens, "access_token")).await, 200);
        invalid_grant(scene.exchange(&code, &[]).send().await);
        assert_eq!(scene.status(&text(&tokens, "access_token")).await, 401);
        invalid_grant(scene.refresh(&text(&tokens, "refresh_token"), &[]).send().await);
        let recorded = scene.recorded("connection.replay_detected").await;
        assert_eq!(recorded.len(), 1, "{recorded:?}");
        assert_eq!((&recorded[0]["detail"]["by"], &recorded[0]["detail"]["agent"]), (&json!("code"), &json!("assistant")));
        assert_eq!(scene.connections().await.len(), 0);
        // A third time there is nothing left to end.
        invalid_grant(scene.exchange(&code, &[]).send().await);
        assert_eq!(scene.recorded("connection.replay_detected").await.len(), 1);
    }
}

engines! {
    async fn of_many_exchanges_of_one_code_at_once_at_most_one_succeeds_and_none_leaves_a_live_token(setup: Setup) {
        let scene = Scene::start(setup).await;
        let code = scene.code(&[]).await;
        let exchanges = (0..8).map(|_| scene.exchange(&code, &[]).send());
        let answers = futures_util::future::join_all(exchanges).await;
        let won: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert!(won.len() <= 1, "{answers:?}");
        for answer in won {
            assert_eq!(scene.status(&text(&answer.json(), "access_token")).await, 401);
        }
        assert_eq!(scene.connections().await.len(), 0);
    }
}

engines! {
    async fn a_refresh_token_is_good_once_and_a_replay_ends_the_whole_family(setup: Setup) {
        let scene = Scene::start(setup).await;
        let first = scene.tokens().await;
        let second = scene.refresh(&text(&first, "refresh_token"), &[]).send().await.expect(200).json();
        assert_ne!(first["refresh_token"], second["refresh_token"]);
        assert_eq!(scene.status(&text(&second, "access_token")).await, 200);
        let third = scene.refresh(&text(&second, "refresh_token"), &[]).send().await.expect(200).json();
        assert_eq!(scene.connections().await.len(), 1, "one consent is one connection");
        invalid_grant(scene.refresh(&text(&first, "refresh_token"), &[]).send().await);
        for tokens in [&first, &second, &third] {
            assert_eq!(scene.status(&text(tokens, "access_token")).await, 401);
            invalid_grant(scene.refresh(&text(tokens, "refresh_token"), &[]).send().await);
        }
        let recorded = scene.recorded("connection.replay_detected").await;
        assert_eq!(recorded.len(), 1, "{recorded:?}");
        assert_eq!((&recorded[0]["detail"]["by"], &recorded[0]["actor"]), (&json!("refresh token"), &json!("system")));
    }
}

engines! {
    async fn however_often_a_program_refreshes_one_refresh_token_is_stored_and_the_first_is_still_noticed(setup: Setup) {
        let scene = Scene::start(setup).await;
        let first = scene.tokens().await;
        let mut tokens = first.clone();
        for _ in 0..12 {
            tokens = scene.refresh(&text(&tokens, "refresh_token"), &[]).send().await.expect(200).json();
        }
        let stored = scene.site.app.sql("SELECT count(*) FROM connection_tokens WHERE is_refresh");
        assert_eq!(stored, ["2"], "the token and its family");
        // Who makes up a family, or knows it alone, ends nothing.
        let family = text(&first, "refresh_token");
        let family = family.split_once('.').unwrap().0;
        for made_up in ["px_refresh_made-up.secret", family] {
            invalid_grant(scene.refresh(made_up, &[]).send().await);
        }
        assert_eq!(scene.status(&text(&tokens, "access_token")).await, 200);
        invalid_grant(scene.refresh(&text(&first, "refresh_token"), &[]).send().await);
        assert_eq!(scene.status(&text(&tokens, "access_token")).await, 401);
        assert_eq!(scene.recorded("connection.replay_detected").await.len(), 1);
    }
}

engines! {
    async fn a_connection_ends_with_the_person_who_allowed_it(setup: Setup) {
        let scene = Scene::start(setup).await;
        let people = scene.site.owner.client.get("/admin/members").send().await.expect(200).json();
        let people = people["members"].as_array().unwrap().clone();
        let manager = people.iter().find(|person| person["email"] == "manager@people.example").unwrap();
        let path = format!("/admin/members/{}", text(manager, "id"));
        let change = async |change| scene.site.owner.client.patch(&path, &change).send().await.expect(200);
        let (tokens, waiting) = (scene.tokens().await, scene.code(&[]).await);
        assert_eq!(scene.status(&text(&tokens, "access_token")).await, 200);
        change(json!({"role": "member"})).await;
        assert_eq!(scene.status(&text(&tokens, "access_token")).await, 401);
        invalid_grant(scene.refresh(&text(&tokens, "refresh_token"), &[]).send().await);
        invalid_grant(scene.exchange(&waiting, &[]).send().await);
        assert_eq!(scene.connections().await.len(), 0);
        let recorded = scene.recorded("user.role_changed").await;
        assert_eq!(recorded.last().unwrap()["detail"]["connections_ended"], 1, "{recorded:?}");
        // Neither does becoming a manager again bring it back.
        change(json!({"role": "admin"})).await;
        invalid_grant(scene.refresh(&text(&tokens, "refresh_token"), &[]).send().await);
    }
}

#[tokio::test]
async fn token_requests_from_one_address_are_limited() {
    let scene = Scene::start(Setup::new()).await;
    let mut refused = 0;
    // At most sixty a minute, and no three minutes pass.
    for _ in 0..200 {
        let answer = scene.refresh("px_refresh_unknown", &[]).send().await;
        if answer.status == 429 {
            assert_eq!(
                (answer.json()["error"].as_str(), answer.header("retry-after")),
                (Some("temporarily_unavailable"), Some("60"))
            );
            refused += 1;
        } else {
            invalid_grant(answer);
        }
    }
    assert!(refused >= 20, "{refused}");
}

engines! {
    async fn a_stolen_code_is_worth_nothing_without_the_verifier_the_redirect_and_the_client(setup: Setup) {
        let scene = Scene::start(setup).await;
        let code = scene.code(&[]).await;
        let thief = register(&scene.site.app, "client_secret_post").await;
        let (id, secret) = (text(&thief, "client_id"), text(&thief, "client_secret"));
        let public = text(&register(&scene.site.app, "none").await, "client_id");
        for stolen in [
            vec![("code_verifier", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")],
            vec![("code_verifier", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXK")],
            vec![("code_verifier", "short")],
            vec![("redirect_uri", "https://evil.example/callback")],
            vec![("redirect_uri", "https://connector.example/callback?x=1")],
            vec![("client_id", id.as_str()), ("client_secret", secret.as_str())],
            vec![("client_id", public.as_str()), ("client_secret", "")],
            vec![("client_id", "https://evil.example/client.json"), ("client_secret", "")],
        ] {
            invalid_grant(scene.exchange(&code, &stolen).send().await);
        }
        // None of this used it up.
        let tokens = scene.exchange(&code, &[("code_verifier", VERIFIER)]).send().await.expect(200).json();
        let refresh = text(&tokens, "refresh_token");
        for stolen in [
            vec![("client_id", id.as_str()), ("client_secret", secret.as_str())],
            vec![("client_id", public.as_str()), ("client_secret", "")],
        ] {
            invalid_grant(scene.refresh(&refresh, &stolen).send().await);
            // Neither does a used code, in the hands of another client, end what it opened.
            invalid_grant(scene.exchange(&code, &stolen).send().await);
            scene.revoke(&refresh, &stolen).send().await.expect(200);
        }
        invalid_grant(scene.refresh(&text(&tokens, "access_token"), &[]).send().await);
        assert_eq!(scene.status(&refresh).await, 401, "a refresh token is no access token");
        assert_eq!(scene.status(&text(&tokens, "access_token")).await, 200);
        scene.refresh(&refresh, &[]).send().await.expect(200);
    }
}

engines! {
    async fn codes_and_tokens_end_in_time(setup: Setup) {
        let scene = Scene::start(setup).await;
        let code = scene.code(&[]).await;
        let life = scene.site.app.sql("SELECT max(c.expires_at) - max(a.at) FROM authorization_codes c, audit_records a \
             WHERE a.kind = 'connection.allowed'");
        let life: i64 = life[0].parse().unwrap();
        assert!((50_000..=60_000).contains(&life), "a minute after the consent: {life}");
        scene.site.app.sql("UPDATE authorization_codes SET expires_at = 1");
        invalid_grant(scene.exchange(&code, &[]).send().await);
        let tokens = scene.tokens().await;
        scene.site.app.sql("UPDATE connection_tokens SET expires_at = 1 WHERE NOT is_refresh");
        assert_eq!(scene.status(&text(&tokens, "access_token")).await, 401);
        let renewed = scene.refresh(&text(&tokens, "refresh_token"), &[]).send().await.expect(200).json();
        assert_eq!(scene.status(&text(&renewed, "access_token")).await, 200);
        scene.site.app.sql("UPDATE connection_tokens SET expires_at = 1");
        invalid_grant(scene.refresh(&text(&renewed, "refresh_token"), &[]).send().await);
    }
}

engines! {
    async fn a_disabled_or_removed_agent_takes_its_tokens_with_it_at_once(setup: Setup) {
        let scene = Scene::start(setup).await;
        let tokens = scene.tokens().await;
        let (access, refresh) = (text(&tokens, "access_token"), text(&tokens, "refresh_token"));
        let waiting = scene.code(&[]).await;
        let path = format!("/admin/agents/{}", scene.agent_id);
        let enable = async |enabled: bool| {
            scene.site.owner.client.patch(&path, &json!({"enabled": enabled})).send().await.expect(200);
        };
        enable(false).await;
        assert_eq!(scene.status(&access).await, 401);
        invalid_grant(scene.refresh(&refresh, &[]).send().await);
        invalid_grant(scene.exchange(&waiting, &[]).send().await);
        let consent = scene.answer(&[], &[("agent", scene.agent_id.as_str()), ("answer", "allow")]).await;
        consent.expect(409);
        enable(true).await;
        assert_eq!(scene.status(&access).await, 200);
        // The refusals used nothing up.
        scene.refresh(&refresh, &[]).send().await.expect(200);
        scene.exchange(&waiting, &[]).send().await.expect(200);
        // A new key of the agent changes nothing for its connections.
        scene.site.owner.client.post(&format!("{path}/rotate"), &json!({})).send().await.expect(200);
        assert_eq!(scene.status(&access).await, 200);
        scene.site.owner.client.delete(&path).send().await.expect(204);
        assert_eq!(scene.status(&access).await, 401);
        assert_eq!(scene.site.app.sql("SELECT count(*) FROM connection_tokens"), ["0"]);
    }
}

engines! {
    async fn a_program_can_give_its_tokens_back(setup: Setup) {
        let scene = Scene::start(setup).await;
        let tokens = scene.tokens().await;
        let (access, refresh) = (text(&tokens, "access_token"), text(&tokens, "refresh_token"));
        scene.revoke(&access, &[("client_secret", "wrong")]).send().await.expect(401);
        assert_eq!(scene.status(&access).await, 200);
        scene.revoke(&access, &[]).send().await.expect(200);
        assert_eq!(scene.status(&access).await, 401);
        let renewed = scene.refresh(&refresh, &[]).send().await.expect(200).json();
        scene.revoke(&text(&renewed, "refresh_token"), &[("token_type_hint", "refresh_token")]).send().await.expect(200);
        assert_eq!(scene.status(&text(&renewed, "access_token")).await, 401);
        assert_eq!(scene.recorded("connection.revoked").await.len(), 1);
        scene.revoke("px_refresh_unknown", &[]).send().await.expect(200);
        assert_eq!(form(&scene.site.app, "/oauth/revoke", &[]).send().await.status, 401);
    }
}

#[tokio::test]
async fn nobody_connects_an_agent_of_another_workspace() {
    let scene = Scene::start(Setup::new()).await;
    let app = &scene.site.app;
    app.cli_json(&["workspace", "add", "other", "--owner-email", "owner@other.example"]).await;
    let theirs = app
        .sql("SELECT a.id FROM agents a JOIN workspaces w ON w.id = a.workspace_id WHERE w.name = 'other'");
    let answer = [("agent", theirs[0].as_str()), ("answer", "allow")];
    scene.answer(&[], &answer).await.expect(404);
    scene.answer(&[], &[("agent", "nonsense"), ("answer", "allow")]).await.expect(404);
    assert_eq!(app.sql("SELECT count(*) FROM authorization_codes"), ["0"]);
}

//! The checks, and the order of their errors (`docs/reference/behavior/verification.md#checks`).

use pyxis_core::proof::{Kind, Registration};
use pyxis_testkit::engines;
use serde_json::json;

use super::installation::{ACTION, VerifySite, address, registration};
use crate::support::Setup;

engines! {
    async fn a_proof_answers_its_kind_network_and_action_only(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let said = registration(1, Kind::GovId, 7);
        let expires_at = said.expires_at;
        site.register(said).await;
        let user = address(1);
        let check_path = |kind: &str, network: &str, action: &str| {
            format!("/sybil-resistance/{kind}/{network}?user={user}&action-id={action}")
        };
        let valid = site.get(&check_path("gov-id", "optimism", ACTION)).await.expect(200);
        assert_eq!(valid.json(), json!({"result": true, "expirationDate": expires_at}));
        assert_eq!(valid.header("content-type"), Some("application/json"));
        assert_eq!(site.get_json(&check_path("gov-id", "optimism", "000123456789")).await["result"], true);
        for path in [
            check_path("phone", "optimism", ACTION),
            check_path("epassport", "optimism", ACTION),
            check_path("gov-id", "base-sepolia", ACTION),
            check_path("gov-id", "optimism", "1"),
        ] {
            assert_eq!(site.get_json(&path).await, json!({"result": false}), "{path}");
        }
        // For a second action, the same human has another proof.
        let second = Registration {
            action_id: "5".parse().unwrap(),
            expires_at: expires_at - 1000,
            ..registration(1, Kind::GovId, 8)
        };
        site.register(second).await;
        for (action, until) in [(ACTION, expires_at), ("5", expires_at - 1000)] {
            let answer = site.get_json(&check_path("gov-id", "optimism", action)).await;
            assert_eq!(answer, json!({"result": true, "expirationDate": until}), "{action}");
        }
        // An address is looked up by its value; the checksum of its spelling does not matter.
        site.register(registration(0xab, Kind::GovId, 9)).await;
        for digits in ["ab", "AB", "aB", "Ab"] {
            let spelled = format!("0x{}", digits.repeat(20));
            let path = format!("/sybil-resistance/gov-id/optimism?user={spelled}&action-id={ACTION}");
            assert_eq!(site.get_json(&path).await["result"], true, "{spelled}");
        }
        let explained = site.get_json(&format!("{}&explain=true", check_path("gov-id", "optimism", "1"))).await;
        assert_eq!(explained, json!({"result": false, "reason": "other_action"}));
    }

    async fn residence_names_no_expiry(setup: Setup) {
        let site = VerifySite::with(setup).await;
        site.register(registration(1, Kind::ResidenceUs, 7)).await;
        let goerli = Registration { network: "optimism-goerli".parse().unwrap(), ..registration(1, Kind::ResidenceUs, 7) };
        site.register(goerli).await;
        for network in ["optimism", "optimism-goerli"] {
            let path = format!("/residence/country/us/{network}?user=");
            assert_eq!(site.get_json(&format!("{path}{}", address(1))).await, json!({"result": true}));
            assert_eq!(site.get_json(&format!("{path}{}", address(2))).await, json!({"result": false}));
        }
        let explained = site.get_json(&format!("/residence/country/us/optimism?user={}&explain=true", address(2))).await;
        assert_eq!(explained, json!({"result": false, "reason": "none"}));
    }
}

#[tokio::test]
async fn errors_come_in_their_order_with_their_words() {
    let site = VerifySite::with(Setup::new()).await;
    let user = address(1);
    for (path, status, said) in [
        ("/sybil-resistance/passport/nowhere".to_owned(), 404, "Unknown credential type"),
        ("/sybil-resistance/clean-hands/optimism".to_owned(), 404, "Unknown credential type"),
        (
            "/sybil-resistance/gov-id/nowhere".to_owned(),
            400,
            "Request query params do not include user address",
        ),
        (
            "/sybil-resistance/gov-id/nowhere?user=&action-id=1".to_owned(),
            400,
            "Request query params do not include user address",
        ),
        (
            "/sybil-resistance/gov-id/nowhere?user=x".to_owned(),
            400,
            "Request query params do not include action-id",
        ),
        ("/sybil-resistance/gov-id/nowhere?user=x&action-id=x".to_owned(), 400, "Invalid user address"),
        (format!("/sybil-resistance/gov-id/nowhere?user={user}&action-id=x"), 400, "Invalid action-id"),
        (format!("/sybil-resistance/gov-id/nowhere?user={user}&action-id=0"), 400, "Invalid action-id"),
        (format!("/attestation/evm/gov-id/optimism?user={user}&action-id=0"), 400, "Invalid action-id"),
        ("/attestation/sbts/clean-hands?address=0x2&action-id=00".to_owned(), 400, "Invalid action-id"),
        (format!("/sybil-resistance/gov-id/nowhere?user={user}&action-id=1"), 400, "Unsupported network"),
        (
            format!("/sybil-resistance/gov-id/optimism-goerli?user={user}&action-id=1"),
            400,
            "Unsupported network",
        ),
        (
            format!("/sybil-resistance/gov-id/optimism?user={user}&action-id={}", "9".repeat(78)),
            400,
            "Invalid action-id",
        ),
        ("/residence/country/de/nowhere".to_owned(), 404, "Unknown country"),
        ("/residence/country/us/nowhere".to_owned(), 400, "Request query params do not include user address"),
        ("/residence/country/us/nowhere?user=0x1".to_owned(), 400, "Invalid user address"),
        (format!("/residence/country/us/base-sepolia?user={user}"), 400, "Unsupported network"),
    ] {
        let answer = site.get(&path).await.expect(status);
        let mut wanted = json!({"error": said});
        // An unknown value is answered with the known ones.
        let known = match said {
            "Unknown credential type" => json!(["gov-id", "epassport", "phone", "biometrics"]),
            "Unknown country" => json!(["us"]),
            "Unsupported network" if path.contains("residence") => json!(["optimism", "optimism-goerli"]),
            "Unsupported network" => json!(["optimism", "base-sepolia", "ethereum", "base"]),
            _ => json!(null),
        };
        if !known.is_null() {
            wanted["known"] = known;
        }
        assert_eq!(answer.json(), wanted, "{path}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn any_page_may_ask() {
    let site = VerifySite::with(Setup::new()).await;
    let path = format!("/sybil-resistance/gov-id/optimism?user={}&action-id=1", address(1));
    let answer = site.anyone.get(&path).header("origin", "https://app.example").send().await.expect(200);
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    let refused =
        site.anyone.get("/residence/country/de/x").header("origin", "https://app.example").send().await;
    assert_eq!(refused.expect(404).header("access-control-allow-origin"), Some("*"));
}

#[tokio::test]
async fn a_page_is_told_before_it_asks_that_it_may() {
    let site = VerifySite::with(Setup::new()).await;
    let paths = [
        "/sybil-resistance/gov-id/optimism",
        "/snapshot-strategies/sybil-resistance/gov-id",
        "/attestation/sbts/clean-hands",
        "/registry/proofs",
        "/v2/stamps/metadata",
        "/v2/stamps/1/score/0x0101010101010101010101010101010101010101",
        "/v2/models/score/0x0101010101010101010101010101010101010101",
        "/registry/score/1/0x0101010101010101010101010101010101010101",
    ];
    for path in paths {
        let call = site.anyone.call("OPTIONS", path).header("origin", "https://app.example");
        let call = call.header("access-control-request-method", "GET");
        let call = call.header("access-control-request-headers", "content-type,x-api-key");
        let answer = call.send().await.expect(200);
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        let allowed = answer.header("access-control-allow-headers").unwrap().to_ascii_lowercase();
        assert!(allowed.contains("content-type") && allowed.contains("x-api-key"), "{path}: {allowed}");
        assert!(answer.header("access-control-allow-methods").unwrap().contains("GET"), "{path}");
    }
    // Routes for people and agents are not open to other pages.
    let call = site.anyone.call("OPTIONS", "/admin/agents").header("origin", "https://app.example");
    assert_eq!(call.send().await.expect(405).header("access-control-allow-origin"), None);
    let wrong = site.anyone.call("DELETE", "/sybil-resistance/gov-id/optimism").send().await.expect(405);
    assert_eq!((wrong.json()["error"].is_string(), wrong.header("allow")), (true, Some("GET,HEAD")));
    let wrong = site.anyone.call("PUT", "/v2/stamps/metadata").send().await.expect(401);
    assert_eq!(wrong.json(), serde_json::json!({"detail": "Invalid API Key."}));
}

#[tokio::test]
async fn a_page_reads_every_answer_also_that_there_is_nothing() {
    let site = VerifySite::with(Setup::new().env("PX_VERIFY_API_KEY", "let-me-in-0123456789")).await;
    let page =
        |method: &str, path: &str| site.anyone.call(method, path).header("origin", "https://app.example");
    for (method, path, status) in [
        ("GET", "/v2/nothing", 404),
        ("GET", "/v2/stamps/1/score", 404),
        ("GET", "/registry/nothing", 404),
        ("GET", "/passport/nothing", 404),
        ("GET", "/sybil-resistance/gov-id", 404),
        ("GET", "/residence/country", 404),
        ("GET", "/snapshot-strategies/nothing", 404),
        ("POST", "/attestation/nothing", 404),
        ("GET", "/api/scan/nothing", 404),
        ("GET", "/sybil-resistance/gov-id/optimism", 401),
        ("POST", "/registry/proofs", 401),
        ("DELETE", "/snapshot-strategies/sybil-resistance/gov-id", 405),
        ("GET", "/v2/stamps/metadata", 401),
        ("GET", "/assets/stamps/nothing", 404),
        ("GET", "/openapi.json", 200),
    ] {
        let answer = page(method, path).send().await.expect(status);
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{method} {path}");
    }
    for (path, method) in [
        ("/v2/stamps/1/scores", "POST"),
        ("/registry/submit-passport", "POST"),
        ("/registry/proofs", "POST"),
        ("/snapshot-strategies/sybil-resistance/gov-id", "POST"),
        ("/v2/nothing", "POST"),
    ] {
        let call = page("OPTIONS", path).header("access-control-request-method", method);
        let call = call.header("access-control-request-headers", "content-type,x-api-key");
        let answer = call.send().await.expect(200);
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{path}");
        let allowed = answer.header("access-control-allow-methods").unwrap();
        assert!(allowed == "*" || allowed.contains(method), "{path}: {allowed}");
        assert_eq!(answer.header("access-control-allow-headers"), Some("content-type,x-api-key"), "{path}");
    }
    // Routes for people and agents are not open to other pages, whether they exist or not.
    for path in ["/admin/agents", "/admin/nothing", "/forward", "/approvals", "/nothing"] {
        let answer = page("GET", path).send().await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
    }
}

#[tokio::test]
async fn a_client_has_one_limit_however_proxies_write_its_address() {
    let setup =
        Setup::new().env("PX_VERIFY_RATE_LIMIT", "1").env("PX_TRUSTED_PROXIES", "::ffff:127.0.0.0/104");
    let site = VerifySite::with(setup).await;
    let path = format!("/residence/country/us/optimism?user={}", address(1));
    let mut taken = 0;
    for (name, value) in [
        ("x-forwarded-for", "203.0.113.9"),
        ("x-forwarded-for", "203.0.113.9:5678"),
        ("x-forwarded-for", "::ffff:203.0.113.9"),
        ("x-forwarded-for", "[::ffff:203.0.113.9]:443"),
        ("x-forwarded-for", "6.6.6.6, 203.0.113.9, ::ffff:127.0.0.9"),
        ("forwarded", "for=\"203.0.113.9:80\";proto=https"),
        ("forwarded", "for=\"[::ffff:cb00:7109]:80\""),
    ] {
        let answer =
            site.anyone.get(&path).header(name, value).header("origin", "https://app.example").send().await;
        taken += usize::from(answer.status == 200);
        assert!(answer.status == 200 || answer.status == 429, "{value}: {}", answer.text());
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{value}");
    }
    // The minute may end between two of them.
    assert!((1..=2).contains(&taken), "{taken}");
    // All addresses of an IPv6 client's network share one limit.
    let mut taken = 0;
    for host in 1..=5 {
        let value = format!("[2001:db8::{host}:{host}]:443");
        let answer = site.anyone.get(&path).header("x-forwarded-for", &value).send().await;
        assert!(answer.status == 200 || answer.status == 429, "{value}: {}", answer.text());
        taken += usize::from(answer.status == 200);
    }
    assert!((1..=2).contains(&taken), "{taken}");
    site.anyone.get(&path).header("x-forwarded-for", "2001:db8:0:1::1").send().await.expect(200);
}

#[tokio::test]
async fn verification_can_be_served_alone_or_not_at_all() {
    let path = format!("/residence/country/us/optimism?user={}", address(1));
    let alone = crate::support::App::start(Setup::new().env("PX_SURFACES", "verification")).await;
    alone.anonymous().get(&path).send().await.expect(200);
    alone.anonymous().get("/app/inbox").send().await.expect(404);
    let without = crate::support::App::start(Setup::new().env("PX_SURFACES", "scoring")).await;
    without.anonymous().get(&path).send().await.problem(404, "not_found");
}

//! Attestations, the keys behind them, and the external index
//! (`docs/reference/behavior/verification.md#attestations`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use pyxis_core::hex;
use pyxis_core::proof::{DEFAULT_ACTION, Kind, Registration};
use pyxis_core::sui::SuiAddress;
use pyxis_testkit::engines;
use pyxis_testkit::upstream::{Received, Reply, Upstream};
use pyxis_verify::attestation::sui::signed_bytes;
use serde_json::{Value, json};

use super::installation::{ACTION, VerifySite, address, now, registration};
use crate::support::Setup;

const ATTESTER: &str = "0xABCDEFabcdefABCDEFabcdefABCDEFabcdefABCD";

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.strip_prefix("0x").unwrap().as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.iter().map(byte).collect()
}

async fn sui_proof(site: &VerifySite, address: SuiAddress) {
    let said = Registration {
        network: "sui".parse().unwrap(),
        subject: address.into(),
        ..registration(1, Kind::CleanHands, 7)
    };
    site.register(said).await;
}

fn keys_of(listed: &Value, scheme: &str) -> Vec<Value> {
    listed["keys"].as_array().unwrap().iter().filter(|key| key["scheme"] == scheme).cloned().collect()
}

engines! {
    async fn a_sui_attestation_is_signed_by_a_published_key(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let recipient: SuiAddress = "0xa11ce".parse().unwrap();
        let path = |action: &str| format!("/attestation/sbts/clean-hands?address=0xA11CE&action-id={action}");
        assert_eq!(site.get_json(&path(ACTION)).await, json!({"isUnique": false}));
        sui_proof(&site, recipient).await;
        assert_eq!(site.get_json(&path("1")).await, json!({"isUnique": false}));
        let attested = site.get_json(&path(ACTION)).await;
        assert_eq!((&attested["isUnique"], &attested["circuitId"]), (&json!(true), &json!(8)));
        let (issued, expires) = (attested["issuedAt"].as_i64().unwrap(), attested["expiresAt"].as_i64().unwrap());
        assert!(issued <= now() && expires == issued + 3600, "{attested}");
        let bytes = signed_bytes(recipient, DEFAULT_ACTION, issued, expires).unwrap();
        let signature = unhex(attested["signature"].as_str().unwrap());
        let signature = Signature::from_slice(&signature).unwrap();
        let by = |listed: &Value, active: bool| {
            let keys = keys_of(listed, "ed25519");
            let key = keys.iter().find(|key| key["active"] == active).unwrap();
            let bytes: [u8; 32] = unhex(key["publicKey"].as_str().unwrap()).try_into().unwrap();
            VerifyingKey::from_bytes(&bytes).unwrap()
        };
        let before = site.get_json("/attestation/keys").await;
        by(&before, true).verify(&bytes, &signature).unwrap();

        site.owner.call("POST", "/admin/attestation-keys/ed25519/rotate").send().await.expect(200);
        site.owner.call("POST", "/admin/attestation-keys/rsa/rotate").send().await.problem(404, "not_found");
        let after = site.get_json("/attestation/keys").await;
        by(&after, false).verify(&bytes, &signature).unwrap();
        assert_ne!(by(&after, true), by(&before, true));
        let again = site.get_json(&path(ACTION)).await;
        let bytes = signed_bytes(recipient, DEFAULT_ACTION, again["issuedAt"].as_i64().unwrap(), again["expiresAt"].as_i64().unwrap());
        let signature = Signature::from_slice(&unhex(again["signature"].as_str().unwrap())).unwrap();
        by(&after, true).verify(&bytes.unwrap(), &signature).unwrap();
    }

    async fn a_sui_address_without_its_leading_zeros_is_the_same_at_every_door(setup: Setup) {
        let site = VerifySite::with(setup.env("PX_AUTHORIZED_ATTESTER", ATTESTER)).await;
        let full = format!("0x00{}", "aB".repeat(31));
        let spellings = [full.replacen("0x00", "0x", 1), full.replacen("0x0", "0x", 1), full.to_uppercase(), full.clone()];
        sui_proof(&site, full.parse().unwrap()).await;
        let shown = full.to_lowercase();
        for text in &spellings {
            let path = format!("/attestation/sbts/clean-hands?address={text}&action-id={ACTION}");
            assert_eq!(site.get_json(&path).await["isUnique"], true, "{text}");
            let path = format!("/api/scan/addresses/{text}/attestations");
            assert_eq!(site.get_json(&path).await["data"]["total"], 1, "{text}");
            let path = format!("/admin/proofs?address={text}");
            let listed = site.owner.call("GET", &path).send().await.expect(200).json();
            assert_eq!(listed["proofs"][0]["address"], *shown, "{text}");
        }
        // Blocked in one spelling, unblocked in the next.
        for (number, text) in spellings.iter().enumerate() {
            let body = json!({"address": text, "reason": "sold"});
            let blocked = site.owner.post("/admin/blocklist", &body).send().await.expect(201).json();
            assert_eq!(blocked["address"], *shown);
            let path = format!("/admin/blocklist/{}", spellings[(number + 1) % spellings.len()]);
            site.owner.call("DELETE", &path).send().await.expect(204);
        }
    }

    async fn this_installation_can_be_its_own_index(setup: Setup) {
        let site = VerifySite::with(setup.env("PX_AUTHORIZED_ATTESTER", ATTESTER)).await;
        let said = registration(1, Kind::CleanHands, 7);
        let expires_at = said.expires_at;
        site.register(said).await;
        site.register(registration(1, Kind::GovId, 7)).await;
        let path = format!("/api/scan/addresses/{}/attestations", address(1));
        let page = site.get_json(&path).await;
        assert_eq!((&page["success"], &page["statusCode"]), (&json!(true), &json!(200)));
        assert_eq!((&page["data"]["total"], &page["data"]["page"]), (&json!(1), &json!(1)));
        let row = &page["data"]["rows"][0];
        assert_eq!(row["fullSchemaId"], "onchain_evm_10_0x8");
        assert_eq!(row["attester"], ATTESTER.to_lowercase());
        assert_eq!((&row["isReceiver"], &row["revoked"]), (&json!(true), &json!(false)));
        assert_eq!(row["validUntil"], expires_at);
        assert_eq!(site.get_json(&format!("{path}?page=2")).await["data"]["rows"], json!([]));
        site.get(&format!("{path}?page=0")).await.expect(400);
        site.get("/api/scan/addresses/0x1/attestations").await.expect(400);
        // Another installation that uses this one as its index trusts it.
        let itself = format!("http://{}", site.app.address());
        let reading = Setup::new()
            .env("PX_ATTESTATION_SCAN_URL", &itself)
            .env("PX_AUTHORIZED_ATTESTER", ATTESTER)
            .env("PX_ATTESTATION_CACHE_SECS", "0");
        let reader = VerifySite::with(reading).await;
        let asked = format!("/attestation/clean-hands/{}", address(1));
        let found = reader.get_json(&asked).await;
        assert_eq!((&found["result"], &found["validUntil"]), (&json!(true), &json!(expires_at)));
        assert_eq!(found["attestationId"], row["attestationId"]);
        let body = json!({"address": address(1).to_string(), "reason": "sold"});
        site.owner.post("/admin/blocklist", &body).send().await.expect(201);
        assert_eq!(site.get_json(&path).await["data"]["rows"][0]["revoked"], true);
        let gone = async || (reader.get_json(&asked).await == json!({"result": false})).then_some(());
        crate::support::until("what was found to be forgotten", gone).await;
    }
}

#[tokio::test]
async fn sui_errors_come_with_their_words() {
    let site = VerifySite::with(Setup::new()).await;
    for (query, said) in [
        ("", "Request query params do not include address"),
        ("?address=x", "Request query params do not include action-id"),
        ("?address=x&action-id=y", "Invalid user address"),
        ("?address=0x2&action-id=y", "Invalid action-id"),
    ] {
        let answer = site.get(&format!("/attestation/sbts/clean-hands{query}")).await.expect(400);
        assert_eq!(answer.json(), json!({"error": said}), "{query}");
    }
    let blocked = site.get_json("/attestation/sbts/clean-hands?address=0x2&action-id=1&explain=true").await;
    assert_eq!(blocked, json!({"isUnique": false, "reason": "none"}));
}

#[tokio::test]
async fn an_evm_attestation_recovers_to_the_published_address() {
    let site = VerifySite::with(Setup::new()).await;
    site.register(registration(1, Kind::GovId, 7)).await;
    let path = format!("/attestation/evm/gov-id/optimism?user={}&action-id={ACTION}", address(1));
    let attested = site.get_json(&path).await;
    let listed = site.get_json("/attestation/keys").await;
    assert_eq!(attested["signer"], keys_of(&listed, "eip712")[0]["address"]);
    assert_eq!(attested["domain"], json!({"name": "Pyxis Attestation", "version": "1", "chainId": 10}));
    let networks = pyxis_verify::network::Networks::default();
    let wanted = pyxis_verify::attestation::typed::AttestationRequest {
        network: networks.find_by_name("optimism").unwrap(),
        kind: Kind::GovId,
        recipient: address(1),
        action_id: DEFAULT_ACTION,
    };
    let time = |name: &str| attested["message"][name].as_i64().unwrap();
    let hash =
        pyxis_verify::attestation::typed::signing_hash(&wanted, 10, time("issuedAt"), time("expiresAt"));
    let signature = unhex(attested["signature"].as_str().unwrap());
    let signer = pyxis_evm::recover(&hash, &signature).unwrap();
    assert_eq!(attested["signer"], signer.to_string());
    // Never longer than the proof.
    let short = registration(3, Kind::CleanHands, 8);
    let until = short.issued_at + 600;
    site.register(Registration { expires_at: until, ..short }).await;
    let path = format!("/attestation/evm/clean-hands/optimism?user={}&action-id={ACTION}", address(3));
    assert_eq!(site.get_json(&path).await["message"]["expiresAt"], until);
    let other = format!("/attestation/evm/gov-id/optimism?user={}&action-id={ACTION}", address(2));
    assert_eq!(site.get_json(&other).await, json!({"isUnique": false}));
    site.get(&format!("/attestation/evm/nothing/optimism?user={}", address(2))).await.expect(404);
}

fn row(id: &str, valid_until: &Value, revoked: bool) -> Value {
    json!({
        "attestationId": id, "fullSchemaId": "onchain_evm_10_0x8", "attester": ATTESTER.to_lowercase(),
        "isReceiver": true, "revoked": revoked, "validUntil": valid_until,
    })
}

fn page(request: &Received, rows: &[Value]) -> Reply {
    let number: usize =
        request.target.rsplit_once("page=").and_then(|(_, page)| page.parse().ok()).unwrap_or(1);
    let shown: Vec<_> = rows.iter().skip((number - 1) * 2).take(2).cloned().collect();
    let data = json!({"total": rows.len(), "page": number, "size": 2, "rows": shown});
    Reply::json(&json!({"success": true, "statusCode": 200, "data": data, "message": "ok"}).to_string())
}

fn indexed(setup: Setup, index: &Upstream) -> Setup {
    let url = index.url("");
    let url = url.trim_end_matches('/');
    setup.env("PX_ATTESTATION_SCAN_URL", url).env("PX_AUTHORIZED_ATTESTER", ATTESTER)
}

engines! {
    async fn every_page_of_the_index_is_read_and_its_failure_is_never_a_no(setup: Setup) {
        let index = Upstream::http().await;
        let down = Arc::new(AtomicBool::new(false));
        let (later, broken) = (now() + 5000, Arc::clone(&down));
        index.reply_with(move |request| {
            let rows = [
                row("a", &json!(now() - 1), false),
                row("b", &json!(later), true),
                row("c", &json!((now() + 100).to_string()), false),
                row("d", &json!(later), false),
                row("e", &json!(now()), false),
            ];
            let path = request.target.clone();
            if broken.load(Ordering::SeqCst) || path.contains(&hex::encode(&[9; 20])) {
                Reply::new(500)
            } else if path.contains(&hex::encode(&[1; 20])) {
                page(request, &rows)
            } else if path.contains(&hex::encode(&[2; 20])) {
                page(request, &rows[..2])
            } else if path.contains(&hex::encode(&[3; 20])) {
                // Its count is larger than its list.
                Reply::json(&json!({"data": {"total": 9, "page": 1, "size": 2, "rows": []}}).to_string())
            } else if path.contains(&hex::encode(&[6; 20])) {
                // It returns its first page for every page.
                let first = Received { target: "?page=1".to_owned(), ..request.clone() };
                page(&first, &rows)
            } else if path.contains(&hex::encode(&[4; 20])) {
                Reply::json("{\"message\": \"soon\"}")
            } else {
                Reply::new(404)
            }
        });
        let site = VerifySite::with(indexed(setup, &index)).await;
        let path = |number: u8| format!("/attestation/clean-hands/{}", address(number));
        let found = site.get_json(&path(1)).await;
        assert_eq!(found, json!({"result": true, "validUntil": later, "attestationId": "d"}));
        let asked = index.requests();
        assert_eq!(asked.len(), 3, "three pages of two");
        assert_eq!(site.get_json(&path(2)).await, json!({"result": false}));
        assert_eq!(site.get_json(&path(5)).await, json!({"result": false}));
        for number in [3, 4, 6, 9] {
            let refused = site.get(&path(number)).await.expect(502).json();
            assert!(refused["error"].as_str().unwrap().contains("does not answer"), "{refused}");
        }
        assert_eq!(site.get_json(&path(2)).await, json!({"result": false}));
        down.store(true, Ordering::SeqCst);
        site.get(&path(5)).await.expect(502);
        site.get("/attestation/clean-hands/0x12").await.expect(400);
        down.store(false, Ordering::SeqCst);
        let checked = site.app.cli_json(&["check", "clean-hands", &address(1).to_string()]).await;
        assert_eq!((&checked["result"], &checked["attestationId"]), (&json!(true), &json!("d")));
        let body = json!({"address": address(1).to_string(), "reason": "sold"});
        site.owner.post("/admin/blocklist", &body).send().await.expect(201);
        assert_eq!(site.get_json(&path(1)).await, json!({"result": false}));
    }
}

#[tokio::test]
async fn without_an_index_nothing_is_said() {
    let site = VerifySite::with(Setup::new()).await;
    let refused = site.get(&format!("/attestation/clean-hands/{}", address(1))).await.expect(503).json();
    assert_eq!(refused, json!({"error": "No attestation index is configured"}));
}

#[tokio::test]
async fn an_index_that_keeps_failing_is_left_alone() {
    let index = Upstream::http().await;
    index.reply_with(|_| Reply::new(500));
    let site = VerifySite::with(indexed(Setup::new(), &index)).await;
    for _ in 0..7 {
        site.get(&format!("/attestation/clean-hands/{}", address(1))).await.expect(502);
    }
    assert!(index.requests().len() < 7, "{}", index.requests().len());
}

#[tokio::test]
async fn an_operator_may_ask_for_a_key_and_limit_how_often() {
    let setup = Setup::new().env("PX_VERIFY_API_KEY", "let-me-in").env("PX_VERIFY_RATE_LIMIT", "5");
    let app = crate::support::App::start(setup).await;
    let path = format!("/residence/country/us/optimism?user={}", address(1));
    let refused = app.anonymous().get(&path).send().await.expect(401).json();
    assert_eq!(refused, json!({"error": "Invalid API key"}));
    let known = app.anonymous().with("x-api-key", "let-me-in");
    let mut limited = None;
    // A window may end in between, so more than one limit's worth of requests is sent.
    for _ in 0..11 {
        let answer = known.get(&path).send().await;
        if answer.status == 429 {
            limited = Some(answer);
            break;
        }
        answer.expect(200);
    }
    let limited = limited.expect("the limit");
    let wait: i64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait));
    assert_eq!(limited.json(), json!({"error": "Too many requests"}));
}

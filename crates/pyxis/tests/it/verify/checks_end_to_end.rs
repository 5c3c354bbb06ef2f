//! Every check says yes if there is a proof and no if the address is blocked, and one human counts once
//! (`docs/reference/behavior/verification.md#checks`).

use futures_util::future::join_all;
use pyxis_core::proof::{Kind, Rebinding, Registration, Revocation, Statement};
use pyxis_core::sui::SuiAddress;
use pyxis_testkit::engines;
use pyxis_verify::registry::to_json;
use serde_json::{Value, json};

use super::installation::{ACTION, VerifySite, address, key, now, registration};
use crate::support::Setup;

/// An address on Sui.
fn on_sui() -> SuiAddress {
    SuiAddress([0xa1; 32])
}

/// Every kind, each network that has it, the path of its check and of its strategy.
fn doors() -> Vec<(Kind, &'static str, u64, String, Option<String>)> {
    let mut all = Vec::new();
    let user = address(1);
    for (network, chain) in [("optimism", 10), ("base-sepolia", 84532)] {
        for kind in [Kind::GovId, Kind::Epassport, Kind::Phone, Kind::Biometrics] {
            let check = format!("/sybil-resistance/{kind}/{network}?user={user}&action-id={ACTION}");
            // There is no strategy for passports.
            let strategy = format!("/snapshot-strategies/sybil-resistance/{kind}");
            all.push((kind, network, chain, check, (kind != Kind::Epassport).then_some(strategy)));
        }
    }
    for (network, chain) in [("optimism", 10), ("optimism-goerli", 420)] {
        let check = format!("/residence/country/us/{network}?user={user}");
        let strategy = "/snapshot-strategies/residence/country/us".to_owned();
        all.push((Kind::ResidenceUs, network, chain, check, Some(strategy)));
    }
    all
}

/// A strategy's result for the address, with both kinds of request.
async fn score(site: &VerifySite, strategy: &str, chain: u64) -> i64 {
    let user = address(1);
    let residence = strategy.contains("residence");
    let action = if residence { String::new() } else { format!("&action-id={ACTION}") };
    let got =
        site.get_json(&format!("{strategy}?network={chain}&snapshot=latest&addresses={user}{action}")).await;
    let mut options = json!({"api": "x", "symbol": "", "decimals": 0});
    if !residence {
        options["additionalParameters"] = json!(&action[1..]);
    }
    let body = json!({
        "options": options, "network": chain.to_string(), "snapshot": "latest", "addresses": [user.to_string()],
    });
    let posted = site.anyone.post(strategy, &body).send().await.expect(200).json();
    assert_eq!(posted, got, "{strategy} {chain}");
    assert_eq!(got["score"][0]["address"], user.to_string());
    got["score"][0]["score"].as_i64().unwrap()
}

fn registration_on(kind: Kind, network: &str) -> Registration {
    Registration { network: network.parse().unwrap(), ..registration(1, kind, 7) }
}

async fn sui_proof(site: &VerifySite) {
    site.register(Registration { subject: on_sui().into(), ..registration_on(Kind::CleanHands, "sui") })
        .await;
}

engines! {
    async fn every_kind_on_every_network_is_answered_by_its_check_and_its_strategy(setup: Setup) {
        let site = VerifySite::with(setup).await;
        for (kind, network, chain, check, strategy) in doors() {
            assert_eq!(site.get_json(&check).await, json!({"result": false}), "{check}");
            if let Some(strategy) = &strategy {
                assert_eq!(score(&site, strategy, chain).await, 0, "{strategy} {chain}");
            }
            let said = registration_on(kind, network);
            let until = said.expires_at;
            site.register(said).await;
            let wanted = if kind == Kind::ResidenceUs {
                json!({"result": true})
            } else {
                json!({"result": true, "expirationDate": until})
            };
            assert_eq!(site.get_json(&check).await, wanted, "{check}");
            if let Some(strategy) = &strategy {
                assert_eq!(score(&site, strategy, chain).await, 1, "{strategy} {chain}");
            }
        }
    }

    async fn a_blocked_person_is_told_no_at_every_door(setup: Setup) {
        let site = VerifySite::with(setup).await;
        for (kind, network, ..) in doors() {
            site.register(registration_on(kind, network)).await;
        }
        sui_proof(&site).await;
        let sui = format!("/attestation/sbts/clean-hands?address={}&action-id={ACTION}", on_sui());
        let evm = format!("/attestation/evm/gov-id/optimism?user={}&action-id={ACTION}", address(1));
        for path in [&sui, &evm] {
            assert!(site.get_json(path).await["signature"].is_string(), "{path}");
        }
        for who in [address(1).to_string(), on_sui().to_string()] {
            let body = json!({"address": who, "reason": "sold"});
            site.owner.post("/admin/blocklist", &body).send().await.expect(201);
        }
        for (_, _, chain, check, strategy) in doors() {
            assert_eq!(site.get_json(&check).await, json!({"result": false}), "{check}");
            if let Some(strategy) = &strategy {
                assert_eq!(score(&site, strategy, chain).await, 0, "{strategy} {chain}");
            }
        }
        for path in [sui, evm] {
            assert_eq!(site.get_json(&path).await, json!({"isUnique": false}), "{path}");
        }
    }

    async fn an_issuer_has_no_say_about_the_proofs_of_another_one(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let other = key(9);
        let body = json!({"kind": "gov-id", "issuer": other.issuer().to_string(), "name": "Another"});
        site.owner.post("/admin/proof-issuers", &body).send().await.expect(201);
        site.register(registration(1, Kind::GovId, 7)).await;
        let revocation = |nonce: &str| {
            to_json(&other.sign(Statement::Revoke(Revocation {
                kind: Kind::GovId,
                network: "optimism".parse().unwrap(),
                subject: address(1).into(),
                action_id: ACTION.parse().unwrap(),
                reason: "mine now".to_owned(),
                issued_at: now(),
                nonce: nonce.to_owned(),
            })))
        };
        let rebinding = to_json(&other.sign(Statement::Rebind(Rebinding {
            kind: Kind::GovId,
            from: address(1).into(),
            to: address(2).into(),
            action_id: ACTION.parse().unwrap(),
            nullifier: "7".parse().unwrap(),
            issued_at: now(),
            nonce: "m".to_owned(),
        })));
        for statement in [revocation("a"), rebinding] {
            let refused = site.anyone.post("/registry/proofs", &statement).send().await.expect(403).json();
            assert_eq!(refused["error"], "issuer_not_allowed");
        }
        assert_eq!(site.reason(1, Kind::GovId).await, "valid");
        assert_eq!(site.reason(2, Kind::GovId).await, "none");
        // But it may revoke proofs of an issuer that is no longer trusted.
        site.owner.delete(&format!("/admin/proof-issuers/gov-id/{}", site.key.issuer())).send().await.expect(204);
        site.anyone.post("/registry/proofs", &revocation("b")).send().await.expect(201);
        assert_eq!(site.reason(1, Kind::GovId).await, "revoked");
    }

    async fn a_nullifier_is_one_number_however_it_is_spelled(setup: Setup) {
        let site = VerifySite::with(setup).await;
        site.register(registration(1, Kind::GovId, 300)).await;
        let again = to_json(&site.key.sign(Statement::Register(registration(2, Kind::GovId, 300))));
        for spelling in ["300", "0x12C", "0X12c", "0x012c", "000300"] {
            let mut statement = again.clone();
            statement["nullifier"] = json!(spelling);
            let refused = site.anyone.post("/registry/proofs", &statement).send().await.expect(409).json();
            assert_eq!(refused["error"], "already_registered", "{spelling}");
        }
        // The number plus the order of the field is not accepted as a second spelling.
        let order = "21888242871839275222246405745257275088548364400416034343698204186575808495917";
        let mut statement = again;
        statement["nullifier"] = json!(order);
        site.anyone.post("/registry/proofs", &statement).send().await.expect(422);
        assert_eq!(site.reason(2, Kind::GovId).await, "none");
    }

    async fn of_many_addresses_at_once_one_gets_the_nullifier(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let sending = (1..=16).map(|number| site.submit(Statement::Register(registration(number, Kind::GovId, 7))));
        let mut taken = Vec::new();
        for (answer, number) in join_all(sending).await.into_iter().zip(1_u8..) {
            match answer.status {
                201 => taken.push(number),
                _ => assert_eq!(answer.expect(409).json()["error"], "already_registered"),
            }
        }
        assert_eq!(taken.len(), 1, "{taken:?}");
        let mut valid = Vec::new();
        for number in 1..=16 {
            if site.reason(number, Kind::GovId).await == "valid" {
                valid.push(number);
            }
        }
        assert_eq!(valid, taken);
    }
}

/// The configuration that people paste into their space, requested as Snapshot's `api` strategy does.
#[tokio::test]
async fn the_voting_tool_is_answered_with_the_configuration_in_the_documentation() {
    const GUIDE: &str = include_str!("../../../../../docs/guides/set-up-a-snapshot-space.md");
    let (_, rest) = GUIDE.split_once("strategy asks Pyxis directly:\n\n```json\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let configuration: Value = serde_json::from_str(block).unwrap();
    assert_eq!((&configuration["name"], &configuration["params"]["symbol"]), (&json!("api"), &json!("")));
    let text = |name: &str| configuration["params"][name].as_str().unwrap().to_owned();
    let site = VerifySite::with(Setup::new()).await;
    site.register(registration(1, Kind::GovId, 7)).await;
    let addresses = [address(1), address(2)].map(|one| one.to_string());
    let url = format!(
        "{}/{}?network=10&snapshot=latest&addresses={}&{}",
        text("api"),
        text("strategy"),
        addresses.join(","),
        text("additionalParameters")
    );
    let path = url.strip_prefix("https://pyxis.example.com").unwrap();
    let scores = addresses.iter().zip([1, 0]).map(|(one, score)| json!({"address": one, "score": score}));
    assert_eq!(site.get_json(path).await, json!({"score": scores.collect::<Vec<_>>()}));
}

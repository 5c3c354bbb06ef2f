//! Authority of issuers, and one address per human (`docs/reference/behavior/verification.md#registry`).

use pyxis_core::field::FieldElement;
use pyxis_core::proof::{Kind, ProofNullifier, Rebinding, Registration, Revocation, Statement, Subject};
use pyxis_core::sui::SuiAddress;
use pyxis_testkit::engines;
use pyxis_verify::registry::to_json;
use serde_json::json;

use super::installation::{ACTION, VerifySite, address, key, now, registration};
use crate::support::Setup;

fn rebinding(from: u8, to: u8, nullifier: u64, nonce: &str) -> Statement {
    Statement::Rebind(Rebinding {
        kind: Kind::GovId,
        from: address(from).into(),
        to: address(to).into(),
        action_id: ACTION.parse().unwrap(),
        nullifier: ProofNullifier(FieldElement::small(nullifier)),
        issued_at: now(),
        nonce: nonce.to_owned(),
    })
}

fn revocation(number: u8, nonce: &str) -> Revocation {
    Revocation {
        kind: Kind::GovId,
        network: "optimism".parse().unwrap(),
        subject: address(number).into(),
        action_id: ACTION.parse().unwrap(),
        reason: "lost".to_owned(),
        issued_at: now(),
        nonce: nonce.to_owned(),
    }
}

engines! {
    async fn a_second_address_is_refused_and_the_same_again_changes_nothing(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let said = registration(1, Kind::GovId, 7);
        let first = site.register(said.clone()).await;
        let again = site.submit(Statement::Register(said)).await.expect(200).json();
        assert_eq!(again, first);
        let second = site.submit(Statement::Register(registration(2, Kind::GovId, 7))).await.expect(409).json();
        assert_eq!(second["error"], "already_registered");
        // Uniqueness is per human and action, across networks; another kind is separate.
        let elsewhere = Registration { network: "base-sepolia".parse().unwrap(), ..registration(2, Kind::GovId, 7) };
        site.submit(Statement::Register(elsewhere)).await.expect(409);
        let other = Registration { action_id: "5".parse().unwrap(), ..registration(2, Kind::GovId, 7) };
        site.register(other).await;
        site.register(registration(2, Kind::Phone, 7)).await;
        assert_eq!(site.reason(1, Kind::GovId).await, "valid");
        assert_eq!(site.reason(2, Kind::GovId).await, "other_action");
    }

    async fn only_listed_issuers_and_true_signatures_are_trusted(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let statement = Statement::Register(registration(1, Kind::GovId, 7));
        let stranger = to_json(&key(9).sign(statement.clone()));
        let refused = site.anyone.post("/registry/proofs", &stranger).send().await.expect(403).json();
        assert_eq!(refused["error"], "issuer_not_allowed");
        let mut forged = to_json(&site.key.sign(statement));
        forged["subject"] = json!(address(2).to_string());
        let refused = site.anyone.post("/registry/proofs", &forged).send().await.expect(403).json();
        assert_eq!(refused["error"], "bad_signature");
        let path = format!("/admin/proof-issuers/gov-id/{}", site.key.issuer());
        site.owner.delete(&path).send().await.expect(204);
        site.owner.delete(&path).send().await.problem(404, "not_found");
        let refused = site.submit(Statement::Register(registration(1, Kind::GovId, 7))).await.expect(403).json();
        assert_eq!(refused["error"], "issuer_not_allowed");
        site.register(registration(1, Kind::Phone, 7)).await;
    }

    async fn a_revoked_proof_stays_revoked_and_frees_its_nullifier(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let said = registration(1, Kind::GovId, 7);
        site.register(said.clone()).await;
        let old = Revocation { issued_at: now() - 9, ..revocation(1, "r0") };
        site.submit(Statement::Revoke(old)).await.expect(404);
        let first = site.submit(Statement::Revoke(revocation(1, "r1"))).await.expect(201).json();
        assert_eq!(first["status"], "revoked");
        site.submit(Statement::Revoke(revocation(1, "r2"))).await.expect(404);
        assert_eq!(site.reason(1, Kind::GovId).await, "revoked");
        let replayed = site.submit(Statement::Register(said)).await.expect(409).json();
        assert_eq!(replayed["error"], "revoked");
        site.register(registration(2, Kind::GovId, 7)).await;
        assert_eq!(site.reason(2, Kind::GovId).await, "valid");
    }

    async fn a_manager_revokes_with_a_reason_on_the_record(setup: Setup) {
        let site = VerifySite::with(setup).await;
        site.register(registration(1, Kind::GovId, 7)).await;
        let body = json!({
            "network": "optimism", "kind": "gov-id", "address": address(1).to_string(), "action_id": ACTION,
            "reason": "forged passport",
        });
        let revoked = site.owner.post("/admin/proofs/revoke", &body).send().await.expect(200).json();
        assert_eq!(revoked["status"], "revoked");
        site.owner.post("/admin/proofs/revoke", &body).send().await.problem(404, "not_found");
        let log = site.owner.get("/admin/proofs/log").send().await.expect(200).json();
        let changes: Vec<_> = log["entries"].as_array().unwrap().iter().map(|entry| entry["change"].clone()).collect();
        assert_eq!(changes, ["register", "revoke"]);
        assert_eq!(log["entries"][1]["reason"], "forged passport");
        let proofs = site.owner.get("/admin/proofs?kind=gov-id").send().await.expect(200).json();
        assert_eq!(proofs["proofs"][0]["ended"], "revoked");
        assert!(site.app.audit().await.iter().any(|record| record["kind"] == "proof.revoked"));
        site.anyone.get("/admin/proofs").send().await.problem(401, "unauthenticated");
    }

    async fn a_human_who_lost_an_address_gets_another(setup: Setup) {
        let site = VerifySite::with(setup).await;
        site.register(registration(1, Kind::GovId, 7)).await;
        site.register(registration(3, Kind::GovId, 8)).await;
        let refused = site.submit(rebinding(1, 3, 7, "taken")).await.expect(409).json();
        assert_eq!(refused["detail"], "the new address is registered with another nullifier");
        site.submit(rebinding(1, 2, 99, "none")).await.expect(404);
        let moving = rebinding(1, 2, 7, "m");
        let moved = site.submit(moving.clone()).await.expect(201).json();
        assert_eq!(moved["status"], "rebound");
        assert_eq!(site.reason(1, Kind::GovId).await, "rebound");
        assert_eq!(site.reason(2, Kind::GovId).await, "valid");
        site.submit(moving).await.expect(200);
        site.submit(Statement::Register(registration(1, Kind::GovId, 7))).await.expect(409);
        site.submit(rebinding(2, 1, 7, "back")).await.expect(201);
        assert_eq!(site.reason(1, Kind::GovId).await, "valid");
    }

    async fn a_blocked_address_counts_nowhere(setup: Setup) {
        let site = VerifySite::with(setup).await;
        site.register(registration(1, Kind::GovId, 7)).await;
        let body = json!({"address": address(1).to_string(), "reason": "sold"});
        site.owner.post("/admin/blocklist", &body).send().await.expect(201);
        site.owner.post("/admin/blocklist", &body).send().await.expect(200);
        assert_eq!(site.reason(1, Kind::GovId).await, "blocked");
        let list = site.owner.get("/admin/blocklist").send().await.expect(200).json();
        assert_eq!(list["blocked"].as_array().map(Vec::len), Some(5));
        let path = format!("/admin/blocklist/{}", address(1));
        for (query, field) in [
            ("netwrok=base", "netwrok"),
            ("Network=base", "Network"),
            ("network=base&x=1", "x"),
            ("network=base&network=optimism", "network"),
            ("x", "x"),
        ] {
            let refused = site.owner.delete(&format!("{path}?{query}")).send().await.problem(422, "invalid_field");
            assert_eq!(refused["field"], field, "{query}");
        }
        assert_eq!(site.reason(1, Kind::GovId).await, "blocked");
        site.owner.delete(&path).send().await.expect(204);
        site.owner.delete(&path).send().await.problem(404, "not_found");
        assert_eq!(site.reason(1, Kind::GovId).await, "valid");
    }

    async fn fields_that_cannot_be_are_named(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let year = 365 * 24 * 3600;
        let whole = registration(1, Kind::GovId, 7);
        let sui = Subject::Sui(SuiAddress([1; 32]));
        for (said, field) in [
            (Registration { expires_at: whole.issued_at + year + 2, ..whole.clone() }, "expires_at"),
            (Registration { expires_at: whole.issued_at, ..whole.clone() }, "expires_at"),
            (Registration { issued_at: now() + 3600, ..whole.clone() }, "issued_at"),
            (Registration { network: "optimism-goerli".parse().unwrap(), ..whole.clone() }, "network"),
            (Registration { network: "gnosis".parse().unwrap(), ..whole.clone() }, "network"),
            (Registration { subject: sui, ..whole.clone() }, "subject"),
            (Registration { nullifier: ProofNullifier(FieldElement::small(0)), ..whole.clone() }, "nullifier"),
            (Registration { kind: Kind::ResidenceUs, action_id: "5".parse().unwrap(), ..whole.clone() }, "action_id"),
        ] {
            let answer = site.submit(Statement::Register(said)).await.expect(422).json();
            assert_eq!(answer["error"], "invalid_field");
            assert!(answer["detail"].as_str().unwrap().starts_with(field), "{answer}");
        }
        site.register(Registration { expires_at: whole.issued_at + year + 1, ..whole }).await;
        site.anyone.call("POST", "/registry/proofs").body("{").send().await.expect(400);
        site.anyone.post("/registry/proofs", &json!({"kind": "gov-id"})).send().await.expect(422);
    }
}

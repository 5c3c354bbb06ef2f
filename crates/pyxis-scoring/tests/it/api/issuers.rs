//! Issuers that are removed from the list while their credentials arrive.

use pyxis_core::actor::Actor;
use pyxis_core::entropy::SeededEntropy;
use pyxis_scoring::credential::{VerifiedCredential, parse_and_verify};
use pyxis_scoring::engine::{IngestOutcome, ingest, revoke};
use pyxis_scoring::service;
use pyxis_store::issuers::{self, IssuerRow};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;
use pyxis_testkit::issuer::{CredentialFields, Eip712Issuer};
use serde_json::{Value, json};

use super::scene::{START, Scene, day, wallet};

fn verified(text: &str) -> VerifiedCredential {
    parse_and_verify(text, wallet(1), START, |_| true).unwrap()
}

engines! {
    async fn an_issuer_that_went_while_signatures_were_checked_is_not_trusted_any_more(scene: &Scene) {
        let other = Eip712Issuer::new(&SeededEntropy::new(8));
        let row = IssuerRow { did: other.did(), name: "other".to_owned(), created_at: START };
        issuers::put(&scene.state.store, scene.workspace, &row).await.unwrap();
        let claim = CredentialFields {
            address: wallet(1),
            provider: "B",
            nullifiers: &["b:1"],
            issued_at: START,
            expires_at: day(9),
        };
        let checked = [
            verified(&other.issue(&CredentialFields { provider: "C", nullifiers: &["c:1"], ..claim })),
            verified(&scene.credential(wallet(1), "A", "a:1", 9)),
            verified(&other.issue(&claim)),
        ];
        let checked = checked.each_ref();
        service::issuers::remove(&scene.state.audited, &Actor::cli(scene.workspace), &other.did()).await.unwrap();
        let outcomes = ingest(&scene.state.db, scene.workspace, wallet(1), &checked, START).await.unwrap();
        assert_eq!(outcomes, [None, Some(IngestOutcome::Accepted), None]);
        assert_eq!(scene.sql("SELECT provider FROM stamps").await, ["A"]);
        assert_eq!(scene.bring(wallet(1), &[other.issue(&claim)]).await, ["unknown_issuer"]);
        service::issuers::remove(&scene.state.audited, &Actor::cli(scene.workspace), &scene.issuer.did()).await.unwrap();
        let outcomes = ingest(&scene.state.db, scene.workspace, wallet(2), &checked, START).await.unwrap();
        assert_eq!(outcomes, [None; 3]);
        assert_eq!(scene.count("holders").await, 1);
    }

    async fn an_issuer_is_trusted_and_removed_by_any_did_of_its_key(scene: &Scene) {
        let actor = Actor::cli(scene.workspace);
        let by_chain = Eip712Issuer::of_chain(10, &SeededEntropy::new(8));
        let plain = Eip712Issuer::new(&SeededEntropy::new(8));
        let address = plain.did().replace("did:ethr:", "");
        let spellings = [
            plain.did(),
            format!("did:ethr:0x{}", address[2..].to_uppercase()),
            format!("did:ethr:mainnet:{address}"),
            format!("did:pkh:eip155:1:{address}"),
            by_chain.did(),
        ];
        for (number, spelling) in spellings.iter().enumerate() {
            let (row, added) = service::issuers::add(&scene.state.audited, &actor, spelling, "other").await.unwrap();
            assert_eq!((row.did, added), (plain.did(), service::issuers::Added::New), "{spelling}");
            let next = &spellings[(number + 1) % spellings.len()];
            let (_, added) = service::issuers::add(&scene.state.audited, &actor, next, "other").await.unwrap();
            assert_eq!(added, service::issuers::Added::Unchanged);
            for (issuer, provider) in [(&plain, "A"), (&by_chain, "B")] {
                let wallet = wallet(10 + u64::try_from(number).unwrap());
                let claim = CredentialFields {
                    address: wallet,
                    provider,
                    nullifiers: &["n:1"],
                    issued_at: START,
                    expires_at: day(9),
                };
                assert_eq!(scene.bring(wallet, &[issuer.issue(&claim)]).await, ["accepted"]);
            }
            service::issuers::remove(&scene.state.audited, &actor, next).await.unwrap();
            let claim = CredentialFields {
                address: wallet(1),
                provider: "A",
                nullifiers: &["n:1"],
                issued_at: START,
                expires_at: day(9),
            };
            for issuer in [&plain, &by_chain] {
                assert_eq!(scene.bring(wallet(1), &[issuer.issue(&claim)]).await, ["unknown_issuer"]);
            }
        }
    }

    async fn a_credential_with_several_proofs_is_revoked_by_any_of_them(scene: &Scene) {
        let text = scene.credential(wallet(1), "A", "n:1", 9);
        let again = signed_again(scene, &text);
        let list = |proofs: &[&Value]| {
            let mut value: Value = serde_json::from_str(&text).unwrap();
            value["proof"] = json!(proofs);
            value.to_string()
        };
        let first = serde_json::from_str::<Value>(&text).unwrap()["proof"].clone();
        let (both, second) = (list(&[&first, &again]), list(&[&again]));
        assert_eq!(scene.bring(wallet(1), std::slice::from_ref(&both)).await, ["accepted"]);
        let digests = verified(&both).digests;
        assert_eq!(digests.len(), 2);
        let row = |digest| pyxis_store::revocations::RevocationRow {
            digest, revoked_at: START, revoked_by: "issuer".to_owned(), reason: None,
        };
        // The digest that does not name the Stamp.
        let done = revoke(&scene.state.db, scene.workspace, &row(digests[1])).await.unwrap();
        assert!(done.new && done.removed);
        for text in [&both, &second, &text] {
            assert_eq!(scene.bring(wallet(1), std::slice::from_ref(text)).await, ["revoked"]);
        }
        assert_eq!(scene.count("stamps").await, 0);
    }

    async fn a_revocation_ends_the_stamp_of_one_proof_and_the_claims_that_another_left(scene: &Scene) {
        let scorer = scene.scorer("20", &[("A", "1")]).await;
        let text = scene.credential(wallet(1), "A", "n:1", 9);
        let again = signed_again(scene, &text);
        let list = |proofs: &[&Value]| {
            let mut value: Value = serde_json::from_str(&text).unwrap();
            value["proof"] = json!(proofs);
            value.to_string()
        };
        let first = serde_json::from_str::<Value>(&text).unwrap()["proof"].clone();
        let (both, second) = (list(&[&first, &again]), list(&[&again]));
        scene.bring(wallet(1), std::slice::from_ref(&text)).await;
        scene.score(scorer, wallet(1)).await;
        scene.delete(wallet(1), "A").await;
        assert_eq!(scene.count("claims").await, 1, "a holder's removal leaves them");
        assert_eq!(scene.bring(wallet(1), std::slice::from_ref(&second)).await, ["accepted"]);
        scene.score(scorer, wallet(1)).await;
        // This shows that both proofs belong to one credential.
        scene.bring(wallet(1), std::slice::from_ref(&both)).await;
        let row = pyxis_store::revocations::RevocationRow {
            digest: verified(&second).digest, revoked_at: START, revoked_by: "issuer".to_owned(), reason: None,
        };
        let done = revoke(&scene.state.db, scene.workspace, &row).await.unwrap();
        assert!(done.new && done.removed);
        assert_eq!((scene.count("stamps").await, scene.count("claims").await), (0, 0));
        assert_eq!(scene.score(scorer, wallet(1)).await["score"], "0.00000");
        scene.verify(wallet(2), "A", "n:1", 9).await;
        assert_eq!(scene.score(scorer, wallet(2)).await["score"], "1.00000");
    }
}

/// Another proof by the issuer over the same credential.
fn signed_again(scene: &Scene, text: &str) -> Value {
    let mut document: Value = serde_json::from_str(text).unwrap();
    let proof = document["proof"].as_object_mut().unwrap();
    proof.remove("proofValue");
    proof.insert("created".to_owned(), json!("2020-01-01T00:00:00Z"));
    let mut data = proof.remove("eip712Domain").unwrap();
    let unsigned = data.clone();
    data["message"] = document.clone();
    let hash = pyxis_signing::eip712::read(data.to_string().as_bytes()).unwrap().digest;
    let mut proof = document["proof"].take();
    proof["eip712Domain"] = unsigned;
    proof["proofValue"] = scene.issuer.sign_hash(&hash).into();
    proof
}

/// SQLite has one writer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_is_answered_once_nobody_stores_what_the_issuer_signed_on_postgres() {
    let scene = Scene::start(TestDatabase::postgres("issuer_goes").await).await;
    let mut storing = scene.state.store.begin().await.unwrap();
    let did = scene.issuer.did();
    let held =
        issuers::lock_trusted(&mut storing, scene.workspace, std::slice::from_ref(&did)).await.unwrap();
    assert_eq!(held, std::slice::from_ref(&did));
    let (state, actor) = (scene.state.clone(), Actor::cli(scene.workspace));
    let removing = tokio::spawn(async move { service::issuers::remove(&state.audited, &actor, &did).await });
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted \
         AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
    while scene.sql(waiting).await != ["1"] {
        tokio::task::yield_now().await;
    }
    assert!(!removing.is_finished());
    storing.commit().await.unwrap();
    removing.await.unwrap().unwrap();
}

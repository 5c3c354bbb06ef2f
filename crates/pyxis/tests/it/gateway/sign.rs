//! A signature always waits for a person (`docs/reference/signing.md`).

use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use pyxis_testkit::engines;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::client::Call;
use crate::support::{Setup, Site};

async fn key(site: &Site, name: &str, algorithm: &str) -> Value {
    let body = json!({"name": name, "auth": {"kind": "signing_key", "algorithm": algorithm}});
    site.owner.add_credential(&body).await
}

fn sign_call(site: &Site, name: &str, body: &Value) -> Call {
    site.agent.client.post("/sign", body).header("x-px-credential", name)
}

/// Requests a signature, approves, and returns the agent's result.
async fn signed(site: &Site, name: &str, body: &Value) -> Value {
    let txn = sign_call(site, name, body).send().await.txn();
    site.owner.approve(&txn).await;
    let outcome = site.agent.outcome(&txn).await;
    assert_eq!((&outcome["response"]["status"], &outcome["upstream_status"]), (&json!(200), &Value::Null));
    assert_eq!(outcome["error"], Value::Null, "{outcome}");
    serde_json::from_str(outcome["response"]["body"].as_str().unwrap()).unwrap()
}

fn bytes(signed: &Value, member: &str) -> Vec<u8> {
    pyxis_core::hex::decode_either(signed[member].as_str().unwrap()).unwrap()
}

/// The example of EIP-712.
pub(crate) fn mail() -> Value {
    serde_json::from_str(include_str!("../../../../pyxis-signing/data/mail.json")).unwrap()
}

engines! {
    async fn a_signature_waits_for_a_person_whatever_policy_and_mode_say(setup: Setup) {
        let site = Site::bare(setup).await;
        let made = key(&site, "treasury", "secp256k1").await;
        site.owner.client.patch("/admin/settings", &json!({"default_approval_mode": "autonomous"}))
            .send().await.expect(200);
        let free = json!({"auto_approve_methods": ["GET", "POST"], "auto_approve_urls": ["/sign"]});
        let body = json!({"payload": "hello", "encoding": "utf8", "algorithm": "secp256k1", "hash": "sha256"});
        let answer = sign_call(&site, "treasury", &body).send().await.expect(202).json();
        assert_eq!(answer["status"], "pending");
        site.owner.set_policy("treasury", &free).await;
        let signed = signed(&site, "treasury", &body).await;

        let digest = Sha256::digest(b"hello");
        let signature = Signature::from_slice(&bytes(&signed, "signature")).unwrap();
        let id = RecoveryId::from_byte(signed["recovery_id"].as_u64().unwrap().try_into().unwrap()).unwrap();
        let recovered = VerifyingKey::recover_from_prehash(&digest, &signature, id).unwrap();
        assert_eq!(recovered.to_sec1_point(false).as_bytes(), bytes(&signed, "public_key"));
        assert_eq!(signature.normalize_s(), signature);
        for member in ["public_key", "address"] {
            assert_eq!(made["auth"][member], signed[member], "{member}");
        }
        assert_eq!(signed["algorithm"], "secp256k1");
        assert!(!made.to_string().contains("secret\":\""));
    }
}

engines! {
    async fn ed25519_signs_the_message_and_p256_its_hash(setup: Setup) {
        use ed25519_dalek::Verifier as _;
        use p256::ecdsa::signature::hazmat::PrehashVerifier as _;
        let site = Site::bare(setup).await;
        key(&site, "ed", "ed25519").await;
        key(&site, "nist", "p256").await;
        let body = json!({"payload": "68656c6c6f", "encoding": "hex", "algorithm": "ed25519", "format": "raw", "hash": "none"});
        let made = signed(&site, "ed", &body).await;
        let public: [u8; 32] = bytes(&made, "public_key").try_into().unwrap();
        let verifying = ed25519_dalek::VerifyingKey::from_bytes(&public).unwrap();
        let signature = ed25519_dalek::Signature::from_slice(&bytes(&made, "signature")).unwrap();
        verifying.verify(b"hello", &signature).unwrap();
        assert_eq!((&made["address"], &made["recovery_id"]), (&Value::Null, &Value::Null));

        let body = json!({"payload": "aGVsbG8=", "encoding": "base64", "algorithm": "p256", "hash": "sha256"});
        let made = signed(&site, "nist", &body).await;
        let verifying = p256::ecdsa::VerifyingKey::from_sec1_bytes(&bytes(&made, "public_key")).unwrap();
        let signature = p256::ecdsa::Signature::from_slice(&bytes(&made, "signature")).unwrap();
        verifying.verify_prehash(&Sha256::digest(b"hello"), &signature).unwrap();
    }

    async fn the_approver_reads_the_payload_and_is_warned_of_a_blind_hash(setup: Setup) {
        let site = Site::bare(setup).await;
        key(&site, "treasury", "secp256k1").await;
        let typed = json!({
            "types": {"Transfer": [{"name": "to", "type": "address"}, {"name": "amount", "type": "uint256"}]},
            "primaryType": "Transfer", "domain": {"name": "Bank", "chainId": 1},
            "message": {"to": "0x00000000000000000000000000000000000000ff", "amount": "1000000000000000000000"},
        });
        let body = json!({
            "payload": typed.to_string(), "encoding": "utf8", "algorithm": "secp256k1", "format": "eip712",
            "description": "Pay the rent",
        });
        let txn = sign_call(&site, "treasury", &body).send().await.txn();
        let seen = site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
        let signing = &seen["signing"];
        assert_eq!(
            signing["typed"]["message"][1],
            json!({"path": "amount", "type": "uint256", "value": "1000000000000000000000"})
        );
        assert_eq!(
            (&signing["typed"]["domain"][0]["value"], &signing["warning"]),
            (&json!("Bank"), &Value::Null)
        );
        assert_eq!(signing["description"], "Pay the rent");

        let blind = json!({"payload": "ab".repeat(32), "algorithm": "secp256k1"});
        let txn = sign_call(&site, "treasury", &blind).send().await.txn();
        let seen = site.owner.client.get(&format!("/approvals/{txn}")).send().await.expect(200).json();
        assert!(seen["signing"]["warning"].as_str().unwrap().contains("Only a hash"), "{seen}");
    }

    async fn what_cannot_be_signed_is_refused_before_anybody_is_asked(setup: Setup) {
        let site = Site::with(setup).await;
        key(&site, "treasury", "secp256k1").await;
        for (field, body) in [
            ("algorithm", json!({"payload": "00", "algorithm": "ed25519"})),
            ("hash", json!({"payload": "0000", "algorithm": "secp256k1"})),
            ("digest", json!({"payload": "00", "algorithm": "secp256k1", "hash": "sha256", "digest": "ff"})),
            ("payload", json!({"payload": "0x0", "algorithm": "secp256k1", "hash": "sha256"})),
            ("payload", json!({"payload": "7b7d", "algorithm": "secp256k1", "format": "eip712"})),
        ] {
            let problem = sign_call(&site, "treasury", &body).send().await.problem(422, "invalid_field");
            assert_eq!(problem["field"], field, "{problem}");
        }
        let unknown = json!({"payload": "00", "algorithm": "secp256k1", "blob": 1});
        sign_call(&site, "treasury", &unknown).send().await.problem(422, "invalid_field");
        sign_call(&site, "treasury", &json!({})).body("{").send().await.problem(400, "invalid_json");
        let body = json!({"payload": "00", "algorithm": "secp256k1", "hash": "sha256"});
        sign_call(&site, "api", &body).send().await.problem(400, "invalid_header");
        sign_call(&site, "nothing", &body).send().await.problem(404, "credential_not_found");
        sign_call(&site, "treasury", &body)
            .header("x-px-target", "https://a.example/")
            .send()
            .await
            .problem(400, "unknown_header");
        site.agent.client.post("/sign", &body).send().await.problem(400, "missing_header");
        let stranger = site.app.anonymous().post("/sign", &body).header("x-px-credential", "treasury");
        stranger.send().await.problem(401, "missing_key");
    }

    async fn a_signing_key_is_never_forwarded_and_opens_no_grant(setup: Setup) {
        let site = Site::bare(setup).await;
        key(&site, "treasury", "ed25519").await;
        let call = site.agent.forward("treasury", "GET", "https://api.example.com/");
        call.send().await.problem(403, "host_not_allowed");
        let patch = json!({"allowed_hosts": ["api.example.com"]});
        let answer = site.owner.client.patch("/admin/credentials/treasury", &patch).send().await;
        assert_eq!(answer.problem(422, "invalid_field")["field"], "allowed_hosts");
        let body = json!({"payload": "00", "algorithm": "ed25519"});
        let txn = sign_call(&site, "treasury", &body).send().await.txn();
        let answer = site.owner.decide(&txn, "approve", &json!({"grant_seconds": 900})).await;
        assert_eq!(answer.problem(422, "invalid_field")["field"], "grant_seconds");
        site.owner.deny(&txn, "no").await;
        let outcome = site.agent.outcome(&txn).await;
        assert_eq!((&outcome["status"], &outcome["response"]), (&json!("denied"), &Value::Null));
    }

    async fn a_key_is_made_or_imported_on_the_command_line_and_never_shown(setup: Setup) {
        let site = Site::bare(setup).await;
        let made =
            site.app.cli_json(&["credential", "generate-key", "--name", "made", "--algorithm", "p256"]).await;
        assert!(made["public_key"].as_str().unwrap().starts_with("04"), "{made}");
        let secret = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
        std::fs::write(site.app.directory().join("key.hex"), format!("0x{secret}\n")).unwrap();
        let import = [
            "credential",
            "generate-key",
            "--name",
            "imported",
            "--algorithm",
            "secp256k1",
            "--import-file",
            "key.hex",
        ];
        let imported = site.app.cli_json(&import).await;
        assert_eq!(imported["address"], "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
        let listed = site.owner.client.get("/admin/credentials").send().await.expect(200).text();
        assert!(!listed.contains(secret) && !site.app.logs().contains(secret));
        let body = json!({"payload": "hello", "encoding": "utf8", "algorithm": "secp256k1", "format": "eip191"});
        let made = signed(&site, "imported", &body).await;
        assert_eq!(made["address"], imported["address"]);
    }

    async fn a_key_that_was_replaced_or_removed_no_longer_signs_what_was_approved_before(setup: Setup) {
        let site = Site::bare(setup).await;
        let before = key(&site, "treasury", "ed25519").await;
        let body = json!({"payload": "00", "algorithm": "ed25519"});
        let txn = sign_call(&site, "treasury", &body).send().await.txn();
        let secret = json!({"secret": "11".repeat(32)});
        site.owner.client.put("/admin/credentials/treasury/secret", &secret).send().await.expect(200);
        site.owner.approve(&txn).await;
        assert_eq!(site.agent.outcome(&txn).await["error"], "no_longer_allowed");
        let after = site.owner.client.get("/admin/credentials/treasury").send().await.expect(200).json();
        assert_ne!(after["auth"]["public_key"], before["auth"]["public_key"]);
    }

    /// The key is the hash of "cow", and the signature is the published one.
    async fn the_published_example_of_eip_712_is_signed_as_it_is_published(setup: Setup) {
        let site = Site::bare(setup).await;
        let auth = json!({"kind": "signing_key", "algorithm": "secp256k1"});
        let secret = "c85ef7d79691fe79573b1a7064c19c1a9819ebdbd1faaab1a8ec92344438aaf4";
        let made = site.owner.add_credential(&json!({"name": "cow", "auth": auth, "secret": secret})).await;
        assert_eq!(made["auth"]["address"], "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826");
        let body = json!({
            "payload": mail().to_string(), "encoding": "utf8", "algorithm": "secp256k1", "format": "eip712",
        });
        let signed = signed(&site, "cow", &body).await;
        assert_eq!(
            signed["signature"].as_str().unwrap().trim_start_matches("0x"),
            "4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d\
             07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562"
        );
        assert_eq!(signed["recovery_id"], 1);
    }
}

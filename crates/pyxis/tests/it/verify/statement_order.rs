//! The statement signed last holds, in whatever order statements arrive
//! (`docs/reference/behavior/verification.md#registry`). `POST /registry/proofs` requires no key, so anyone may send
//! an old one.

use pyxis_core::proof::{Kind, NetworkName, Rebinding, Registration, Revocation, Statement};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::{ACTION, VerifySite, address, now, registration};
use crate::support::{HttpResponse, Setup};

const DAY: i64 = 24 * 3600;

/// A registration that was signed some seconds ago, and is valid for some days from then on.
fn signed(number: u8, nullifier: u64, ago: i64, days: i64) -> Registration {
    let issued_at = now() - ago;
    let nonce = format!("{number} {ago} {days}");
    Registration {
        issued_at,
        expires_at: issued_at + days * DAY,
        nonce,
        ..registration(number, Kind::GovId, nullifier)
    }
}

fn rebinding(from: u8, to: u8, nullifier: u64, ago: i64) -> Statement {
    Statement::Rebind(Rebinding {
        kind: Kind::GovId,
        from: address(from).into(),
        to: address(to).into(),
        action_id: ACTION.parse().unwrap(),
        nullifier: nullifier.to_string().parse().unwrap(),
        issued_at: now() - ago,
        nonce: format!("{from} {to} {ago}"),
    })
}

fn revocation(number: u8, ago: i64) -> Statement {
    Statement::Revoke(Revocation {
        kind: Kind::GovId,
        network: optimism(),
        subject: address(number).into(),
        action_id: ACTION.parse().unwrap(),
        reason: "lost".to_owned(),
        issued_at: now() - ago,
        nonce: format!("{number} {ago}"),
    })
}

fn optimism() -> NetworkName {
    "optimism".parse().unwrap()
}

#[track_caller]
fn superseded(answer: HttpResponse) {
    assert_eq!(answer.expect(409).json()["error"], "superseded");
}

async fn checked(site: &VerifySite, number: u8) -> Value {
    let user = address(number);
    site.get_json(&format!("/sybil-resistance/gov-id/optimism?user={user}&action-id={ACTION}")).await
}

engines! {
    async fn an_older_registration_never_takes_the_place_of_a_newer_one(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let live = signed(1, 7, 10, 365);
        let holds = json!({"result": true, "expirationDate": live.expires_at});
        site.register(live.clone()).await;
        let expired = site.submit(Statement::Register(signed(1, 7, 730 * DAY, 365))).await.expect(422).json();
        assert_eq!(expired["detail"], "expires_at: is in the past");
        superseded(site.submit(Statement::Register(signed(1, 7, 3600, 1))).await);
        superseded(site.submit(Statement::Register(signed(1, 8, 3600, 365))).await);
        // Of two from the same second, the one that lasts longer holds.
        let shorter = Registration { expires_at: live.expires_at - 1, ..live.clone() };
        superseded(site.submit(Statement::Register(shorter)).await);
        assert_eq!(checked(&site, 1).await, holds);
        let longer = Registration { expires_at: live.expires_at + 1, ..live.clone() };
        site.register(longer).await;
        // An issuer may reconsider.
        let later = Registration { issued_at: live.issued_at + 1, expires_at: live.expires_at - 5, ..live };
        let until = later.expires_at;
        site.register(later).await;
        assert_eq!(checked(&site, 1).await["expirationDate"], until);
        // The refused nullifier is free.
        site.register(signed(2, 8, 1, 365)).await;
    }

    async fn what_has_expired_is_not_registered_unless_it_was_before(setup: Setup) {
        let site = VerifySite::with(setup).await;
        let expired = site.submit(Statement::Register(signed(1, 7, 2 * DAY, 1))).await.expect(422).json();
        assert_eq!(expired["error"], "invalid_field");
        assert_eq!(site.reason(1, Kind::GovId).await, "none");
        let short = Registration { expires_at: now() + 6, ..signed(1, 7, 1, 1) };
        let first = site.register(short.clone()).await;
        let gone = async || (site.reason(1, Kind::GovId).await == "expired").then_some(());
        crate::support::until("the end of the proof", gone).await;
        let again = site.submit(Statement::Register(short)).await.expect(200).json();
        assert_eq!(again, first);
    }

    async fn what_was_signed_before_a_revocation_does_not_come_back(setup: Setup) {
        let site = VerifySite::with(setup).await;
        site.register(signed(1, 7, 20, 365)).await;
        let body = json!({
            "network": "optimism", "kind": "gov-id", "address": address(1).to_string(), "action_id": ACTION,
            "reason": "forged passport",
        });
        site.owner.post("/admin/proofs/revoke", &body).send().await.expect(200);
        superseded(site.submit(Statement::Register(signed(1, 7, 10, 365))).await);
        superseded(site.submit(Statement::Register(signed(1, 8, 10, 365))).await);
        assert_eq!(site.reason(1, Kind::GovId).await, "revoked");
        // The issuer's clock may be ahead of ours.
        site.register(signed(1, 7, -60, 365)).await;
        assert_eq!(site.reason(1, Kind::GovId).await, "valid");

        // An issuer's statement counts from the second in which it was signed.
        let begun = now();
        let at = |ago: i64| {
            let issued_at = begun - ago;
            Registration { issued_at, expires_at: issued_at + 365 * DAY, ..signed(2, 9, ago, 365) }
        };
        site.register(at(20)).await;
        let Statement::Revoke(said) = revocation(2, 5) else { unreachable!() };
        let said = Revocation { issued_at: begun - 5, ..said };
        site.submit(Statement::Revoke(said)).await.expect(201);
        superseded(site.submit(Statement::Register(at(6))).await);
        superseded(site.submit(Statement::Register(at(5))).await);
        site.register(at(4)).await;
        assert_eq!(site.reason(2, Kind::GovId).await, "valid");
    }

    async fn an_older_word_does_not_move_a_proof(setup: Setup) {
        let site = VerifySite::with(setup).await;
        site.register(signed(1, 7, 100, 365)).await;
        site.submit(rebinding(1, 2, 7, 50)).await.expect(201);
        superseded(site.submit(rebinding(2, 1, 7, 60)).await);
        superseded(site.submit(Statement::Register(signed(2, 8, 70, 365))).await);
        superseded(site.submit(Statement::Register(signed(1, 8, 70, 365))).await);
        site.submit(revocation(2, 60)).await.expect(404);
        assert_eq!(site.reason(2, Kind::GovId).await, "valid");
        // Nor to an address whose proof has been revoked since.
        site.register(signed(3, 9, 100, 365)).await;
        site.submit(revocation(3, 20)).await.expect(201);
        superseded(site.submit(rebinding(2, 3, 7, 30)).await);
        assert_eq!(site.reason(3, Kind::GovId).await, "revoked");
        site.submit(rebinding(2, 1, 7, 10)).await.expect(201);
        assert_eq!(site.reason(1, Kind::GovId).await, "valid");
    }

    async fn a_human_moves_on_every_network_or_on_none(setup: Setup) {
        let site = VerifySite::with(setup).await;
        site.register(signed(1, 7, 100, 365)).await;
        let elsewhere = Registration { network: "base-sepolia".parse().unwrap(), ..signed(1, 7, 10, 365) };
        site.register(elsewhere).await;
        superseded(site.submit(rebinding(1, 2, 7, 50)).await);
        let held = async |number: u8| {
            let mut held = Vec::new();
            for network in ["optimism", "base-sepolia"] {
                let path = format!("/sybil-resistance/gov-id/{network}?user={}&action-id={ACTION}", address(number));
                held.push(site.get_json(&path).await["result"] == true);
            }
            held
        };
        assert_eq!((held(1).await, held(2).await), (vec![true, true], vec![false, false]));
        site.submit(rebinding(1, 2, 7, 0)).await.expect(201);
        assert_eq!((held(1).await, held(2).await), (vec![false, false], vec![true, true]));
    }
}

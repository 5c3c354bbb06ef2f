//! The workspace's own issuer: credentials that it signs count like anyone's.

use pyxis_core::actor::Actor;
use pyxis_core::stamp::Nullifier;
use pyxis_scoring::credential;
use pyxis_scoring::service::stamp_keys::{self, ListedStampKey};
use pyxis_scoring::service::stamp_signing::{self, Holder, SigningRequest};
use pyxis_scoring::service::{Error, issuers};
use pyxis_testkit::engines;

use super::scene::{Scene, day, wallet};

fn request(holders: &[(u64, &[&str])]) -> SigningRequest {
    let holder = |(number, nullifiers): &(u64, &[&str])| Holder {
        address: wallet(*number),
        nullifiers: nullifiers.iter().map(|text| text.parse().unwrap()).collect(),
    };
    SigningRequest {
        provider: "Member".parse().unwrap(),
        holders: holders.iter().map(holder).collect(),
        valid_days: 30,
    }
}

async fn sign(scene: &Scene, holders: &[(u64, &[&str])]) -> Result<Vec<String>, Error> {
    let actor = Actor::cli(scene.workspace);
    stamp_signing::sign(&scene.state, &actor, request(holders)).await.map(|signed| signed.credentials)
}

async fn keys(scene: &Scene) -> Vec<ListedStampKey> {
    stamp_keys::list(&scene.state.store, scene.workspace).await.unwrap()
}

engines! {
    async fn what_the_workspace_signs_counts_like_any_issuers_stamp(scene: &Scene) {
        let scorer = scene.scorer("20", &[("Member", "21")]).await;
        assert!(keys(scene).await.is_empty());
        let signed = sign(scene, &[(1, &["member:1"]), (2, &["member:1"]), (3, &[])]).await.unwrap();
        for (number, text) in (1..).zip(&signed) {
            assert_eq!(scene.bring(wallet(number), std::slice::from_ref(text)).await, ["accepted"]);
        }
        let score = async |number| scene.score(scorer, wallet(number)).await;
        assert_eq!(score(1).await["score"], "21.00000");
        let second = score(2).await;
        assert_eq!((&second["score"], &second["stamps"]["Member"]["dedup"]), (&"0.00000".into(), &true.into()));
        assert_eq!(score(3).await["passing_score"], true);
        let read = credential::parse_and_verify(&signed[2], wallet(3), scene.state.now(), |_| true).unwrap();
        let own: Nullifier = format!("address:{}", wallet(3)).parse().unwrap();
        assert_eq!((read.nullifiers, read.expires_at), (vec![own], day(30)));
        let listed = keys(scene).await;
        assert_eq!(listed.len(), 1);
        assert_eq!((&listed[0].row.did, listed[0].signs, listed[0].trusted), (&read.issuer, true, true));
        scene.on_day(30);
        assert_eq!(score(1).await["score"], "0.00000");
    }

    async fn a_rotation_trusts_the_new_key_and_a_compromised_one_no_more(scene: &Scene) {
        let actor = Actor::cli(scene.workspace);
        let first = sign(scene, &[(1, &[])]).await.unwrap();
        let next = stamp_keys::rotate(&scene.state, &actor, false).await.unwrap();
        assert_eq!((next.row.number, next.signs), (2, true));
        // What the first key signed before is as good as ever.
        assert_eq!(scene.bring(wallet(1), &first).await, ["accepted"]);
        let second = sign(scene, &[(2, &[])]).await.unwrap();
        stamp_keys::rotate(&scene.state, &actor, true).await.unwrap();
        assert_eq!(scene.bring(wallet(2), &second).await, ["unknown_issuer"]);
        assert_eq!(scene.bring(wallet(2), &sign(scene, &[(2, &[])]).await.unwrap()).await, ["accepted"]);
        let standing: Vec<_> =
            keys(scene).await.iter().map(|key| (key.row.number, key.signs, key.trusted)).collect();
        assert_eq!(standing, [(3, true, true), (2, false, false), (1, false, false)]);
    }

    async fn nothing_is_signed_in_the_name_of_an_issuer_that_was_removed(scene: &Scene) {
        let actor = Actor::cli(scene.workspace);
        sign(scene, &[(1, &[])]).await.unwrap();
        let did = keys(scene).await[0].row.did.clone();
        issuers::remove(&scene.state.audited, &actor, &did).await.unwrap();
        assert!(matches!(sign(scene, &[(1, &[])]).await, Err(Error::Conflict(_))));
        issuers::add(&scene.state.audited, &actor, &did, "ours").await.unwrap();
        sign(scene, &[(1, &[])]).await.unwrap();
    }

    async fn workspaces_do_not_share_a_key(scene: &Scene) {
        let (neighbor, key, _) = scene.neighbor().await;
        sign(scene, &[(1, &[])]).await.unwrap();
        let theirs = stamp_signing::sign(&scene.state, &Actor::cli(neighbor), request(&[(1, &[])])).await.unwrap();
        assert_ne!(theirs.issuer, keys(scene).await[0].row.did);
        assert_eq!(scene.bring(wallet(1), &theirs.credentials).await, ["unknown_issuer"]);
        let path = format!("/v2/stamps/{}", wallet(1));
        let body = format!("[{}]", theirs.credentials[0]);
        let answer = scene.send_with_key(http::Method::POST, &path, &key, body).await;
        assert_eq!(answer.json()["items"][0]["status"], "accepted");
    }

    async fn a_bad_request_is_refused_by_field_and_signs_nothing(scene: &Scene) {
        let refused = async |holders: &[(u64, &[&str])], days| {
            let request = SigningRequest { valid_days: days, ..request(holders) };
            match stamp_signing::sign(&scene.state, &Actor::cli(scene.workspace), request).await {
                Err(Error::InvalidField { field, .. }) => field,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(refused(&[], 1).await, "holders");
        assert_eq!(refused(&[(1, &[])], 0).await, "valid_days");
        assert_eq!(refused(&[(1, &[])], 3651).await, "valid_days");
        assert_eq!(refused(&[(1, &[]), (1, &["a"])], 1).await, "holders[1].address");
        assert_eq!(refused(&[(1, &["a", "a"])], 1).await, "holders[0].nullifiers");
        assert!(keys(scene).await.is_empty());
    }
}

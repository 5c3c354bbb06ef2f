//! Keys that sign scores, and lists of who passes, as managers and commands see them.

use pyxis_core::hex;
use pyxis_signing::eip712::AbiWord;
use pyxis_signing::eip712::abi_words::keccak;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::{ScoringSite, address};
use crate::support::Setup;

/// A wallet that passes a threshold of 1, and one that does not.
async fn staged(setup: Setup) -> ScoringSite {
    let site = ScoringSite::with(setup).await;
    let path = format!("/admin/scorers/{}", site.scorer());
    let revision = site.get(&path).await["revision"].clone();
    let change = json!({ "threshold": "1", "weights": { "A": "2", "B": "0.5" }, "revision": revision });
    site.owner.patch(&path, &change).send().await.expect(200);
    site.stamp(1, "A", "a:1").await;
    site.stamp(2, "B", "b:2").await;
    site.score(1).await;
    site.score(2).await;
    site
}

/// The root to which a proof of the API leads, as contracts compute it.
fn root(number: u8, proof: &Value) -> String {
    let leaf = keccak(&keccak(&[&[0; 12][..], &address(number).0].concat()));
    let up = |below: AbiWord, sibling: &Value| {
        let sibling = hex::decode_prefixed(sibling.as_str().unwrap()).unwrap();
        let mut pair = [below.to_vec(), sibling];
        pair.sort();
        keccak(&pair.concat())
    };
    format!("0x{}", hex::encode(&proof.as_array().unwrap().iter().fold(leaf, up)))
}

engines! {
    async fn managers_rotate_score_keys_by_command_and_by_api(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let listed = site.get("/admin/score-keys").await;
        let keys = listed["score_keys"].as_array().unwrap();
        let shown: Vec<_> = keys.iter().map(|key| (&key["scheme"], &key["number"], &key["status"])).collect();
        let first = |scheme| (json!(scheme), json!(1), json!("active"));
        let expected = [first("eip712"), first("es256")];
        assert_eq!(shown, expected.each_ref().map(|(scheme, number, status)| (scheme, number, status)));
        let rotated = site.app.cli_json(&["score-key", "rotate", "es256"]).await;
        assert_eq!((&rotated[0]["number"], &rotated[0]["status"]), (&json!(2), &json!("active")));
        let next = site.app.cli_json(&["score-key", "rotate", "eip712", "--after", "3"]).await;
        assert_eq!(next[0]["status"], "next");
        let rotate = "/admin/score-keys/eip712/rotate";
        site.post(rotate, &json!({})).await.expect(409);
        let now = site.post(rotate, &json!({ "compromised": true })).await.expect(200).json();
        assert_eq!((&now["number"], &now["status"]), (&json!(3), &json!("active")));
        let unknown = site.post("/admin/score-keys/rsa/rotate", &json!({})).await.expect(404);
        assert!(unknown.json()["detail"].as_str().unwrap().contains("scheme rsa; known: "), "{}", unknown.text());
        for body in [json!({ "signs_from": "soon" }), json!({ "signs_from": "2020-01-01T00:00:00Z" })] {
            site.post(rotate, &body).await.expect(422);
        }
        site.post(rotate, &json!({ "after": 3 })).await.expect(422);
        let statuses = site.app.cli_json(&["score-key", "list"]).await;
        let statuses: Vec<_> = statuses.as_array().unwrap().iter().map(|key| key["status"].as_str().unwrap().to_owned()).collect();
        assert_eq!(statuses, ["active", "withdrawn", "withdrawn", "active", "retired"]);
        let records = site.audited("score_key.").await;
        let numbers: Vec<_> = records.iter().map(|(kind, detail)| (kind.as_str(), &detail["number"])).collect();
        assert_eq!(numbers.len(), 3, "{records:?}");
        assert!(numbers.iter().all(|(kind, _)| *kind == "score_key.rotated"));
        let stranger = site.stranger().await;
        stranger.client.post(rotate, &json!({})).send().await.expect(403);
        site.app.anonymous().get("/admin/score-keys").send().await.expect(401);
        site.app.cli(&["score-key", "rotate", "rsa"]).await.expect(2);
        site.app.cli(&["score-key", "rotate", "es256", "--after", "1", "--compromised"]).await.expect(2);
    }

    async fn a_merkle_list_has_exactly_who_passes_as_file_and_by_api(setup: Setup) {
        let site = staged(setup).await;
        let path = format!("/admin/scorers/{}/merkle", site.scorer());
        let answer = site.owner.get(&path).send().await.expect(200);
        let list = answer.json();
        assert_eq!(list["values"], json!([{ "value": [address(1)], "treeIndex": 0 }]));
        assert_eq!(list["tree"][0], json!(answer.header("px-merkle-root")));
        let of = async |number| site.get(&format!("{path}?address={}", address(number))).await;
        let found = of(1).await;
        assert_eq!((&found["root"], &found["proof"], &found["count"]), (&list["tree"][0], &json!([]), &json!(1)));
        assert_eq!(of(2).await["proof"], Value::Null);
        // Before anything was answered, nobody passed.
        site.owner.get(&format!("{path}?at=2020-01-01T00:00:00Z")).send().await.expect(409);
        site.owner.get(&format!("{path}?at=2999-01-01T00:00:00Z")).send().await.expect(422);
        site.owner.get(&format!("{path}?at=soon")).send().await.expect(422);
        site.owner.get(&format!("{path}?address=0x1")).send().await.expect(422);
        site.owner.get("/admin/scorers/999/merkle").send().await.expect(404);
        site.stranger().await.client.get(&path).send().await.expect(404);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("list.json");
        let file = file.to_str().unwrap();
        let scorer = site.scorer();
        let made = site.app.cli_json(&["score", "merkle", "--scorer", &scorer, "--out", file]).await;
        assert_eq!((&made["root"], &made["count"]), (&list["tree"][0], &json!(1)));
        assert_eq!(serde_json::from_slice::<Value>(&std::fs::read(file).unwrap()).unwrap(), list);
        let one = address(1).to_string();
        assert_eq!(site.app.cli_json(&["score", "proof", &one, "--list", file]).await["root"], list["tree"][0]);
        site.app.cli(&["score", "proof", &address(2).to_string(), "--list", file]).await.expect(1);
        site.app.cli(&["score", "merkle", "--scorer", &scorer, "--out", file]).await.expect(1);
        let early = ["score", "merkle", "--scorer", &scorer, "--at", "2020-01-01T00:00:00Z", "--out", "none.json"];
        site.app.cli(&early).await.expect(3);
    }
    async fn the_api_proves_each_address_of_a_list(setup: Setup) {
        let site = staged(setup).await;
        for number in [3, 4, 5, 6] {
            site.stamp(number, "A", &format!("a:{number}")).await;
            site.score(number).await;
        }
        let path = format!("/admin/scorers/{}/merkle", site.scorer());
        let list = site.owner.get(&path).send().await.expect(200).json();
        assert_eq!(list["values"].as_array().unwrap().len(), 5);
        for number in [1, 3, 4, 5, 6] {
            let found = site.get(&format!("{path}?address={}", address(number))).await;
            assert!(!found["proof"].as_array().unwrap().is_empty(), "{found}");
            assert_eq!((&found["root"], &found["count"]), (&list["tree"][0], &json!(5)));
            assert_eq!(json!(root(number, &found["proof"])), found["root"]);
        }
        let stranger = site.get(&format!("{path}?address={}", address(2))).await;
        assert_eq!((&stranger["root"], &stranger["proof"]), (&list["tree"][0], &Value::Null));
    }
}

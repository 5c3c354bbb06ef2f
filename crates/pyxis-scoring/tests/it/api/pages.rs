//! Pages of verified Stamps (`docs/reference/behavior/scoring.md#pages-of-stamps`).

use http::StatusCode;
use pyxis_core::clock::UnixMillis;
use pyxis_scoring::Config;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{HttpResponse, START, Scene, day, wallet};

async fn page(scene: &Scene, query: &str) -> Value {
    let answer = scene.get(&format!("/v2/stamps/{}{query}", wallet(1))).await;
    assert_eq!(answer.status, StatusCode::OK, "{query}: {}", answer.text);
    answer.json()
}

/// The names on a page.
fn names(page: &Value) -> Vec<&str> {
    let provider = |item: &'_ Value| -> Option<()> { item["credential"].is_object().then_some(()) };
    let items = page["items"].as_array().unwrap();
    assert!(items.iter().all(|item| provider(item).is_some()), "{page}");
    items.iter().map(|item| item["credential"]["credentialSubject"]["provider"].as_str().unwrap()).collect()
}

async fn add(scene: &Scene, names: &[&str]) {
    for name in names {
        scene.verify(wallet(1), name, &format!("of:{name}"), 90).await;
    }
}

/// The query of the page that a token of `page` leads to.
fn towards(page: &Value, side: &str, limit: u32) -> String {
    format!("?limit={limit}&token={}", page[side].as_str().unwrap_or_else(|| panic!("no {side}: {page}")))
}

fn refused(answer: &HttpResponse) {
    answer.refuses(400, "Invalid token.");
}

engines! {
    async fn an_address_without_stamps_has_an_empty_page(scene: &Scene) {
        for query in ["", "?limit=1", "?include_metadata=true", "?limit=1000&include_metadata=false"] {
            assert_eq!(page(scene, query).await, json!({"next": null, "prev": null, "items": []}));
        }
    }

    async fn credentials_are_listed_byte_for_byte(scene: &Scene) {
        let plain = scene.credential(wallet(1), "Discord", "d:1", 9);
        let spelled = plain
            .replace("\"Discord\"", " \"\\u0044iscord\"\t")
            .replace("\"proof\":", "\"\\u0070roof\" :\r\n ");
        assert_eq!(scene.bring(wallet(1), std::slice::from_ref(&spelled)).await, ["accepted"]);
        let answer = scene.get(&format!("/v2/stamps/{}", wallet(1))).await;
        let expected = format!(
            "{{\"next\":null,\"prev\":null,\"items\":[{{\"version\":\"1.0.0\",\"credential\":{spelled}}}]}}"
        );
        assert_eq!(answer.text, expected);
        assert_eq!(answer.header("content-type"), "application/json");
    }

    async fn metadata_is_there_when_asked_for_and_empty_for_what_the_catalogue_does_not_know(scene: &Scene) {
        add(scene, &["NoSuchStamp", "Discord"]).await;
        let with = page(scene, "?include_metadata=true").await;
        let known = &with["items"][0]["metadata"];
        let members: Vec<&String> = known.as_object().unwrap().keys().collect();
        assert_eq!(members, ["description", "group", "hash", "name", "platform"]);
        assert_eq!(known["name"], "Discord");
        assert_eq!(known["platform"]["id"], "Discord");
        assert!(known["hash"].as_str().unwrap().starts_with("0x"));
        assert!(known["group"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(known["description"].as_str().is_some_and(|text| !text.is_empty()));
        assert_eq!(with["items"][1].get("metadata"), Some(&Value::Null), "outside the catalogue");
        for query in ["", "?include_metadata=false"] {
            let without = page(scene, query).await;
            assert!(without["items"].as_array().unwrap().iter().all(|item| item.get("metadata").is_none()));
        }
    }

    async fn limits_reach_from_one_to_a_thousand(scene: &Scene) {
        add(scene, &["A", "B", "C"]).await;
        assert_eq!(names(&page(scene, "?limit=1").await), ["C"]);
        assert_eq!(names(&page(scene, "?limit=1000").await), ["C", "B", "A"]);
        for limit in ["0", "-1", "1001", "99999999999999999999", "-99999999999999999999"] {
            scene
                .get(&format!("/v2/stamps/{}?limit={limit}", wallet(1)))
                .await
                .refuses(400, "Invalid limit.");
        }
    }

    async fn a_walk_meets_every_stamp_once_newest_first_and_back_again(scene: &Scene) {
        add(scene, &["A", "B", "C", "D", "E", "F", "G", "H"]).await;
        let first = page(scene, "?limit=3").await;
        assert_eq!((names(&first), &first["prev"]), (vec!["H", "G", "F"], &Value::Null));
        let second = page(scene, &towards(&first, "next", 3)).await;
        assert_eq!(names(&second), ["E", "D", "C"]);
        let third = page(scene, &towards(&second, "next", 3)).await;
        assert_eq!((names(&third), &third["next"]), (vec!["B", "A"], &Value::Null));
        let back = page(scene, &towards(&third, "prev", 3)).await;
        assert_eq!(names(&back), ["E", "D", "C"]);
        let start = page(scene, &towards(&back, "prev", 3)).await;
        assert_eq!((names(&start), &start["prev"]), (vec!["H", "G", "F"], &Value::Null));
        // With another size along the way.
        assert_eq!(names(&page(scene, &towards(&first, "next", 1)).await), ["E"]);
        // A page that ends exactly with the last has no next.
        let whole = page(scene, "?limit=8").await;
        assert_eq!((&whole["next"], &whole["prev"]), (&Value::Null, &Value::Null));
    }

    async fn a_walk_is_not_disturbed_by_stamps_that_come_and_go(scene: &Scene) {
        add(scene, &["A", "B", "C", "D", "E", "F"]).await;
        let first = page(scene, "?limit=2").await;
        assert_eq!(names(&first), ["F", "E"]);
        add(scene, &["G", "H"]).await;
        scene.delete(wallet(1), "E").await;
        scene.delete(wallet(1), "D").await;
        let second = page(scene, &towards(&first, "next", 2)).await;
        assert_eq!(names(&second), ["C", "B"]);
        let back = page(scene, &towards(&second, "prev", 2)).await;
        assert_eq!(names(&back), ["G", "F"]);
        let newest = page(scene, &towards(&back, "prev", 2)).await;
        assert_eq!((names(&newest), &newest["prev"]), (vec!["H"], &Value::Null));
        // Past the end, after all entries were removed.
        for name in ["A", "B", "C", "F", "G", "H"] {
            scene.delete(wallet(1), name).await;
        }
        let nothing = page(scene, &towards(&second, "next", 2)).await;
        assert_eq!(nothing, json!({"next": null, "prev": null, "items": []}));
    }

    async fn expired_and_revoked_stamps_are_not_listed(scene: &Scene) {
        let revoked = scene.verify(wallet(1), "Revoked", "r:1", 90).await;
        scene.verify(wallet(1), "Short", "s:1", 5).await;
        scene.verify(wallet(1), "Long", "l:1", 90).await;
        assert_eq!(names(&page(scene, "").await), ["Long", "Short", "Revoked"]);
        scene.revoke(wallet(1), &revoked).await;
        assert_eq!(names(&page(scene, "").await), ["Long", "Short"]);
        scene.clock.set(UnixMillis(day(5).0 - 1));
        assert_eq!(names(&page(scene, "").await), ["Long", "Short"]);
        scene.on_day(5);
        let left = page(scene, "?limit=1").await;
        assert_eq!((names(&left), &left["next"]), (vec!["Long"], &Value::Null));
    }

    async fn a_renewed_stamp_is_listed_once(scene: &Scene) {
        add(scene, &["A", "B"]).await;
        scene.on_day(1);
        add(scene, &["A"]).await;
        assert_eq!(names(&page(scene, "").await), ["A", "B"]);
    }

    async fn a_forged_token_or_one_for_another_list_is_refused(scene: &Scene) {
        add(scene, &["A", "B", "C"]).await;
        scene.verify(wallet(2), "A", "other:1", 90).await;
        let first = page(scene, "?limit=1").await;
        let token = first["next"].as_str().unwrap();
        let (_, neighbor, _) = scene.neighbor().await;
        refused(&scene.get(&format!("/v2/stamps/{}?token={token}", wallet(2))).await);
        refused(&scene.get_as(&neighbor, &format!("/v2/stamps/{}?token={token}", wallet(1))).await);
        let mut flipped = token.to_owned().into_bytes();
        flipped[3] = if flipped[3] == b'A' { b'B' } else { b'A' };
        let flipped = String::from_utf8(flipped).unwrap();
        for bad in [
            "",
            &flipped,
            &token[1..],
            &format!("{token}A"),
            "1",
            "o1",
            "%00",
            "%ff",
            "null",
            "Mg==",
            &"x".repeat(5000),
        ] {
            refused(&scene.get(&format!("/v2/stamps/{}?token={bad}", wallet(1))).await);
        }
    }

    async fn a_token_works_at_another_node_and_after_a_restart(scene: &Scene) {
        add(scene, &["A", "B", "C"]).await;
        let first = page(scene, "?limit=2").await;
        let path = format!("/v2/stamps/{}{}", wallet(1), towards(&first, "next", 2));
        let second = scene.node(Config::default()).get(&scene.key, &path).await;
        assert_eq!(names(&second.json()), ["A"]);
    }
}

#[tokio::test]
async fn a_thousand_stamps_fit_one_page_and_the_next_begins_after_them() {
    let scene = Scene::on_sqlite().await;
    let credentials: Vec<String> = (0..1002)
        .map(|number| {
            scene.credential_from(wallet(1), &format!("S{number}"), &format!("n:{number}"), START, day(9))
        })
        .collect();
    for some in credentials.chunks(200) {
        scene.bring(wallet(1), some).await;
    }
    let first = page(&scene, "").await;
    assert_eq!(names(&first).len(), 1000);
    let token = first["next"].as_str().unwrap();
    assert_eq!(names(&page(&scene, &format!("?token={token}")).await), ["S1", "S0"]);
}

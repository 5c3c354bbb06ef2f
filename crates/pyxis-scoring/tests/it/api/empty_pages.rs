//! Pages of Stamps whose entries all disappeared during paging
//! (`docs/reference/behavior/scoring.md#pages-of-stamps`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::scene::{Scene, wallet};

async fn page(scene: &Scene, query: &str) -> Value {
    scene.get(&format!("/v2/stamps/{}?limit=2{query}", wallet(1))).await.json()
}

/// The page that a token of `from` leads to.
async fn follow_token(scene: &Scene, from: &Value, side: &str) -> Value {
    let token = from[side].as_str().unwrap_or_else(|| panic!("no {side}: {from}"));
    page(scene, &format!("&token={token}")).await
}

fn names(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["credential"]["credentialSubject"]["provider"].as_str().unwrap()).collect()
}

async fn add(scene: &Scene, names: &[&str]) {
    for name in names {
        scene.verify(wallet(1), name, &format!("of:{name}"), 90).await;
    }
}

async fn delete(scene: &Scene, names: &[&str]) {
    for name in names {
        scene.delete(wallet(1), name).await;
    }
}

engines! {
    async fn from_a_page_whose_stamps_went_there_is_a_way_back_to_newer_ones(scene: &Scene) {
        add(scene, &["A", "B", "C", "D"]).await;
        let newest = page(scene, "").await;
        assert_eq!(names(&newest), ["D", "C"]);
        delete(scene, &["A", "B"]).await;
        let empty = follow_token(scene, &newest, "next").await;
        assert_eq!((&empty["items"], &empty["next"]), (&json!([]), &Value::Null));
        assert_eq!(names(&follow_token(scene, &empty, "prev").await), ["D", "C"]);
        // The same if the Stamp that the page began after is gone, too.
        delete(scene, &["C"]).await;
        let empty = follow_token(scene, &newest, "next").await;
        assert_eq!(names(&follow_token(scene, &empty, "prev").await), ["D"]);
    }

    async fn from_a_page_whose_stamps_went_there_is_a_way_on_to_older_ones(scene: &Scene) {
        add(scene, &["A", "B", "C", "D"]).await;
        let oldest = follow_token(scene, &page(scene, "").await, "next").await;
        assert_eq!(names(&oldest), ["B", "A"]);
        delete(scene, &["C", "D"]).await;
        let empty = follow_token(scene, &oldest, "prev").await;
        assert_eq!((&empty["items"], &empty["prev"]), (&json!([]), &Value::Null));
        assert_eq!(names(&follow_token(scene, &empty, "next").await), ["B", "A"]);
        // What is added meanwhile is newer than all of it.
        add(scene, &["E"]).await;
        assert_eq!(names(&follow_token(scene, &oldest, "prev").await), ["E"]);
    }

    async fn where_nothing_is_left_no_way_leads_anywhere(scene: &Scene) {
        add(scene, &["A", "B", "C", "D"]).await;
        let newest = page(scene, "").await;
        let oldest = follow_token(scene, &newest, "next").await;
        delete(scene, &["A", "B", "C", "D"]).await;
        for (from, side) in [(&newest, "next"), (&oldest, "prev")] {
            assert_eq!(follow_token(scene, from, side).await, json!({"next": null, "prev": null, "items": []}));
        }
    }
}

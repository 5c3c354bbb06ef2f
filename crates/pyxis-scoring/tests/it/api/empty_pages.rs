//! Pages of Stamps whose entries all disappeared during paging
//! (`docs/reference/behavior/scoring.md#pages-of-stamps`).

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::world::{World, wallet};

async fn page(world: &World, query: &str) -> Value {
    world.get(&format!("/v2/stamps/{}?limit=2{query}", wallet(1))).await.json()
}

/// The page that a token of `from` leads to.
async fn turn(world: &World, from: &Value, side: &str) -> Value {
    let token = from[side].as_str().unwrap_or_else(|| panic!("no {side}: {from}"));
    page(world, &format!("&token={token}")).await
}

fn names(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["credential"]["credentialSubject"]["provider"].as_str().unwrap()).collect()
}

async fn add(world: &World, names: &[&str]) {
    for name in names {
        world.verify(wallet(1), name, &format!("of:{name}"), 90).await;
    }
}

async fn delete(world: &World, names: &[&str]) {
    for name in names {
        world.delete(wallet(1), name).await;
    }
}

engines! {
    async fn from_a_page_whose_stamps_went_there_is_a_way_back_to_newer_ones(world: &World) {
        add(world, &["A", "B", "C", "D"]).await;
        let newest = page(world, "").await;
        assert_eq!(names(&newest), ["D", "C"]);
        delete(world, &["A", "B"]).await;
        let empty = turn(world, &newest, "next").await;
        assert_eq!((&empty["items"], &empty["next"]), (&json!([]), &Value::Null));
        assert_eq!(names(&turn(world, &empty, "prev").await), ["D", "C"]);
        // The same if the Stamp that the page began after is gone, too.
        delete(world, &["C"]).await;
        let empty = turn(world, &newest, "next").await;
        assert_eq!(names(&turn(world, &empty, "prev").await), ["D"]);
    }

    async fn from_a_page_whose_stamps_went_there_is_a_way_on_to_older_ones(world: &World) {
        add(world, &["A", "B", "C", "D"]).await;
        let oldest = turn(world, &page(world, "").await, "next").await;
        assert_eq!(names(&oldest), ["B", "A"]);
        delete(world, &["C", "D"]).await;
        let empty = turn(world, &oldest, "prev").await;
        assert_eq!((&empty["items"], &empty["prev"]), (&json!([]), &Value::Null));
        assert_eq!(names(&turn(world, &empty, "next").await), ["B", "A"]);
        // What is added meanwhile is newer than all of it.
        add(world, &["E"]).await;
        assert_eq!(names(&turn(world, &oldest, "prev").await), ["E"]);
    }

    async fn where_nothing_is_left_no_way_leads_anywhere(world: &World) {
        add(world, &["A", "B", "C", "D"]).await;
        let newest = page(world, "").await;
        let oldest = turn(world, &newest, "next").await;
        delete(world, &["A", "B", "C", "D"]).await;
        for (from, side) in [(&newest, "next"), (&oldest, "prev")] {
            assert_eq!(turn(world, from, side).await, json!({"next": null, "prev": null, "items": []}));
        }
    }
}

//! The catalogue of all Stamps (`docs/reference/behavior/scoring.md#catalogue`).

use http::StatusCode;
use pyxis_core::catalogue::{default_catalogue, default_weights};
use pyxis_store::catalogue;
use pyxis_testkit::engines;
use serde_json::Value;

use super::scene::Scene;

fn members(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn filled(value: &Value, member: &str) {
    assert!(value[member].as_str().is_some_and(|text| !text.trim().is_empty()), "{member} of {value}");
}

engines! {
    async fn every_entry_of_the_built_in_catalogue_has_all_its_fields(scene: &Scene) {
        let answer = scene.get("/v2/stamps/metadata").await;
        assert_eq!((answer.status, answer.header("content-type")), (StatusCode::OK, "application/json"));
        let catalogue = answer.json();
        let mut names = Vec::new();
        for platform in catalogue.as_array().unwrap() {
            assert_eq!(members(platform), ["connectMessage", "description", "groups", "icon", "id", "name"]);
            for member in ["id", "icon", "name", "description", "connectMessage"] {
                filled(platform, member);
            }
            for group in platform["groups"].as_array().unwrap() {
                assert_eq!(members(group), ["name", "stamps"]);
                filled(group, "name");
                for stamp in group["stamps"].as_array().unwrap() {
                    assert_eq!(members(stamp), ["description", "hash", "name"]);
                    for member in ["name", "description", "hash"] {
                        filled(stamp, member);
                    }
                    names.push(stamp["name"].as_str().unwrap().to_owned());
                }
            }
        }
        // Every Stamp with a default weight is listed.
        for name in default_weights().weights.keys() {
            assert!(names.iter().any(|known| known == name.as_str()), "{name}");
        }
    }

    async fn a_workspace_may_have_a_catalogue_of_its_own(scene: &Scene) {
        let (_, neighbor, _) = scene.neighbor().await;
        let mut tx = scene.state.store.begin().await.unwrap();
        catalogue::replace(&mut tx, scene.workspace, &default_catalogue()[1..3]).await.unwrap();
        tx.commit().await.unwrap();
        let ids = |catalogue: Value| {
            catalogue
                .as_array()
                .unwrap()
                .iter()
                .map(|one| one["id"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let own = ids(scene.get("/v2/stamps/metadata").await.json());
        let theirs = ids(scene.get_as(&neighbor, "/v2/stamps/metadata").await.json());
        assert_eq!(own, theirs[1..3]);
        assert_eq!(theirs.len(), default_catalogue().len());
    }
}

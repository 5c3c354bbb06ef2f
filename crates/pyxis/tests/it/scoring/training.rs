//! Training and measuring from the command line, on a small made-up population.

use std::fmt::Write;

use pyxis_core::address::EvmAddress;
use pyxis_models::features;
use pyxis_models::scope::Model;
use pyxis_testkit::engines;
use pyxis_testkit::onnx::stump;
use serde_json::json;

use super::installation::ScoringSite;
use crate::support::Setup;

fn wallet(number: u32) -> EvmAddress {
    let mut bytes = [9; 20];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    EvmAddress(bytes)
}

/// Labels and transfers of 220 humans, who use many venues, and 220 Sybils, who pass coins along. One in eight behaves
/// like the others.
fn population(site: &ScoringSite) -> [String; 2] {
    let (mut labels, mut moves) = ("address,label\n".to_owned(), "chain,kind,from,to\n".to_owned());
    let mut noise = 7_u32;
    let mut random = move |below: u32| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 8) % below
    };
    for number in 0..440 {
        let human = number % 2 == 0;
        writeln!(labels, "{},{}", wallet(number), if human { "human" } else { "sybil" }).unwrap();
        for step in 0..4 + random(5) {
            let like_human = human != (random(8) == 0);
            let other = if like_human { 10_000 + random(60) } else { (number + 20) % 440 };
            let chain = if step % 2 == 0 { "ethereum" } else { "polygon" };
            writeln!(moves, "{chain},native,{},{}", wallet(number), wallet(other)).unwrap();
        }
    }
    [("labels.csv", labels), ("moves.csv", moves)].map(|(name, text)| {
        let path = site.app.directory().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    })
}

engines! {
    async fn models_are_trained_put_in_force_and_taken_away(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let [labels, moves] = population(&site);
        app.cli_json(&["activity", "import", &moves]).await;
        let mark = app.sql("SELECT mark FROM activity_state");
        let built_in = app.cli_json(&["models", "list"]).await;
        let out = app.directory().join("mine.pxm");
        let out = out.to_str().unwrap();
        let train = ["models", "train", "--labels", labels.as_str(), "--activity", moves.as_str(), "--trees", "4"];
        // Written only.
        let written = app.cli_json(&[&train[..], &["--out", out, "--no-install"]].concat()).await;
        assert_eq!((&written["revision"], app.cli_json(&["models", "list"]).await), (&json!(null), built_in.clone()));
        assert_eq!(app.sql("SELECT mark FROM activity_state"), mark);
        let file = std::fs::read(out).unwrap();
        assert!(file.starts_with(b"PXM1"));
        let card = &written["card"];
        assert_eq!((&card["data"]["labelled"], &card["data"]["humans"]), (&json!(440), &json!(220)));
        assert_eq!(card["features_sha256"], json!(features::names_digest()));
        // The user's own model stays.
        let onnx = app.directory().join("own.onnx");
        std::fs::write(&onnx, stump(features::feature_count(Model::Base), 0, 10.0, 0.25, 0.75).bytes()).unwrap();
        app.cli_json(&["models", "add", onnx.to_str().unwrap(), "--model", "base"]).await;
        let trained = app.cli_json(&train).await;
        assert_eq!(trained["fingerprint"], written["fingerprint"], "the same data and seed");
        let listed = app.cli_json(&["models", "list"]).await;
        assert_eq!((&listed["revision"], &trained["revision"]), (&json!(2), &json!(2)));
        assert_eq!(listed["card"], trained["card"]);
        assert_eq!(listed["customs"][0]["name"], "own");
        assert_ne!(listed["fingerprint"], built_in["fingerprint"]);
        assert_ne!(app.sql("SELECT mark FROM activity_state"), mark, "suspected groups follow the models");
        let path = format!("/v2/models/score/{}?model=polygon&explain=true", wallet(3));
        let answer = site.api.get(&path).send().await.expect(200).json();
        assert_eq!(answer["explain"]["fingerprint"], listed["fingerprint"]);
        app.cli(&["models", "reset", "--yes"]).await.expect(0);
        assert_eq!(app.cli_json(&["models", "list"]).await["fingerprint"], built_in["fingerprint"]);
        assert_eq!(app.sql("SELECT mark FROM activity_state"), mark);
    }

    async fn models_are_measured_on_labels_again_or_as_they_are(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let [labels, moves] = population(&site);
        let plots = app.directory().join("plots");
        let on = ["--labels", labels.as_str(), "--activity", moves.as_str(), "--plots", plots.to_str().unwrap()];
        let retrained = app.cli(&[&["models", "evaluate", "--trees", "4"][..], &on[..]].concat()).await.expect(0).stdout;
        for shown in ["MODEL", "AUC", "aggregate", "polygon", "shared", "random", "by cluster"] {
            assert!(retrained.contains(shown), "{shown}: {retrained}");
        }
        for name in ["aggregate-random", "polygon-by-cluster"] {
            for plot in ["roc", "precision-recall", "calibration", "scores"] {
                let drawn = std::fs::read_to_string(plots.join(format!("{name}-{plot}.svg"))).unwrap();
                assert!(drawn.starts_with("<svg"), "{name} {plot}");
            }
        }
        assert_eq!(app.cli_json(&["models", "list"]).await["revision"], json!(null), "nothing is put in force");
        let as_is = app.cli_json(&[&["models", "evaluate", "--as-is"][..], &on[..]].concat()).await;
        let rows = as_is.as_array().unwrap();
        let row = rows.iter().find(|row| row["model"] == "polygon").unwrap();
        assert_eq!(row["split"], "as is");
        assert_eq!(row["scored"], json!(440));
        assert!((0.0..=1.0).contains(&row["auc"].as_f64().unwrap()), "{row}");
        assert!(std::fs::read_to_string(plots.join("polygon-precision-recall.svg")).unwrap().starts_with("<svg"));
        app.cli(&["models", "evaluate", "--as-is"]).await.expect(2);
    }
}

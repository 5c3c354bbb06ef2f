//! The user's own models from the command line to the endpoint.

use std::fmt::Write;

use pyxis_models::features;
use pyxis_models::scope::Model;
use pyxis_testkit::engines;
use pyxis_testkit::onnx::{Model as File, logistic, stump};
use serde_json::{Value, json};

use super::installation::{ScoringSite, address};
use crate::support::Setup;

/// Writes a file next to the database; returns its path.
fn file(site: &ScoringSite, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = site.app.directory().join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Wallets 1 to 200 on Polygon: an odd one sent two transfers, an even one five.
async fn import(site: &ScoringSite) {
    let mut moves = "chain,kind,from,to\n".to_owned();
    for number in 1..=200_u8 {
        for step in 0..if number % 2 == 0 { 5 } else { 2 } {
            writeln!(moves, "polygon,native,{},{}", address(number), address(201 + (number / 2 + step) % 50))
                .unwrap();
        }
    }
    let path = file(site, "moves.csv", moves);
    site.app.cli_json(&["activity", "import", &path]).await;
}

/// A tree over transfers sent: at most three is 0.25, more is 0.875.
fn busy(model: Model) -> File {
    let wanted = if model == Model::Aggregate { "wallet_out_transfers" } else { "out_transfers" };
    let place = (0..features::ALL).find(|place| features::feature_name(*place) == wanted).unwrap();
    stump(features::feature_count(model), i64::try_from(place).unwrap(), 3.0, 0.25, 0.875)
}

async fn served(site: &ScoringSite, number: u8, query: &str) -> Value {
    site.api.get(&format!("/v2/models/score/{}{query}", address(number))).send().await.expect(200).json()
}

engines! {
    async fn a_model_is_added_answers_everywhere_and_is_taken_away(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        import(&site).await;
        let before = served(&site, 2, "?model=polygon").await;
        let path = file(&site, "busy.onnx", busy(Model::Polygon).bytes());
        let added = app.cli_json(&["models", "add", &path, "--model", "polygon", "--description", "Counts."]).await;
        assert_eq!((&added["revision"], &added["custom"]["name"]), (&json!(1), &json!("busy")));
        // In effect from the next request, in the list, in bulk, and for managers.
        for (number, wanted) in [(1, 25.0), (2, 87.5)] {
            let answer = served(&site, number, "?model=polygon&explain=true").await;
            assert_eq!(answer["details"]["models"]["polygon"]["score"], json!(wanted));
            assert_eq!(answer["explain"]["models"]["polygon"]["custom"]["name"], "busy");
        }
        let listed = app.cli_json(&["models", "list"]).await;
        assert_eq!((&listed["revision"], &listed["customs"][0]), (&json!(1), &added["custom"]));
        assert_eq!(site.get("/admin/models").await["customs"], listed["customs"]);
        let text = app.cli(&["models", "list"]).await.expect(0).stdout;
        assert!(text.contains("custom model \"busy\" replaces polygon"), "{text}");
        let list = file(&site, "list.txt", format!("{}\n{}\n", address(1), address(2)));
        let out = app.directory().join("scores.csv");
        let out = out.to_str().unwrap();
        app.cli_json(&["models", "score", "--addresses", &list, "--out", out, "--model", "polygon"]).await;
        let scores = std::fs::read_to_string(out).unwrap();
        assert!(scores.contains(&format!("{},25\n{},87.5\n", address(1), address(2))), "{scores}");
        // Removed, and the built-in model answers again.
        app.cli(&["models", "remove", "--model", "base", "--yes"]).await.expect(3);
        app.cli(&["models", "remove", "--model", "polygon", "--yes"]).await.expect(0);
        assert_eq!(served(&site, 2, "?model=polygon").await, before);
        assert_eq!(app.cli_json(&["models", "list"]).await["revision"], json!(null));
        app.cli(&["models", "remove", "--model", "polygon", "--yes"]).await.expect(3);
        app.cli(&["models", "reset"]).await.expect(3);
        app.cli_json(&["models", "add", &path, "--model", "nft"]).await;
        let refused = app.cli(&["models", "reset"]).await.expect(1);
        assert!(refused.stderr.contains("this would remove trained models and your own"), "{refused:?}");
        assert_ne!(app.cli_json(&["models", "list"]).await["customs"], json!([]));
        app.cli(&["models", "reset", "--yes"]).await.expect(0);
        assert_eq!(app.cli_json(&["models", "list"]).await["customs"], json!([]));
        app.cli(&["models", "reset"]).await.expect(3);
    }

    async fn what_cannot_be_used_is_refused_with_what_to_do(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let narrow = file(&site, "narrow.onnx", stump(3, 0, 1.0, 0.2, 0.8).bytes());
        let text = file(&site, "text.onnx", "hello");
        let line = file(&site, "line.onnx", logistic(&[0.01; features::WALLET], 0.0).bytes());
        let good = file(&site, "good.onnx", busy(Model::Aggregate).bytes());
        for (arguments, words) in [
            (vec![narrow.as_str()], "pyxis models features prints it"),
            (vec![&text], "this is not an ONNX file"),
            (vec![&line], "--unknown NUMBER"),
            (vec![&good, "--features", "00"], "train again on the output"),
            (vec![&good, "--human", "2"], "there is no column 2"),
            (vec![&good, "--output", "label"], "(outputs: probabilities)"),
            (vec!["nowhere.onnx"], "cannot use nowhere.onnx"),
        ] {
            let refused = site.app.cli(&[&["models", "add", "--model", "aggregate"], &arguments[..]].concat()).await.expect(1);
            assert!(refused.stderr.contains(words), "{}", refused.stderr);
        }
        for wrong in [["--calibration", "0,1"], ["--calibration", "x"], ["--weight", "-1"], ["--model", "foo"]] {
            let arguments = [&["models", "add", &good, "--model", "nft"][..], &wrong].concat();
            site.app.cli(&arguments).await.expect(2);
        }
        assert_eq!(site.app.cli_json(&["models", "list"]).await["customs"], json!([]));
        // The same line is a valid model once the value of unknown features is given.
        let added = site.app.cli_json(&["models", "add", &line, "--model", "aggregate", "--unknown", "-1", "--calibration", "0.5,-0.25", "--name", "line"]).await;
        assert_eq!(added["custom"]["calibration"], json!({ "slope": 0.5, "offset": -0.25 }));
    }

    async fn features_are_written_to_train_on_and_labels_calibrate(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        import(&site).await;
        let described = app.cli_json(&["models", "features", "--model", "polygon"]).await;
        assert_eq!(described["features"].as_array().unwrap().len(), features::ALL);
        assert_eq!(described["sha256"], json!(features::digest(Model::Polygon)));
        let wanted: Vec<String> = (1..=200).map(|number| address(number).to_string()).collect();
        let list = file(&site, "list.txt", wanted.join("\n"));
        let out = app.directory().join("features.csv");
        let out = out.to_str().unwrap();
        app.cli(&["models", "features", "--model", "polygon", "--addresses", &list, "--out", out]).await.expect(0);
        let written = std::fs::read_to_string(out).unwrap();
        let header: Vec<&str> = written.lines().next().unwrap().split(',').collect();
        assert_eq!(header[1..], (0..features::ALL).map(features::feature_name).collect::<Vec<_>>());
        let column = header.iter().position(|name| *name == "out_transfers").unwrap();
        for line in written.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), header.len());
            assert!(["2", "5"].contains(&cells[column]), "{line}");
        }
        assert_eq!(written.lines().count(), 201);

        // Nine of ten busy wallets are human, and one of ten others: the calibrated model says so.
        let mut labels = "address,label\n".to_owned();
        for number in 1..=200_u8 {
            let human = (number % 2 == 0) != (number / 2 % 10 == 0);
            writeln!(labels, "{},{}", address(number), if human { "human" } else { "sybil" }).unwrap();
        }
        let labels = file(&site, "labels.csv", labels);
        let path = file(&site, "busy.onnx", busy(Model::Polygon).bytes());
        let added = app.cli_json(&["models", "add", &path, "--model", "polygon", "--labels", &labels]).await;
        let quality = &added["custom"]["quality"];
        assert_eq!(quality["scored"], 200);
        assert!(quality["auc"].as_f64().unwrap() > 0.85, "{quality}");
        let score = served(&site, 2, "?model=polygon").await["details"]["models"]["polygon"]["score"].as_f64().unwrap();
        assert!((score - 90.0).abs() < 2.0, "{score}");
        let few = file(&site, "few.csv", format!("address,label\n{},human\n", address(2)));
        let refused = app.cli(&["models", "add", &path, "--model", "polygon", "--labels", &few]).await.expect(1);
        assert!(refused.stderr.contains("calibration needs 50 humans"), "{}", refused.stderr);
    }
}

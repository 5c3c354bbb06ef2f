//! Model scores from the command line to the endpoint.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use pyxis_testkit::engines;
use serde_json::json;

use super::installation::{ScoringSite, address};
use crate::support::Setup;

/// Converts a CSV file of texts to Parquet, at the given path.
fn to_parquet(csv: &str, path: &Path) {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let rows: Vec<Vec<&str>> = lines.collect();
    let columns: Vec<String> = names.iter().map(|name| format!("required binary {name} (UTF8);")).collect();
    let schema = format!("message transfers {{ {} }}", columns.concat());
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let out = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(out, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for place in 0..names.len() {
        let values: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(row[place])).collect();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

/// Twelve users that pass coins along and return them to one address, and the times of their first bridging.
fn files(site: &ScoringSite) -> [PathBuf; 2] {
    let (mut moves, mut bridged) =
        ("chain,kind,from,to\n".to_owned(), "address,first_bridge_unix,bridge_volume_usd\n".to_owned());
    for number in 1..=12_u8 {
        let own = address(number);
        writeln!(
            moves,
            "polygon,erc20,{own},{}\npolygon,native,{own},{}",
            address(number % 12 + 1),
            address(99)
        )
        .unwrap();
        writeln!(bridged, "{own},{},100", 1_640_000_000 + i64::from(number)).unwrap();
    }
    [("moves.csv", moves), ("bridged.csv", bridged)].map(|(name, text)| {
        let path = site.app.directory().join(name);
        std::fs::write(&path, text).unwrap();
        path
    })
}

engines! {
    async fn an_import_is_scored_alike_one_by_one_and_in_bulk(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let [moves, bridged] = files(&site);
        let (moves, bridged) = (moves.to_str().unwrap(), bridged.to_str().unwrap());
        let done = app.cli_json(&["activity", "import", moves, bridged]).await;
        assert_eq!((&done["transfers"], &done["wallets"], &done["changed"]), (&json!(24), &json!(12), &json!(12)));
        assert_eq!(done["files"][0]["accepted"], 24);
        app.cli(&["activity", "import", moves, bridged]).await.expect(3);
        let listed = app.cli_json(&["activity", "list"]).await;
        assert_eq!(listed.as_array().unwrap().len(), 2);

        let wanted: Vec<String> = (1..=13).map(|number| address(number).to_string()).collect();
        let (list, out) = (app.directory().join("list.txt"), app.directory().join("scores.csv"));
        std::fs::write(&list, format!("address\n{}\n", wanted.join("\n"))).unwrap();
        let score = ["models", "score", "--addresses", list.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let told = app.cli_json(&score).await;
        assert_eq!((&told["addresses"], &told["too_little_data"]), (&json!(13), &json!(1)));
        let scores = std::fs::read_to_string(&out).unwrap();
        let mut lines = scores.lines();
        assert_eq!(lines.next(), Some("address,score"));
        for (number, line) in (1..=13).zip(lines) {
            let (of, score) = line.split_once(',').unwrap();
            assert_eq!(of, address(number).to_string());
            let path = format!("/v2/models/score/{of}");
            let answer = site.api.get(&path).send().await.expect(200).json();
            let served = answer["details"]["models"]["aggregate"]["score"].as_f64().unwrap();
            assert_eq!(served.to_bits(), score.parse::<f64>().unwrap().to_bits(), "{line}");
            assert_eq!(number == 13, score == "-1");
        }

        let groups = app.cli_json(&["models", "clusters"]).await;
        let group = &groups[0];
        assert_eq!((&group["users"], &group["shared_sink"], &group["collected"]), (&json!(12), &json!(address(99)), &json!(12)));
        let removed = app.cli_json(&["activity", "remove", listed[0]["source"].as_str().unwrap(), "--yes"]).await;
        assert!(removed["changed"].as_i64().unwrap() + removed["removed"].as_i64().unwrap() > 0);
        app.cli(&["activity", "remove", "none", "--yes"]).await.expect(3);
    }

    async fn a_parquet_file_is_imported_like_the_csv_file_of_the_same_rows(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let [moves, bridged] = files(&site);
        let columns = app.directory().join("moves.parquet");
        to_parquet(&std::fs::read_to_string(&moves).unwrap(), &columns);
        let done = app.cli_json(&["activity", "import", columns.to_str().unwrap(), bridged.to_str().unwrap()]).await;
        assert_eq!((&done["files"][0]["accepted"], &done["wallets"]), (&json!(24), &json!(12)));
        let of_columns = aggregate(&site, 1).await;
        assert!(of_columns >= 0.0);
        let listed = app.cli_json(&["activity", "list"]).await;
        let taken = listed.as_array().unwrap().iter().find(|file| file["accepted"] == 24).unwrap();
        app.cli_json(&["activity", "remove", taken["source"].as_str().unwrap(), "--yes"]).await;
        app.cli_json(&["activity", "import", moves.to_str().unwrap()]).await;
        assert_eq!(aggregate(&site, 1).await.to_bits(), of_columns.to_bits());
    }

    async fn an_export_of_an_explorer_is_read_and_what_is_ignored_is_named(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let import = async |name: &str, text: String, code: i32| {
            std::fs::write(app.directory().join(name), text).unwrap();
            let words = app.cli(&["activity", "import", name, "--defer"]).await.expect(code);
            let again = app.cli_json(&["activity", "list"]).await;
            let source = again.as_array().unwrap().iter().find(|file| file["name"] == name).unwrap()["source"].clone();
            app.cli(&["activity", "remove", source.as_str().unwrap(), "--yes"]).await.expect(0);
            let ran = app.cli(&["activity", "import", name, "--defer", "--json"]).await.expect(code);
            (words.stdout, ran.json()["files"][0].clone())
        };
        let (a, b) = (address(1), address(2));
        let explorer = format!(
            "Transaction Hash,DateTime (UTC),From,To,Value_IN(ETH),Value_OUT(ETH),Method\n\
             0x1,2023-01-31 09:05:00,{a},{b},0,1.5,Transfer\n0x2,,{b},{a},2,0,Transfer\n"
        );
        let (words, told) = import("explorer.csv", explorer, 0).await;
        assert!(words.contains("time = DateTime (UTC)"), "{words}");
        assert!(words.contains("ignored columns: Transaction Hash, Method"), "{words}");
        assert!(words.contains("transfers without a time: 1"), "{words}");
        assert_eq!((&told["accepted"], &told["without_time"], &told["lacks_time"]), (&json!(2), &json!(1), &json!(false)));
        assert_eq!(told["ignored_columns"], json!(["Transaction Hash", "Method"]));
        assert_eq!(told["columns"][2], json!({"read_as": "time", "name": "DateTime (UTC)"}));

        let local = format!("from,to,DateTime (PST)\n{a},{b},2023-01-31 09:05:00\n");
        let (words, told) = import("local.csv", local, 0).await;
        assert!(words.contains("ignored columns: DateTime (PST)") && words.contains("ages are unknown"), "{words}");
        assert_eq!((&told["lacks_time"], &told["without_time"]), (&json!(true), &json!(1)));

        let bad: Vec<String> = (0..30).map(|number| format!("nobody{number},{b}\n")).collect();
        let bad = bad.concat();
        let (words, told) = import("bad.csv", format!("from,to\n{a},{b}\n{bad}"), 1).await;
        assert!(words.contains("rejected: line 3: from: \"nobody0\"") && words.contains("and 10 more"), "{words}");
        assert_eq!((told["rejects"].as_array().unwrap().len(), &told["rejected"]), (20, &json!(30)));
        assert_eq!((&told["rejects"][19]["line"], &told["first_rejected"]["line"]), (&json!(22), &json!(3)));
    }

    async fn a_list_of_addresses_is_refused_with_each_bad_one(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let list = format!("address\n{}\nnobody\n\n{}\n0x12\n", address(1), address(2));
        std::fs::write(app.directory().join("list.txt"), list).unwrap();
        let refused = app.cli(&["models", "score", "--addresses", "list.txt", "--out", "-"]).await.expect(1);
        assert!(refused.stderr.contains("[3] \"nobody\"") && refused.stderr.contains("[6] \"0x12\""), "{}", refused.stderr);
    }

    async fn models_say_how_good_they_are(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let told = app.cli_json(&["models", "list"]).await;
        assert_eq!(told["revision"], json!(null));
        let aggregate = &told["card"]["models"][0];
        assert_eq!(aggregate["name"], "aggregate");
        assert!(aggregate["random"]["auc"].as_f64().unwrap() >= 0.955);
        assert!(aggregate["random"]["calibration_error"].as_f64().unwrap() < 0.03);
        assert!(aggregate["by_cluster"]["auc"].as_f64().unwrap() > 0.94);
        let alone = &told["card"]["alone"][0];
        assert!(alone["random"]["auc"].as_f64().unwrap() > 0.9);
        assert!(alone["imported"]["auc"].as_f64().unwrap() > 0.94);
        assert!(alone["random"]["calibration_error"].as_f64().unwrap() < 0.03);
        let plots = app.directory().join("plots");
        app.cli_json(&["models", "evaluate", "--plots", plots.to_str().unwrap()]).await;
        for name in ["aggregate-random-roc.svg", "polygon-by-cluster-calibration.svg", "shared-gnosis-unseen-scores.svg", "aggregate-alone-random-roc.svg"] {
            assert!(std::fs::read_to_string(plots.join(name)).unwrap().starts_with("<svg"), "{name}");
        }
        app.cli(&["models", "reset"]).await.expect(3);
        app.cli(&["models", "score", "--addresses", "x", "--out", "-", "--model", "foo"]).await.expect(2);
        app.cli(&["models", "train", "--labels", "nowhere.csv"]).await.expect(1);
        let shown = site.get("/admin/models").await;
        assert_eq!((&shown["card"], &shown["fingerprint"]), (&told["card"], &told["fingerprint"]));
        assert_eq!(site.get("/admin/models/groups").await, json!({ "groups": [] }));
    }

    async fn an_import_for_later_is_scored_by_the_next_import(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let [moves, bridged] = files(&site).map(|file| file.to_str().unwrap().to_owned());
        let done = app.cli_json(&["activity", "import", "--defer", moves.as_str()]).await;
        assert_eq!((&done["files"][0]["new"], done.get("wallets")), (&json!(true), None));
        assert!(aggregate(&site, 1).await < 0.0, "nothing is computed yet");
        app.cli(&["activity", "import", "--defer", moves.as_str()]).await.expect(3);
        let said = app.cli(&["activity", "import", "--defer", bridged.as_str()]).await.expect(0);
        assert!(said.stdout.contains("not computed yet"), "{said:?}");
        let done = app.cli_json(&["activity", "import", moves.as_str()]).await;
        assert!(done["computed"].as_u64().unwrap() > 0, "{done}");
        let later = aggregate(&site, 1).await;
        assert!(later >= 0.0, "{later}");
        app.cli_json(&["activity", "rebuild"]).await;
        assert_eq!(aggregate(&site, 1).await.to_bits(), later.to_bits());
    }

    async fn what_was_stored_is_scored_whatever_came_between(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let [good, _] = files(&site);
        let (good, bad) = (good.to_str().unwrap(), app.directory().join("bad.csv"));
        std::fs::write(&bad, "who,what\n").unwrap();
        // A later file that fails.
        app.cli(&["activity", "import", good, bad.to_str().unwrap()]).await.expect(1);
        let first = aggregate(&site, 1).await;
        assert!(first >= 0.0, "{first}");
        app.cli(&["activity", "import", good]).await.expect(3);
        // An interruption in the middle of the computation, and one before it began.
        for left in ["UPDATE activity_state SET mark = ''", "DELETE FROM activity_state"] {
            app.sql(&format!("DELETE FROM activity_wallets; {left}"));
            assert!(aggregate(&site, 1).await < 0.0);
            let done = app.cli_json(&["activity", "import", good]).await;
            assert_eq!((&done["changed"], &done["files"][0]["new"]), (&json!(12), &json!(false)));
            assert_eq!(aggregate(&site, 1).await.to_bits(), first.to_bits());
            app.cli(&["activity", "import", good]).await.expect(3);
        }
        // Rows that an earlier release wrote, and rows that are damaged.
        let earlier = "UPDATE activity_state SET mark = 'of other features', world = 0";
        app.sql(&format!("UPDATE activity_wallets SET digest = 0; {earlier}"));
        assert_eq!(app.cli_json(&["activity", "import", good]).await["changed"], json!(12));
        app.sql("UPDATE activity_wallets SET features = address");
        site.api.get(&format!("/v2/models/score/{}", address(1))).send().await.expect(500);
        assert_eq!(app.cli_json(&["activity", "rebuild"]).await["changed"], json!(12));
        assert_eq!(aggregate(&site, 1).await.to_bits(), first.to_bits());
    }

    async fn suspected_groups_are_shown_as_a_table_and_drawn(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let app = &site.app;
        let [moves, bridged] = farm(&site);
        app.cli_json(&["activity", "import", moves.as_str(), bridged.as_str()]).await;
        let plots = app.directory().join("groups");
        let table = app.cli(&["models", "clusters", "--plots", plots.to_str().unwrap()]).await.expect(0).stdout;
        for shown in ["SHARED FUNDER", "SAME DAY", &address(98).to_string(), &address(99).to_string()] {
            assert!(table.contains(shown), "{shown}: {table}");
        }
        let groups = app.cli_json(&["models", "clusters"]).await;
        let group = &groups[0];
        assert_eq!((&group["users"], &group["transfers_within"]), (&json!(12), &json!(0)));
        assert_eq!((&group["shared_funder"], &group["funded"]), (&json!(address(98)), &json!(12)));
        assert_eq!((&group["shared_sink"], &group["collected"]), (&json!(address(99)), &json!(12)));
        assert_eq!((&group["same_day"], group["members"].as_array().unwrap().len()), (&json!(12), 12));
        let drawn = std::fs::read_to_string(plots.join(format!("{}.svg", address(1)))).unwrap();
        assert!(drawn.starts_with("<svg") && drawn.contains(&format!("<title>funder {}", address(98))));
        assert_eq!(app.cli_json(&["models", "clusters", "--limit", "0"]).await, json!([]));
        assert_eq!(site.get("/admin/models/groups").await["groups"][0]["id"], json!(address(1)));
    }
}

async fn aggregate(site: &ScoringSite, number: u8) -> f64 {
    let path = format!("/v2/models/score/{}", address(number));
    let answer = site.api.get(&path).send().await.expect(200).json();
    answer["details"]["models"]["aggregate"]["score"].as_f64().unwrap()
}

/// Twelve users with one funder and one sink that first bridged within seconds and never met.
fn farm(site: &ScoringSite) -> [String; 2] {
    let (mut moves, mut bridged) =
        ("chain,from,to\n".to_owned(), "address,first_bridge_unix,bridge_volume_usd\n".to_owned());
    for number in 1..=12_u8 {
        let own = address(number);
        writeln!(moves, "polygon,{},{own}\npolygon,{own},{}", address(98), address(99)).unwrap();
        writeln!(bridged, "{own},{},100", 1_640_000_000 + i64::from(number)).unwrap();
    }
    [("moves.csv", moves), ("bridged.csv", bridged)].map(|(name, text)| {
        let path = site.app.directory().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    })
}

//! The scored addresses of a scorer and suspected groups, as managers and commands export them.

use std::fmt::Write;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::{ScoringSite, address};
use crate::support::{Setup, until};

/// Columns of a population.
const COLUMNS: &str = "address,score,threshold,passing,computed_at,expires_at,outdated,score_error,stamps";

/// Imports twelve users that pass coins along and return them to one address.
pub(super) async fn import_group(site: &ScoringSite) {
    let mut moves = "chain,kind,from,to\n".to_owned();
    let mut bridged = "address,first_bridge_unix,bridge_volume_usd\n".to_owned();
    for number in 1..=12_u8 {
        let (own, next) = (address(number), address(number % 12 + 1));
        writeln!(moves, "polygon,erc20,{own},{next}\npolygon,native,{own},{}", address(99)).unwrap();
        writeln!(bridged, "{own},{},100", 1_640_000_000 + i64::from(number)).unwrap();
    }
    let files = [("moves.csv", moves), ("bridged.csv", bridged)].map(|(name, text)| {
        let path = site.app.directory().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let done = site.app.cli_json(&["activity", "import", &files[0], &files[1]]).await;
    assert_eq!(done["suspected_groups"], 1);
}

/// The present moment in a query, once it is over.
async fn moment_that_is_over() -> String {
    let moment = SystemClock.now();
    until("the next millisecond", async || (SystemClock.now() > moment).then_some(())).await;
    moment.to_rfc3339()
}

engines! {
    async fn a_population_is_listed_summed_up_and_exported_now_and_as_of_a_moment(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let scorer = site.scorer();
        let path = format!("/admin/scorers/{scorer}/population");
        assert_eq!(site.get(&path).await, json!({ "scores": [], "next_after": null }));
        let terms = json!({ "threshold": "2", "weights": { "A": "2", "B": "0.5" }, "revision": 1 });
        site.owner.patch(&format!("/admin/scorers/{scorer}"), &terms).send().await.expect(200);
        site.stamp(1, "A", "a:1").await;
        site.stamp(2, "B", "b:2").await;
        site.score(1).await;
        site.score(2).await;
        // A second address with the account of the first one.
        site.stamp(3, "A", "a:1").await;
        site.score(3).await;
        let then = moment_that_is_over().await;
        site.stamp(2, "A", "a:2").await;
        site.score(2).await;

        let page = site.get(&format!("{path}?limit=2")).await;
        assert_eq!((&page["scores"][0]["address"], &page["next_after"]), (&json!(address(1)), &json!(address(2))));
        let second = &page["scores"][1];
        assert_eq!((&second["score"], &second["threshold"], &second["passing"]), (&json!("2.50000"), &json!("2.00000"), &json!(true)));
        assert_eq!((&second["stamps"]["B"]["score"], &second["outdated"]), (&json!("0.50000"), &json!(false)));
        let rest = site.get(&format!("{path}?limit=2&after={}", address(2))).await;
        assert_eq!((&rest["scores"][0]["address"], &rest["next_after"]), (&json!(address(3)), &Value::Null));
        assert_eq!((&rest["scores"][0]["score"], &rest["scores"][0]["stamps"]["A"]["dedup"]), (&json!("0.00000"), &json!(true)));
        let earlier = site.get(&format!("{path}?at={then}")).await;
        assert_eq!((&earlier["scores"][1]["score"], &earlier["scores"][1]["passing"]), (&json!("0.50000"), &json!(false)));

        let now = site.get(&format!("{path}/summary")).await;
        assert_eq!((&now["addresses"], &now["passing"], &now["outdated"]), (&json!(3), &json!(2), &json!(0)));
        let mix = json!([
            { "name": "A", "addresses": 3, "passing": 2, "deduplicated": 1 },
            { "name": "B", "addresses": 1, "passing": 1, "deduplicated": 0 },
        ]);
        assert_eq!(now["stamps"], mix);
        let last = now["days"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["addresses"], &last["passing"]), (&json!(3), &json!(2)));
        let before = site.get(&format!("{path}/summary?at={then}")).await;
        assert_eq!((&before["addresses"], &before["passing"]), (&json!(3), &json!(1)));
        let last = before["days"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["addresses"], &last["passing"]), (&json!(3), &json!(1)), "the day ends at the moment");
        let early = site.get(&format!("{path}/summary?at=2020-01-01T00:00:00Z")).await;
        assert_eq!(early, json!({ "addresses": 0, "passing": 0, "outdated": 0, "stamps": [], "days": [] }));

        let export = site.owner.get(&format!("{path}/export")).send().await.expect(200);
        assert_eq!(export.header("content-type"), Some("text/csv; charset=utf-8"));
        let text = export.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines[0]), (4, COLUMNS));
        assert!(lines[2].starts_with(&format!("{},2.50000,2.00000,true,", address(2))), "{text}");
        let earlier = site.owner.get(&format!("{path}/export?at={then}")).send().await.expect(200).text();
        assert!(earlier.contains(&format!("{},0.50000,2.00000,false,", address(2))), "{earlier}");
        let parquet = site.owner.get(&format!("{path}/export?format=parquet")).send().await.expect(200);
        let parquet = SerializedFileReader::new(parquet.body).unwrap();
        let rows: Vec<_> = parquet.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!((rows.len(), rows[1].get_string(0).unwrap(), rows[1].get_double(1).unwrap()), (3, &address(2).to_string(), 2.5));

        let file = |name: &str| site.app.directory().join(name).to_str().unwrap().to_owned();
        let (csv, columns) = (file("population.csv"), file("population.parquet"));
        assert_eq!(site.app.cli_json(&["scorer", "export", &scorer, "--out", &csv]).await["file"], json!(csv));
        assert_eq!(std::fs::read_to_string(&csv).unwrap(), text);
        std::fs::write(&csv, "kept").unwrap();
        let refused = site.app.cli(&["scorer", "export", &scorer, "--out", &csv]).await.expect(1);
        assert!(refused.stderr.contains("exists; name a new file, or remove this one first"), "{}", refused.stderr);
        assert_eq!(std::fs::read_to_string(&csv).unwrap(), "kept");
        site.app.cli(&["scorer", "export", &scorer, "--out", &columns]).await.expect(0);
        assert!(std::fs::read(&columns).unwrap().starts_with(b"PAR1"));
        let printed = site.app.cli(&["scorer", "export", &scorer, "--at", &then, "--out", "-"]).await.expect(0).stdout;
        assert_eq!(printed, earlier);

        let refused = ["?at=2999-01-01T00:00:00Z", "?at=soon", "?limit=0", "?after=0x1", "/summary?at=soon", "/export?format=xml"];
        for query in refused {
            site.owner.get(&format!("{path}{query}")).send().await.problem(422, "invalid_field");
        }
        let stranger = site.stranger().await.client;
        for tail in ["", "/summary", "/export"] {
            stranger.get(&format!("{path}{tail}")).send().await.problem(404, "not_found");
            site.app.anonymous().get(&format!("{path}{tail}")).send().await.problem(401, "unauthenticated");
        }
        let formats: Vec<_> = site.audited("population.exported").await.into_iter().map(|(_, detail)| detail["format"].clone()).collect();
        assert_eq!(formats, ["csv", "csv", "parquet", "csv", "parquet", "csv"]);
    }

    async fn suspected_groups_are_exported_as_csv_and_graphml_by_api_and_by_command(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let path = "/admin/models/groups/export";
        assert_eq!(site.owner.get(path).send().await.expect(200).text().lines().count(), 1);
        import_group(&site).await;
        let csv = site.owner.get(path).send().await.expect(200).text();
        let lines: Vec<&str> = csv.lines().collect();
        let columns = "cluster,address,score,cluster_users,cluster_median_score,shared_funder,funded,shared_sink,\
             collected,same_day,transfers_within";
        assert_eq!((lines.len(), lines[0]), (13, columns));
        for (number, line) in (1..=12).zip(&lines[1..]) {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!((cells[0], cells[1]), (&*address(1).to_string(), &*address(number).to_string()));
            assert_eq!((cells[3], &cells[5..]), ("12", &["", "", &*address(99).to_string(), "12", "12", "12"][..]));
        }
        let graph = site.owner.get(&format!("{path}?format=graphml")).send().await.expect(200);
        assert_eq!(graph.header("content-type"), Some("application/graphml+xml"));
        let graph = graph.text();
        // Twelve members and what they send to; a ring of transfers, and one from each to the sink.
        assert_eq!((graph.matches("<node ").count(), graph.matches("<edge ").count()), (13, 24), "{graph}");
        assert!(graph.contains("<edge source=\"g1.m11\" target=\"g1.m0\"><data key=\"kind\">transfer</data></edge>"), "{graph}");
        assert!(graph.trim_end().ends_with("</graphml>"), "{graph}");

        let file = |name: &str| site.app.directory().join(name).to_str().unwrap().to_owned();
        for (option, name, expected) in [("--csv", "groups.csv", &csv), ("--graphml", "groups.graphml", &graph)] {
            let out = file(name);
            site.app.cli(&["models", "clusters", option, &out]).await.expect(0);
            assert_eq!(&std::fs::read_to_string(&out).unwrap(), expected);
            std::fs::write(&out, "kept").unwrap();
            let refused = site.app.cli(&["models", "clusters", option, &out]).await.expect(1);
            assert!(refused.stderr.contains("exists; name a new file, or remove this one first"), "{}", refused.stderr);
            assert_eq!(std::fs::read_to_string(&out).unwrap(), "kept");
        }
        site.owner.get(&format!("{path}?format=xml")).send().await.problem(422, "invalid_field");
        site.app.anonymous().get(path).send().await.problem(401, "unauthenticated");
    }
}

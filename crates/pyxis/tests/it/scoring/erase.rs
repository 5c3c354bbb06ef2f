//! Erasure of an address by managers and by command, with its receipt.

use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::{ScoringSite, address};
use super::population::import_group;
use crate::support::Setup;

/// Everything that the API and its managers can see of an address.
async fn visible_data(site: &ScoringSite, number: u8) -> Value {
    let (scorer, of) = (site.scorer(), address(number));
    let stamps = site.api.get(&format!("/v2/stamps/{of}")).send().await.expect(200).json();
    let models = site.api.get(&format!("/v2/models/score/{of}")).send().await.expect(200).json();
    let changes =
        site.api.get(&format!("/v2/stamps/{scorer}/score/{of}/changes")).send().await.expect(200).json();
    let items = changes["items"].as_array().unwrap();
    let causes: Vec<&Value> = items.iter().map(|item| &item["causes"][0]["cause"]).collect();
    let listed = site.get(&format!("/admin/scorers/{scorer}/population")).await;
    let is_listed = listed["scores"].as_array().unwrap().iter().any(|score| score["address"] == json!(of));
    json!({
        "stamps": stamps["items"].as_array().unwrap().len(),
        "changes": causes,
        "has_activity": models["details"]["models"]["aggregate"]["score"].as_f64().unwrap() >= 0.0,
        "is_listed": is_listed,
    })
}

/// Rows about an address in tables that name addresses.
fn stored(site: &ScoringSite, number: u8) -> Vec<String> {
    let hex = format!("{number:02x}").repeat(20);
    let value = if site.app.is_postgres() { format!("'\\x{hex}'") } else { format!("X'{hex}'") };
    let count = |table: &&str| {
        let query = format!("SELECT CAST(COUNT(*) AS TEXT) FROM {table} WHERE address = {value}");
        site.app.sql(&query).remove(0)
    };
    ["stamps", "claims", "scores", "score_history"].iter().map(count).collect()
}

engines! {
    async fn an_erased_address_leaves_a_receipt_and_hashed_claims_and_nothing_else(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        let (app, scorer) = (&site.app, site.scorer());
        import_group(&site).await;
        app.cli(&["scorer", "set-weights", &scorer, "A=30"]).await.expect(0);
        for (number, account) in [(1, "a:1"), (2, "a:2"), (3, "a:3")] {
            site.stamp(number, "A", account).await;
            assert_eq!(site.score(number).await["score"], "30.00000");
            assert_eq!(stored(&site, number), ["1", "1", "1", "1"]);
        }
        let whole = json!({ "stamps": 1, "changes": ["first_answer"], "has_activity": true, "is_listed": true });
        let nothing = json!({ "stamps": 0, "changes": ["erased"], "has_activity": false, "is_listed": false });
        assert_eq!((visible_data(&site, 1).await, visible_data(&site, 2).await), (whole.clone(), whole.clone()));

        // By a manager.
        let erase = |number| format!("/admin/addresses/{}/erase", address(number));
        let receipts = |number| format!("/admin/addresses/{}/erasures", address(number));
        assert_eq!(site.get(&receipts(1)).await, json!({ "erasures": [] }));
        let stranger = site.stranger().await.client;
        let other = stranger.post(&erase(1), &json!({})).send().await.expect(200).json();
        assert_eq!(other, json!({ "erased": false, "receipt": null }));
        for path in [erase(1), erase(2)] {
            app.anonymous().post(&path, &json!({})).send().await.problem(401, "unauthenticated");
        }
        let erased = site.post(&erase(1), &json!({})).await.expect(200).json();
        let receipt = &erased["receipt"];
        assert_eq!((&erased["erased"], &receipt["erased_by"]), (&json!(true), &json!("owner@localhost")));
        let removed = &receipt["removed"];
        for kind in ["addresses", "stamps", "scores", "score_history", "claims_hashed"] {
            assert_eq!(removed[kind], 1, "{kind}: {removed}");
        }
        assert!(removed["transfers"].as_i64() > Some(0) && removed["activity_features"].as_i64() > Some(0), "{removed}");
        assert_eq!(stored(&site, 1), ["0", "0", "0", "0"]);
        assert_eq!(visible_data(&site, 1).await, nothing);
        let again = site.post(&erase(1), &json!({})).await.expect(200).json();
        assert_eq!((&again["erased"], &again["receipt"]), (&json!(false), receipt));
        assert_eq!(site.get(&receipts(1)).await, json!({ "erasures": [receipt] }));
        assert_eq!(stranger.get(&receipts(1)).send().await.expect(200).json(), json!({ "erasures": [] }));

        // By command.
        let second = address(2).to_string();
        let printed = app.cli_json(&["address", "erase", &second, "--yes"]).await;
        assert_eq!((&printed[0]["removed"]["stamps"], &printed[0]["erased_by"]), (&json!(1), &json!("command line")));
        assert_eq!(stored(&site, 2), ["0", "0", "0", "0"]);
        assert_eq!(visible_data(&site, 2).await, nothing);
        app.cli(&["address", "erase", &second, "--yes"]).await.expect(3);
        assert_eq!(app.cli_json(&["address", "receipts", &second]).await, printed);
        assert_eq!(site.get(&receipts(2)).await["erasures"], printed);
        assert_eq!(stored(&site, 3), ["1", "1", "1", "1"], "others stay");

        // The claims stay under a hash, so another address cannot use the accounts.
        assert_eq!(app.sql("SELECT CAST(COUNT(*) AS TEXT) FROM claims"), ["3"]);
        for (number, account) in [(21, "a:1"), (22, "a:2")] {
            site.stamp(number, "A", account).await;
            let score = site.score(number).await;
            assert_eq!((&score["score"], &score["stamps"]["A"]["dedup"]), (&json!("0.00000"), &json!(true)));
        }
        let records = site.audited("address.erased").await;
        assert_eq!(records.len(), 2, "{records:?}");
        for number in [1, 2] {
            assert!(!records.iter().any(|(_, detail)| detail.to_string().contains(&address(number).to_string())));
        }
        assert_eq!(records[0].1["removed"], receipt["removed"]);
        for path in ["/admin/addresses/0x12/erase", "/admin/addresses/nobody/erase"] {
            let problem = site.post(path, &json!({})).await.problem(422, "invalid_field");
            assert_eq!(problem["field"], "address");
        }
        site.owner.get("/admin/addresses/0x12/erasures").send().await.problem(422, "invalid_field");
    }
}

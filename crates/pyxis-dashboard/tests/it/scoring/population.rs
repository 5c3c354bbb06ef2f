//! The page of a scorer's population.

use std::time::Duration;

use http::StatusCode;
use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;
use pyxis_gateway::Actor;
use pyxis_scoring::engine::{self, ScoreKey};
use pyxis_scoring::service::scorers::{self, ScorerPatch};
use pyxis_testkit::engines;

use super::with_scorer;
use crate::support::{HOLDER, OTHER, Server, Team, bring};

/// The number below a word of the page.
fn fact<'t>(page: &'t str, word: &str) -> &'t str {
    let rest = page.split(&format!("<dt>{word}</dt><dd class=\"big mono\">")).nth(1).unwrap();
    rest.split('<').next().unwrap()
}

fn facts(page: &str) -> [&str; 3] {
    ["Addresses", "Passing", "Pass rate"].map(|word| fact(page, word))
}

/// Requests a score, so that it becomes history.
async fn request(server: &Server, team: &Team, scorer: ScorerId, address: EvmAddress) {
    let place = ScoreKey { workspace: team.id, scorer, address };
    engine::score(&server.scoring.db, place, server.scoring.now(), true).await.unwrap();
}

engines! {
    async fn a_population_is_shown_now_and_at_the_end_of_a_day_and_downloaded_as_shown(server: Server) {
        // In the evening, so that the session lasts until the next day.
        server.later(Duration::from_hours(20));
        let (team, mut browser, scorer) = with_scorer(&server).await;
        let path = format!("/app/scorers/{}/population", scorer.id);
        let empty = browser.get(&path).await.text;
        assert!(empty.contains("No score has been requested yet.") && empty.contains("No address has a Stamp."));
        assert_eq!(facts(&empty), ["0", "0", "–"]);
        let terms = ScorerPatch {
            threshold: Some("2".parse().unwrap()),
            weights: Some([("Discord", "2"), ("Google", "1")].map(|(name, weight)| (name.parse().unwrap(), weight.parse().unwrap())).into()),
            revision: Some(scorer.terms.revision),
            ..ScorerPatch::default()
        };
        scorers::update(&server.scoring.audited, &Actor::cli(team.id), scorer.id, terms).await.unwrap();
        bring(&server, &team, HOLDER, "Discord", "n1").await;
        bring(&server, &team, OTHER, "Google", "n2").await;
        for address in [HOLDER, OTHER] {
            request(&server, &team, scorer.id, address).await;
        }
        server.later(Duration::from_hours(5));
        bring(&server, &team, OTHER, "Discord", "n3").await;
        request(&server, &team, scorer.id, OTHER).await;

        let now = browser.get(&path).await.text;
        assert_eq!(facts(&now), ["2", "2", "100 %"]);
        let row = |name: &str, cells: [&str; 4]| {
            let words = ["Addresses", "Share", "Passing", "Deduplicated"];
            let cells = words.iter().zip(cells).map(|(word, cell)| format!("<td data-label=\"{word}\" class=\"num\">{cell}</td>"));
            format!("<tr><th scope=\"row\" class=\"mono\">{name}</th>{}</tr>", cells.collect::<String>())
        };
        for shown in [row("Discord", ["2", "100 %", "2", "0"]), row("Google", ["1", "50 %", "1", "0"])] {
            assert!(now.contains(&shown), "{shown}: {now}");
        }
        let day = |page: &str, day: &str| page.contains(&format!("<th scope=\"row\">{day}</th>"));
        assert!(day(&now, "2026-01-01") && day(&now, "2026-01-02"), "{now}");
        assert_eq!(browser.get(&format!("{path}?at=2999-01-01")).await.text, now, "a day that is not over");

        let then = browser.get(&format!("{path}?at=2026-01-01")).await.text;
        assert!(then.contains("up to the end of 2026-01-01 (UTC)"), "{then}");
        assert_eq!(facts(&then), ["2", "1", "50 %"]);
        assert!(day(&then, "2026-01-01") && !day(&then, "2026-01-02"), "{then}");
        for (page, query, expected) in [(&now, "", "3.00000,2.00000,true"), (&then, "&amp;at=2026-01-01", "1.00000,2.00000,false")] {
            for format in ["csv", "parquet"] {
                let link = format!("{path}/export?format={format}{query}");
                assert!(page.contains(&format!("href=\"{link}\"")), "{link}: {page}");
            }
            let file = browser.get(&format!("{path}/export?format=csv{}", query.replace("&amp;", "&"))).await.text;
            assert!(file.contains(&format!("{OTHER},{expected},")), "{file}");
        }
        assert_eq!(browser.get("/app/scorers/999/population").await.status, StatusCode::NOT_FOUND);
    }
}

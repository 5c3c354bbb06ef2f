//! Plain score requests bypass the router, without any visible difference.

use std::collections::BTreeMap;

use pyxis_testkit::engines;

use super::installation::{ScoringSite, address};
use crate::support::{Call, HttpResponse, Setup};

/// Headers that differ between requests, and those that CORS adds.
const OWN: [&str; 5] = ["x-request-id", "date", "ratelimit-remaining", "ratelimit-reset", "vary"];

fn comparable_response(answer: &HttpResponse) -> (u16, BTreeMap<String, String>, String) {
    let kept = |name: &str| !OWN.contains(&name) && !name.starts_with("access-control-");
    let headers = answer.headers.iter().filter(|(name, _)| kept(name.as_str()));
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    (answer.status, headers.collect(), answer.text())
}

engines! {
    async fn a_score_answers_the_same_with_an_origin_and_without(setup: Setup) {
        let site = ScoringSite::with(setup).await;
        site.stamp(1, "Google", "one").await;
        site.score(1).await;
        let (scorer, known) = (site.scorer(), address(1));
        let shouted = known.to_string().to_uppercase().replace("0X", "0x");
        let path = |scorer: &str, address: &str| format!("/v2/stamps/{scorer}/score/{address}");
        let paths = [
            (path(&scorer, &known.to_string()), 200),
            (path(&scorer, &shouted), 200),
            (path("999", &known.to_string()), 404),
            (path(&scorer, "0x12"), 400),
            (path("one", &known.to_string()), 422),
        ];
        for (path, status) in paths {
            let asks: [fn(Call) -> Call; 3] = [
                |call| call,
                |call| call.without("x-api-key"),
                |call| call.set("x-api-key", "px_api_of_nobody"),
            ];
            for ask in asks {
                let fast = ask(site.api.get(&path)).send().await;
                let routed = ask(site.api.get(&path).header("origin", "https://dapp.example")).send().await;
                assert_eq!(comparable_response(&fast), comparable_response(&routed), "{path}");
                if fast.status != 401 {
                    assert_eq!(fast.status, status, "{path}: {}", fast.text());
                }
                for name in OWN.iter().filter(|name| **name != "vary") {
                    assert_eq!(fast.header(name).is_some(), routed.header(name).is_some(), "{name} of {path}");
                }
            }
        }
    }
}

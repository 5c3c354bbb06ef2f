//! The Stamps explorer, and revocation.

use http::StatusCode;
use pyxis_core::address::EvmAddress;
use pyxis_core::id::ScorerId;
use pyxis_scoring::engine::{self, ScoreKey};
use pyxis_store::scores;
use pyxis_testkit::engines;

use super::{add_scorer, with_scorer};
use crate::support::{HOLDER, OTHER, Server, Team, bring};

async fn score(server: &Server, team: &Team, scorer: ScorerId, address: EvmAddress) {
    let place = ScoreKey { workspace: team.id, scorer, address };
    engine::score(&server.scoring.db, place, server.scoring.now(), false).await.unwrap();
}

engines! {
    async fn the_explorer_says_why_each_stamp_counts_or_not_and_writes_nothing(server: Server) {
        let (team, mut browser, scorer) = with_scorer(&server).await;
        bring(&server, &team, HOLDER, "Discord", "same").await;
        score(&server, &team, scorer.id, HOLDER).await;
        bring(&server, &team, OTHER, "Discord", "same").await;
        bring(&server, &team, OTHER, "HolonymGovIdProvider", "own").await;
        bring(&server, &team, OTHER, "Unknown", "other").await;
        let path = format!("/app/explorer?address={OTHER}&scorer={}", scorer.id);
        let text = browser.get(&path).await.text;
        for shown in [
            "Does not pass",
            "16.026",
            "3.974 below the threshold.",
            "Deduplicated",
            "The same account was verified first by 0x11…11111111, so the Stamp counts there",
            "This scorer gives this Stamp no weight.",
            "Counts with its full weight.",
            "Our issuer",
            "/assets/stamps/Discord.svg",
            // The bar in words.
            "aria-labelledby=\"meter-title meter-desc\"",
            "<desc id=\"meter-desc\">Score 16.026, threshold 20, from 1 Stamp.</desc>",
            "<title>HolonymGovIdProvider: 16.026</title>",
        ] {
            assert!(text.contains(shown), "{shown}");
        }
        assert!(text.contains(&format!("/app/explorer?address={HOLDER}")), "a way to the holder");
        let stored = scores::count(&server.scoring.store, team.id, scorer.id).await.unwrap();
        assert_eq!(stored, 1, "only what was scored before");
    }

    async fn the_stamps_of_an_address_are_sorted_and_exported_and_stay_those_of_the_address(server: Server) {
        let (team, mut browser, scorer) = with_scorer(&server).await;
        for stamp in ["Discord", "HolonymGovIdProvider", "Unknown"] {
            bring(&server, &team, OTHER, stamp, stamp).await;
        }
        let path = format!("/app/explorer?address={OTHER}&scorer={}", scorer.id);
        let order = |text: &str| {
            let mut places: Vec<_> =
                ["Discord", "Holonym", "Unknown"].map(|name| (text.find(name).unwrap(), name)).to_vec();
            places.sort_unstable();
            places.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
        };
        for (sort, expected) in [
            ("", ["Holonym", "Discord", "Unknown"]),
            ("&sort=nonsense", ["Holonym", "Discord", "Unknown"]),
            ("&sort=gives", ["Unknown", "Discord", "Holonym"]),
            ("&sort=name", ["Discord", "Holonym", "Unknown"]),
            ("&sort=-name", ["Unknown", "Holonym", "Discord"]),
        ] {
            let page = browser.get(&format!("{path}{sort}")).await.text;
            let (_, list) = page.split_once("<ul class=\"stamp-list\">").unwrap();
            assert_eq!(order(list), expected, "{sort}");
            let kept = format!("/app/explorer?address={OTHER}&amp;scorer={}&amp;sort=", scorer.id);
            assert!(page.contains(&format!("class=\"sort\" href=\"{kept}")), "{page}");
            let file = browser.get(&format!("{path}{sort}&export=stamps")).await.text;
            assert_eq!(order(&file), expected, "{file}");
            assert!(file.starts_with("name,state,why,gives,weight,expires,issued,issuer\r\n"), "{file}");
        }
    }

    async fn a_credential_is_revoked_from_the_explorer_and_the_other_address_gets_the_stamp(server: Server) {
        let (team, mut browser, scorer) = with_scorer(&server).await;
        bring(&server, &team, HOLDER, "Discord", "same").await;
        score(&server, &team, scorer.id, HOLDER).await;
        bring(&server, &team, OTHER, "Discord", "same").await;
        let page = format!("/app/explorer?address={HOLDER}&scorer={}", scorer.id);
        let text = browser.get(&page).await.text;
        let digest = text.split("/app/stamps/").nth(1).unwrap().split('/').next().unwrap().to_owned();
        let fields = [
            ("address", HOLDER.to_string()),
            ("scorer", scorer.id.to_string()),
            ("reason", "sold".to_owned()),
        ];
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let done = browser.submit(&page, &format!("/app/stamps/{digest}/revoke"), &fields).await;
        assert_eq!(done.location(), page);
        assert!(browser.get(&page).await.text.contains("This address has no Stamps"));
        let other = browser.get(&format!("/app/explorer?address={OTHER}&scorer={}", scorer.id)).await.text;
        assert!(other.contains("0.516") && !other.contains("Deduplicated"));
        for digest in ["00", "zz", &"0".repeat(63)] {
            let revoke = format!("/app/stamps/{digest}/revoke");
            let gone = browser.submit("/app/explorer", &revoke, &fields).await;
            assert_eq!(gone.status, StatusCode::NOT_FOUND, "{digest}");
        }
        let elsewhere = [("address", "//evil.example"), ("scorer", "1&x=y")];
        let back = browser.submit("/app/scorers", &format!("/app/stamps/{digest}/revoke"), &elsewhere).await;
        assert_eq!(back.location(), "/app/explorer?address=&scorer=");
    }

    async fn the_explorer_explains_what_an_address_is_and_teaches_what_to_bring(server: Server) {
        let (team, mut browser) = server.with_owner().await;
        assert!(browser.get("/app/explorer").await.text.contains("Add a scorer"));
        add_scorer(&server, &team).await;
        let wrong = browser.get("/app/explorer?address=vitalik.eth").await;
        assert_eq!(wrong.status, StatusCode::OK);
        assert!(wrong.text.contains("40 hex characters") && wrong.text.contains("value=\"vitalik.eth\""));
        let empty = browser.get(&format!("/app/explorer?address={HOLDER}")).await.text;
        assert!(empty.contains("This address has no Stamps") && empty.contains("curl -X POST"));
    }
}

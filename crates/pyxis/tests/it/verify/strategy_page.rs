//! The page that tries a voting strategy, with proofs and scores of a running server.

use pyxis_core::proof::Kind;
use pyxis_testkit::engines;
use serde_json::{Value, json};

use super::installation::{ACTION, VerifySite, address, registration};
use crate::support::browser::Browser;
use crate::support::{Setup, until};

const PAGE: &str = "/app/verification/strategy";

/// The page with a strategy tried: the power of each address in their order, and the settings to copy.
struct Tried {
    powers: Vec<String>,
    settings: Value,
}

async fn attempt(browser: &Browser, parameters: &str, addresses: &str) -> Tried {
    let answer = browser.get(&format!("{PAGE}?{parameters}&addresses={addresses}")).await.expect(200);
    let page = answer.text();
    let powers = page.split("data-label=\"Power\" class=\"num mono\">").skip(1);
    let powers = powers.map(|rest| rest.split('<').next().unwrap().to_owned()).collect();
    let settings = page.split("id=\"settings-title\"").nth(1).unwrap();
    let settings = &settings[settings.find('{').unwrap()..];
    let settings = settings.split("</").next().unwrap().replace("&#34;", "\"").replace("&quot;", "\"");
    let settings = settings.replace("&#38;", "&").replace("&amp;", "&");
    Tried {
        powers,
        settings: serde_json::from_str(&settings).unwrap_or_else(|error| panic!("{error}: {settings}")),
    }
}

engines! {
    async fn five_addresses_are_tried_at_a_block_and_at_the_newest(setup: Setup) {
        let site = VerifySite::with(setup.env("PX_VOTE_SCORERS", "1, 2")).await;
        site.app.admin("admin@people.example").await;
        let browser = Browser::sign_in(&site.app.anonymous(), "admin@people.example").await;
        for number in [1, 3] {
            site.register(registration(number, Kind::GovId, number.into())).await;
        }
        let registered = site.head().await;
        let after = async |block: i64| {
            let later = async || Some(site.head().await).filter(|head| *head > block + 1);
            until("a later block", later).await
        };
        let block = after(registered).await;
        after(block).await;
        site.register(registration(5, Kind::GovId, 5)).await;
        let five: Vec<String> = (1..=5).map(|number| address(number).to_string()).collect();
        let five = five.join("%0A");
        let proofs = format!("strategy=gov-id&network=10&action_id={ACTION}");
        let then = attempt(&browser, &format!("{proofs}&snapshot={block}"), &five).await;
        assert_eq!(then.powers, ["1", "0", "1", "0", "0"]);
        let now = attempt(&browser, &format!("{proofs}&snapshot=latest"), &five).await;
        assert_eq!(now.powers, ["1", "0", "1", "0", "1"]);
        let (api, url) = (&then.settings["params"]["api"], &then.settings["params"]["strategy"]);
        assert_eq!(*api, format!("http://localhost:{}", site.app.address().port()), "{}", then.settings);
        assert_eq!(url, "snapshot-strategies/sybil-resistance/gov-id", "{}", then.settings);
        let extra = then.settings["params"]["additionalParameters"].as_str().unwrap();
        assert!(extra.contains(&format!("action-id={ACTION}")), "{extra}");
    }

    async fn a_strategy_by_score_is_tried_with_the_threshold_of_its_scorer(setup: Setup) {
        let site = VerifySite::with(setup.env("PX_VOTE_SCORERS", "2")).await;
        let made = site.app.cli_json(&["scorer", "sandbox"]).await;
        let wallets = ["passes", "fails_by_one", "duplicate", "expired", "unknown"];
        let wallets: Vec<&str> = wallets.iter().map(|state| made["wallets"][state].as_str().unwrap()).collect();
        site.app.admin("admin@people.example").await;
        let browser = Browser::sign_in(&site.app.anonymous(), "admin@people.example").await;
        let five = wallets.join("%0A");
        let by_score = "strategy=score&network=10&snapshot=latest&scorer=2";
        let scores = attempt(&browser, by_score, &five).await;
        assert_eq!(scores.powers, ["20.00000", "19.00000", "1.00000", "0.00000", "0.00000"]);
        let votes = attempt(&browser, &format!("{by_score}&threshold=scorer"), &five).await;
        assert_eq!(votes.powers, ["1", "0", "0", "0", "0"]);
        let extra = votes.settings["params"]["additionalParameters"].as_str().unwrap();
        assert!(extra.contains("scorer-id=2") && extra.contains("threshold=scorer"), "{extra}");
    }

    async fn proofs_that_are_ticked_count_with_the_score(setup: Setup) {
        let site = VerifySite::with(setup.env("PX_VOTE_SCORERS", "1")).await;
        site.app.cli_json(&["allow-list", "create", "Member", "--scorer", "1", "--weight", "25.678"]).await;
        let wallets = [1, 2, 3].map(|number| address(number).to_string());
        let listed = json!({"addresses": wallets[..2]});
        site.owner.post("/admin/allow-lists/Member/addresses", &listed).send().await.expect(200);
        let api = site.app.anonymous().with("x-api-key", site.app.bootstrap["api_key"].as_str().unwrap());
        for wallet in &wallets[..2] {
            let issue = json!({"stamps": [{"provider": "Member"}]});
            api.post(&format!("/v2/stamps/{wallet}/issue"), &issue).send().await.expect(200);
        }
        for number in [2, 3] {
            site.register(registration(number, Kind::GovId, number.into())).await;
        }
        site.app.admin("admin@people.example").await;
        let browser = Browser::sign_in(&site.app.anonymous(), "admin@people.example").await;
        let with = format!("strategy=score&network=10&snapshot=latest&scorer=1&action_id={ACTION}&proof-gov-id=1");
        let wallets = wallets.join("%0A");
        let powers = attempt(&browser, &format!("{with}&combination=and&decimals=2"), &wallets).await;
        assert_eq!(powers.powers, ["0.00000", "25.67000", "0.00000"]);
        assert_eq!(powers.settings["params"]["decimals"], 2);
        let extra = powers.settings["params"]["additionalParameters"].as_str().unwrap();
        assert_eq!(extra, format!("scorer-id=1&decimals=2&and=gov-id&action-id={ACTION}"));
        let votes = attempt(&browser, &format!("{with}&combination=or&threshold=20"), &wallets).await;
        assert_eq!(votes.powers, ["1", "1", "1"]);
        let extra = votes.settings["params"]["additionalParameters"].as_str().unwrap();
        assert_eq!(extra, format!("scorer-id=1&threshold=20&or=gov-id&action-id={ACTION}"));
    }

    async fn a_vote_about_a_time_before_the_scorer_was_opened_is_409_and_never_0(setup: Setup) {
        let mut site = VerifySite::with(setup).await;
        site.app.cli_json(&["allow-list", "create", "Member", "--scorer", "1", "--weight", "25"]).await;
        let wallet = address(1).to_string();
        let listed = json!({"addresses": [wallet]});
        site.owner.post("/admin/allow-lists/Member/addresses", &listed).send().await.expect(200);
        let api = site.app.anonymous().with("x-api-key", site.app.bootstrap["api_key"].as_str().unwrap());
        let issue = json!({"stamps": [{"provider": "Member"}]});
        api.post(&format!("/v2/stamps/{wallet}/issue"), &issue).send().await.expect(200);
        let begun = site.head().await;
        let later = async || Some(site.head().await).filter(|head| *head > begun + 1);
        let block = until("a block after the Stamps", later).await;
        site.app.restart_with(|setup| setup.env("PX_VOTE_SCORERS", "1")).await;
        let path = format!("/snapshot-strategies/score?network=10&snapshot={block}&scorer-id=1&addresses={wallet}");
        let answer = site.app.anonymous().get(&path).send().await.expect(409).json();
        assert!(answer["error"].as_str().unwrap().starts_with("No score on record at "), "{answer}");
        assert_eq!((&answer["score"], &answer["result"]), (&json!(null), &json!(null)), "{answer}");
    }
}

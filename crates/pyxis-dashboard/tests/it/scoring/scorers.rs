//! Scorers and the weights editor.

use std::time::Duration;

use http::StatusCode;
use pyxis_gateway::Actor;
use pyxis_scoring::service::scorers::{self, ScorerPatch};
use pyxis_testkit::engines;

use super::{terms, with_scorer};
use crate::support::{Browser, HOLDER, OTHER, Page, Server, bring};

/// The editor's fields as the page has them.
fn editor(text: &str) -> Vec<(String, String)> {
    let form = text.split("data-weights>").nth(1).unwrap().split("</form>").next().unwrap();
    let attribute = |tag: &str, name: &str| {
        let value = tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?;
        Some(value.replace("&#35;", "#"))
    };
    let inputs = form.split("<input").skip(1).map(|tag| tag.split('>').next().unwrap());
    // What is not ticked is not sent.
    let inputs = inputs.filter(|tag| !tag.contains("checkbox") || tag.contains(" checked"));
    let fields =
        inputs.filter_map(|tag| Some((attribute(tag, "name")?, attribute(tag, "value").unwrap_or_default())));
    fields.filter(|(name, _)| name != "csrf").collect()
}

/// Sends the editor with some fields changed.
async fn send(
    browser: &mut Browser,
    fields: &[(String, String)],
    to: &str,
    changed: &[(&str, &str)],
) -> Page {
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| {
            let change = changed.iter().find(|(field, _)| field == name);
            (name.as_str(), change.map_or(value.as_str(), |(_, value)| *value))
        })
        .collect();
    browser.submit("/app/scorers", to, &fields).await
}

engines! {
    async fn a_weight_is_changed_in_the_editor_and_nothing_else_is(server: Server) {
        let (team, mut browser, before) = with_scorer(&server).await;
        let path = format!("/app/scorers/{}", before.id);
        let page = browser.get(&path).await;
        for shown in ["Airdrop", "githubContributionActivityGte#30", "Sum of weights"] {
            assert!(page.text.contains(shown), "{shown}");
        }
        assert!(!page.text.contains("Not in the catalogue"), "a new scorer weighs what the catalogue has");
        let fields = editor(&page.text);
        let changed = [("weight.Discord", "3.5"), ("weight.Google", "")];
        let saved = send(&mut browser, &fields, &path, &changed).await;
        assert_eq!((saved.status, saved.location()), (StatusCode::SEE_OTHER, path.as_str()));
        let after = terms(&server, &team, before.id).await;
        assert_eq!(after.terms.weights["Discord"].to_string(), "3.50000");
        assert!(!after.terms.weights.contains_key("Google"));
        let mut expected = before.terms.weights.clone();
        expected.insert("Discord".parse().unwrap(), "3.5".parse().unwrap());
        expected.remove("Google");
        assert_eq!((after.terms.weights, after.terms.threshold), (expected, before.terms.threshold));
        assert!(browser.get(&path).await.text.contains("Scorer saved. Each score is recomputed"));
    }

    async fn a_new_name_alone_leaves_every_score_as_it_is(server: Server) {
        let (team, mut browser, before) = with_scorer(&server).await;
        let path = format!("/app/scorers/{}", before.id);
        let fields = editor(&browser.get(&path).await.text);
        send(&mut browser, &fields, &path, &[("name", "Forum")]).await;
        let after = terms(&server, &team, before.id).await;
        assert_eq!((after.name.as_str(), after.terms.revision), ("Forum", before.terms.revision));
    }

    async fn a_draft_that_somebody_overtook_is_kept_and_saves_only_when_sent_again(server: Server) {
        let (team, mut browser, scorer) = with_scorer(&server).await;
        let path = format!("/app/scorers/{}", scorer.id);
        let mine = editor(&browser.get(&path).await.text);
        send(&mut browser, &mine, &path, &[("weight.Google", "9")]).await;
        let refused = send(&mut browser, &mine, &path, &[("weight.Discord", "4")]).await;
        assert_eq!(refused.status, StatusCode::CONFLICT);
        assert!(refused.text.contains("someone else changed this scorer while you were editing"));
        assert!(refused.text.contains("stored: 9"), "what they saved is next to my draft");
        let stored = terms(&server, &team, scorer.id).await.terms.weights;
        assert_eq!(
            (stored["Google"].to_string(), stored["Discord"].to_string()),
            ("9.00000".into(), "0.51600".into())
        );
        let again = send(&mut browser, &editor(&refused.text), &path, &[]).await;
        assert_eq!(again.status, StatusCode::SEE_OTHER);
        let stored = terms(&server, &team, scorer.id).await.terms.weights;
        assert_eq!(
            (stored["Google"].to_string(), stored["Discord"].to_string()),
            ("0.52500".into(), "4.00000".into())
        );
    }

    async fn a_preview_tells_who_would_pass_and_saves_nothing(server: Server) {
        let (team, mut browser, scorer) = with_scorer(&server).await;
        bring(&server, &team, HOLDER, "Discord", "n1").await;
        bring(&server, &team, OTHER, "Google", "n2").await;
        let path = format!("/app/scorers/{}", scorer.id);
        let fields = editor(&browser.get(&path).await.text);
        let changed = [("weight.Discord", "21")];
        let preview = send(&mut browser, &fields, &format!("{path}/preview"), &changed).await;
        assert_eq!(preview.status, StatusCode::OK);
        for shown in [
            "What this draft would change",
            "2 addresses",
            "1 (50 %)",
            "1 newly pass and 0 no longer pass",
            "aria-labelledby=\"chart-svg-title chart-svg-desc\"",
            "<desc id=\"chart-svg-desc\">2 addresses: 0 pass now, 1 pass with this draft; 1 newly pass and 0 no longer pass.</desc>",
            "<summary>Chart data</summary>",
            "value=\"21\"",
            "stored: 0.516",
        ] {
            assert!(preview.text.contains(shown), "{shown}");
        }
        assert_eq!(terms(&server, &team, scorer.id).await, scorer);
        assert!(preview.text.contains("<span class=\"mono\">Discord</span> 21"), "enough alone");
    }

    async fn numbers_that_are_none_are_named_where_they_stand_and_nothing_is_saved(server: Server) {
        let (team, mut browser, scorer) = with_scorer(&server).await;
        let path = format!("/app/scorers/{}", scorer.id);
        let fields = editor(&browser.get(&path).await.text);
        for (field, value) in [
            ("weight.Discord", "1,5"),
            ("weight.Discord", "-1"),
            ("threshold", "many"),
            ("extra_name", "two words"),
        ] {
            for to in [path.clone(), format!("{path}/preview")] {
                let page = send(&mut browser, &fields, &to, &[(field, value)]).await;
                assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{field}={value} to {to}");
                assert!(page.text.contains(&format!("value=\"{value}\"")), "{field}: typed text stays");
            }
        }
        assert_eq!(terms(&server, &team, scorer.id).await, scorer);
    }

    async fn a_stamp_outside_the_catalogue_gets_a_row_of_its_own(server: Server) {
        let (team, mut browser, scorer) = with_scorer(&server).await;
        let path = format!("/app/scorers/{}", scorer.id);
        let fields = editor(&browser.get(&path).await.text);
        send(&mut browser, &fields, &path, &[("extra_name", "Our#Own"), ("extra_weight", "2")]).await;
        assert_eq!(terms(&server, &team, scorer.id).await.terms.weights["Our#Own"].to_string(), "2.00000");
        assert!(browser.get(&path).await.text.contains("name=\"weight.Our#Own\" value=\"2\""));
    }

    async fn a_scorer_is_added_and_removed(server: Server) {
        let (team, mut browser) = server.with_owner().await;
        assert!(browser.get("/app/scorers").await.text.contains("No scorers yet"));
        let fields = [("name", "Forum"), ("threshold", "7.5"), ("start", "empty")];
        let added = browser.submit("/app/new/scorer", "/app/scorers", &fields).await;
        assert_eq!(added.status, StatusCode::SEE_OTHER);
        let row = &scorers::list(&server.scoring.store, team.id, server.scoring.now()).await.unwrap()[0];
        assert_eq!((row.name.as_str(), row.threshold.to_string().as_str()), ("Forum", "7.50000"));
        assert!(browser.get(added.location()).await.text.contains("No address can pass"));
        let bad = [("name", "Forum"), ("threshold", "x"), ("start", "empty")];
        let bad = browser.submit("/app/new/scorer", "/app/scorers", &bad).await;
        assert_eq!(bad.status, StatusCode::UNPROCESSABLE_ENTITY);
        browser.submit("/app/scorers", &format!("/app/scorers/{}/remove", row.id), &[]).await;
        assert!(scorers::list(&server.scoring.store, team.id, server.scoring.now()).await.unwrap().is_empty());
    }
    async fn a_scheduled_change_is_listed_and_withdrawn_on_the_page(server: Server) {
        let (team, mut browser, before) = with_scorer(&server).await;
        let path = format!("/app/scorers/{}", before.id);
        assert!(!browser.get(&path).await.text.contains("Scheduled changes"));
        let mut weights = before.terms.weights.clone();
        weights.insert("Discord".parse().unwrap(), "3".parse().unwrap());
        let change = ScorerPatch {
            threshold: Some("18".parse().unwrap()),
            weights: Some(weights),
            keep_until_expiry: true,
            effective_from: Some(server.scoring.now().plus(Duration::from_hours(24))),
            revision: Some(before.terms.revision),
            ..ScorerPatch::default()
        };
        let actor = Actor::cli(team.id);
        let made = scorers::update(&server.scoring.audited, &actor, before.id, change).await.unwrap();
        let page = browser.get(&path).await.text;
        let listed = page.split("id=\"scheduled-title\"").nth(1).unwrap().split("</section>").next().unwrap();
        for shown in [
            "2026-01-02",
            "threshold <span class=\"mono\">18</span>, 1 weight differs from today",
            "Holders keep lowered weights until expiry.",
            "Scheduled by command line.",
        ] {
            assert!(listed.contains(shown), "{shown}: {listed}");
        }
        let stored = terms(&server, &team, before.id).await;
        assert_eq!((&stored.terms, stored.scheduled.len()), (&before.terms, 1), "nothing is in force yet");

        let withdraw = format!("{path}/withdraw-change");
        let id = made.scheduled[0].id.to_string();
        assert!(listed.contains(&format!("name=\"change\" value=\"{id}\"")), "{listed}");
        let rival = server.team("rival", "eve@example.com").await;
        let mut eve = server.browser();
        eve.use_link(&rival.link).await;
        let fields = [("change", id.as_str())];
        assert_eq!(eve.submit("/app/scorers", &withdraw, &fields).await.status, StatusCode::NOT_FOUND);
        assert_eq!(terms(&server, &team, before.id).await.scheduled.len(), 1);
        assert_eq!(browser.submit(&path, &withdraw, &fields).await.location(), path);
        assert!(!browser.get(&path).await.text.contains("id=\"scheduled-title\""));
        assert_eq!(browser.submit(&path, &withdraw, &fields).await.status, StatusCode::NOT_FOUND);
        assert_eq!(terms(&server, &team, before.id).await, before);
    }
}

//! The catalogue and the issuers.

use http::StatusCode;
use pyxis_core::actor::Actor;
use pyxis_scoring::service::own_stamps::OwnStampInput;
use pyxis_scoring::service::{allow_lists, catalogue, issuers};
use pyxis_testkit::engines;

use crate::support::{ISSUER, Server};

engines! {
    async fn the_catalogue_shows_what_the_workspace_issues_itself(server: Server) {
        let (team, mut browser) = server.with_owner().await;
        assert!(!browser.get("/app/catalogue").await.text.contains("Issued by this workspace"));
        let input = OwnStampInput {
            name: "EarlyMember".parse().unwrap(),
            description: "Joined <first>".to_owned(),
            valid_days: 30,
            weight: None,
        };
        allow_lists::create(&server.scoring, &Actor::cli(team.id), input).await.unwrap();
        let text = browser.get("/app/catalogue").await.text;
        for part in ["Issued by this workspace", "EarlyMember", "Joined &lt;first&gt;", "allow list"] {
            assert!(text.contains(part), "{part}");
        }
    }

    async fn the_first_change_copies_the_catalogue_and_it_can_go_back(server: Server) {
        let (team, mut browser) = server.with_owner().await;
        let built_in = catalogue::get(&server.scoring.store, team.id).await.unwrap().platforms.len();
        let page = browser.get("/app/catalogue/Discord").await;
        let before =
            page.text.split("name=\"before\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let fields = [
            ("before", before.as_str()),
            ("name", "Discord"),
            ("description", "Our own words"),
            ("connect_message", "Connect."),
            ("icon", ""),
            ("group", "Accounts"),
            ("stamp", "Discord"),
            ("says", "Has an account"),
            ("group", ""),
            ("stamp", ""),
            ("says", ""),
        ];
        let saved = browser.submit("/app/catalogue", "/app/catalogue/Discord", &fields).await;
        assert_eq!(saved.location(), "/app/catalogue");
        let own = catalogue::get(&server.scoring.store, team.id).await.unwrap();
        assert!(own.own && own.platforms.len() == built_in);
        let discord = own.platforms.iter().find(|platform| platform.id == "Discord").unwrap();
        assert_eq!(
            (discord.description.as_str(), discord.groups[0].name.as_str()),
            ("Our own words", "Accounts")
        );
        assert_eq!(discord.icon, "/assets/stamps/Discord.svg");
        // The fingerprint is that of the earlier catalogue.
        let late = browser.submit("/app/catalogue", "/app/catalogue/Discord", &fields).await;
        assert_eq!(late.status, StatusCode::CONFLICT);
        assert!(late.text.contains("someone else changed the catalogue"));
        browser.submit("/app/catalogue", "/app/reset/catalogue", &[]).await;
        assert!(!catalogue::get(&server.scoring.store, team.id).await.unwrap().own);
    }

    async fn a_platform_is_added_with_its_stamps_and_removed(server: Server) {
        let (team, mut browser) = server.with_owner().await;
        let before = |text: &str| {
            text.split("name=\"before\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
        };
        let draft = before(&browser.get("/app/new/platform").await.text);
        let fields = |id: &'static str, stamp: &'static str| {
            [
                ("before", draft.clone()),
                ("id", id.to_owned()),
                ("name", "Forum".to_owned()),
                ("description", "Our forum".to_owned()),
                ("connect_message", "Sign in.".to_owned()),
                ("group", "Members".to_owned()),
                ("stamp", stamp.to_owned()),
                ("says", "Is a member".to_owned()),
            ]
        };
        for (id, stamp, said) in [
            ("Discord", "ForumMember", "is taken"),
            ("For um", "ForumMember", "letters, digits"),
            ("Forum", "Forum Member", "Row 1: use ASCII letters, digits and punctuation, without spaces"),
            ("Forum", "Google", "listed twice"),
        ] {
            let typed = fields(id, stamp);
            let typed: Vec<(&str, &str)> =
                typed.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let page = browser.submit("/app/new/platform", "/app/catalogue", &typed).await;
            assert_eq!(page.status, StatusCode::UNPROCESSABLE_ENTITY, "{said}");
            assert!(page.text.contains(said), "{said}");
        }
        let typed = fields("Forum", "ForumMember");
        let mut typed: Vec<(&str, &str)> = typed.iter().map(|(name, value)| (*name, value.as_str())).collect();
        typed.push(("url", "http://forum.example/"));
        let page = browser.submit("/app/new/platform", "/app/catalogue", &typed).await;
        assert!(page.text.contains("Must be an https URL"), "{}", page.text);
        typed.pop();
        typed.push(("url", "https://forum.example/stamp"));
        browser.submit("/app/new/platform", "/app/catalogue", &typed).await;
        let listed = async || {
            let platforms = catalogue::get(&server.scoring.store, team.id).await.unwrap().platforms;
            platforms.iter().any(|platform| platform.id == "Forum")
        };
        assert!(listed().await);
        assert!(browser.get("/app/catalogue").await.text.contains("ForumMember"));
        let form = browser.get("/app/catalogue/Forum").await.text;
        assert!(form.contains("value=\"https://forum.example/stamp\""), "{form}");
        browser.submit("/app/catalogue", "/app/catalogue/Forum/remove", &[]).await;
        assert!(!listed().await);
        assert_eq!(browser.get("/app/catalogue/Forum").await.status, StatusCode::NOT_FOUND);
    }

    async fn an_issuer_is_listed_and_taken_off_the_list(server: Server) {
        let (team, mut browser) = server.with_owner().await;
        assert!(browser.get("/app/issuers").await.text.contains("No trusted issuers yet"));
        let wrong = [("did", "did:web:x"), ("name", "X")];
        let wrong = browser.submit("/app/issuers", "/app/issuers", &wrong).await;
        assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
        browser.submit("/app/issuers", "/app/issuers", &[("did", ISSUER), ("name", "Our issuer")]).await;
        assert!(browser.get("/app/issuers").await.text.contains("Our issuer"));
        let encoded = percent_encoding::utf8_percent_encode(ISSUER, percent_encoding::NON_ALPHANUMERIC);
        browser.submit("/app/issuers", &format!("/app/issuers/{encoded}/remove"), &[]).await;
        assert!(issuers::list(&server.scoring.store, team.id).await.unwrap().is_empty());
    }
}

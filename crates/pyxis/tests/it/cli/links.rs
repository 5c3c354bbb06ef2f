//! Links that commands print lead to the server that runs.

use pyxis_testkit::engines;
use serde_json::json;

use crate::support::{App, Setup, Site};

engines! {
    async fn a_printed_link_leads_to_the_running_server(setup: Setup) {
        let site = Site::with(setup).await;
        let base = site.app.greeting["base_url"].as_str().unwrap();
        let added = site.app.cli_json(&["user", "add", "ada@people.example"]).await;
        let link = site.app.cli_json(&["user", "link", "--email", "ada@people.example"]).await;
        for told in [&added, &link] {
            let link = told["link"].as_str().unwrap();
            assert!(link.starts_with(&format!("{base}/link/")), "{link}: {base}");
        }
        let path = &link["link"].as_str().unwrap()[base.len()..];
        site.app.anonymous().get(path).send().await.expect(200);
        let workspace = ["workspace", "add", "second", "--owner-email", "bo@people.example"];
        let made = site.app.cli_json(&workspace).await;
        assert!(made.to_string().contains(&format!("{base}/link/")), "{made}");
    }

    async fn the_configured_address_comes_first_and_without_a_server_the_default_one_is_used(setup: Setup) {
        let mut app = App::start(setup.env("PX_BASE_URL", "https://pyxis.example.org")).await;
        let link = async |app: &App| app.cli_json(&["user", "link", "owner@localhost"]).await["link"].clone();
        assert!(link(&app).await.as_str().unwrap().starts_with("https://pyxis.example.org/link/"));
        app.restart_with(|setup| setup.without("PX_BASE_URL")).await;
        let base = app.greeting["base_url"].as_str().unwrap();
        assert!(link(&app).await.as_str().unwrap().starts_with(&format!("{base}/link/")));
        app.kill().await;
        let default = link(&app).await;
        assert!(default.as_str().unwrap().starts_with("http://localhost:8700/link/"), "{default}");
        assert_eq!(
            std::fs::read_dir(app.data().join("servers")).unwrap().count(),
            0,
            "what a killed server leaves"
        );
    }

    async fn the_page_of_a_used_link_names_a_command_that_exists(setup: Setup) {
        let app = App::start(setup).await;
        let page = app.anonymous().get("/link/unknown").send().await.text();
        assert!(page.contains("pyxis user link you@example.com"), "{page}");
        let told = app.cli(&["user", "link", "you@example.com"]).await.expect(1);
        assert!(told.stderr.contains("not found"), "a command that exists: {told:?}");
    }

    async fn explain_decides_with_the_settings_of_the_running_server(setup: Setup) {
        let mut site = Site::with(setup).await;
        let url = site.upstream.url("/");
        site.app.change(|setup| setup.without("PX_EGRESS_ALLOW"));
        let explained = site.app.cli_json(&["policy", "explain", "api", "GET", &url]).await;
        assert_eq!(explained["decision"], "auto_approve", "{explained}");
        site.app.stop().await;
        let alone = site.app.cli_json(&["policy", "explain", "api", "GET", &url]).await;
        assert_eq!(alone["decision"], json!("refuse"), "{alone}");
    }
}

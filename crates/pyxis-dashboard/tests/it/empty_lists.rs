//! Empty lists say so and how to begin, with a command to paste if there is one.

use pyxis_core::approval_mode::Role;
use pyxis_gateway::Actor;
use pyxis_gateway::admin::{agents, credentials, people};
use pyxis_scoring::service::api_keys::{self, ApiKeyInput};
use pyxis_testkit::engines;

use crate::support::{ORIGIN_URL, Server};

engines! {
    async fn an_empty_page_has_the_command_that_fills_it_and_none_to_copy_that_cannot_work(server: Server) {
        let (team, mut owner) = server.with_owner().await;
        let curl = format!(">curl {ORIGIN_URL}/forward ");
        let inbox = owner.get("/app/inbox").await.text;
        assert!(inbox.contains("No requests yet") && inbox.contains(&curl), "{inbox}");
        assert!(inbox.contains("X-PX-Credential: billing"), "with what there is: {inbox}");
        assert!(inbox.contains("Make a new key for default-agent") && !inbox.contains("data-copy"), "{inbox}");
        assert!(!inbox.contains("Store a credential"), "{inbox}");

        let actor = Actor::cli(team.id);
        let agent = agents::by_name(&server.gateway.store, team.id, "default-agent").await.unwrap();
        agents::remove(&server.gateway, &actor, agent.row.id).await.unwrap();
        credentials::remove(&server.gateway.audited, &actor, "billing").await.unwrap();
        let inbox = owner.get("/app/inbox").await.text;
        let steps = ["href=\"/app/new/credential\">Store a credential", "href=\"/app/new/agent\">Add an agent"];
        assert!(steps.iter().all(|step| inbox.contains(step)), "{inbox}");
        let page = owner.get("/app/agents").await.text;
        assert!(page.contains("No agents yet") && page.contains(&curl) && !page.contains("data-copy"), "{page}");
        let page = owner.get("/app/credentials").await.text;
        let add = "data-copy-source>pyxis credential add --name billing-api ";
        assert!(page.contains("No credentials yet") && page.contains(add), "{page}");
    }

    async fn a_list_without_anything_in_it_says_so_and_what_to_do(server: Server) {
        let (team, owner) = server.with_owner().await;
        let actor = Actor::cli(team.id);
        credentials::remove(&server.gateway.audited, &actor, "billing").await.unwrap();
        let mut owner = owner.elsewhere(server.with_verification().1);
        for (page, nothing, what_to_do) in [
            ("decided", "No decided requests yet", "Requests that you approve or deny are listed here"),
            ("policies", "No credentials yet", "href=\"/app/new/credential\""),
            ("policies", "Active grants", "A grant is opened with an approval"),
            ("people", "You are the only approver", "Add a second person"),
            ("account", "No passkey yet", "sign in without a password"),
            ("account", "Personal access tokens", "No tokens yet."),
            ("webhooks", "No endpoints yet", "Add the https URL of a program"),
            ("notifications", "No chat is connected", "PX_TELEGRAM_BOT_TOKEN"),
            ("scorers", "No scorers yet", "Add one. It starts with published weights"),
            ("api-keys", "No API keys yet", "Add one and set it in your server"),
            ("explorer", "No scorers yet", "href=\"/app/new/scorer\""),
            ("issuers", "No trusted issuers yet", "Add the issuer's DID below"),
            ("models", "No activity imported", "pyxis activity import"),
            ("verification", "No proofs registered", "Issuers sign proofs and register them"),
            ("verification", "No trusted issuers yet", "Every proof is refused until its issuer is listed"),
        ] {
            let text = owner.get(&format!("/app/{page}")).await.text;
            assert!(text.contains(nothing) && text.contains(what_to_do), "{page}: {nothing}");
        }
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let user = people::by_email(&server.gateway.store, team.id, "mem@example.com").await.unwrap();
        let rights = owner.get(&format!("/app/people/{}", user.id)).await.text;
        assert!(rights.contains("No credentials yet") && rights.contains("/app/new/credential"));
        assert!(member.get("/app/account").await.text.contains("None yet. An owner or admin assigns you"));
        assert!(member.get("/app/policies").await.text.contains("No policies you can change"));
        api_keys::create(&server.scoring, &actor, ApiKeyInput::with_name("server")).await.unwrap();
        assert!(owner.get("/app/api-keys").await.text.contains("No requests yet."));
    }
}

//! What there is nothing of yet says how it begins, with a command to paste.

use pyxis_gateway::Actor;
use pyxis_gateway::service::{agents, credentials};

use crate::support::{ORIGIN_URL, World, both_engines};

both_engines! {
    async fn an_empty_page_has_the_command_that_fills_it() {
        let world = World::new().await;
        let (team, mut owner) = world.with_owner().await;
        let curl = format!("data-copy-source>curl {ORIGIN_URL}/forward ");
        let inbox = owner.get("/app/inbox").await.text;
        assert!(inbox.contains("No request has waited yet") && inbox.contains(&curl), "{inbox}");
        assert!(inbox.contains("X-PX-Credential: billing"), "with what there is: {inbox}");

        let actor = Actor::cli(team.id);
        let agent = agents::by_name(&world.gateway, team.id, "default-agent").await.unwrap();
        agents::remove(&world.gateway, &actor, agent.row.id).await.unwrap();
        credentials::remove(&world.gateway, &actor, "billing").await.unwrap();
        let page = owner.get("/app/agents").await.text;
        assert!(page.contains("No agent yet") && page.contains(&curl), "{page}");
        let page = owner.get("/app/credentials").await.text;
        let add = "data-copy-source>pyxis credential add --name billing-api ";
        assert!(page.contains("No credential yet") && page.contains(add), "{page}");
    }
}

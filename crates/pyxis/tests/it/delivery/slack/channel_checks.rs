//! Channels that the bot cannot use.

use pyxis_gateway::Actor;
use pyxis_gateway::channels::examination;
use pyxis_store::workspaces;
use pyxis_testkit::slack::{ARCHIVED_CHANNEL, OTHER_CHANNEL};

use super::*;

engines! {
    async fn a_channel_that_refuses_the_bot_is_reported_and_gets_its_messages_once_it_is_in_again(scene: &mut Scene) {
        scene.slack.put_out(true);
        let txn = scene.proxy.pause(1).await;
        let row = crate::support::until("it is given up", async || {
            let row = scene.rows(txn).await.remove(0);
            row.next_at.is_none().then_some(row)
        })
        .await;
        let error = row.error.unwrap();
        assert!(error.contains("invite it there") && error.contains("not_in_channel"), "{error}");
        examination::tick(&scene.proxy.state).await.unwrap();
        assert!(scene.slack.messages().is_empty());
        scene.slack.put_out(false);
        examination::tick(&scene.proxy.state).await.unwrap();
        scene.until_posted("│ round 1").await;
    }

    async fn a_channel_without_the_bot_is_no_setting(scene: &mut Scene) {
        let (state, actor) = (&scene.proxy.state, scene.proxy.actor());
        for (channel, says) in [
            (OTHER_CHANNEL, "invite it there"),
            (ARCHIVED_CHANNEL, "archived"),
            ("C0NONE", "invite it there"),
            ("#ops", "not the id of a channel"),
            ("ops", "not the id of a channel"),
        ] {
            let refused = channels::set_default_chat(state, &actor, ChatPlatform::SLACK, channel).await;
            let error = refused.map(drop).unwrap_err().to_string();
            assert!(error.contains(says), "{channel}: {error}");
        }
        channels::set_default_chat(state, &actor, ChatPlatform::SLACK, CHANNEL).await.unwrap();
    }

    async fn a_credentials_own_channel_comes_before_that_of_the_workspace(scene: &mut Scene) {
        channels::set_default_chat(&scene.proxy.state, &scene.proxy.actor(), ChatPlatform::SLACK, "U0ADA").await.unwrap();
        scene.proxy.policy(r#"{"channel": "slack"}"#).await;
        assert_eq!(scene.announce(1).await.1.channel, "D0ADA");
        scene.proxy.policy(&format!(r#"{{"channel": "slack", "slack_channel": "{CHANNEL}"}}"#)).await;
        assert_eq!(scene.announce(2).await.1.channel, CHANNEL);
    }

    async fn an_examination_posts_and_changes_nothing(scene: &mut Scene) {
        for _ in 0..2 {
            examination::tick(&scene.proxy.state).await.unwrap();
        }
        let reading = ["auth.test", "apps.connections.open", "conversations.info"];
        for call in scene.slack.calls() {
            assert!(reading.contains(&call.method.as_str()), "{}", call.method);
        }
        assert!(scene.slack.calls().iter().any(|call| call.method == "conversations.info"));
    }

    async fn the_first_workspace_has_the_channel_of_the_settings_until_it_chooses_another(database: TestDatabase) {
        let mut scene = Scene::with_channel(database, Mode::Socket, Some(CHANNEL.to_owned())).await;
        let (store, platform) = (scene.proxy.state.store.clone(), ChatPlatform::SLACK);
        let first = workspaces::list(&store).await.unwrap().iter().map(|found| found.id).min().unwrap();
        let chosen = async || channels::default_chat(&store, first, platform).await.unwrap();
        crate::support::until("the channel is set", async || chosen().await.filter(|channel| channel == CHANNEL)).await;
        scene.slack.until(|slack| (slack.sockets() == 1).then_some(())).await;
        let actor = Actor::cli(first);
        channels::set_default_chat(&scene.proxy.state, &actor, platform, "U0ADA").await.unwrap();
        scene.workers.end().await;
        scene.workers = scene.proxy.work().await;
        scene.slack.until(|slack| (slack.sockets() == 2).then_some(())).await;
        assert_eq!(chosen().await.as_deref(), Some("U0ADA"));
        let filter = AuditFilter { events: vec![AuditEvent::SettingsChanged], ..AuditFilter::default() };
        let records = audit::search(&store, first, &filter).await.unwrap();
        let by_settings = records.iter().filter(|found| found.record.record.detail.contains("PX_SLACK_CHANNEL"));
        assert_eq!(by_settings.count(), 1);
    }
}

//! Channels and direct messages, limits, and channels that the bot cannot use.

use pyxis_gateway::Actor;
use pyxis_gateway::channels::examination;
use pyxis_store::workspaces;
use pyxis_testkit::discord::{CATEGORY, CLOSED_PERSON, DELETED_CHANNEL, HIDDEN_CHANNEL, SECOND_CHANNEL};

use super::*;

/// The message of a request once it has been given up.
async fn given_up(scene: &Scene, txn: TxnId) -> String {
    let row = crate::support::until("it is given up", async || {
        let row = scene.rows(txn).await.remove(0);
        (row.next_at.is_none() && row.error.is_some()).then_some(row)
    })
    .await;
    row.error.unwrap()
}

engines! {
    async fn without_a_channel_everyone_linked_gets_a_direct_message(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.proxy.policy(r#"{"channel": "discord"}"#).await;
        let (txn, message) = scene.announce(1).await;
        assert_eq!(message.channel, "1400000000000000001");
        assert_eq!(scene.press(&message, "Approve", ADA).await, "Approved. The request is being sent.");
        scene.edited(&message, "Approved by a@example.com").await;
        assert_eq!(scene.state(txn).await, ApprovalState::Approved);
        let (state, actor) = (&scene.proxy.state, scene.proxy.actor());
        channels::set_default_chat(state, &actor, ChatPlatform::DISCORD, CHANNEL).await.unwrap();
        assert_eq!(scene.announce(2).await.1.channel, CHANNEL);
    }

    async fn a_credentials_own_channel_comes_before_that_of_the_workspace_and_before_direct_messages(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.proxy.policy(r#"{"channel": "discord"}"#).await;
        assert_ne!(scene.announce(1).await.1.channel, CHANNEL);
        let (state, actor) = (&scene.proxy.state, scene.proxy.actor());
        channels::set_default_chat(state, &actor, ChatPlatform::DISCORD, SECOND_CHANNEL).await.unwrap();
        assert_eq!(scene.announce(2).await.1.channel, SECOND_CHANNEL);
        scene.proxy.policy(&format!(r#"{{"channel": "discord", "discord_channel": "{CHANNEL}"}}"#)).await;
        assert_eq!(scene.announce(3).await.1.channel, CHANNEL);
    }

    async fn a_person_who_accepts_no_direct_messages_is_reported(scene: &mut Scene) {
        scene.link(CLOSED_PERSON).await;
        scene.proxy.policy(r#"{"channel": "discord"}"#).await;
        let txn = scene.proxy.pause(1).await;
        let error = given_up(scene, txn).await;
        assert!(error.contains("accepts no direct messages"), "{error}");
    }

    async fn a_limit_is_waited_for_to_a_part_of_a_second(scene: &mut Scene) {
        scene.discord.limit(&[7.25]);
        let txn = scene.proxy.pause(1).await;
        let due = scene.proxy.clock_now().plus(Duration::from_millis(7250));
        crate::support::until("the wait is noted", async || {
            let row = scene.rows(txn).await.remove(0);
            (row.next_at == Some(due) && row.attempts == 0).then_some(())
        })
        .await;
        assert!(scene.discord.messages().is_empty());
        scene.proxy.advance(Duration::from_millis(7250));
        scene.posted("│ round 1").await;
    }

    async fn while_discord_is_down_requests_wait_and_are_posted_once(scene: &mut Scene) {
        scene.discord.set_down(true);
        let waits = scene.proxy.pause(1).await;
        crate::support::until("an attempt failed", async || scene.rows(waits).await.remove(0).error.map(drop)).await;
        scene.discord.set_down(false);
        scene.proxy.advance(Duration::from_mins(1));
        scene.posted("│ round 1").await;
        let posts: Vec<_> = scene.discord.calls().into_iter().filter(|call| call.call.starts_with("POST channels/")).collect();
        assert!(posts.len() > 1);
        assert!(posts.iter().all(|call| call.body["nonce"] == posts[0].body["nonce"] && call.body["enforce_nonce"] == true));
    }

    async fn a_channel_that_refuses_the_bot_is_reported_and_gets_its_messages_once_it_is_in_again(scene: &mut Scene) {
        scene.discord.put_out(true);
        let txn = scene.proxy.pause(1).await;
        let error = given_up(scene, txn).await;
        assert!(error.contains("cannot see the channel") && error.contains("50001"), "{error}");
        examination::tick(&scene.proxy.state).await.unwrap();
        assert!(scene.discord.messages().is_empty());
        scene.discord.put_out(false);
        examination::tick(&scene.proxy.state).await.unwrap();
        scene.posted("│ round 1").await;
    }

    async fn a_channel_that_the_bot_cannot_use_is_no_setting(scene: &mut Scene) {
        let (state, actor) = (&scene.proxy.state, scene.proxy.actor());
        for (channel, says) in [
            (HIDDEN_CHANNEL, "cannot see the channel"),
            (CATEGORY, "no messages of its own"),
            (DELETED_CHANNEL, "no such channel"),
            ("#ops", "not the id of a channel"),
            ("@ada", "not the id of a channel"),
            ("@", "not the id of a channel"),
        ] {
            let refused = channels::set_default_chat(state, &actor, ChatPlatform::DISCORD, channel).await;
            let error = refused.map(drop).unwrap_err().to_string();
            assert!(error.contains(says), "{channel}: {error}");
        }
        channels::set_default_chat(state, &actor, ChatPlatform::DISCORD, CHANNEL).await.unwrap();
    }

    async fn an_examination_posts_and_changes_nothing(scene: &mut Scene) {
        scene.discord.until(|discord| discord.commands().pop()).await;
        let before = scene.discord.calls().len();
        for _ in 0..2 {
            examination::tick(&scene.proxy.state).await.unwrap();
        }
        let calls = scene.discord.calls().split_off(before);
        assert!(calls.iter().all(|call| call.call.starts_with("GET ")), "{calls:?}");
        assert!(calls.iter().any(|call| call.call == format!("GET channels/{CHANNEL}")));
    }

    async fn an_application_without_an_endpoint_is_reported(scene: &mut Scene) {
        let problem = async || {
            let parts = channels::examine(&scene.proxy.state).await.unwrap();
            parts.into_iter().find(|(part, _)| part == "Discord bot").unwrap().1
        };
        assert_eq!(problem().await, None);
        scene.discord.forget_endpoint();
        let problem = problem().await.unwrap();
        assert!(problem.contains("https://px.example.com/discord/interactions"), "{problem}");
    }

    async fn the_first_workspace_has_the_channel_of_the_settings_until_it_chooses_another(database: TestDatabase) {
        let mut scene = Scene::with_channel(database, Some(CHANNEL.to_owned())).await;
        let (store, platform) = (scene.proxy.state.store.clone(), ChatPlatform::DISCORD);
        let first = workspaces::list(&store).await.unwrap().iter().map(|found| found.id).min().unwrap();
        let chosen = async || channels::default_chat(&store, first, platform).await.unwrap();
        crate::support::until("the channel is set", async || chosen().await.filter(|channel| channel == CHANNEL)).await;
        let actor = Actor::cli(first);
        channels::set_default_chat(&scene.proxy.state, &actor, platform, &format!("@{ADA}")).await.unwrap();
        scene.workers.end().await;
        let registered = scene.discord.calls().iter().filter(|call| call.call.ends_with("/commands")).count();
        scene.workers = scene.proxy.work().await;
        let again = |discord: &Discord| {
            let calls = discord.calls();
            (calls.iter().filter(|call| call.call.ends_with("/commands")).count() > registered).then_some(())
        };
        scene.discord.until(again).await;
        assert_eq!(chosen().await, Some(format!("@{ADA}")));
    }
}

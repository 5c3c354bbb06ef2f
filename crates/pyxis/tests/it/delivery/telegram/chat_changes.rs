//! Groups that become supergroups, and chats that the bot can no longer reach.

use pyxis_core::audit_event::AuditEvent;
use pyxis_gateway::admin::policies;
use pyxis_testkit::engines;

use super::*;

pub(super) const GROUP: i64 = -100_200;
pub(super) const SUPERGROUP: i64 = -100_987_654_321;

impl Scene {
    async fn policy_chat(&self) -> Option<String> {
        let found = policies::get(&self.proxy.state.store, self.proxy.workspace, "api").await.unwrap();
        found.unwrap().1.rooms.get(ChatPlatform::TELEGRAM).map(str::to_owned)
    }

    async fn default_chat(&self) -> Option<String> {
        channels::default_chat(&self.proxy.state.store, self.proxy.workspace, ChatPlatform::TELEGRAM)
            .await
            .unwrap()
    }

    async fn set_default(&self, chat: i64) {
        let (state, actor) = (&self.proxy.state, self.proxy.actor());
        channels::set_default_chat(state, &actor, ChatPlatform::TELEGRAM, &chat.to_string()).await.unwrap();
    }

    async fn moves(&self) -> Vec<Value> {
        let filter =
            AuditFilter { events: vec![AuditEvent::ChatMoved], limit: 100, ..AuditFilter::default() };
        let found = audit::search(&self.proxy.state.store, self.proxy.workspace, &filter).await.unwrap();
        found.into_iter().map(|row| serde_json::from_str(&row.record.record.detail).unwrap()).collect()
    }

    /// Waits until the message about a transaction is in a chat.
    async fn asks_in(&self, txn: TxnId, chat: i64) -> TelegramMessage {
        let (text, chat) = (format!("/approve/{txn}"), chat.to_string());
        let shown = |telegram: &Telegram| {
            let all = telegram.messages();
            all.into_iter().find(|shown| shown.chat == chat && shown.text.contains(&text))
        };
        self.telegram.until(shown).await
    }

    async fn wrong(&self) -> Vec<String> {
        let found = channels::examine(&self.proxy.state).await.unwrap();
        found.into_iter().filter_map(|(_, wrong)| wrong).collect()
    }

    async fn unreachable(&self) -> Vec<String> {
        let found = channels::unreachable(&self.proxy.state, self.proxy.workspace).await.unwrap();
        found.into_iter().map(|one| one.why).collect()
    }
}

engines! {
    async fn a_group_that_became_a_supergroup_is_followed_at_the_next_message(scene: &mut Scene) {
        scene.link(ADA).await;
        scene.set_default(GROUP).await;
        // A message that already asks, in the group.
        let (asked, _) = scene.announce(1).await;
        scene.telegram.migrate(GROUP, SUPERGROUP);
        let txn = scene.proxy.pause(2).await;
        let message = scene.asks_in(txn, SUPERGROUP).await;
        scene.asks_in(asked, SUPERGROUP).await;
        assert_eq!(scene.policy_chat().await, Some(SUPERGROUP.to_string()));
        assert_eq!(scene.default_chat().await, Some(SUPERGROUP.to_string()));
        let moves = scene.moves().await;
        assert_eq!(moves, [json!({
            "platform": "telegram", "from": GROUP.to_string(), "to": SUPERGROUP.to_string(),
            "default": true, "policies": ["api"],
        })]);
        assert!(scene.wrong().await.is_empty() && scene.unreachable().await.is_empty());
        // Its buttons work there.
        scene.telegram.press(&message, "Approve", ADA);
        scene.heard("Approved", 1).await;
    }

    async fn a_group_that_says_that_it_became_a_supergroup_is_followed_once(scene: &mut Scene) {
        scene.telegram.migrate(GROUP, SUPERGROUP);
        scene.telegram.tell_of_migration(GROUP, SUPERGROUP);
        crate::support::until("the policy follows", async || {
            (scene.policy_chat().await == Some(SUPERGROUP.to_string())).then_some(())
        })
        .await;
        scene.telegram.until(|telegram| (telegram.waiting() == 0).then_some(())).await;
        assert_eq!(scene.moves().await.len(), 1, "both chats told of it");
        let txn = scene.proxy.pause(1).await;
        scene.asks_in(txn, SUPERGROUP).await;
        assert_eq!(scene.default_chat().await, None, "what named no chat names none");
    }

    async fn a_chat_that_the_bot_was_put_out_of_is_named_until_it_is_let_in_again(scene: &mut Scene) {
        for (status, words) in [
            (403, "Forbidden: bot was kicked from the supergroup chat"),
            (403, "Forbidden: the group chat was deleted"),
            (400, "Bad Request: chat not found"),
        ] {
            // Ids from the same millisecond have no order, and the newest message tells if a chat is reachable.
            scene.proxy.advance(Duration::from_secs(1));
            scene.telegram.bar(GROUP, status, words);
            let txn = scene.proxy.pause(usize::from(status)).await;
            crate::support::until("it is noted", async || {
                scene.unreachable().await.iter().any(|why| why.contains(words)).then_some(())
            })
            .await;
            assert!(scene.wrong().await[0].contains(words), "{words}");
            scene.telegram.let_in(GROUP);
            // The refused message is posted, and no problem remains.
            scene.asks_in(txn, GROUP).await;
            crate::support::until("it is forgotten", async || scene.unreachable().await.is_empty().then_some(()))
                .await;
            assert!(scene.wrong().await.is_empty());
            decide(
                &scene.proxy.state,
                &scene.proxy.approver(0, DecisionSurface::Dashboard),
                txn,
                Decision::Deny(None),
            )
            .await
            .unwrap();
        }
    }

    async fn a_chat_that_is_no_longer_named_anywhere_is_no_trouble(scene: &mut Scene) {
        scene.telegram.bar(GROUP, 403, "Forbidden: bot was kicked from the group chat");
        scene.proxy.pause(1).await;
        crate::support::until("it is noted", async || (!scene.unreachable().await.is_empty()).then_some(()))
            .await;
        scene.proxy.policy(r#"{"channel": "chat_primary", "telegram_chat": "-100300"}"#).await;
        assert!(scene.unreachable().await.is_empty());
        assert!(scene.wrong().await.is_empty());
    }
}

//! Accounts on chat platforms, on the Notifications page.

use std::time::Duration;

use axum::body::Body;
use http::{Request, StatusCode};
use pyxis_core::approval_mode::{ApprovalState, Role};
use pyxis_core::chat::ChatPlatform;
use pyxis_core::id::{ChatMessageId, PushSubscriptionId, TxnId};
use pyxis_gateway::admin::{channels, people};
use pyxis_gateway::channels::PLATFORMS;
use pyxis_gateway::channels::settings::SettingKey;
use pyxis_gateway::{Actor, Config};
use pyxis_store::chat_messages::{self, NewChatMessage};
use pyxis_store::push::{self, PushSubscriptionRow};
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use serde_json::json;

use crate::support::{BOT_SECRET, Server, with_bot};

const HERE: &str = "/app/notifications";

engines! {
    async fn an_account_is_linked_by_the_code_of_the_page_and_unlinked_there(database: TestDatabase) {
        let server = Server::with(database, with_bot()).await;
        let (_, mut owner) = server.with_owner().await;
        assert!(owner.get(HERE).await.text.contains("You have no linked account"));
        let fields = [("platform", "telegram")];
        let page = owner.submit(HERE, "/app/notifications/link", &fields).await.text;
        let code: String = page.split("/link ").nth(1).unwrap().chars().take_while(char::is_ascii_alphanumeric).collect();
        assert_eq!(code.len(), 12, "{page}");
        let from = json!({ "id": 4242, "is_bot": false, "first_name": "Ana", "username": "ana" });
        let chat = json!({ "id": 4242, "type": "private" });
        let message = json!({ "message_id": 1, "date": 1, "chat": chat, "from": from, "text": format!("/link {code}") });
        let update = json!({ "update_id": 1, "message": message });
        let request = Request::post("/telegram/webhook").header("x-telegram-bot-api-secret-token", BOT_SECRET);
        let heard = server.send(request.body(Body::from(update.to_string())).unwrap()).await;
        assert_eq!(heard, StatusCode::OK);
        assert!(owner.get(HERE).await.text.contains("@ana"));
        let account = [("platform", "telegram"), ("account", "4242")];
        assert_eq!(owner.submit(HERE, "/app/notifications/unlink", &account).await.location(), HERE);
        assert!(!owner.get(HERE).await.text.contains("@ana"));
        let again = owner.submit(HERE, "/app/notifications/unlink", &account).await;
        assert_eq!(again.status, StatusCode::NOT_FOUND);
    }

    async fn a_chat_that_cannot_be_reached_is_named_until_a_message_arrives_there(database: TestDatabase) {
        let server = Server::with(database, with_bot()).await;
        let (team, mut owner) = server.with_owner().await;
        let (state, actor) = (&server.gateway, Actor::cli(team.id));
        channels::set_default_chat(state, &actor, ChatPlatform::TELEGRAM, "-100200").await.unwrap();
        let txn: TxnId = server.post_pending(&team, "/v1/items", "", "{}").await.parse().unwrap();
        let message = async |nonce: char| {
            server.later(Duration::from_secs(1));
            let id = ChatMessageId::new(state.now(), &*state.entropy);
            let new = NewChatMessage {
                id,
                workspace_id: team.id,
                subject: txn.into(),
                platform: ChatPlatform::TELEGRAM,
                chat: "-100200".to_owned(),
                nonce_hash: nonce.to_string().repeat(64),
                created_at: state.now(),
                recipient: None,
            };
            chat_messages::insert(&state.store, &new).await.unwrap();
            let rows = chat_messages::list(&state.store, team.id, txn).await.unwrap();
            rows.into_iter().find(|row| row.id == id).unwrap()
        };
        let first = message('a').await;
        chat_messages::failed(&state.store, &first, "Forbidden: bot was kicked", None).await.unwrap();
        let page = owner.get(HERE).await.text;
        assert!(page.contains("has been unreachable since") && page.contains("bot was kicked"), "{page}");
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        assert!(!member.get(HERE).await.text.contains("cannot be reached"));
        let second = message('b').await;
        let pending = ApprovalState::Pending;
        chat_messages::record_shown(&state.store, &second, pending, "7", state.now()).await.unwrap();
        assert!(!owner.get(HERE).await.text.contains("cannot be reached"));
    }

    async fn a_browser_whose_push_service_refuses_is_shown_to_its_person_and_to_managers(database: TestDatabase) {
        let server = Server::with(database, with_bot()).await;
        let (team, mut owner) = server.with_owner().await;
        let state = &server.gateway;
        let mut member = server.with_person(&team, "mem@example.com", Role::Member).await;
        let user = people::by_email(&state.store, team.id, "mem@example.com").await.unwrap();
        let id = PushSubscriptionId::new(state.now(), &*state.entropy);
        let row = PushSubscriptionRow {
            id,
            workspace_id: team.id,
            user_id: user.id,
            endpoint: "https://push.example.com/1".to_owned(),
            endpoint_hash: "1".to_owned(),
            sealed_keys: state.keyring.seal(&*state.entropy, &push::keys_aad(team.id, id), b"keys"),
            label: "Safari on macOS".to_owned(),
            created_at: state.now(),
            last_success_at: None,
            refused_status: None,
            refused_why: None,
            refused_at: None,
        };
        let mut tx = state.store.begin().await.unwrap();
        push::subscribe(&mut tx, &row).await.unwrap();
        tx.commit().await.unwrap();
        assert!(!member.get(HERE).await.text.contains("Not notified"));
        push::record_refusal(&state.store, team.id, id, (403, "BadJwtToken"), state.now()).await.unwrap();
        let page = member.get(HERE).await.text;
        assert!(page.contains("Not notified") && page.contains("403 BadJwtToken"), "{page}");
        let page = owner.get(HERE).await.text;
        assert!(page.contains("Browsers that are not notified") && page.contains("mem@example.com"), "{page}");
        push::succeeded(&state.store, team.id, id, state.now()).await.unwrap();
        assert!(!member.get(HERE).await.text.contains("Not notified"));
        assert!(!owner.get(HERE).await.text.contains("are not notified"));
    }

    async fn every_platform_has_its_room_its_settings_and_its_brand_on_the_pages(database: TestDatabase) {
        let server = Server::with(database, Config::default()).await;
        let (_, mut owner) = server.with_owner().await;
        let (page, brand) = (owner.get(HERE).await.text, owner.get("/app/brand").await.text);
        for described in PLATFORMS {
            let spec = described.platform.spec();
            assert!(page.contains(&format!("name=\"{}\"", spec.room_field)), "{page}");
            assert!(brand.contains(&format!("<h3>{}</h3>", spec.label)), "{brand}");
            for key in described.connected_by {
                assert!(page.contains(&SettingKey::variable(key)), "{page}");
            }
        }
    }

    async fn a_platform_that_this_server_does_not_speak_on_gives_no_code(database: TestDatabase) {
        let server = Server::with(database, with_bot()).await;
        let (_, mut owner) = server.with_owner().await;
        for platform in ["matrix", "smoke signals"] {
            let page = owner.submit(HERE, "/app/notifications/link", &[("platform", platform)]).await;
            assert_eq!(page.status, StatusCode::NOT_FOUND, "{platform}");
        }
    }
}

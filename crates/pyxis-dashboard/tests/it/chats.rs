//! Accounts on chat platforms, on the page Notifications.

use std::time::Duration;

use axum::body::Body;
use http::{Request, StatusCode};
use pyxis_core::secret::SecretString;
use pyxis_gateway::Config;
use pyxis_gateway::TelegramConfig;
use serde_json::json;

use crate::support::{World, both_engines};

const HERE: &str = "/app/notifications";
const SECRET: &str = "the-secret-of-the-hook";

/// A server whose bot is told of messages and reaches nobody.
fn with_bot() -> Config {
    let telegram = TelegramConfig {
        token: SecretString::new("1:token".to_owned()),
        api_base: "http://127.0.0.1:9".to_owned(),
        webhook_secret: Some(SecretString::new(SECRET.to_owned())),
        poll: Duration::from_secs(30),
    };
    Config { telegram: Some(telegram), ..Config::default() }
}

both_engines! {
    async fn an_account_is_linked_by_the_code_of_the_page_and_unlinked_there() {
        let world = World::with(with_bot()).await;
        let (_, mut owner) = world.with_owner().await;
        assert!(owner.get(HERE).await.text.contains("No account of yours is linked"));
        let fields = [("platform", "telegram")];
        let page = owner.submit(HERE, "/app/notifications/link", &fields).await.text;
        let code: String = page.split("/link ").nth(1).unwrap().chars().take_while(char::is_ascii_alphanumeric).collect();
        assert_eq!(code.len(), 12, "{page}");
        let from = json!({ "id": 4242, "is_bot": false, "first_name": "Ana", "username": "ana" });
        let chat = json!({ "id": 4242, "type": "private" });
        let message = json!({ "message_id": 1, "date": 1, "chat": chat, "from": from, "text": format!("/link {code}") });
        let update = json!({ "update_id": 1, "message": message });
        let request = Request::post("/telegram/webhook").header("x-telegram-bot-api-secret-token", SECRET);
        let heard = world.send(request.body(Body::from(update.to_string())).unwrap()).await;
        assert_eq!(heard, StatusCode::OK);
        assert!(owner.get(HERE).await.text.contains("@ana"));
        let account = [("platform", "telegram"), ("account", "4242")];
        assert_eq!(owner.submit(HERE, "/app/notifications/unlink", &account).await.location(), HERE);
        assert!(!owner.get(HERE).await.text.contains("@ana"));
        let again = owner.submit(HERE, "/app/notifications/unlink", &account).await;
        assert_eq!(again.status, StatusCode::NOT_FOUND);
    }

    async fn a_platform_that_this_server_does_not_speak_on_gives_no_code() {
        let world = World::with(with_bot()).await;
        let (_, mut owner) = world.with_owner().await;
        for platform in ["matrix", "smoke signals"] {
            let page = owner.submit(HERE, "/app/notifications/link", &[("platform", platform)]).await;
            assert_eq!(page.status, StatusCode::NOT_FOUND, "{platform}");
        }
    }
}

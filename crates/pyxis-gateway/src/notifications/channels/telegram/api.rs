//! Calls of the Bot API, as <https://core.telegram.org/bots/api> describes them.

use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Uri};
use pyxis_net::body::read_capped;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;
use utoipa::ToSchema;

use super::Bot;
use crate::notifications::channels::platform::DeliveryError;

/// Longest time for a call that does not wait for updates.
const CALL: Duration = Duration::from_secs(15);
/// Largest answer, in bytes.
const MAX_RESPONSE: usize = 4 * 1024 * 1024;
/// The wait where we are limited and not told for how long.
const LIMITED: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct BotResponse<T> {
    ok: bool,
    result: Option<T>,
    error_code: Option<i64>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Default, Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

/// A message that was posted.
#[derive(Deserialize)]
pub(super) struct Message {
    pub(super) message_id: i64,
}

/// One update. What we do not ask for is left out.
#[derive(Deserialize, ToSchema)]
#[schema(as = TelegramUpdate, description = "An Update of the Bot API. Other members are ignored.", example = json!({
    "update_id": 1,
    "message": {
        "message_id": 2,
        "date": 1_769_850_300,
        "chat": {"id": 1001, "type": "private"},
        "from": {"id": 1001, "is_bot": false, "first_name": "Ada"},
        "text": "/start"
    }
}))]
pub(super) struct BotUpdate {
    #[serde(rename = "update_id")]
    pub(super) id: i64,
    #[schema(value_type = Option<Object>, nullable = false)]
    pub(super) message: Option<Incoming>,
    #[schema(value_type = Option<Object>, nullable = false)]
    pub(super) callback_query: Option<Callback>,
    #[schema(value_type = Option<Object>, nullable = false)]
    pub(super) my_chat_member: Option<ChatMember>,
}

/// The bot was let into a chat or put out of it.
#[derive(Deserialize)]
pub(super) struct ChatMember {
    pub(super) chat: Chat,
    pub(super) new_chat_member: Member,
}

#[derive(Deserialize)]
pub(super) struct Member {
    pub(super) status: String,
}

/// Somebody wrote something.
#[derive(Deserialize)]
pub(super) struct Incoming {
    pub(super) chat: Chat,
    pub(super) from: Option<User>,
    pub(super) text: Option<String>,
    /// The supergroup that this group became.
    pub(super) migrate_to_chat_id: Option<i64>,
    /// The group that this supergroup was.
    pub(super) migrate_from_chat_id: Option<i64>,
}

/// Somebody pressed a button.
#[derive(Deserialize)]
pub(super) struct Callback {
    pub(super) id: String,
    pub(super) from: User,
    pub(super) data: Option<String>,
    pub(super) message: Option<PressedMessage>,
}

/// The message with the button.
#[derive(Deserialize)]
pub(super) struct PressedMessage {
    pub(super) message_id: i64,
    pub(super) chat: Chat,
}

#[derive(Deserialize)]
pub(super) struct Chat {
    pub(super) id: i64,
    #[serde(rename = "type", default)]
    pub(super) kind: String,
}

#[derive(Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    #[serde(default)]
    pub(super) first_name: String,
    pub(super) username: Option<String>,
}

impl User {
    /// How people on the platform see the account.
    pub(super) fn label(&self) -> String {
        self.username.as_ref().map_or_else(|| self.first_name.clone(), |name| format!("@{name}"))
    }
}

impl Bot {
    /// Calls a method.
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        method: &str,
        body: &Value,
    ) -> Result<T, DeliveryError> {
        self.call_for(net_private, method, body, CALL).await
    }

    /// The same, where the answer may take as long as `limit`.
    pub(super) async fn call_for<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        method: &str,
        body: &Value,
        limit: Duration,
    ) -> Result<T, DeliveryError> {
        let request = self.request(method, body)?;
        let answering = async {
            // The operator's own setting says where this is, so it may be on a private network.
            let response = net_private.send(request, limit).await?;
            read_capped(response.into_body(), MAX_RESPONSE).await
        };
        let bytes = match timeout(limit, answering).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(error)) => return Err(DeliveryError::Failed(error.to_string())),
            Err(_) => return Err(DeliveryError::Failed("no response in time".to_owned())),
        };
        let answer: BotResponse<T> = serde_json::from_slice(&bytes)
            .map_err(|_| DeliveryError::Failed("the response is not from a Bot API server".to_owned()))?;
        into_result(answer)
    }

    fn request(&self, method: &str, body: &Value) -> Result<Request<pyxis_net::Body>, DeliveryError> {
        let url = format!("{}/bot{}/{method}", self.config.api_base, self.config.token.expose());
        let uri: Uri = url.parse().map_err(|_| {
            DeliveryError::Failed("the token has characters that a URL cannot carry".to_owned())
        })?;
        let mut request = Request::new(pyxis_net::body::full(body.to_string()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = uri;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(request)
    }
}

fn into_result<T>(answer: BotResponse<T>) -> Result<T, DeliveryError> {
    match (answer.ok, answer.result, answer.error_code) {
        (true, Some(result), _) => Ok(result),
        (false, ..) if let Some(to) = answer.parameters.migrate_to_chat_id => {
            Err(DeliveryError::Moved(to.to_string()))
        }
        (_, _, Some(429)) => {
            Err(DeliveryError::Later(answer.parameters.retry_after.map_or(LIMITED, Duration::from_secs)))
        }
        (_, _, Some(400 | 403 | 404)) => Err(DeliveryError::Refused(answer.description)),
        _ => Err(DeliveryError::Failed(answer.description)),
    }
}

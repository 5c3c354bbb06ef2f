//! Calls of the client-server API, as <https://spec.matrix.org/v1.11/client-server-api/> describes them.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pyxis_net::body::read_capped;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use super::Bot;
use crate::notifications::channels::platform::DeliveryError;

/// Longest time for a call that does not wait for news.
const CALL: Duration = Duration::from_secs(15);
/// Largest answer, in bytes.
const MAX_RESPONSE: usize = 8 * 1024 * 1024;
/// The wait where we are limited and not told for how long.
const LIMITED: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(default)]
    errcode: String,
    #[serde(default)]
    error: String,
    retry_after_ms: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct JoinedRoom {
    pub(super) room_id: String,
}

#[derive(Deserialize)]
pub(super) struct SentEvent {
    pub(super) event_id: String,
}

#[derive(Deserialize)]
pub(super) struct WhoAmI {
    pub(super) user_id: String,
}

/// What happened since the last time.
#[derive(Deserialize)]
pub(super) struct Sync {
    pub(super) next_batch: String,
    #[serde(default)]
    pub(super) rooms: Rooms,
}

#[derive(Default, Deserialize)]
pub(super) struct Rooms {
    #[serde(default)]
    pub(super) join: BTreeMap<String, Room>,
    #[serde(default)]
    pub(super) invite: BTreeMap<String, Value>,
    #[serde(default)]
    pub(super) leave: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
pub(super) struct Room {
    #[serde(default)]
    pub(super) timeline: Timeline,
}

#[derive(Default, Deserialize)]
pub(super) struct Timeline {
    #[serde(default)]
    pub(super) events: Vec<RoomEvent>,
    /// True if there was more than was asked for, before these.
    #[serde(default)]
    pub(super) limited: bool,
    /// Where that is.
    pub(super) prev_batch: Option<String>,
}

/// Earlier events of a room, newest first.
#[derive(Deserialize)]
pub(super) struct Earlier {
    #[serde(default)]
    pub(super) chunk: Vec<RoomEvent>,
    /// Where to go on; nowhere at the end.
    pub(super) end: Option<String>,
}

/// Something that somebody sent to a room.
#[derive(Deserialize)]
pub(super) struct RoomEvent {
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    #[serde(rename = "event_id", default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) sender: String,
    #[serde(default)]
    pub(super) content: Value,
    /// Of state events only.
    pub(super) state_key: Option<String>,
}

/// Text as one segment of a path, or one value of a query.
pub(super) fn segment(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

impl Bot {
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        path: &str,
        body: &Value,
    ) -> Result<T, DeliveryError> {
        self.call(net_private, Method::POST, path, Some(body), CALL).await
    }

    pub(super) async fn put<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        path: &str,
        body: &Value,
    ) -> Result<T, DeliveryError> {
        self.call(net_private, Method::PUT, path, Some(body), CALL).await
    }

    pub(super) async fn get<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        path: &str,
        waits: Duration,
    ) -> Result<T, DeliveryError> {
        self.call(net_private, Method::GET, path, None, CALL + waits).await
    }

    /// What is at a path; `None` where the server says that there is nothing.
    pub(super) async fn find<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        path: &str,
    ) -> Result<Option<T>, DeliveryError> {
        match self.exchange(net_private, Method::GET, path, None, CALL).await? {
            (StatusCode::NOT_FOUND, _) => Ok(None),
            (status, bytes) => read(status, &bytes).map(Some),
        }
    }

    async fn call<T: DeserializeOwned>(
        &self,
        net_private: &pyxis_net::Client,
        method: Method,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<T, DeliveryError> {
        let (status, bytes) = self.exchange(net_private, method, path, body, limit).await?;
        read(status, &bytes)
    }

    async fn exchange(
        &self,
        net_private: &pyxis_net::Client,
        method: Method,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<(StatusCode, Bytes), DeliveryError> {
        let request = self.request(method, path, body)?;
        let answering = async {
            // The operator's own setting says where this is, so it may be on a private network.
            let response = net_private.send(request, limit).await?;
            let status = response.status();
            Ok::<_, pyxis_net::Error>((status, read_capped(response.into_body(), MAX_RESPONSE).await?))
        };
        match timeout(limit, answering).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(DeliveryError::Failed(error.to_string())),
            Err(_) => Err(DeliveryError::Failed("no response in time".to_owned())),
        }
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Request<pyxis_net::Body>, DeliveryError> {
        let url = format!("{}/_matrix/client/v3/{path}", self.config.homeserver);
        let uri: Uri = url.parse().map_err(|_| DeliveryError::Refused("not an address".to_owned()))?;
        let authorization = HeaderValue::try_from(format!("Bearer {}", self.config.token.expose()));
        let mut authorization = authorization.map_err(|_| {
            DeliveryError::Failed("the token has characters that a header cannot carry".to_owned())
        })?;
        authorization.set_sensitive(true);
        let body = body.map_or_else(pyxis_net::body::empty, |body| pyxis_net::body::full(body.to_string()));
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        request.headers_mut().insert(AUTHORIZATION, authorization);
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(request)
    }
}

fn read<T: DeserializeOwned>(status: StatusCode, bytes: &[u8]) -> Result<T, DeliveryError> {
    if status.is_success() {
        let odd = |_| DeliveryError::Failed("the response is not from a Matrix homeserver".to_owned());
        return serde_json::from_slice(bytes).map_err(odd);
    }
    Err(parse_error(status, bytes))
}

fn parse_error(status: StatusCode, bytes: &[u8]) -> DeliveryError {
    let refusal: ErrorBody = serde_json::from_slice(bytes).unwrap_or(ErrorBody {
        errcode: String::new(),
        error: String::new(),
        retry_after_ms: None,
    });
    let words = format!("{} {}: {}", status.as_u16(), refusal.errcode, refusal.error);
    match status {
        StatusCode::TOO_MANY_REQUESTS => {
            DeliveryError::Later(refusal.retry_after_ms.map_or(LIMITED, Duration::from_millis))
        }
        StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => {
            DeliveryError::Refused(words)
        }
        _ => DeliveryError::Failed(words),
    }
}

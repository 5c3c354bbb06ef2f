//! One WebSocket to Slack (<https://docs.slack.dev/apis/events-api/using-socket-mode/>).

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, Uri};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use pyxis_core::secret::SecretString;
use pyxis_http::websocket::{
    CloseCode, FrameReader, FrameWriter, Opcode, add_headers, check_answer, new_key,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{ReadHalf, WriteHalf, split};
use tokio::time::{Instant, sleep_until, timeout};

use super::Bot;
use super::reports::Report;
use crate::notifications::channels::platform::{Delivery, DeliveryError};
use crate::runtime::state::State;

/// Longest time from the handshake to Slack's hello.
const OPENING: Duration = Duration::from_secs(15);
/// Silence after which Slack is asked whether it is there.
const QUIET: Duration = Duration::from_secs(10);
/// Silence after which the connection counts as dead.
const DEAD: Duration = Duration::from_secs(30);
/// Largest message, in bytes.
const MESSAGE_MAX: usize = 4 * 1024 * 1024;

type Connection = TokioIo<Upgraded>;

/// A WebSocket on which Slack said hello.
pub(super) struct Socket {
    reader: FrameReader<ReadHalf<Connection>>,
    writer: FrameWriter<WriteHalf<Connection>>,
    /// Parts of a message whose end is still to come.
    message: Vec<u8>,
    heard_at: Instant,
    asked_at: Instant,
}

/// A message of Slack's.
pub(super) enum Heard {
    /// A report, to be acknowledged within three seconds.
    Envelope {
        id: String,
        update: Report,
    },
    /// The connection will end; another one should be opened first.
    Disconnect {
        reason: String,
    },
    /// A frame to send for the connection's life.
    KeepAlive(KeepAlive),
    Hello,
    Other,
}

/// A frame that keeps a connection alive.
pub(super) enum KeepAlive {
    /// Nothing was heard for a while.
    Ask,
    /// Slack asked with this payload.
    Answer(Bytes),
}

#[derive(Deserialize)]
struct Message {
    #[serde(rename = "type", default)]
    kind: String,
    envelope_id: Option<String>,
    #[serde(default)]
    payload: Value,
    #[serde(default)]
    reason: String,
}

impl Socket {
    /// Opens a WebSocket and waits for Slack's hello.
    pub(super) async fn open(state: &State, bot: &Bot, app_token: &SecretString) -> Delivery<Self> {
        let address = bot.open_socket(&state.net_private, app_token).await?;
        let opening = async {
            let mut socket = Self::connect(state, bot, &address.url).await?;
            loop {
                match socket.next().await? {
                    Heard::Hello => return Ok(socket),
                    Heard::Disconnect { reason } => {
                        return Err(DeliveryError::Failed(format!("Slack ends the connection ({reason})")));
                    }
                    Heard::KeepAlive(frame) => socket.keep_alive(frame).await?,
                    // Not acknowledged, so Slack sends it again.
                    Heard::Envelope { .. } | Heard::Other => {}
                }
            }
        };
        timeout(OPENING, opening).await.unwrap_or_else(|_| Err(failed("Slack opens no WebSocket in time")))
    }

    async fn connect(state: &State, bot: &Bot, url: &str) -> Delivery<Self> {
        // Slack itself is public. The operator's own setting may be on a private network.
        let net = if bot.config.is_public() { &state.net } else { &state.net_private };
        let key = new_key(&*state.entropy);
        let mut request = Request::new(pyxis_net::body::full(""));
        *request.method_mut() = Method::GET;
        *request.uri_mut() = socket_uri(url, bot.config.api_base.starts_with("https:"))?;
        add_headers(request.headers_mut(), &key);
        let mut response =
            net.for_upgrade().send(request, OPENING).await.map_err(|error| failed(&error.to_string()))?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(DeliveryError::Failed(format!("Slack opens no WebSocket ({})", response.status())));
        }
        check_answer(response.headers(), &key, &[]).map_err(failed)?;
        let connection =
            hyper::upgrade::on(&mut response).await.map_err(|error| failed(&error.to_string()))?;
        let (reader, writer) = split(TokioIo::new(connection));
        let now = Instant::now();
        Ok(Self {
            reader: FrameReader::of_server(reader),
            writer: FrameWriter::to_server(writer, state.entropy.clone()),
            message: Vec::new(),
            heard_at: now,
            asked_at: now,
        })
    }

    /// The next message. Nothing is lost if the future is dropped: it only reads, so that no frame is cut.
    pub(super) async fn next(&mut self) -> Delivery<Heard> {
        loop {
            let quiet_at = self.heard_at.max(self.asked_at) + QUIET;
            let piece = tokio::select! {
                piece = self.reader.next() => piece.map_err(|error| failed(&error.to_string()))?,
                () = sleep_until(quiet_at) => {
                    if self.heard_at.elapsed() >= DEAD {
                        return Err(failed("the connection to Slack is dead"));
                    }
                    self.asked_at = Instant::now();
                    return Ok(Heard::KeepAlive(KeepAlive::Ask));
                }
            };
            let Some(piece) = piece else { return Err(failed("Slack ended the connection")) };
            self.heard_at = Instant::now();
            match piece.opcode {
                Opcode::Ping => return Ok(Heard::KeepAlive(KeepAlive::Answer(piece.payload))),
                Opcode::Close => {
                    drop(self.write(Opcode::Close, &piece.payload).await);
                    return Err(failed("Slack closed the WebSocket"));
                }
                Opcode::Text => {
                    self.message.extend_from_slice(&piece.payload);
                    if self.message.len() > MESSAGE_MAX {
                        return Err(failed("a message of Slack is too long"));
                    }
                    if piece.is_last {
                        return Ok(read(&std::mem::take(&mut self.message)));
                    }
                }
                Opcode::Pong | Opcode::Binary | Opcode::Continuation => {}
            }
        }
    }

    /// Sends a frame that [`next`](Self::next) wants.
    pub(super) async fn keep_alive(&mut self, frame: KeepAlive) -> Delivery<()> {
        match frame {
            KeepAlive::Ask => self.write(Opcode::Ping, b"").await,
            KeepAlive::Answer(payload) => self.write(Opcode::Pong, &payload).await,
        }
    }

    pub(super) async fn acknowledge(&mut self, envelope: &str) -> Delivery<()> {
        self.write(Opcode::Text, json!({ "envelope_id": envelope }).to_string().as_bytes()).await
    }

    /// Says goodbye.
    pub(super) async fn close(mut self) {
        drop(self.writer.close(CloseCode::GoingAway, "").await);
        drop(self.writer.shutdown().await);
    }

    async fn write(&mut self, opcode: Opcode, payload: &[u8]) -> Delivery<()> {
        self.writer.write(true, opcode, payload).await.map_err(|error| failed(&error.to_string()))
    }
}

fn failed(why: &str) -> DeliveryError {
    DeliveryError::Failed(why.to_owned())
}

fn read(message: &[u8]) -> Heard {
    let Ok(message) = serde_json::from_slice::<Message>(message) else { return Heard::Other };
    match (message.kind.as_str(), message.envelope_id) {
        ("hello", _) => Heard::Hello,
        ("disconnect", _) => Heard::Disconnect { reason: message.reason },
        (kind, Some(id)) => Heard::Envelope { id, update: Report::from_envelope(kind, message.payload) },
        (_, None) => Heard::Other,
    }
}

/// The address of a WebSocket as the client writes it. It is encrypted wherever the Web API is.
fn socket_uri(url: &str, must_encrypt: bool) -> Delivery<Uri> {
    let http = match url.split_once("://") {
        Some(("wss", rest)) => format!("https://{rest}"),
        Some(("ws", rest)) if !must_encrypt => format!("http://{rest}"),
        _ => return Err(failed("Slack names no encrypted WebSocket")),
    };
    http.parse().map_err(|_| failed("Slack names no address of a WebSocket"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_websocket_is_encrypted_wherever_the_web_api_is() {
        let of = |url: &str, must_encrypt| socket_uri(url, must_encrypt).map(|uri| uri.to_string()).ok();
        assert_eq!(of("wss://w.slack.com/?t=1", true).as_deref(), Some("https://w.slack.com/?t=1"));
        assert_eq!(of("ws://127.0.0.1:9/?t=1", false).as_deref(), Some("http://127.0.0.1:9/?t=1"));
        assert_eq!(of("ws://w.slack.com/", true), None);
        assert_eq!(of("https://w.slack.com/", false), None);
    }

    #[test]
    fn messages_that_are_not_understood_do_not_end_the_connection() {
        assert!(matches!(read(b"{"), Heard::Other));
        assert!(matches!(read(br#"{"type":"news"}"#), Heard::Other));
        let unknown = br#"{"type":"slash_commands","envelope_id":"1","payload":{}}"#;
        assert!(matches!(read(unknown), Heard::Envelope { update: Report::Other, .. }));
        let broken = br#"{"type":"interactive","envelope_id":"1","payload":{"type":7}}"#;
        assert!(matches!(read(broken), Heard::Envelope { update: Report::Other, .. }));
    }
}

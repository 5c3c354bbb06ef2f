//! Socket Mode: WebSockets that are opened with a ticket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{OpenSocket, ServerState, Slack};
use crate::websocket::{self, CLOSE, MessageHead, PING, PONG, Socket, TEXT, WebSocketHost};

/// Next thing that a WebSocket sends.
pub(super) enum Command {
    Text(String),
    Pong(Vec<u8>),
    Close,
}

impl Slack {
    /// Announces the end of the newest WebSocket, which stays open. Returns its number.
    pub fn announce_end(&self, reason: &str) -> usize {
        self.shared.change(|inner| {
            let line = inner.lines.last_mut().expect("an open WebSocket");
            line.is_ending = true;
            let text = json!({
                "type": "disconnect", "reason": reason,
                "debug_info": { "host": "applink-canary", "build_number": 1 },
            });
            drop(line.sender.send(Command::Text(text.to_string())));
            line.number
        })
    }

    /// Closes a WebSocket.
    pub fn close_socket(&self, number: usize) {
        self.shared.change(|inner| {
            let line = inner.lines.iter().find(|line| line.number == number).expect("an open WebSocket");
            drop(line.sender.send(Command::Close));
        });
    }

    /// Sends an envelope over this WebSocket, even one whose end is announced.
    pub fn send_over(&self, number: usize, kind: &str, payload: &Value) -> String {
        self.shared.change(|inner| {
            let id = format!("envelope-{}", inner.next_id());
            let line = inner.lines.iter().find(|line| line.number == number).expect("an open WebSocket");
            let envelope = json!({
                "envelope_id": id, "type": kind, "payload": payload, "accepts_response_payload": true,
            });
            drop(line.sender.send(Command::Text(envelope.to_string())));
            let sent = super::Envelope { id: id.clone(), socket: number, acknowledged: None };
            inner.envelopes.push((sent, tokio::time::Instant::now()));
            id
        })
    }
}

/// Accepts WebSockets on a free local port.
pub(super) async fn listen(shared: &Arc<ServerState>, tasks: &mut JoinSet<()>) -> SocketAddr {
    let checking = Arc::clone(shared);
    let local = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut host = WebSocketHost::answering(local, None, move |head| answer(&checking, head)).await;
    let address = host.addr();
    let shared = Arc::clone(shared);
    tasks.spawn(async move {
        let mut lines = JoinSet::new();
        loop {
            let socket = host.accept().await;
            let ticket = ticket(&socket.head);
            let is_open = shared.change(|inner| {
                let at = inner.opened.iter().position(|opened| *opened == ticket);
                at.map(|at| inner.opened.remove(at)).is_some()
            });
            if is_open {
                lines.spawn(serve(Arc::clone(&shared), socket));
            }
        }
    });
    address
}

/// A ticket opens one WebSocket.
fn answer(shared: &ServerState, head: &MessageHead) -> String {
    let ticket = ticket(head);
    let is_known = shared.change(|inner| {
        let at = inner.tickets.iter().position(|known| *known == ticket);
        let known = at.map(|at| inner.tickets.remove(at));
        inner.opened.extend(known.clone());
        known.is_some()
    });
    if is_known {
        websocket::accepted(head)
    } else {
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
    }
}

fn ticket(head: &MessageHead) -> String {
    let query = head.line.split_once("ticket=").map(|(_, rest)| rest).unwrap_or_default();
    query.split(['&', ' ']).next().unwrap_or_default().to_owned()
}

/// Says hello, then sends envelopes and reads acknowledgments.
async fn serve(shared: Arc<ServerState>, socket: Socket) {
    let (sender, mut commands) = mpsc::unbounded_channel();
    let (mut reader, mut writer) = socket.split();
    let number = shared.change(|inner| {
        inner.sockets += 1;
        let number = inner.sockets;
        let hello = json!({
            "type": "hello", "num_connections": inner.lines.len() + 1,
            "connection_info": { "app_id": "A0APP" },
            "debug_info": { "host": "applink-canary", "build_number": 1, "approximate_connection_time": 3600 },
        });
        drop(sender.send(Command::Text(hello.to_string())));
        let line = OpenSocket { number, sender: sender.clone(), is_ending: false };
        inner.lines.push(line);
        inner.send_waiting();
        number
    });
    let is_closing = AtomicBool::new(false);
    let writing = async {
        writer.frame(true, PING, b"are you there?").await;
        while let Some(command) = commands.recv().await {
            match command {
                Command::Text(text) => writer.text(&text).await,
                Command::Pong(payload) => writer.frame(true, PONG, &payload).await,
                Command::Close => {
                    is_closing.store(true, Ordering::Relaxed);
                    writer.close(1000, "").await;
                    break;
                }
            }
        }
        // What the other side sends afterwards is still read.
        std::future::pending::<()>().await;
    };
    let reading = async {
        while let Some(frame) = reader.receive().await {
            match frame.opcode {
                TEXT => acknowledge(&shared, number, frame.text()),
                PING => drop(sender.send(Command::Pong(frame.payload))),
                PONG => shared.change(|inner| inner.pongs += 1),
                CLOSE => break,
                _ => {}
            }
        }
    };
    tokio::select! {
        () = writing => {}
        () = reading => {}
    }
    if !is_closing.load(Ordering::Relaxed) {
        writer.close(1000, "").await;
    }
    shared.change(|inner| inner.lines.retain(|line| line.number != number));
}

fn acknowledge(shared: &ServerState, number: usize, text: &str) {
    let message: Value = serde_json::from_str(text).expect("a client sends JSON");
    let id = message["envelope_id"].as_str().expect("a client acknowledges");
    shared.change(|inner| {
        let of = |envelope: &super::Envelope| envelope.id == id && envelope.socket == number;
        let (envelope, sent_at) = inner
            .envelopes
            .iter_mut()
            .find(|(envelope, _)| of(envelope))
            .expect("an envelope of this WebSocket");
        envelope.acknowledged = Some(sent_at.elapsed());
    });
}

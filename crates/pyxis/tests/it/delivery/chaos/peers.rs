//! Platforms as the chaos meets them: what they show, and how people decide there.

use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::id::TxnId;
use pyxis_gateway::ChatSettings;
use pyxis_testkit::faults::Faults;
use pyxis_testkit::long_form::Dice;
use serde_json::json;

use super::lives::Lives;

mod discord;
mod links;
mod matrix;
mod slack;
mod telegram;

/// Starts the stand-in of a platform.
type Starting = fn(Arc<Faults>) -> BoxFuture<'static, Box<dyn Peer>>;

/// Every platform. Another one is another line.
const PEERS: [Starting; 8] = [
    telegram::start,
    matrix::start,
    slack::start,
    discord::start,
    links::start_email,
    links::start_ntfy,
    links::start_teams,
    links::start_card,
];

/// A request, and what people want.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedRequest {
    pub(super) round: usize,
    pub(super) txn: TxnId,
    pub(super) approve: bool,
}

impl PlannedRequest {
    /// True if a message is about it. Some show the body, and the others carry a link.
    pub(super) fn is_in(&self, text: &str) -> bool {
        text.contains(&format!("│ round {}\n", self.round)) || text.contains(&self.txn.to_string())
    }

    /// Button of what people want.
    fn label(&self) -> &'static str {
        if self.approve { "Approve" } else { "Deny" }
    }
}

/// A message as people see it.
pub(super) struct Announcement {
    /// Id as it is stored, if the platform has ids.
    pub(super) id: Option<String>,
    /// Everything in it.
    pub(super) text: String,
}

/// Outcome of a click.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Click {
    /// The platform was told that the decision is taken.
    Acknowledged,
    /// Nothing is known.
    Unknown,
}

/// The stand-in of a platform, behind a connection with faults.
pub(super) trait Peer: Send + Sync {
    fn platform(&self) -> ChatPlatform;

    fn faults(&self) -> &Faults;

    /// A room that the bot can use.
    fn room(&self) -> &'static str;

    /// Connects the bot.
    fn connect(&self, chats: ChatSettings) -> ChatSettings;

    /// All announcements, oldest first.
    fn announcements(&self) -> Vec<Announcement>;

    /// Account of a person who decides there, as it is stored.
    fn account(&self) -> Option<&'static str> {
        None
    }

    /// Decides about a request by its newest message.
    fn click<'a>(&'a self, _lives: &'a Lives, _asked: PlannedRequest) -> BoxFuture<'a, Click> {
        Box::pin(std::future::ready(Click::Unknown))
    }

    /// Disturbs what the connection with faults does not carry.
    fn disturb(&self) {}

    /// True if the platform knows a message that is posted again.
    fn posts_once(&self) -> bool {
        false
    }

    /// True if it says for how long it accepts nothing.
    fn limits(&self) -> bool {
        true
    }
}

/// Policy that announces requests on a platform.
pub(super) fn policy(peer: &dyn Peer) -> String {
    let spec = peer.platform().spec();
    json!({ "channel": spec.channel, spec.room_field: peer.room() }).to_string()
}

/// Starts all stand-ins.
pub(super) async fn start(dice: &Arc<Mutex<Dice>>) -> Vec<Box<dyn Peer>> {
    let mut peers = Vec::new();
    for start in PEERS {
        peers.push(start(Arc::new(Faults::new(Arc::clone(dice)))).await);
    }
    let platforms: Vec<_> = peers.iter().map(|peer| peer.platform()).collect();
    assert_eq!(platforms, ChatPlatform::ALL, "every platform is tried");
    peers
}

/// Settings that connect all of them.
pub(super) fn settings(peers: &[Box<dyn Peer>]) -> ChatSettings {
    peers.iter().fold(ChatSettings::default(), |chats, peer| peer.connect(chats))
}

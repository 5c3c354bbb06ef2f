//! A person's notification settings.

use askama::Template;

use super::{Layout, Problems, RoomField, Search, Timestamp, in_section};

/// `GET /app/notifications`; posts to `/app/notifications/link` (`platform`), `/unlink` (`platform`,
/// `account`) and, for managers, `/chats` ([`Self::rooms`]).
#[derive(Clone, Debug, Template)]
#[template(path = "notifications.html")]
pub struct NotificationsPage {
    pub shell: Layout,
    /// The search field, and the pages of messages; browsers and accounts are few.
    pub search: Search,
    /// The public key of this server, for the browser's push service.
    pub push_key: String,
    /// This person's notified browsers.
    pub browsers: Vec<BrowserLine>,
    /// Platforms configured on this server.
    pub platforms: Vec<PlatformLine>,
    /// Variables that connect each platform, where none is configured.
    pub connected_by: Vec<Vec<String>>,
    /// The workspace's messages that could not be shown, newest first; for managers.
    pub unshown: Vec<UnshownLine>,
    /// Configured chats that cannot be reached; for managers.
    pub unreachable: Vec<UnreachableLine>,
    /// The workspace's browsers whose push services refuse messages; for managers.
    pub refused: Vec<RefusedLine>,
    /// The workspace's default rooms.
    pub rooms: Vec<RoomField>,
    pub problems: Problems,
}

/// A chat message that could not be shown correctly.
#[derive(Clone, Debug)]
pub struct UnshownLine {
    /// `Telegram`, `Matrix`.
    pub platform: String,
    /// The chat or room.
    pub chat: String,
    /// Id of the request or task that the message is about.
    pub subject: String,
    /// True if it is a task.
    pub is_task: bool,
    /// Reason.
    pub why: String,
    /// True if it will be retried.
    pub again: bool,
    /// Time of the message.
    pub at: Timestamp,
}

/// A configured chat that the bot cannot work in.
#[derive(Clone, Debug)]
pub struct UnreachableLine {
    /// `Telegram`, `Matrix`.
    pub platform: String,
    /// The chat or room.
    pub chat: String,
    /// Reason, and the remedy.
    pub why: String,
    /// Time when this became known.
    pub since: Timestamp,
}

/// A notified browser.
#[derive(Clone, Debug)]
pub struct BrowserLine {
    pub id: String,
    /// Name reported by the browser.
    pub label: String,
    /// Time of subscription.
    pub added: Timestamp,
    /// Reason that its push service refuses messages, and since when.
    pub refused: Option<(String, Timestamp)>,
}

/// A browser that its push service does not notify.
#[derive(Clone, Debug)]
pub struct RefusedLine {
    pub person: String,
    /// Name reported by the browser.
    pub label: String,
    /// Reason.
    pub why: String,
    /// Time of the first refusal.
    pub since: Timestamp,
}

/// A chat platform.
#[derive(Clone, Debug)]
pub struct PlatformLine {
    /// `telegram`, `matrix`.
    pub name: String,
    /// `Telegram`, `Matrix`.
    pub label: String,
    /// True if people decide there, with linked accounts.
    pub decides: bool,
    /// Linked accounts of this person.
    pub accounts: Vec<AccountLine>,
}

/// An account on a chat platform.
#[derive(Clone, Debug)]
pub struct AccountLine {
    /// Id on the platform.
    pub id: String,
    /// Name shown on the platform.
    pub label: String,
    /// Time of linking.
    pub linked: Timestamp,
}

/// Response to requesting a link code: shows the code once.
#[derive(Clone, Template)]
#[template(path = "link_code.html")]
pub struct LinkCodePage {
    pub shell: Layout,
    /// `Telegram`, `Matrix`.
    pub platform: String,
    /// Command to send to the bot.
    pub command: String,
    /// Expiry of the code.
    pub until: Timestamp,
}

impl std::fmt::Debug for LinkCodePage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LinkCodePage").field("platform", &self.platform).finish_non_exhaustive()
    }
}

impl NotificationsPage {
    /// True if there is anything to search.
    fn searchable(&self) -> bool {
        let linked = self.platforms.iter().any(|platform| !platform.accounts.is_empty());
        linked || !self.browsers.is_empty() || !self.unshown.is_empty() || self.search.is_narrowed()
    }
}

in_section!(NotificationsPage => Notifications, LinkCodePage => Notifications);

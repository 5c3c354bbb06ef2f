//! Where a person is told of requests.

use askama::Template;

use super::{Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/notifications`; posts to `/app/notifications/link` (`platform`), `/unlink` (`platform`,
/// `account`) and, for managers, `/chats` (`telegram_chat`, `matrix_room`).
#[derive(Clone, Debug, Template)]
#[template(path = "notifications.html")]
pub struct NotificationsPage {
    /// The frame.
    pub shell: Layout,
    /// The search field, and the pages of messages; browsers and accounts are few.
    pub search: Search,
    /// The public key of this server, for the browser's push service.
    pub push_key: String,
    /// Browsers of this person that are notified.
    pub browsers: Vec<BrowserLine>,
    /// Platforms that this server speaks on.
    pub platforms: Vec<PlatformLine>,
    /// Messages of the workspace that could not be shown, newest first; for managers.
    pub unshown: Vec<UnshownLine>,
    /// Chats that are configured and cannot be reached; for managers.
    pub unreachable: Vec<UnshownLine>,
    /// Browsers of the workspace whose push services refuse messages; for managers.
    pub refused: Vec<RefusedLine>,
    /// Default chat of the first platform.
    pub telegram_chat: String,
    /// Default room of the second.
    pub matrix_room: String,
    /// What is wrong.
    pub problems: Problems,
}

/// A chat message that could not be shown as it should be.
#[derive(Clone, Debug)]
pub struct UnshownLine {
    /// `Telegram`, `Matrix`.
    pub platform: String,
    /// The chat or room.
    pub chat: String,
    /// The transaction that it is about.
    pub txn: String,
    /// Why.
    pub why: String,
    /// True if it is tried again.
    pub again: bool,
    /// Since when.
    pub at: Timestamp,
}

/// A browser that is notified.
#[derive(Clone, Debug)]
pub struct BrowserLine {
    /// Its id.
    pub id: String,
    /// Name that the browser gave itself.
    pub label: String,
    /// Since when.
    pub added: Timestamp,
    /// Why its push service refuses messages, and since when.
    pub refused: Option<(String, Timestamp)>,
}

/// A browser that its push service does not notify.
#[derive(Clone, Debug)]
pub struct RefusedLine {
    /// Whose it is.
    pub person: String,
    /// Name that the browser gave itself.
    pub label: String,
    /// Why.
    pub why: String,
    /// Since when.
    pub since: Timestamp,
}

/// A chat platform.
#[derive(Clone, Debug)]
pub struct PlatformLine {
    /// `telegram`, `matrix`.
    pub name: String,
    /// `Telegram`, `Matrix`.
    pub label: String,
    /// Accounts of this person.
    pub accounts: Vec<AccountLine>,
}

/// An account on a chat platform.
#[derive(Clone, Debug)]
pub struct AccountLine {
    /// The platform's own name of it.
    pub id: String,
    /// How people there see it.
    pub label: String,
    /// Since when it is linked.
    pub linked: Timestamp,
}

/// The answer to asking for a link code: the code, this once.
#[derive(Clone, Template)]
#[template(path = "link_code.html")]
pub struct LinkCodePage {
    /// The frame.
    pub shell: Layout,
    /// `Telegram`, `Matrix`.
    pub platform: String,
    /// What to send to the bot.
    pub command: String,
    /// Until when it works.
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

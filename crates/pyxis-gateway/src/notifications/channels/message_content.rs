//! Content of a chat message about a request or a task, whatever the platform.

use std::collections::HashMap;
use std::sync::Arc;

use pyxis_core::brand::{Accent, DEFAULT_NAME};
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::id::WorkspaceId;
use pyxis_store::Store;
use pyxis_store::message_subject::{MessageState, MessageSubject};
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use super::link_card::LinkCard;
use crate::approvals::coverage::RecentRequests;
use crate::config::Config;
use crate::error::Result;
use crate::notifications::brand;

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct MessageContent {
    /// Request or task that it is about.
    pub(crate) subject: MessageSubject,
    /// State of the subject.
    pub(crate) state: MessageState,
    /// End of the time to decide.
    pub(crate) expires_at: UnixMillis,
    /// Value of its buttons, from which a press finds the message.
    pub(crate) nonce: String,
    /// Place of the approval.
    pub(crate) place: DecideIn,
    /// True if the message shows the whole request.
    pub(super) whole: bool,
    /// True if an approval can open a grant.
    pub(crate) grantable: bool,
    pub(super) brand: MessageBrand,
    pub(super) lines: Vec<String>,
    /// Shown instead of the lines where a message has only a link.
    pub(crate) link: LinkCard,
}

/// Place of the approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecideIn {
    /// In the chat, by a button or a reaction.
    Chat,
    /// On the page that shows everything: the message does not, or it warns. The chat can only deny.
    Page,
    /// There, in a passkey ceremony. The chat can only deny.
    Ceremony,
    /// On the page of a task, where it is also denied. The chat offers only the link.
    TaskPage,
}

impl DecideIn {
    /// Words before the link to the page.
    pub(super) const fn way(self) -> &'static str {
        match self {
            Self::Chat => "Details",
            Self::Page => "Read the full request and approve",
            Self::Ceremony => "Approve with your passkey",
            Self::TaskPage => "Read the task and decide",
        }
    }

    /// Label of the link where a message has only a link.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Ceremony => "Approve with your passkey",
            Self::Page | Self::Chat => "Open the request",
            Self::TaskPage => "Open the task",
        }
    }
}

/// Brand of a workspace in its messages.
#[derive(Clone, Debug)]
pub(super) struct MessageBrand {
    pub(super) name: String,
    /// The color of the first line, where a platform has colors.
    accent: Option<Accent>,
    /// Public URL of the logo, if any.
    logo: Option<String>,
}

impl MessageBrand {
    pub(super) async fn load(store: &Store, config: &Config, workspace: WorkspaceId) -> Result<Self> {
        let brand = brand::get(store, workspace).await?;
        let is_fetched = brand.has_logo && brand::is_public(config);
        Ok(Self {
            logo: is_fetched.then(|| brand::logo_url(config, workspace)),
            accent: brand.accent.as_deref().and_then(Accent::parse),
            name: brand.display_name.unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        })
    }
}

/// Data that the messages of one round share, looked up once for each workspace.
#[derive(Default)]
pub(crate) struct Common {
    recent: Mutex<HashMap<WorkspaceId, Arc<RecentRequests>>>,
}

impl Common {
    pub(super) async fn recent(&self, store: &Store, workspace: WorkspaceId) -> Result<Arc<RecentRequests>> {
        let mut known = self.recent.lock().await;
        if let Some(recent) = known.get(&workspace) {
            return Ok(Arc::clone(recent));
        }
        let recent = Arc::new(RecentRequests::load(store, workspace).await?);
        known.insert(workspace, Arc::clone(&recent));
        Ok(recent)
    }
}

impl MessageContent {
    /// The text, line by line.
    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    /// The same with the first line in the color of the brand; `None` where the brand has none.
    pub(crate) fn html(&self) -> Option<String> {
        let accent = self.brand.accent?;
        let mut lines = self.lines.iter().map(|line| escaped(line));
        let first = lines.next().unwrap_or_default();
        let first = format!(
            "<span data-mx-bg-color=\"{accent}\" data-mx-color=\"{}\"> {first} </span>",
            accent.text_on()
        );
        Some(std::iter::once(first).chain(lines).collect::<Vec<_>>().join("<br>"))
    }

    /// The color of the brand, where it has one.
    pub(crate) const fn accent(&self) -> Option<Accent> {
        self.brand.accent
    }

    /// Public URL of the logo, if any.
    pub(crate) fn logo(&self) -> Option<&str> {
        self.brand.logo.as_deref()
    }

    /// Page with the full request or task.
    pub(crate) fn url(&self) -> &str {
        &self.link.url
    }

    /// True while the message offers something to do.
    pub(crate) fn is_pending(&self) -> bool {
        self.state == MessageState::Pending
    }

    /// Differs whenever the message says something else.
    pub(crate) fn version(&self) -> String {
        hex::encode(&Sha256::digest(self.text())[..8])
    }
}

/// Text as HTML that says the same, blanks included.
pub(super) fn escaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out.replace("  ", "&nbsp; ")
}

/// True if a platform with messages of at most `max` UTF-16 units can show these lines.
pub(super) fn fits_in(lines: &[String], max: usize) -> bool {
    lines.iter().map(|line| line.encode_utf16().count() + 1).sum::<usize>() <= max
}

/// `14:30 UTC`.
pub(super) fn time_of_day(at: UnixMillis) -> String {
    let text = at.to_rfc3339();
    format!("{} UTC", text.get(11..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_is_no_markup() {
        let escaped = escaped("<b onclick='x'>  \"&amp;\"</b>");
        assert_eq!(escaped, "&lt;b onclick=&#39;x&#39;&gt;&nbsp; &quot;&amp;amp;&quot;&lt;/b&gt;");
    }

    #[test]
    fn a_message_fits_if_its_lines_and_their_ends_do() {
        let lines = ["ab".to_owned(), "😀".to_owned()];
        assert!(fits_in(&lines, 6));
        assert!(!fits_in(&lines, 5));
    }

    #[test]
    fn a_time_is_shown_to_the_minute() {
        assert_eq!(time_of_day(UnixMillis(1_767_225_600_000)), "00:00 UTC");
    }
}

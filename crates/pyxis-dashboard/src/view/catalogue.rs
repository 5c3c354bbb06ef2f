//! The catalogue of Stamps, and the trusted issuers.

use askama::Template;

use super::{Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/catalogue`; `/app/reset/catalogue` restores the built-in one.
#[derive(Clone, Debug, Template)]
#[template(path = "catalogue.html")]
pub struct CataloguePage {
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// The platforms found, in their order.
    pub platforms: Vec<PlatformLine>,
    /// True if the workspace has a catalogue of its own.
    pub own: bool,
    /// `31 platforms with 59 Stamps`.
    pub summary: String,
    /// A `curl` that reads it.
    pub ask: String,
    /// Stamps that the workspace issues itself.
    pub issued: Vec<IssuedStampLine>,
}

/// A Stamp that the workspace issues itself.
#[derive(Clone, Debug)]
pub struct IssuedStampLine {
    pub name: String,
    /// Kind of its rule.
    pub kind: String,
    pub description: String,
}

/// One platform in the list.
#[derive(Clone, Debug)]
pub struct PlatformLine {
    pub id: String,
    /// Icon, one of our paths.
    pub icon: String,
    pub name: String,
    /// Description of what is verified there.
    pub description: String,
    /// Its groups: their names and the names of their Stamps.
    pub groups: Vec<(String, Vec<String>)>,
}

/// The form of a platform. Fields: `id` (only for a new one), `name`, `description`, `connect_message`, `icon`, `url`.
/// For each Stamp `group`, `stamp` and `says`, repeated in threes; three with an empty `stamp` are skipped. The
/// hidden field `before` is a fingerprint of the catalogue that the draft is based on.
#[derive(Clone, Debug, Default)]
pub struct PlatformForm {
    pub id: String,
    pub name: String,
    /// Description of what is verified there.
    pub description: String,
    /// Request to a person who starts.
    pub connect_message: String,
    /// Path or URL of an image.
    pub icon: String,
    /// Page where its Stamps are issued; may be empty.
    pub url: String,
    /// Group, name and description of each Stamp.
    pub stamps: Vec<(String, String, String)>,
    /// Fingerprint of the catalogue that the draft is based on.
    pub before: String,
    pub problems: Problems,
}

impl PlatformForm {
    /// The Stamps and two empty rows.
    fn rows(&self) -> Vec<(&str, &str, &str)> {
        let typed =
            self.stamps.iter().map(|(group, name, says)| (group.as_str(), name.as_str(), says.as_str()));
        typed.chain(std::iter::repeat_n(("", "", ""), 2)).collect()
    }
}

/// `GET /app/new/platform`, which posts to `/app/catalogue`, and `GET /app/catalogue/{id}`, which posts to
/// the same path (save) and to `/remove`.
#[derive(Clone, Debug, Template)]
#[template(path = "platform.html")]
pub struct PlatformPage {
    pub shell: Layout,
    /// The stored platform; `None` for a new one.
    pub stored: Option<PlatformLine>,
    pub form: PlatformForm,
}

/// `GET /app/issuers`; posts to the same path: `did`, `name`. Removing posts to
/// `/app/issuers/{did}/remove`.
#[derive(Clone, Debug, Template)]
#[template(path = "issuers.html")]
pub struct IssuersPage {
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// The issuers found, by name.
    pub issuers: Vec<IssuerLine>,
    /// For the empty state: a `curl` that adds one.
    pub add: String,
    /// DID as typed.
    pub did: String,
    /// Name as typed.
    pub name: String,
    pub problems: Problems,
}

/// One issuer.
#[derive(Clone, Debug)]
pub struct IssuerLine {
    pub did: String,
    pub name: String,
    /// Time of listing.
    pub added: Timestamp,
}

in_section!(CataloguePage => Catalogue, PlatformPage => Catalogue, IssuersPage => Issuers);

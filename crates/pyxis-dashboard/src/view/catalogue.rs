//! The catalogue: what Stamps there are, and the issuers that are believed.

use askama::Template;

use super::{Layout, Problems, Search, Timestamp, in_section};

/// `GET /app/catalogue`; `/app/reset/catalogue` goes back to the built-in one.
#[derive(Clone, Debug, Template)]
#[template(path = "catalogue.html")]
pub struct CataloguePage {
    /// The frame.
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// The platforms that were found, in their order.
    pub platforms: Vec<PlatformLine>,
    /// True if the workspace has a catalogue of its own.
    pub own: bool,
    /// `31 platforms with 59 Stamps`.
    pub summary: String,
    /// A `curl` that reads it.
    pub ask: String,
}

/// One platform in the list.
#[derive(Clone, Debug)]
pub struct PlatformLine {
    /// Id.
    pub id: String,
    /// Icon, a path of ours.
    pub icon: String,
    /// Name.
    pub name: String,
    /// What is verified there.
    pub description: String,
    /// Its groups: their names and the names of their Stamps.
    pub groups: Vec<(String, Vec<String>)>,
}

/// The form of a platform. Fields: `id` (of a new one only), `name`, `description`, `connect_message`,
/// `icon`, and for each Stamp `group`, `stamp` and `says`, repeated in threes (three with an empty
/// `stamp` are skipped); `before`, hidden: a fingerprint of the catalogue that the draft began from.
#[derive(Clone, Debug, Default)]
pub struct PlatformForm {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// What is verified there.
    pub description: String,
    /// What to ask of a person who starts.
    pub connect_message: String,
    /// Path or URL of an image.
    pub icon: String,
    /// Group, name and description of each Stamp.
    pub stamps: Vec<(String, String, String)>,
    /// Fingerprint of the catalogue that the draft began from.
    pub before: String,
    /// What is wrong.
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
    /// The frame.
    pub shell: Layout,
    /// The stored platform; `None` for a new one.
    pub stored: Option<PlatformLine>,
    /// The form.
    pub form: PlatformForm,
}

/// `GET /app/issuers`; posts to the same path: `did`, `name`. Removing posts to
/// `/app/issuers/{did}/remove`.
#[derive(Clone, Debug, Template)]
#[template(path = "issuers.html")]
pub struct IssuersPage {
    /// The frame.
    pub shell: Layout,
    /// The search field and pages.
    pub search: Search,
    /// Those found, by name.
    pub issuers: Vec<IssuerLine>,
    /// For the empty state: a `curl` that adds one.
    pub add: String,
    /// DID as typed.
    pub did: String,
    /// Name as typed.
    pub name: String,
    /// What is wrong.
    pub problems: Problems,
}

/// One issuer.
#[derive(Clone, Debug)]
pub struct IssuerLine {
    /// DID.
    pub did: String,
    /// Name.
    pub name: String,
    /// When it was listed.
    pub added: Timestamp,
}

in_section!(CataloguePage => Catalogue, PlatformPage => Catalogue, IssuersPage => Issuers);

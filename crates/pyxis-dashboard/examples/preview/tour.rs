//! Tour of a filled installation: every page that its people see, and every form that they send.

#[path = "tour/filling.rs"]
mod filling;
#[path = "tour/form_posts.rs"]
mod form_posts;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use http::StatusCode;
use http::header::{CONTENT_TYPE, ORIGIN};
use pyxis_dashboard::view::routes::ROUTES;
use pyxis_gateway::Actor;

use crate::support::{Browser, ORIGIN_URL, Page, Server, Team};

/// Columns with texts that a person, an agent, an issuer or another server chose.
pub(crate) const TEXTS: &str = "workspaces.name users.email agents.name agents.key_hint credentials.name credentials.description \
    approvals.agent_name approvals.credential_name approvals.method approvals.reason \
    approvals.deny_reason approvals.decided_by_email approvals.error votes.email grants.route \
    tasks.purpose tasks.agent_name task_actions.credential_name task_actions.url \
    grants.created_by_email audit_records.actor_name webhooks.url webhooks.description deliveries.error \
    deliveries.response_excerpt chat_messages.chat chat_messages.error task_messages.chat task_messages.error chat_identities.label \
    chat_defaults.chat push_subscriptions.label push_subscriptions.refused_why brands.display_name \
    passkeys.name access_tokens.name scorers.name api_keys.name history_requests.use_case issuers.name \
    proof_issuers.name score_jobs.name score_jobs.created_by connection_clients.name agent_connections.client_name agent_connections.destination \
    agent_connections.allowed_by";

/// Pages of one kind that a tour opens. Of those with a query it opens one: their orders and searches look alike.
const ENOUGH: usize = 8;

/// A page: its address, or the form that led to it, and its HTML.
pub(crate) struct CapturedPage {
    pub(crate) place: String,
    pub(crate) html: String,
}

impl CapturedPage {
    /// Route or form, without what differs between installations.
    pub(crate) fn kind(&self) -> String {
        match self.place.split_once(' ') {
            Some((who, what)) => format!("{who} {}", what.split(' ').next().unwrap_or_default()),
            None => kind_of(&self.place),
        }
    }
}

/// The pages seen by the people of an installation.
pub(crate) struct Tour {
    pub(crate) server: Server,
    pub(crate) owner: Browser,
    pub(crate) pages: Vec<CapturedPage>,
    team: Team,
    member: Browser,
    /// Token of the owner's forms.
    csrf: String,
    /// Invitations that no one has used.
    links: Vec<String>,
    /// Added to every text that a stranger chose; empty for none.
    hostile: &'static str,
    /// Where the forms seen so far are sent.
    targets: BTreeSet<String>,
}

impl Tour {
    /// Fills an installation, writes `hostile` into all of its texts, and visits everything.
    pub(crate) async fn new(hostile: &'static str) -> Self {
        let mut tour = Self::fill(hostile).await;
        tour.add_hostile_texts().await;
        tour.crawl().await;
        tour.visit_others().await;
        tour.send_forms().await;
        let set_aside = "CREATE TABLE kept AS SELECT * FROM audit_records; DELETE FROM audit_records;";
        tour.server.database.run(set_aside).await;
        tour.get("/app/audit").await;
        let put_back = "INSERT INTO audit_records SELECT * FROM kept; DROP TABLE kept;";
        tour.server.database.run(put_back).await;
        tour
    }

    /// A text of a stranger.
    fn text(&self, text: &str) -> String {
        format!("{text}{}", self.hostile)
    }

    /// Texts that the services would refuse, as if an older version had accepted them. Each ends with the name of its
    /// column.
    async fn add_hostile_texts(&self) {
        if self.hostile.is_empty() {
            return;
        }
        let text = self.hostile.replace('\'', "''");
        let update = |place: &str| {
            let (table, column) = place.split_once('.').unwrap();
            format!("UPDATE {table} SET {column} = {column} || '{text}{place}';")
        };
        let json = serde_json::to_string(self.hostile).unwrap();
        let json = json.trim_matches('"').replace('\'', "''");
        let rest = format!(
            "UPDATE platforms SET document = replace(document, 'Our own', '{json}');
             UPDATE credentials SET name_folded = lower(name);"
        );
        self.server.database.run(&(TEXTS.split(' ').map(update).collect::<String>() + &rest)).await;
    }

    /// Opens what the owner's pages link to, and what those link to.
    async fn crawl(&mut self) {
        let (mut seen, mut opened) = (BTreeSet::new(), BTreeMap::<_, usize>::new());
        let mut queue = VecDeque::from(["/app/inbox".to_owned()]);
        while let Some(path) = queue.pop_front() {
            let count = opened.entry(kind_of(&path)).or_default();
            if *count == if path.contains('?') { 1 } else { ENOUGH } || !seen.insert(path.clone()) {
                continue;
            }
            *count += 1;
            let html = self.get(&path).await;
            queue.extend(links(&html));
        }
    }

    /// Opens a page as the owner.
    async fn get(&mut self, path: &str) -> String {
        let page = self.owner.get(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        self.capture(path, page)
    }

    /// Keeps a page; returns its HTML.
    fn capture(&mut self, place: &str, page: Page) -> String {
        assert!(!page.status.is_server_error(), "{place}: {}", page.text);
        let html = page.text;
        if page.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
            let attributes = html.split_once("<main").map_or("", |(_, main)| main);
            for name in [" action=\"", " formaction=\""] {
                let found = attributes.split(name).skip(1).filter_map(|rest| rest.split('"').next());
                self.targets.extend(found.map(plain));
            }
            self.pages.push(CapturedPage { place: place.to_owned(), html: html.clone() });
        }
        html
    }

    /// Sends a form of the owner and keeps what comes of it. A `*` in the target stands for whatever is there.
    async fn send(&mut self, target: &str, fields: &str) {
        let to = self.target(target);
        let fields = fields.split('&').filter_map(|field| field.split_once('='));
        let fields: Vec<_> = fields.map(|(name, value)| (name, value.replace('§', self.hostile))).collect();
        let mut all = vec![("csrf", self.csrf.as_str())];
        all.extend(fields.iter().map(|(name, value)| (*name, value.as_str())));
        let page = self.owner.post(&to, &[(ORIGIN.as_str(), ORIGIN_URL)], &all).await;
        let place = format!("POST {target}");
        if page.status.is_redirection() {
            let next = page.location().to_owned();
            // A name that no form accepts cannot be redirected to; the notice then shows on any page.
            let page = self.owner.get(if next.is_empty() { "/app/account" } else { &next }).await;
            if !next.is_empty() {
                self.capture(&format!("{place} {next}"), page);
            }
        } else {
            self.capture(&place, page);
        }
    }

    /// The target of a form that some page had.
    fn target(&self, pattern: &str) -> String {
        let Some((start, end)) = pattern.split_once('*') else { return pattern.to_owned() };
        let fits = |target: &&String| {
            let middle = target.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
            middle.is_some_and(|middle| !middle.contains('/'))
        };
        self.targets.iter().find(fits).unwrap_or_else(|| panic!("no form for {pattern}")).clone()
    }

    fn actor(&self) -> Actor {
        Actor::cli(self.team.id)
    }
}

/// An attribute's value as a browser reads it.
fn plain(value: &str) -> String {
    value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The route of a path, and the names in its query.
fn kind_of(path: &str) -> String {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let names: BTreeSet<_> = query.split('&').filter_map(|pair| pair.split('=').next()).collect();
    let route = ROUTES.iter().map(|(_, route)| *route).find(|route| is_at(route, path)).unwrap_or(path);
    format!("{route} {names:?}")
}

/// True if `path` is one of a route's, a `{…}` standing for one segment.
pub(crate) fn is_at(route: &str, path: &str) -> bool {
    route.split('/').count() == path.split('/').count()
        && route
            .split('/')
            .zip(path.split('/'))
            .all(|(want, got)| if want.starts_with('{') { !got.is_empty() } else { want == got })
}

/// Pages that a page links to; files to download are none.
fn links(html: &str) -> Vec<String> {
    let targets = html.split(" href=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(plain);
    let is_page = |path: &String| {
        path == "/app"
            || path.starts_with("/app/")
                && !path.contains("export")
                && !path.ends_with("/receipt")
                && !path.contains(".css")
    };
    targets.map(|path| path.split('#').next().unwrap_or_default().to_owned()).filter(is_page).collect()
}

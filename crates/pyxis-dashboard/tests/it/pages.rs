//! Rules for every page: untrusted text is inert, nothing is inline, and every link works.

#[path = "../../examples/preview/tour.rs"]
mod tour;

use std::collections::{BTreeMap, BTreeSet};

use pyxis_dashboard::view::routes::ROUTES;
use tour::{CapturedPage, TEXTS, Tour, is_at};

const HOSTILE: &str =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&\u{202e}\u{7}\u{200b}{{7*7}}";

/// One installation with texts of strangers and one without are visited once for all rules.
#[tokio::test]
async fn every_page_of_a_filled_installation_keeps_the_rules_of_pages() {
    let (plain, hostile) = tokio::join!(Tour::new(""), Tour::new(HOSTILE));
    let (plain, hostile) = (Parsed::all(plain), Parsed::all(hostile));
    for pages in [&plain, &hostile] {
        nothing_is_inline(pages);
        every_link_form_and_file_leads_to_a_known_route(pages);
        every_post_form_carries_the_csrf_token(pages);
        every_field_has_a_label_and_every_id_is_used_once(pages);
        every_page_has_one_first_heading_and_a_language(pages);
        every_route_of_the_table_that_a_page_can_reach_is_reached(pages);
        every_template_is_rendered(pages);
    }
    every_text_of_a_stranger_is_shown(&hostile);
    texts_of_strangers_are_inert(&plain, &hostile);
    control_and_bidi_characters_never_leave_a_page_as_such(&hostile);
    let empty = "data-copy-source>pyxis audit tail\npyxis audit verify</pre>";
    assert!(
        plain.iter().any(|page| page.html.contains(empty)),
        "an audit trail without events says how to watch it"
    );
}

/// A page and its tags.
struct Parsed {
    kind: String,
    place: String,
    html: String,
    tags: Vec<Tag>,
}

impl Parsed {
    fn all(tour: Tour) -> Vec<Self> {
        let parsed = |page: CapturedPage| Self {
            kind: page.kind(),
            tags: tags(&page.html),
            place: page.place,
            html: page.html,
        };
        tour.pages.into_iter().map(parsed).collect()
    }
}

fn every_text_of_a_stranger_is_shown(hostile: &[Parsed]) {
    let hidden: Vec<_> =
        TEXTS.split(' ').filter(|text| !hostile.iter().any(|page| page.html.contains(text))).collect();
    assert_eq!(hidden, [""; 0]);
}

/// Every template has a text of its own on some page.
fn every_template_is_rendered(pages: &[Parsed]) {
    let templates = concat!(env!("CARGO_MANIFEST_DIR"), "/templates");
    let mut missing = Vec::new();
    for entry in std::fs::read_dir(templates).unwrap() {
        let path = entry.unwrap().path();
        let source = std::fs::read_to_string(&path).unwrap();
        let (pieces, name) = (pieces(&source), path.file_name().unwrap().to_string_lossy().into_owned());
        let shown = |piece: &&String| pages.iter().any(|page| page.html.contains(piece.as_str()));
        // Some have none but their macros.
        if !pieces.is_empty() && !pieces.iter().any(|piece| shown(&piece)) {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

/// The texts of a template that reach a page unchanged: what stands on a line between its expressions.
fn pieces(source: &str) -> Vec<String> {
    let (mut pieces, mut rest) = (Vec::new(), source);
    while !rest.is_empty() {
        let start = ["{{", "{%", "{#"].iter().filter_map(|open| rest.find(open)).min().unwrap_or(rest.len());
        pieces.extend(rest[..start].lines().map(|line| line.trim().to_owned()).filter(|line| line.len() > 5));
        let end = ["}}", "%}", "#}"].iter().filter_map(|close| rest[start..].find(close)).min();
        rest = end.map_or("", |end| &rest[start + end + 2..]);
    }
    pieces
}

/// A start tag: its name and its attributes, decoded only as far as the tests need.
struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// Start tags of our own well-formed output: attributes are quoted with `"` or bare.
fn tags(html: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        rest = &rest[open + 1..];
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            continue;
        }
        let end = tag_end(rest);
        tags.push(parse_tag(&rest[..end]));
        rest = &rest[end..];
    }
    tags
}

fn tag_end(text: &str) -> usize {
    let mut quoted = false;
    text.find(|c| {
        quoted ^= c == '"';
        c == '>' && !quoted
    })
    .expect("every tag ends")
}

fn parse_tag(text: &str) -> Tag {
    let name_end = text.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(text.len());
    let mut attributes = Vec::new();
    let mut rest = text[name_end..].trim_start();
    while !rest.is_empty() && rest != "/" {
        let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        let name = rest[..end].to_owned();
        rest = rest[end..].trim_start();
        let mut value = String::new();
        if let Some(after) = rest.strip_prefix("=\"") {
            let close = after.find('"').expect("quotes close");
            after[..close].clone_into(&mut value);
            rest = after[close + 1..].trim_start();
        }
        attributes.push((name, value));
    }
    Tag { name: text[..name_end].to_owned(), attributes }
}

/// Names of tags and of attributes.
type Markup = (BTreeSet<String>, BTreeSet<String>);

/// Parts of the pages of each kind.
fn markup(pages: &[Parsed]) -> BTreeMap<String, Markup> {
    let mut all = BTreeMap::<_, Markup>::new();
    for page in pages {
        let (names, attributes) = all.entry(page.kind.clone()).or_default();
        for tag in &page.tags {
            names.insert(tag.name.clone());
            attributes.extend(tag.attributes.iter().map(|(name, _)| name.clone()));
        }
    }
    all
}

fn texts_of_strangers_are_inert(plain: &[Parsed], hostile: &[Parsed]) {
    for page in hostile {
        assert!(!page.html.contains("<script>"), "{}: a script tag came through", page.place);
        assert!(!page.html.contains("<img src=x"), "{}: an image came through", page.place);
    }
    // The same kinds of tags: nothing that was typed became markup. Exceptions: a path may become long enough to be cut,
    // which adds a details element, and a body longer than shown.
    let plain = markup(plain);
    for (kind, (names, attributes)) in markup(hostile) {
        let (known_names, known_attributes) =
            plain.get(&kind).unwrap_or_else(|| panic!("{kind}: only if hostile"));
        let new: Vec<_> = names
            .difference(known_names)
            .filter(|name| !["details", "summary", "b"].contains(&name.as_str()))
            .collect();
        assert!(new.is_empty(), "{kind}: new tags {new:?}");
        let new: Vec<_> = attributes
            .difference(known_attributes)
            .filter(|name| !["title", "tabindex"].contains(&name.as_str()))
            .collect();
        assert!(new.is_empty(), "{kind}: new attributes {new:?}");
    }
}

fn control_and_bidi_characters_never_leave_a_page_as_such(hostile: &[Parsed]) {
    for Parsed { place, html, .. } in hostile {
        let hidden = html.chars().find(|c| matches!(c, '\u{7}' | '\u{200b}' | '\u{202a}'..='\u{202e}'));
        assert_eq!(hidden, None, "{place}");
    }
    let inbox = hostile.iter().rfind(|page| page.place == "/app/inbox").expect("the inbox");
    assert!(inbox.html.contains("⟨U+202E⟩⟨U+0007⟩⟨U+200B⟩"));
}

fn nothing_is_inline(pages: &[Parsed]) {
    for Parsed { place, tags, .. } in pages {
        for tag in tags {
            assert_ne!(tag.name, "style", "{place}");
            assert!(tag.name != "script" || tag.get("src").is_some(), "{place}: inline script");
            for (name, value) in &tag.attributes {
                assert!(name != "style" && !name.starts_with("on"), "{place}: {name} on {}", tag.name);
                let value = value.trim_start().to_ascii_lowercase();
                assert!(!value.starts_with("javascript:"), "{place}: {value}");
            }
        }
    }
}

/// True if `path` is one of the routes for `method`.
fn is_route(method: &str, path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or("");
    ROUTES.iter().any(|(route_method, route)| *route_method == method && is_at(route, path))
}

fn every_link_form_and_file_leads_to_a_known_route(pages: &[Parsed]) {
    for Parsed { place, tags, .. } in pages {
        for tag in tags {
            let target = match tag.name.as_str() {
                "a" | "link" | "use" => tag.get("href").map(|href| ("GET", href)),
                "script" | "img" => tag.get("src").map(|src| ("GET", src)),
                "form" if tag.get("method") == Some("get") => tag.get("action").map(|a| ("GET", a)),
                "form" => tag.get("action").map(|action| ("POST", action)),
                "button" => tag.get("formaction").map(|action| ("POST", action)),
                _ => None,
            };
            let Some((method, target)) = target else { continue };
            let consent =
                place.ends_with("/connect") && target.starts_with("https://login.example.com/authorize?");
            // Back to the program that asked.
            let program =
                place == "POST /app/oauth/consent" && target.starts_with("https://connector.example/");
            let known = target.is_empty()
                || target.starts_with('#')
                || is_route(method, target)
                || consent
                || program;
            assert!(known, "{place}: {method} {target}");
        }
    }
}

fn every_route_of_the_table_that_a_page_can_reach_is_reached(pages: &[Parsed]) {
    let targets: BTreeSet<_> = pages
        .iter()
        .flat_map(|page| &page.tags)
        .flat_map(|tag| &tag.attributes)
        .filter(|(name, _)| {
            matches!(name.as_str(), "href" | "src" | "action" | "formaction" | "data-ceremony" | "data-seen")
        })
        .map(|(_, value)| value.split(['?', '#']).next().unwrap_or_default().to_owned())
        .collect();
    let mut missing = Vec::new();
    for (method, route) in ROUTES {
        // Opened from outside (a link in a message) or by a script.
        let outside = [
            "/link/{token}",
            "/approve/{txn_id}",
            "/app/events",
            "/app/oauth/callback",
            "/app/oauth/consent",
            "/sw.js",
            // Where there are suspected groups.
            "/app/models/export",
        ]
        .contains(route);
        if !(*method == "GET" && outside || targets.iter().any(|target| is_same_route(route, target))) {
            missing.push(format!("{method} {route}"));
        }
    }
    assert!(missing.is_empty(), "nothing leads to these: {missing:?}");
}

fn is_same_route(route: &str, target: &str) -> bool {
    route.split('/').count() == target.split('/').count()
        && route.split('/').zip(target.split('/')).all(|(want, got)| want.starts_with('{') || want == got)
}

fn every_post_form_carries_the_csrf_token(pages: &[Parsed]) {
    for Parsed { place, html, .. } in pages {
        for form in html.split("<form").skip(1) {
            let form = form.split("</form>").next().unwrap_or("");
            if form.contains("method=\"post\"") {
                let token =
                    form.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
                assert!(token.is_some_and(|token| token.len() > 20), "{place}: a form without token");
            }
        }
    }
}

fn every_field_has_a_label_and_every_id_is_used_once(pages: &[Parsed]) {
    for Parsed { place, tags, .. } in pages {
        let mut ids = BTreeSet::new();
        for id in tags.iter().filter_map(|tag| tag.get("id")) {
            assert!(ids.insert(id), "{place}: id {id} twice");
        }
        let labelled: BTreeSet<_> =
            tags.iter().filter(|t| t.name == "label").filter_map(|t| t.get("for")).collect();
        for field in tags.iter().filter(|t| matches!(t.name.as_str(), "input" | "select" | "textarea")) {
            if let Some(id) = field.get("id") {
                assert!(labelled.contains(id), "{place}: no label for {id}");
            }
        }
    }
}

fn every_page_has_one_first_heading_and_a_language(pages: &[Parsed]) {
    for Parsed { place, html, .. } in pages {
        assert_eq!(html.matches("<h1").count(), 1, "{place}");
        assert!(html.contains("<html lang=\"en\">"), "{place}");
        assert!(html.trim_start().starts_with("<!doctype html>"), "{place}");
    }
}

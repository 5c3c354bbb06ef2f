//! Rules for every page: untrusted text is inert, nothing is inline, and every link works.

#[path = "../../examples/preview/sample.rs"]
mod sample;

use std::collections::BTreeSet;

use pyxis_core::clock::UnixMillis;
use pyxis_dashboard::view::routes::ROUTES;
use sample::Sample;

const HOSTILE: &str =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&\u{202e}\u{7}\u{200b}{{7*7}}";
const NOW: UnixMillis = UnixMillis(1_767_225_600_000);

fn pages(hostile: &'static str) -> Vec<sample::Rendered> {
    Sample { hostile, now: NOW }.all()
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

#[test]
fn text_of_strangers_renders_inert_on_every_page() {
    let quiet = pages("");
    for ((path, hostile), (_, plain)) in pages(HOSTILE).iter().zip(&quiet) {
        let count = |html: &str| tags(html).into_iter().map(|tag| tag.name).collect::<Vec<_>>();
        assert!(!hostile.contains("<script>"), "{path}: a script tag came through");
        assert!(!hostile.contains("<img src=x"), "{path}: an image came through");
        // The same tags in the same order: nothing that was typed became markup. Exceptions: a path may become long
        // enough to be cut, which adds a details element, and a body longer than shown.
        let known: BTreeSet<_> =
            count(plain).into_iter().chain(["details", "summary", "b"].map(String::from)).collect();
        assert!(count(hostile).iter().all(|name| known.contains(name)), "{path}: a new kind of tag");
        let names = |html: &str| {
            tags(html).into_iter().flat_map(|t| t.attributes).map(|(name, _)| name).collect::<BTreeSet<_>>()
        };
        let extra: Vec<_> = names(hostile).difference(&names(plain)).cloned().collect();
        assert!(
            extra.iter().all(|name| name == "title" || name == "tabindex"),
            "{path}: new attributes {extra:?}"
        );
    }
}

#[test]
fn control_and_bidi_characters_never_leave_a_page_as_such() {
    for (path, html) in pages(HOSTILE) {
        let hidden = html.chars().find(|c| matches!(c, '\u{7}' | '\u{200b}' | '\u{202a}'..='\u{202e}'));
        assert_eq!(hidden, None, "{path}");
    }
    let inbox = pages(HOSTILE).into_iter().find(|(path, _)| *path == "/app/inbox").expect("the inbox").1;
    assert!(inbox.contains("⟨U+202E⟩⟨U+0007⟩⟨U+200B⟩"));
}

#[test]
fn no_page_has_inline_script_or_style() {
    for (path, html) in pages(HOSTILE) {
        for tag in tags(&html) {
            assert_ne!(tag.name, "style", "{path}");
            assert!(tag.name != "script" || tag.get("src").is_some(), "{path}: inline script");
            for (name, value) in &tag.attributes {
                assert!(name != "style" && !name.starts_with("on"), "{path}: {name} on {}", tag.name);
                assert!(
                    !value.trim_start().to_ascii_lowercase().starts_with("javascript:"),
                    "{path}: {value}"
                );
            }
        }
    }
}

/// True if `path` is one of the routes for `method`, a `{…}` standing for one segment.
fn is_route(method: &str, path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or("");
    ROUTES.iter().any(|(route_method, route)| {
        *route_method == method
            && route.split('/').count() == path.split('/').count()
            && route
                .split('/')
                .zip(path.split('/'))
                .all(|(want, got)| if want.starts_with('{') { !got.is_empty() } else { want == got })
    })
}

#[test]
fn every_link_form_and_file_leads_to_a_known_route() {
    for hostile in ["", HOSTILE] {
        for (path, html) in pages(hostile) {
            for tag in tags(&html) {
                let target = match tag.name.as_str() {
                    "a" | "link" | "use" => tag.get("href").map(|href| ("GET", href)),
                    "script" | "img" => tag.get("src").map(|src| ("GET", src)),
                    "form" if tag.get("method") == Some("get") => tag.get("action").map(|a| ("GET", a)),
                    "form" => tag.get("action").map(|action| ("POST", action)),
                    "button" => tag.get("formaction").map(|action| ("POST", action)),
                    _ => None,
                };
                let Some((method, target)) = target else { continue };
                let known = target.is_empty() || target.starts_with('#') || is_route(method, target);
                // The error page and the pager get whole paths from the handler.
                assert!(known, "{path}: {method} {target}");
            }
        }
    }
}

#[test]
fn every_route_of_the_table_that_a_page_can_reach_is_reached() {
    let reached: String = pages("").into_iter().map(|(_, html)| html).collect();
    let targets: Vec<_> = tags(&reached)
        .into_iter()
        .flat_map(|tag| tag.attributes)
        .filter(|(name, _)| {
            matches!(name.as_str(), "href" | "src" | "action" | "formaction" | "data-ceremony")
        })
        .map(|(_, value)| value)
        .collect();
    for (method, route) in ROUTES {
        // Opened from outside (a link in a message) or by a script.
        let outside = ["/link/{token}", "/approve/{txn_id}", "/app/events", "/app/oauth/callback", "/sw.js"]
            .contains(route);
        if *method == "GET" && outside {
            continue;
        }
        assert!(
            targets.iter().any(|target| is_route(method, target) && is_same_route(route, target)),
            "nothing leads to {method} {route}"
        );
    }
}

fn is_same_route(route: &str, target: &str) -> bool {
    let target = target.split(['?', '#']).next().unwrap_or("");
    route.split('/').count() == target.split('/').count()
        && route.split('/').zip(target.split('/')).all(|(want, got)| want.starts_with('{') || want == got)
}

#[test]
fn every_post_form_carries_the_csrf_token() {
    for (path, html) in pages("") {
        for form in html.split("<form").skip(1) {
            let form = form.split("</form>").next().unwrap_or("");
            if form.contains("method=\"post\"") {
                assert!(form.contains("name=\"csrf\" value=\"c2FtcGxl\""), "{path}: a form without token");
            }
        }
    }
}

#[test]
fn every_field_has_a_label_and_every_id_is_used_once() {
    for (path, html) in pages("") {
        let all = tags(&html);
        let mut ids = BTreeSet::new();
        for id in all.iter().filter_map(|tag| tag.get("id")) {
            assert!(ids.insert(id), "{path}: id {id} twice");
        }
        let labelled: BTreeSet<_> =
            all.iter().filter(|t| t.name == "label").filter_map(|t| t.get("for")).collect();
        for field in all.iter().filter(|t| matches!(t.name.as_str(), "input" | "select" | "textarea")) {
            if let Some(id) = field.get("id") {
                assert!(labelled.contains(id), "{path}: no label for {id}");
            }
        }
    }
}

#[test]
fn every_page_has_one_first_heading_and_a_language() {
    for (path, html) in pages("") {
        assert_eq!(html.matches("<h1").count(), 1, "{path}");
        assert!(html.contains("<html lang=\"en\">"), "{path}");
        assert!(html.trim_start().starts_with("<!doctype html>"), "{path}");
    }
}

#[test]
fn an_audit_log_without_events_says_how_to_watch_it() {
    let (_, page) = pages("").into_iter().find(|(path, _)| *path == "/app/audit/empty").expect("a sample");
    assert!(page.contains("data-copy-source>pyxis audit tail\npyxis audit verify</pre>"), "{page}");
}

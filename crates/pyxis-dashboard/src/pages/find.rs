//! Searching and paging a list that is read whole: people, agents, credentials, policies.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use crate::view::Search;

/// Lines on one page.
const PAGE: usize = 50;

/// The query of a list.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Find {
    /// Text to find.
    pub(crate) q: String,
    /// The page, from 1.
    page: String,
    /// The page of the second list, where there is one.
    second: String,
    /// The page of the third.
    third: String,
}

impl Find {
    /// Whether any of `texts` contains what is looked for, whatever its case.
    pub(crate) fn fits<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> bool {
        let wanted = self.q.trim().to_lowercase();
        wanted.is_empty() || texts.into_iter().any(|text| text.to_lowercase().contains(&wanted))
    }
}

/// The lines of the page that was asked for, and what the page shows around them.
pub(super) fn search<T>(path: &str, find: &Find, found: Vec<T>) -> (Vec<T>, Search) {
    pages(path, "page", &find.page, find, found)
}

/// The same for a list that stands below another, and that the same words narrow.
pub(super) fn search_second<T>(path: &str, find: &Find, found: Vec<T>) -> (Vec<T>, Search) {
    pages(path, "second", &find.second, find, found)
}

/// The same for a list below two others.
pub(super) fn search_third<T>(path: &str, find: &Find, found: Vec<T>) -> (Vec<T>, Search) {
    pages(path, "third", &find.third, find, found)
}

fn pages<T>(path: &str, parameter: &str, wanted: &str, find: &Find, found: Vec<T>) -> (Vec<T>, Search) {
    let total = found.len();
    let last = total.div_ceil(PAGE).max(1);
    let page = wanted.parse::<usize>().unwrap_or(1).clamp(1, last);
    let q = find.q.trim();
    let link = |number: usize| {
        let query = utf8_percent_encode(q, NON_ALPHANUMERIC);
        let asked = if q.is_empty() { String::new() } else { format!("q={query}&") };
        format!("{path}?{asked}{parameter}={number}")
    };
    let shown: Vec<T> = found.into_iter().skip((page - 1) * PAGE).take(PAGE).collect();
    let search = Search {
        path: path.to_owned(),
        q: q.to_owned(),
        summary: format!("{} of {total}", shown.len()),
        before: (page > 1).then(|| link(page - 1)),
        next: (page < last).then(|| link(page + 1)),
    };
    (shown, search)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(q: &str, page: &str) -> Find {
        let page = page.to_owned();
        Find { q: q.to_owned(), second: page.clone(), third: page.clone(), page }
    }

    #[test]
    fn a_long_list_is_cut_into_pages_that_link_to_each_other() {
        let all: Vec<usize> = (0..120).collect();
        let (shown, search) = search("/app/people", &asked("a b", "2"), all.clone());
        assert_eq!(shown, (50..100).collect::<Vec<_>>());
        assert_eq!(search.summary, "50 of 120");
        assert_eq!(search.before.as_deref(), Some("/app/people?q=a%20b&page=1"));
        assert_eq!(search.next.as_deref(), Some("/app/people?q=a%20b&page=3"));
        for nonsense in ["", "0", "-1", "x", "99999999999999999999"] {
            assert!(super::search("/app/people", &asked("", nonsense), all.clone()).1.next.is_some());
        }
        let (_, below) = search_second("/app/policies", &asked("", "1"), all.clone());
        assert_eq!(below.next.as_deref(), Some("/app/policies?second=2"));
        let (_, last) = search_third("/app/policies", &asked("", "3"), all.clone());
        assert_eq!(last.before.as_deref(), Some("/app/policies?third=2"));
        let (last, search) = super::search("/app/people", &asked("", "9"), all);
        assert_eq!((last.len(), search.next), (20, None));
    }

    #[test]
    fn what_is_looked_for_is_found_whatever_its_case() {
        assert!(asked(" ANA ", "").fits(["bo", "ana@example.com"]));
        assert!(asked("", "").fits([]));
        assert!(!asked("x", "").fits(["bo"]));
    }
}

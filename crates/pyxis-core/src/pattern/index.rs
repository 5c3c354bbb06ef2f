//! Index that matches many patterns at the cost of one: by host, then by a tree of segments.

use std::collections::HashMap;

use super::{Pattern, Segment};
use crate::target::Host;

/// The patterns of one list. Values are positions in that list; the first pattern that matches wins.
#[derive(Debug, Default)]
pub(crate) struct PatternIndex {
    any_host: Node,
    hosts: HashMap<Host, Ports>,
}

#[derive(Debug, Default)]
struct Ports {
    any: Node,
    one: HashMap<u16, Node>,
}

/// The patterns that can match on one host and port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostPatterns<'a>([Option<&'a Node>; 3]);

impl PatternIndex {
    pub(crate) fn insert(&mut self, pattern: &Pattern, position: usize) {
        let root = match (&pattern.host, pattern.port) {
            (None, _) => &mut self.any_host,
            (Some(host), None) => &mut self.hosts.entry(host.clone()).or_default().any,
            (Some(host), Some(port)) => {
                self.hosts.entry(host.clone()).or_default().one.entry(port).or_default()
            }
        };
        root.insert(pattern, position);
    }

    /// Inserts an unreadable pattern, which matches everything, so that whatever it was to protect stays protected.
    pub(crate) fn insert_everything(&mut self, position: usize) {
        lower(&mut self.any_host.prefix, position);
    }

    pub(crate) fn patterns_of_host(&self, host: &Host, port: u16) -> HostPatterns<'_> {
        let ports = self.hosts.get(host);
        let any_host = Some(&self.any_host);
        let roots = [any_host, ports.map(|ports| &ports.any), ports.and_then(|ports| ports.one.get(&port))];
        HostPatterns(roots.map(|root| root.filter(|node| !node.is_empty())))
    }
}

impl HostPatterns<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// The position of the first pattern that matches this path as given.
    pub(crate) fn find(&self, path: &[u8]) -> Option<usize> {
        let segments = path.strip_prefix(b"/");
        self.0.iter().flatten().filter_map(|root| root.find(segments)).min()
    }
}

/// A node of the tree: the patterns that continue after the segments leading here.
#[derive(Debug, Default)]
struct Node {
    literals: HashMap<Box<[u8]>, Node>,
    any: Option<Box<Node>>,
    /// A pattern ends here.
    prefix: Option<usize>,
    /// A pattern ends here with a slash: the path must have one more segment, empty or not.
    prefix_with_slash: Option<usize>,
}

impl Node {
    fn is_empty(&self) -> bool {
        self.literals.is_empty()
            && self.any.is_none()
            && self.prefix.is_none()
            && self.prefix_with_slash.is_none()
    }

    fn insert(&mut self, pattern: &Pattern, position: usize) {
        let mut node = self;
        for segment in &pattern.segments {
            node = match segment {
                Segment::Any => node.any.get_or_insert_default(),
                Segment::Literal(text) => node.literals.entry(text.clone()).or_default(),
            };
        }
        let end = if pattern.trailing_slash { &mut node.prefix_with_slash } else { &mut node.prefix };
        lower(end, position);
    }

    /// `rest` is the part after the last slash read, `None` at the end of the path.
    fn find(&self, rest: Option<&[u8]>) -> Option<usize> {
        let Some(rest) = rest else { return self.prefix };
        let (segment, after) = match rest.iter().position(|&byte| byte == b'/') {
            Some(slash) => (&rest[..slash], Some(&rest[slash + 1..])),
            None => (rest, None),
        };
        let literal = self.literals.get(segment).and_then(|node| node.find(after));
        let any = self.any.as_ref().filter(|_| !segment.is_empty()).and_then(|node| node.find(after));
        [self.prefix, self.prefix_with_slash, literal, any].into_iter().flatten().min()
    }
}

fn lower(slot: &mut Option<usize>, position: usize) {
    *slot = Some(slot.map_or(position, |there| there.min(position)));
}

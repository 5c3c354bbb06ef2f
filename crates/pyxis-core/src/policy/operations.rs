//! Endpoints whose path does not reveal the operation: GraphQL and JSON-RPC put it into the body, which only content
//! rules read.

use crate::target::Target;

/// Kind of operations named in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operations {
    /// Queries and mutations.
    GraphQl,
    /// Methods defined by the server.
    JsonRpc,
}

/// Endpoints of known hosts. A host that starts with a dot covers every name below it.
const KNOWN: &[(&str, &str)] = &[
    ("api.github.com", "/graphql"),
    ("api.linear.app", "/graphql"),
    (".myshopify.com", "/admin/api/2025-01/graphql.json"),
    ("gitlab.com", "/api/graphql"),
    ("api.monday.com", "/v2"),
    ("backboard.railway.com", "/graphql/v2"),
    ("api.start.gg", "/gql/alpha"),
];

/// Segments that name a GraphQL endpoint, without their extension.
const GRAPHQL_NAMES: &[&str] = &["graphql", "gql", "graphiql"];
/// Last segments that may name one.
const VAGUE_NAMES: &[&str] = &["graph", "query"];
/// Segments that name an RPC endpoint.
const RPC_NAMES: &[&str] =
    &["rpc", "jsonrpc", "json-rpc", "json_rpc", "jsonrpc.php", "xmlrpc", "xmlrpc.php", "mcp"];

impl Operations {
    /// Kind of operations in the bodies of requests to `target`; `None` if path and method determine the operation.
    pub fn from_target(target: &Target) -> Option<Self> {
        Self::of_path(target.written_host(), target.path())
    }

    /// The same for one reading of a path.
    fn of_path(host: &str, path: &str) -> Option<Self> {
        let path = path.trim_end_matches('/');
        if KNOWN.iter().any(|(known, endpoint)| is_host(host, known) && path == *endpoint) {
            return Some(Self::GraphQl);
        }
        let mut segments = path.rsplit('/').map(name);
        let last = segments.next().unwrap_or_default();
        Self::of_last(last).or_else(|| {
            let before = segments.next()?;
            // A version may follow (`/graphql/v2`). After `rpc` any other path names the method.
            if is_version(last) {
                Self::of_last(before)
            } else {
                Self::of_name(before).filter(|found| *found == Self::GraphQl)
            }
        })
    }

    /// True if some reading of a path may be that of a GraphQL endpoint.
    pub(super) fn may_be_graphql(host: &str, path: &str) -> bool {
        Self::of_path(host, path) == Some(Self::GraphQl)
    }

    /// True if the path says GraphQL by name, or the host is known to serve it there. A path that ends in `query` or
    /// `graph` only may be GraphQL.
    pub(super) fn is_named_graphql(host: &str, path: &str) -> bool {
        let is_vague = |segment: &str| is_one_of(name(segment), VAGUE_NAMES);
        let path = path.trim_end_matches('/');
        let is_known = KNOWN.iter().any(|(known, endpoint)| is_host(host, known) && path == *endpoint);
        is_known || (Self::may_be_graphql(host, path) && !path.rsplit('/').take(2).any(is_vague))
    }

    /// Kind of operations implied by the name of a path segment, in any position.
    fn of_name(name: &str) -> Option<Self> {
        // Frameworks read an extension as the format of the answer.
        if is_one_of(name.split('.').next().unwrap_or_default(), GRAPHQL_NAMES) {
            Some(Self::GraphQl)
        } else {
            is_one_of(name, RPC_NAMES).then_some(Self::JsonRpc)
        }
    }

    /// The same for a last segment: includes names that are too common elsewhere in a path.
    fn of_last(name: &str) -> Option<Self> {
        if is_one_of(name, VAGUE_NAMES) { Some(Self::GraphQl) } else { Self::of_name(name) }
    }

    /// Kind of operations implied by a segment of a URL pattern.
    pub fn of_pattern(pattern: &str) -> Option<Self> {
        let (authority, path) = pattern.find('/').map_or((pattern, ""), |slash| pattern.split_at(slash));
        let last = path.trim_end_matches('/').rsplit('/').next().and_then(|last| Self::of_last(name(last)));
        last.or_else(|| {
            [authority].into_iter().chain(path.split('/')).find_map(|text| Self::of_name(name(text)))
        })
    }

    /// The known endpoints of hosts among `allowed` (as in `allowed_hosts`), as `https` URLs.
    pub fn known_endpoints<'h>(allowed: impl IntoIterator<Item = &'h str>) -> Vec<String> {
        let mut urls = Vec::new();
        for host in allowed {
            let written =
                host.strip_prefix("*.").map_or_else(|| host.to_owned(), |rest| format!("any.{rest}"));
            let bare = written.split(':').next().unwrap_or_default();
            let endpoints = KNOWN.iter().filter(|(known, _)| is_host(bare, known));
            urls.extend(endpoints.map(|(_, endpoint)| format!("https://{written}{endpoint}")));
        }
        urls
    }

    /// The warning for a request, or a pattern, that passes.
    pub const fn warning(self) -> &'static str {
        match self {
            Self::GraphQl => {
                "this looks like a GraphQL endpoint: the operation is in the body, so every mutation is allowed without approval"
            }
            Self::JsonRpc => {
                "this looks like an RPC endpoint: the operation is in the body, so every call is allowed without approval"
            }
        }
    }
}

/// Name of a path segment, without blanks around it and without what follows a semicolon or NUL.
fn name(segment: &str) -> &str {
    segment.split([';', '\0']).next().unwrap_or_default().trim()
}

/// True for one of these names, in any case.
fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// True for `v2`, `2`, `v1.1`.
fn is_version(name: &str) -> bool {
    let number = name.strip_prefix(['v', 'V']).unwrap_or(name);
    number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

fn is_host(host: &str, known: &str) -> bool {
    match known.strip_prefix('.') {
        Some(_) => host.len() > known.len() && host.to_ascii_lowercase().ends_with(known),
        None => host.eq_ignore_ascii_case(known),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_that_take_operations_in_the_body_are_known_by_path_or_host() {
        for (url, expected) in [
            ("https://api.github.com/graphql", Some(Operations::GraphQl)),
            ("https://api.linear.app/graphql", Some(Operations::GraphQl)),
            ("https://shop.myshopify.com/admin/api/2024-10/graphql.json", Some(Operations::GraphQl)),
            ("https://api.monday.com/v2", Some(Operations::GraphQl)),
            ("https://a.example/api/GraphQL/?x=1", Some(Operations::GraphQl)),
            ("https://a.example/gql", Some(Operations::GraphQl)),
            ("https://a.example/graphql/v2", Some(Operations::GraphQl)),
            ("https://a.example/v1/graphql;v=1", Some(Operations::GraphQl)),
            ("https://a.example/jsonrpc", Some(Operations::JsonRpc)),
            ("https://a.example/v1/rpc/", Some(Operations::JsonRpc)),
            ("https://a.example/v1/gql", Some(Operations::GraphQl)),
            ("https://a.example/api/graph", Some(Operations::GraphQl)),
            ("https://a.example/Query;v=1/", Some(Operations::GraphQl)),
            ("https://a.example/query/v1", Some(Operations::GraphQl)),
            ("https://a.example/rpc/v1", Some(Operations::JsonRpc)),
            ("https://a.example/RPC/2.0?x", Some(Operations::JsonRpc)),
            ("https://a.example/rest/v1/rpc/list_items", None),
            ("https://a.example/query/items", None),
            ("https://a.example/graph/nodes", None),
            ("https://a.example/queries", None),
            ("https://a.example/v2", None),
            ("https://a.example/graphql-docs", None),
            ("https://a.example/items?path=/graphql", None),
            ("https://graphql.example/items", None),
        ] {
            assert_eq!(Operations::from_target(&Target::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn every_known_endpoint_is_recognized_and_found_by_its_host() {
        for (host, endpoint) in KNOWN {
            let allowed = host.strip_prefix('.').map_or((*host).to_owned(), |rest| format!("*.{rest}"));
            let urls = Operations::known_endpoints([allowed.as_str()]);
            assert!(urls.iter().any(|url| url.ends_with(endpoint)), "{host}: {urls:?}");
            for url in urls {
                assert_eq!(
                    Operations::from_target(&Target::parse(&url).unwrap()),
                    Some(Operations::GraphQl),
                    "{url}"
                );
            }
        }
        assert!(Operations::known_endpoints(["api.example.com", "*.example.com"]).is_empty());
    }

    #[test]
    fn a_pattern_about_such_an_endpoint_is_recognized() {
        for pattern in [
            "/graphql",
            "api.example.com/*/gql",
            "/api/graph",
            "a.example/Query/",
            "/admin/api/*/graphql.json",
            "/graphql/*/x",
        ] {
            assert_eq!(Operations::of_pattern(pattern), Some(Operations::GraphQl), "{pattern}");
        }
        assert_eq!(Operations::of_pattern("/rpc"), Some(Operations::JsonRpc));
        for pattern in ["/v1/items", "/query/items", "graph.example.com", "/"] {
            assert_eq!(Operations::of_pattern(pattern), None, "{pattern}");
        }
    }
}

//! HTTP methods that `/forward` passes on, the handshake of a WebSocket, and sets of them.

/// A method of an upstream call. CONNECT and TRACE are not among them
/// (`docs/reference/behavior/proxy.md#control-headers`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Follows the policy of GET.
    Head,
    /// RFC 9110, section 9.3.1.
    Get,
    /// RFC 9110, section 9.3.3.
    Post,
    /// RFC 9110, section 9.3.4.
    Put,
    /// RFC 5789.
    Patch,
    /// RFC 9110, section 9.3.5.
    Delete,
    /// RFC 9110, section 9.3.7. Follows its own listing.
    Options,
    /// Handshake of a WebSocket (RFC 6455). A GET on the wire, but the messages that follow can change anything. So a
    /// policy that lets GET pass does not let it pass.
    WebSocket,
}

impl Method {
    /// Every method.
    pub const ALL: &'static [Self] = &[
        Self::Get,
        Self::Head,
        Self::Post,
        Self::Put,
        Self::Patch,
        Self::Delete,
        Self::Options,
        Self::WebSocket,
    ];

    /// The method with this name, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|method| method.as_str().eq_ignore_ascii_case(text))
    }

    /// The method with this name, in any case, if a request line can have it.
    pub fn parse_http(text: &str) -> Option<Self> {
        Self::parse(text).filter(|method| *method != Self::WebSocket)
    }

    /// The name in a request line.
    pub const fn on_the_wire(self) -> &'static str {
        match self {
            Self::WebSocket => Self::Get.as_str(),
            other => other.as_str(),
        }
    }

    /// The name, in upper case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::WebSocket => "WEBSOCKET",
        }
    }

    /// True for methods that request no change (RFC 9110, section 9.2.1).
    #[must_use]
    pub const fn is_safe(self) -> bool {
        matches!(self, Self::Get | Self::Head | Self::Options)
    }

    /// The method under which a policy lists this one: HEAD follows GET, the others themselves.
    #[must_use]
    pub const fn listed_as(self) -> Self {
        match self {
            Self::Head => Self::Get,
            other => other,
        }
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for Method {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A set of methods, as listed in a policy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MethodSet(u8);

impl MethodSet {
    pub(super) fn contains(self, method: Method) -> bool {
        self.0 & bit(method) != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set with one more method.
    pub(super) fn with(self, method: Method) -> Self {
        Self(self.0 | bit(method))
    }
}

impl<'a> FromIterator<&'a Method> for MethodSet {
    fn from_iter<I: IntoIterator<Item = &'a Method>>(methods: I) -> Self {
        Self(methods.into_iter().fold(0, |set, method| set | bit(*method)))
    }
}

const fn bit(method: Method) -> u8 {
    1 << (method.listed_as() as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_read_in_any_case_and_written_in_upper_case() {
        for method in Method::ALL {
            assert_eq!(Method::parse(&method.as_str().to_lowercase()), Some(*method));
        }
        assert_eq!(Method::parse("CONNECT"), None);
        assert_eq!(Method::parse("TRACE"), None);
        assert_eq!(Method::parse("GET "), None);
    }

    #[test]
    fn a_websocket_is_a_method_of_policies_and_a_get_on_the_wire() {
        assert_eq!(Method::parse("websocket"), Some(Method::WebSocket));
        assert_eq!(Method::parse_http("WEBSOCKET"), None);
        assert_eq!(Method::parse_http("get"), Some(Method::Get));
        assert_eq!(Method::WebSocket.on_the_wire(), "GET");
        assert!(!Method::WebSocket.is_safe());
    }

    #[test]
    fn a_set_with_get_holds_head_and_nothing_else() {
        let set: MethodSet = [Method::Get].iter().collect();
        let held: Vec<_> = Method::ALL.iter().filter(|method| set.contains(**method)).collect();
        assert_eq!(held, [&Method::Get, &Method::Head]);
    }
}

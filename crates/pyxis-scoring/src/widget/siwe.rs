//! Sign-In with Ethereum (ERC-4361): the message that a wallet shows, and its strict reading.
//!
//! The crate `siwe` 0.6.1 would bring a second generation of the elliptic-curve and hash crates. Its check of
//! contract wallets has a client of its own that bypasses the egress guard. The format is eleven fixed lines.

use pyxis_core::address::EvmAddress;
use pyxis_core::clock::UnixMillis;
use url::Url;

use crate::address::{self, checksummed};

/// End of the first line.
const WANTS: &str = " wants you to sign in with your Ethereum account:";
/// Statement of the server's messages.
const STATEMENT: &str = "Show my score. This costs nothing and sends no transaction.";
/// Longest message, in bytes.
pub(super) const MAX_MESSAGE: usize = 4096;

/// A message's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SiweMessage {
    /// Scheme of the first line, if it has one.
    pub(super) scheme: Option<String>,
    /// Host and port of the page.
    pub(super) domain: String,
    pub(super) address: EvmAddress,
    pub(super) uri_origin: String,
    pub(super) chain_id: u64,
    pub(super) nonce: String,
    pub(super) issued_at: UnixMillis,
    pub(super) expires_at: Option<UnixMillis>,
    pub(super) not_before: Option<UnixMillis>,
}

/// Scheme and host of an origin: `https`, `app.example.org:8443`.
pub(super) fn split_origin(origin: &str) -> Option<(&str, &str)> {
    origin.split_once("://")
}

/// The message that the holder of `address` signs in a page of `origin`.
pub(super) fn write(
    origin: &str,
    address: EvmAddress,
    chain_id: u64,
    nonce: &str,
    (issued_at, expires_at): (UnixMillis, UnixMillis),
) -> Option<String> {
    let (scheme, domain) = split_origin(origin)?;
    // Wallets compare the domain with the page's; a scheme other than https must be named.
    let prefix = if scheme == "https" { String::new() } else { format!("{scheme}://") };
    Some(format!(
        "{prefix}{domain}{WANTS}\n{}\n\n{STATEMENT}\n\nURI: {origin}\nVersion: 1\nChain ID: {chain_id}\nNonce: {nonce}\n\
         Issued At: {}\nExpiration Time: {}",
        checksummed(address),
        issued_at.to_rfc3339(),
        expires_at.to_rfc3339()
    ))
}

/// Reads a message. The error names the line that is missing or wrong.
pub(super) fn read(text: &str) -> Result<SiweMessage, &'static str> {
    if text.len() > MAX_MESSAGE {
        return Err("it is longer than 4096 bytes");
    }
    let mut lines = text.split('\n').peekable();
    let first = lines.next().and_then(|line| line.strip_suffix(WANTS));
    let first = first.ok_or("its first line is not that of a sign-in (ERC-4361)")?;
    let (scheme, domain) = match first.split_once("://") {
        Some((scheme, domain)) => (Some(scheme.to_owned()), domain),
        None => (None, first),
    };
    let address = lines.next().and_then(|line| address::read(line).ok());
    let address = address.ok_or("its second line is not an address")?;
    skip_statement(&mut lines)?;
    let mut field = |name: &str| {
        let value = lines.peek().and_then(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
        lines.next();
        Some(value)
    };
    let uri = field("URI").and_then(|uri| Url::parse(uri).ok()).ok_or("URI is missing or invalid")?;
    field("Version").filter(|version| *version == "1").ok_or("Version must be 1")?;
    let chain_id = field("Chain ID").filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()));
    let chain_id = chain_id.and_then(|id| id.parse().ok()).ok_or("Chain ID is missing or invalid")?;
    let nonce = field("Nonce").filter(|nonce| nonce.len() >= 8).ok_or("Nonce is missing or too short")?;
    let time = |text: &str| UnixMillis::parse_rfc3339(text);
    let issued_at = field("Issued At").and_then(time).ok_or("Issued At is missing or invalid")?;
    let mut optional = |name, fault| match field(name) {
        Some(text) => time(text).map(Some).ok_or(fault),
        None => Ok(None),
    };
    let expires_at = optional("Expiration Time", "Expiration Time is invalid")?;
    let not_before = optional("Not Before", "Not Before is invalid")?;
    field("Request ID");
    skip_resources(&mut lines)?;
    Ok(SiweMessage {
        scheme,
        domain: domain.to_owned(),
        address,
        uri_origin: uri.origin().ascii_serialization(),
        chain_id,
        nonce: nonce.to_owned(),
        issued_at,
        expires_at,
        not_before,
    })
}

/// Blank line, optional statement of one line, blank line.
fn skip_statement<'t>(
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'t str>>,
) -> Result<(), &'static str> {
    const FAULT: &str = "a blank line is missing around the statement";
    lines.next().filter(|line| line.is_empty()).ok_or(FAULT)?;
    match lines.peek() {
        Some(line) if line.starts_with("URI: ") => return Ok(()),
        Some(line) if !line.is_empty() => lines.next(),
        _ => None,
    };
    lines.next().filter(|line| line.is_empty()).map(|_| ()).ok_or(FAULT)
}

fn skip_resources<'t>(
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'t str>>,
) -> Result<(), &'static str> {
    if lines.peek() == Some(&"Resources:") {
        lines.next();
        while lines.peek().is_some_and(|line| line.starts_with("- ")) {
            lines.next();
        }
    }
    if lines.next().is_none() {
        Ok(())
    } else {
        Err("it has a line that no sign-in has, or lines in another order")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: &str = "https://app.example.org:8443";
    const TIMES: (UnixMillis, UnixMillis) = (UnixMillis(1_767_225_600_000), UnixMillis(1_767_225_900_000));

    fn written() -> String {
        write(ORIGIN, EvmAddress([0xab; 20]), 10, "0123456789abcdef", TIMES).unwrap()
    }

    #[test]
    fn a_written_message_reads_as_what_was_written() {
        let message = read(&written()).unwrap();
        let expected = SiweMessage {
            scheme: None,
            domain: "app.example.org:8443".to_owned(),
            address: EvmAddress([0xab; 20]),
            uri_origin: ORIGIN.to_owned(),
            chain_id: 10,
            nonce: "0123456789abcdef".to_owned(),
            issued_at: TIMES.0,
            expires_at: Some(TIMES.1),
            not_before: None,
        };
        assert_eq!(message, expected);
        let local =
            write("http://localhost:3000", EvmAddress([1; 20]), 1, "0123456789abcdef", TIMES).unwrap();
        assert_eq!(read(&local).unwrap().scheme.as_deref(), Some("http"));
    }

    #[test]
    fn messages_of_other_libraries_are_read_with_their_optional_lines() {
        let without = written().replace(&format!("{STATEMENT}\n"), "");
        assert_eq!(read(&without), read(&written()));
        let shorter = written().replace(&format!("{STATEMENT}\n\n"), "");
        assert_eq!(read(&shorter), read(&written()));
        let longer = format!(
            "{}\nNot Before: 2026-01-01T00:00:00Z\nRequest ID: 7\nResources:\n- https://example.org/terms",
            written()
        );
        assert_eq!(read(&longer).unwrap().not_before, UnixMillis::parse_rfc3339("2026-01-01T00:00:00Z"));
    }

    #[test]
    fn a_message_that_says_anything_else_is_refused() {
        let good = written();
        for (bad, fault) in [
            (good.replace("sign in with your Ethereum account", "approve a transfer"), "first line"),
            (good.replace("\nVersion: 1\n", "\nVersion: 2\n"), "Version"),
            (good.replace("URI: ", "Uri: "), "URI is missing"),
            (good.replace("Chain ID: 10", "Chain ID: +10"), "Chain ID"),
            (good.replace("Nonce: 0123456789abcdef", "Nonce: 0123"), "Nonce"),
            (good.replace("Issued At: 2026", "Issued At: late 2026"), "Issued At"),
            (format!("{good}\nAnd send all tokens"), "no sign-in has"),
            (format!("{good}\n"), "no sign-in has"),
            (good.replace('\n', "\r\n"), "first line"),
            (good.replace(STATEMENT, "two\nlines"), "blank line"),
            (good.replace(STATEMENT, &"x".repeat(5000)), "longer"),
            (String::new(), "first line"),
        ] {
            let refused = read(&bad).unwrap_err();
            assert!(refused.contains(fault), "{bad}: {refused}");
        }
    }
}

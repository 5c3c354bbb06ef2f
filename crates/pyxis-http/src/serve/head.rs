//! HTTP/1 request heads, checked before hyper parses them.
//!
//! hyper accepts input that servers before or behind it may read differently. Examples are a bare line feed as a line
//! end, a `Content-Length` together with a `Transfer-Encoding`, other codings before `chunked`, and several hosts. All
//! of that is refused here, so that the rest has only one reading (RFC 9112).

use std::net::Ipv6Addr;

use memchr::memchr;

use super::chunks::{Chunks, Piece};
use super::refusal::{MAX_HEADER_BYTES, MAX_HEADER_FIELDS, MAX_URI_BYTES, MalformedRequest};

/// First bytes from a client that uses HTTP/2 with prior knowledge.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Maximum empty lines skipped before a request line (RFC 9112, section 2.2, asks for at least one).
const MAX_EMPTY_LINES: usize = 4;

/// Generous allowance for everything in a request line except the target: method, spaces, version and line end.
const LINE_OVERHEAD: usize = 256;

/// Scanner for all bytes of a connection, from the first one on.
#[derive(Debug, Default)]
pub(super) struct Stream {
    place: ConnectionPart,
    head: HeadParser,
    /// Number of heads that hyper may read so far.
    heads: u64,
}

/// Part of a connection that the next byte belongs to.
#[derive(Clone, Copy, Debug, Default)]
enum ConnectionPart {
    #[default]
    Head,
    /// A body with this many bytes left.
    Sized(u64),
    Chunked(Chunks),
    /// HTTP/2 from the first byte on. Not scanned.
    Http2,
}

/// Result of scanning a piece of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scan {
    /// Number of bytes that hyper may read.
    pub(super) good: usize,
    /// Kind of the bytes after those.
    pub(super) rest: Rest,
}

/// Kind of the bytes after the good ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// No bytes, or the start of a head, which is scanned again once more bytes arrive.
    Unfinished,
    /// A head that is refused.
    Refused(MalformedRequest),
    /// A byte that is not allowed at its position in a chunked body.
    Broken,
}

impl Stream {
    /// Scans `bytes`, which follow the good bytes of the previous scan.
    pub(super) fn scan(&mut self, bytes: &[u8]) -> Scan {
        let mut good = 0;
        loop {
            let rest = &bytes[good..];
            if rest.is_empty() {
                return Scan { good, rest: Rest::Unfinished };
            }
            match &mut self.place {
                ConnectionPart::Http2 => good = bytes.len(),
                ConnectionPart::Sized(left) => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    *left -= here as u64;
                    good += here;
                    if *left == 0 {
                        self.place = ConnectionPart::Head;
                    }
                }
                ConnectionPart::Chunked(chunks) => match chunks.read(rest) {
                    Piece::Open => good = bytes.len(),
                    Piece::Ends(at) => {
                        good += at;
                        self.place = ConnectionPart::Head;
                    }
                    Piece::Broken(at) => return Scan { good: good + at, rest: Rest::Broken },
                },
                ConnectionPart::Head if self.heads == 0 && may_be_http2(rest) => {
                    if rest.len() < PREFACE.len() {
                        return Scan { good, rest: Rest::Unfinished };
                    }
                    self.place = ConnectionPart::Http2;
                }
                ConnectionPart::Head => match self.head.read(rest) {
                    Ok(None) => return Scan { good, rest: Rest::Unfinished },
                    Ok(Some((length, body))) => {
                        good += length;
                        self.heads += 1;
                        self.head = HeadParser::default();
                        self.place = match body {
                            Body::Sized(0) => ConnectionPart::Head,
                            Body::Sized(length) => ConnectionPart::Sized(length),
                            Body::Chunked => ConnectionPart::Chunked(Chunks::START),
                        };
                    }
                    Err(refusal) => return Scan { good, rest: Rest::Refused(refusal) },
                },
            }
        }
    }

    pub(super) fn heads(&self) -> u64 {
        self.heads
    }

    /// True before the first request arrives.
    pub(super) fn is_new(&self) -> bool {
        self.heads == 0 && matches!(self.place, ConnectionPart::Head)
    }

    /// True within a body.
    pub(super) fn in_body(&self) -> bool {
        matches!(self.place, ConnectionPart::Sized(_) | ConnectionPart::Chunked(_))
    }
}

fn may_be_http2(bytes: &[u8]) -> bool {
    let shared = bytes.len().min(PREFACE.len());
    bytes[..shared] == PREFACE[..shared]
}

/// Framing of the body after a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    Sized(u64),
    Chunked,
}

/// Parse state of an incomplete head.
#[derive(Debug, Default)]
struct HeadParser {
    /// Start of the first line not read yet.
    line: usize,
    /// Position up to which no line end was found.
    searched: usize,
    empty_lines: usize,
    /// Start of the header fields, set once the request line is read.
    fields_at: Option<usize>,
    fields: usize,
    is_http_10: bool,
    hosts: usize,
    content_length: Option<u64>,
    transfer_encoding: bool,
}

impl HeadParser {
    /// Continues reading; `bytes` start at the head. Returns its length and body framing once it is complete.
    fn read(&mut self, bytes: &[u8]) -> Result<Option<(usize, Body)>, MalformedRequest> {
        loop {
            let Some(feed) = memchr(b'\n', &bytes[self.searched..]) else {
                self.searched = bytes.len();
                return self.check_size(bytes.len()).map(|()| None);
            };
            let end = self.searched + feed;
            let line = &bytes[self.line..end];
            let line = line.strip_suffix(b"\r").ok_or(MalformedRequest::BareLineFeed)?;
            self.check_size(end + 1)?;
            (self.line, self.searched) = (end + 1, end + 1);
            if self.fields_at.is_some() {
                if line.is_empty() {
                    return self.body().map(|body| Some((end + 1, body)));
                }
                self.field(line)?;
            } else if line.is_empty() && self.empty_lines < MAX_EMPTY_LINES {
                self.empty_lines += 1;
            } else {
                self.is_http_10 = is_http_10(line)?;
                self.fields_at = Some(end + 1);
            }
        }
    }

    /// Refuses a head as soon as it exceeds a limit.
    fn check_size(&self, length: usize) -> Result<(), MalformedRequest> {
        match self.fields_at {
            Some(start) if length - start > MAX_HEADER_BYTES => Err(MalformedRequest::FieldsTooLarge),
            None if length > MAX_URI_BYTES + LINE_OVERHEAD => Err(MalformedRequest::UriTooLong),
            _ => Ok(()),
        }
    }

    fn field(&mut self, line: &[u8]) -> Result<(), MalformedRequest> {
        if matches!(line.first(), Some(b' ' | b'\t')) {
            return Err(MalformedRequest::Folded);
        }
        self.fields += 1;
        if self.fields > MAX_HEADER_FIELDS {
            return Err(MalformedRequest::TooManyFields);
        }
        let colon = line.iter().position(|byte| !is_token(*byte)).unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").filter(|_| colon > 0).ok_or(MalformedRequest::FieldName)?;
        // Counting without an early exit lets the compiler vectorize the loop.
        let is_control = |byte: &&u8| (**byte < b' ' && **byte != b'\t') || **byte == 0x7F;
        if value.iter().filter(is_control).count() > 0 {
            return Err(MalformedRequest::FieldValue);
        }
        // Comparing lengths first rules out most names.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => self.host(value.trim_ascii()),
            14 if name.eq_ignore_ascii_case(b"content-length") => self.length(value.trim_ascii()),
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.encoding(value.trim_ascii()),
            _ => Ok(()),
        }
    }

    fn host(&mut self, value: &[u8]) -> Result<(), MalformedRequest> {
        self.hosts += 1;
        if self.hosts > 1 {
            return Err(MalformedRequest::SeveralHosts);
        }
        if is_host(value) { Ok(()) } else { Err(MalformedRequest::HostValue) }
    }

    fn length(&mut self, value: &[u8]) -> Result<(), MalformedRequest> {
        let digits = (1..=19).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
        if !digits || self.content_length.is_some() {
            return Err(MalformedRequest::ContentLength);
        }
        self.content_length =
            Some(value.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')));
        Ok(())
    }

    fn encoding(&mut self, value: &[u8]) -> Result<(), MalformedRequest> {
        if self.transfer_encoding || self.is_http_10 || !value.eq_ignore_ascii_case(b"chunked") {
            return Err(MalformedRequest::TransferEncoding);
        }
        self.transfer_encoding = true;
        Ok(())
    }

    /// Framing of the body, once the head is complete.
    fn body(&self) -> Result<Body, MalformedRequest> {
        if self.hosts == 0 && !self.is_http_10 {
            return Err(MalformedRequest::NoHost);
        }
        match (self.content_length, self.transfer_encoding) {
            (Some(_), true) => Err(MalformedRequest::LengthAndEncoding),
            (Some(length), false) => Ok(Body::Sized(length)),
            (None, true) => Ok(Body::Chunked),
            (None, false) => Ok(Body::Sized(0)),
        }
    }
}

/// True for an HTTP/1.0 request line, false for HTTP/1.1.
fn is_http_10(line: &[u8]) -> Result<bool, MalformedRequest> {
    let method = line.iter().position(|byte| !is_token(*byte)).unwrap_or(line.len());
    let rest =
        line[method..].strip_prefix(b" ").filter(|_| method > 0).ok_or(MalformedRequest::RequestLine)?;
    let space = rest.iter().rposition(|byte| *byte == b' ').ok_or(MalformedRequest::RequestLine)?;
    let (target, version) = (&rest[..space], &rest[space + 1..]);
    let is_http_10 = match version {
        b"HTTP/1.1" => false,
        b"HTTP/1.0" => true,
        [b'H', b'T', b'T', b'P', b'/', b'0'..=b'9', b'.', b'0'..=b'9'] => {
            return Err(MalformedRequest::Version);
        }
        _ => return Err(MalformedRequest::RequestLine),
    };
    if target.len() > MAX_URI_BYTES {
        return Err(MalformedRequest::UriTooLong);
    }
    // Fast path: nearly every target is plain.
    let plain = target.first() == Some(&b'/') && target.iter().all(|byte| is_plain(*byte));
    if plain || is_target(&line[..method], target) {
        Ok(is_http_10)
    } else {
        Err(MalformedRequest::RequestLine)
    }
}

/// True for one of the four target forms (RFC 9112, section 3.2) in characters that the library accepts.
fn is_target(method: &[u8], target: &[u8]) -> bool {
    let Ok(uri) = http::Uri::try_from(target) else { return false };
    target.starts_with(b"/") || target == b"*" || uri.scheme().is_some() || method == b"CONNECT"
}

const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~' | b'?' | b'&' | b'=' | b'%' | b':' | b'@')
        || matches!(byte, b'!' | b'$' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'\'')
}

/// True for a token character (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    TOKEN[usize::from(byte)]
}

static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.')
            || matches!(byte, b'^' | b'_' | b'`' | b'|' | b'~');
        byte += 1;
    }
    table
};

/// True for `host` and `host:port` (RFC 3986, section 3.2.2). A list of hosts is invalid, and so is a colon without a
/// port.
pub(super) fn is_host(value: &[u8]) -> bool {
    let literal = value.strip_prefix(b"[").and_then(|rest| {
        let end = memchr(b']', rest)?;
        let is_address = str::from_utf8(&rest[..end]).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok());
        is_address.then(|| &rest[end + 1..])
    });
    let port = literal.unwrap_or_else(|| {
        let name = value.iter().position(|byte| !is_name(*byte)).unwrap_or(value.len());
        // An empty name makes the port invalid too.
        if name == 0 { b"-" } else { &value[name..] }
    });
    port.is_empty() || port.strip_prefix(b":").is_some_and(is_port)
}

/// True for a byte that a host name may contain.
const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'%' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')')
        || matches!(byte, b'*' | b'+' | b';' | b'=')
}

/// True for a port: up to five digits within the valid range.
fn is_port(text: &[u8]) -> bool {
    let is_number = (1..=5).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    is_number && str::from_utf8(text).is_ok_and(|text| text.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests;

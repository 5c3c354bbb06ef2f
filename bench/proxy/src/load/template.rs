//! A request, as bytes with gaps.

use std::io::Write;

use anyhow::{Context, Result};
use hyper::Uri;

/// A piece of a request.
enum Piece {
    Text(Vec<u8>),
    /// The number of the request.
    Number,
    /// The address that the request asks for.
    Address,
}

/// Request line, headers and body. Written again for each request into the same memory.
pub struct Template {
    head: Vec<Piece>,
    body: Vec<Piece>,
    /// True if the head states the length of the body: where there is one, and for methods that usually have one.
    has_length: bool,
    addresses: u64,
    body_bytes: Vec<u8>,
    bytes: Vec<u8>,
}

impl Template {
    /// A path that ends in `/address` gets one of `addresses`; `{n}` in headers and body is the number.
    pub fn new(method: &str, url: &Uri, headers: &[String], body: &str, addresses: u64) -> Result<Self> {
        let path = url.path_and_query().map_or("/", |path| path.as_str());
        let host = url.authority().context("the URL names no host")?;
        let mut head = vec![Piece::Text(format!("{method} ").into_bytes())];
        match path.strip_suffix("/address") {
            Some(before) => head.extend([Piece::Text(format!("{before}/").into_bytes()), Piece::Address]),
            None => head.push(Piece::Text(path.as_bytes().to_vec())),
        }
        head.push(Piece::Text(format!(" HTTP/1.1\r\nHost: {host}\r\n").into_bytes()));
        for header in headers {
            let (name, value) = header.split_once(':').with_context(|| format!("not a header: {header}"))?;
            head.extend(numbered(&format!("{}: {}\r\n", name.trim(), value.trim())));
        }
        Ok(Self {
            head,
            body: numbered(body),
            has_length: !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH"),
            addresses: addresses.max(1),
            body_bytes: Vec::new(),
            bytes: Vec::new(),
        })
    }

    /// The bytes of request `number`.
    pub fn fill(&mut self, number: u32) -> Result<&[u8]> {
        let Self { head, body, addresses, body_bytes, bytes, .. } = self;
        body_bytes.clear();
        bytes.clear();
        write(body, number, *addresses, body_bytes)?;
        write(head, number, *addresses, bytes)?;
        if self.has_length {
            write!(bytes, "Content-Length: {}\r\n", body_bytes.len())?;
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body_bytes);
        Ok(bytes)
    }
}

fn numbered(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (index, part) in text.split("{n}").enumerate() {
        if index > 0 {
            pieces.push(Piece::Number);
        }
        pieces.push(Piece::Text(part.as_bytes().to_vec()));
    }
    pieces
}

fn write(pieces: &[Piece], number: u32, addresses: u64, to: &mut Vec<u8>) -> Result<()> {
    for piece in pieces {
        match piece {
            Piece::Text(text) => to.extend_from_slice(text),
            Piece::Number => write!(to, "{number}")?,
            Piece::Address => write!(to, "0x{:040x}", address(number, addresses))?,
        }
    }
    Ok(())
}

/// 1 to `addresses`, in an order that no cache foresees.
fn address(number: u32, addresses: u64) -> u64 {
    let spread = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    spread % addresses + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(method: &str, url: &'static str, headers: &[&str], body: &str) -> String {
        let headers: Vec<String> = headers.iter().map(ToString::to_string).collect();
        let mut template = Template::new(method, &Uri::from_static(url), &headers, body, 10).unwrap();
        template.fill(3).unwrap();
        String::from_utf8(template.fill(7).unwrap().to_vec()).unwrap()
    }

    #[test]
    fn the_number_stands_wherever_it_is_asked_for() {
        let request = filled("POST", "http://localhost:1/a?b", &["X-N:  no {n}"], "{n}+{n}");
        let head = "POST /a?b HTTP/1.1\r\nHost: localhost:1\r\nX-N: no 7\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(request, format!("{head}7+7"));
    }

    #[test]
    fn only_a_method_that_means_to_have_a_body_says_that_it_is_empty() {
        assert!(!filled("GET", "http://localhost/", &[], "").contains("Content-Length"));
        assert!(filled("POST", "http://localhost/", &[], "").contains("Content-Length: 0\r\n"));
    }

    #[test]
    fn an_address_is_one_of_those_that_there_are() {
        let request = filled("GET", "http://localhost/score/address", &[], "");
        let address = request.strip_prefix("GET /score/0x").unwrap().split(' ').next().unwrap();
        assert_eq!(address.len(), 40);
        assert!((1..=10).contains(&u64::from_str_radix(address, 16).unwrap()));
    }
}

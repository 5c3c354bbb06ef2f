use super::*;

/// Scans `bytes` as the first bytes of a connection.
fn scan(bytes: impl AsRef<[u8]>) -> Scan {
    Stream::default().scan(bytes.as_ref())
}

fn refusal(bytes: impl AsRef<[u8]>) -> Option<MalformedRequest> {
    match scan(bytes).rest {
        Rest::Refused(refusal) => Some(refusal),
        Rest::Unfinished | Rest::Broken => None,
    }
}

/// A request with these header lines.
fn request(lines: &str) -> String {
    format!("POST /x HTTP/1.1\r\n{lines}\r\n")
}

#[test]
fn a_plain_request_is_good_to_its_last_byte_however_it_is_cut() {
    for text in [
        "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nhost:a\r\nx-empty:\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET http://a.example/x?y={z} HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: [::1]:8700\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe\nlo",
        "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\n0\r\nx: y\r\n\r\n",
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nCookie: é\r\n\r\n",
    ] {
        let good = Scan { good: text.len(), rest: Rest::Unfinished };
        assert_eq!(scan(text), good, "{text:?}");
        for cut in 0..text.len() {
            let (mut stream, bytes) = (Stream::default(), text.as_bytes());
            let first = stream.scan(&bytes[..cut]);
            assert_eq!(first.rest, Rest::Unfinished, "{text:?} {cut}");
            let second = stream.scan(&bytes[first.good..]);
            assert_eq!(
                (first.good + second.good, second.rest),
                (text.len(), Rest::Unfinished),
                "{text:?} {cut}"
            );
        }
    }
}

#[test]
fn what_two_servers_could_read_otherwise_is_refused() {
    use MalformedRequest as R;
    for (lines, reason) in [
        ("", R::NoHost),
        ("Host: a\r\nHost: b\r\n", R::SeveralHosts),
        ("Host: a\r\nhost: a\r\n", R::SeveralHosts),
        ("Host:\r\n", R::HostValue),
        ("Host: a, b\r\n", R::HostValue),
        ("Host: a b\r\n", R::HostValue),
        ("Host: a:99999\r\n", R::HostValue),
        ("Host: a:b\r\n", R::HostValue),
        ("Host: a:\r\n", R::HostValue),
        ("Host: user@a\r\n", R::HostValue),
        ("Host: a/b\r\n", R::HostValue),
        ("Host: :80\r\n", R::HostValue),
        ("Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", R::LengthAndEncoding),
        ("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n", R::LengthAndEncoding),
        ("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n", R::TransferEncoding),
        ("Host: a\r\nTransfer-Encoding: chunked, chunked\r\n", R::TransferEncoding),
        ("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", R::TransferEncoding),
        ("Host: a\r\nTransfer-Encoding: identity\r\n", R::TransferEncoding),
        ("Host: a\r\nTransfer-Encoding: chunked;q=1\r\n", R::TransferEncoding),
        ("Host: a\r\nTransfer-Encoding: xchunked\r\n", R::TransferEncoding),
        ("Host: a\r\nTransfer-Encoding:\r\n", R::TransferEncoding),
        ("Host: a\r\nTransfer-Encoding: \u{b}chunked\r\n", R::FieldValue),
        ("Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n", R::ContentLength),
        ("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n", R::ContentLength),
        ("Host: a\r\nContent-Length: 1, 1\r\n", R::ContentLength),
        ("Host: a\r\nContent-Length: +1\r\n", R::ContentLength),
        ("Host: a\r\nContent-Length: 0x1\r\n", R::ContentLength),
        ("Host: a\r\nContent-Length: -1\r\n", R::ContentLength),
        ("Host: a\r\nContent-Length:\r\n", R::ContentLength),
        ("Host: a\r\nContent-Length: 99999999999999999999\r\n", R::ContentLength),
        ("Host: a\nX: y\r\n", R::BareLineFeed),
        ("Host: a\r\nX: y\n", R::BareLineFeed),
        ("Host: a\r\nX: y\r\r\n", R::FieldValue),
        ("Host: a\r\nX: y\rZ: z\r\n", R::FieldValue),
        ("Host: a\r\nX: y\0\r\n", R::FieldValue),
        ("Host: a\r\nX: y\x7f\r\n", R::FieldValue),
        ("Host: a\r\nX : y\r\n", R::FieldName),
        ("Host : a\r\n", R::FieldName),
        ("Host: a\r\nContent-Length : 1\r\n", R::FieldName),
        ("Host: a\r\n: y\r\n", R::FieldName),
        ("Host: a\r\nno colon\r\n", R::FieldName),
        ("Host: a\r\nX\0: y\r\n", R::FieldName),
        ("Host: a\r\nX: y\r\n z\r\n", R::Folded),
        ("Host: a\r\nX: y\r\n\tz\r\n", R::Folded),
        (" Host: a\r\n", R::Folded),
    ] {
        assert_eq!(refusal(request(lines)), Some(reason), "{lines:?}");
    }
}

#[test]
fn a_request_line_has_three_parts_and_a_version_that_is_spoken() {
    use MalformedRequest as R;
    for (line, reason) in [
        ("GET /", R::RequestLine),
        ("GET  / HTTP/1.1", R::RequestLine),
        ("GET / x HTTP/1.1", R::RequestLine),
        ("GET /\tHTTP/1.1", R::RequestLine),
        (" GET / HTTP/1.1", R::RequestLine),
        ("G(T / HTTP/1.1", R::RequestLine),
        ("GET x HTTP/1.1", R::RequestLine),
        ("GET /<> HTTP/1.1", R::RequestLine),
        ("GET /\u{1} HTTP/1.1", R::RequestLine),
        ("GET / HTTP/1.1 ", R::RequestLine),
        ("GET / http/1.1", R::RequestLine),
        ("GET / HTTP/1.10", R::RequestLine),
        ("GET / HTTP/2.0", R::Version),
        ("GET / HTTP/0.9", R::Version),
        ("GET / HTTP/1.2", R::Version),
    ] {
        let text = format!("{line}\r\nHost: a\r\n\r\n");
        assert_eq!(refusal(&text), Some(reason), "{line:?}");
    }
    assert_eq!(refusal("GET / HTTP/1.1\nHost: a\r\n\r\n"), Some(R::BareLineFeed));
    assert_eq!(refusal("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"), Some(R::BareLineFeed));
    assert_eq!(refusal("\r\n".repeat(6)), Some(R::RequestLine));
}

#[test]
fn a_head_is_refused_as_soon_as_it_is_known_to_be_too_large() {
    let fields = |bytes: usize| format!("Host: a\r\nX: {}\r\n\r\n", "y".repeat(bytes - 16));
    let head = |bytes| format!("GET / HTTP/1.1\r\n{}", fields(bytes));
    assert_eq!(refusal(head(MAX_HEADER_BYTES)), None);
    assert_eq!(refusal(head(MAX_HEADER_BYTES + 1)), Some(MalformedRequest::FieldsTooLarge));
    // Left incomplete.
    let endless = format!("GET / HTTP/1.1\r\nX: {}", "y".repeat(MAX_HEADER_BYTES));
    assert_eq!(refusal(endless), Some(MalformedRequest::FieldsTooLarge));
    let many = |fields: usize| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "x: y\r\n".repeat(fields - 1));
    assert_eq!(refusal(many(MAX_HEADER_FIELDS)), None);
    assert_eq!(refusal(many(MAX_HEADER_FIELDS + 1)), Some(MalformedRequest::TooManyFields));
    let long = |bytes: usize| format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "y".repeat(bytes - 1));
    assert_eq!(refusal(long(MAX_URI_BYTES)), None);
    assert_eq!(refusal(long(MAX_URI_BYTES + 1)), Some(MalformedRequest::UriTooLong));
    assert_eq!(refusal("y".repeat(MAX_URI_BYTES + LINE_OVERHEAD + 1)), Some(MalformedRequest::UriTooLong));
}

#[test]
fn the_requests_before_a_bad_one_are_good() {
    let first = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab";
    let mut stream = Stream::default();
    let both = format!("{first}GET /2 HTTP/1.1\r\n\r\n");
    let expected = Scan { good: first.len(), rest: Rest::Refused(MalformedRequest::NoHost) };
    assert_eq!(stream.scan(both.as_bytes()), expected);
    assert_eq!(stream.heads(), 1);
    // A body may contain text that looks like a head, and ends at the announced length.
    let smuggled = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 19\r\n\r\nGET /2 HTTP/1.1\r\n\r\n";
    assert_eq!(scan(smuggled), Scan { good: smuggled.len(), rest: Rest::Unfinished });
    let chunked = "POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\nab\r\n0\r\n\r\n";
    assert_eq!(scan(chunked), Scan { good: chunked.find("\nab").unwrap(), rest: Rest::Broken });
}

#[test]
fn http_2_is_told_by_its_preface_at_the_very_start_only() {
    let preface = std::str::from_utf8(PREFACE).unwrap();
    let bytes = format!("{preface}\0\0\0\u{4}\0 anything\n");
    assert_eq!(scan(&bytes), Scan { good: bytes.len(), rest: Rest::Unfinished });
    assert_eq!(scan(&preface[..10]), Scan { good: 0, rest: Rest::Unfinished });
    let later = format!("GET / HTTP/1.1\r\nHost: a\r\n\r\n{preface}");
    assert_eq!(refusal(later), Some(MalformedRequest::Version));
    assert_eq!(refusal("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"), Some(MalformedRequest::Version));
}

#[test]
fn a_host_is_a_name_or_an_address_with_a_port_or_without() {
    for host in [
        "a",
        "a.example",
        "a.example:80",
        "a_b-c.example.:65535",
        "xn--bcher-kva.example",
        "192.0.2.1:8700",
        "[::1]",
        "[::1]:8700",
        "[2001:db8::1]:1",
        "a%20b",
    ] {
        assert!(is_host(host.as_bytes()), "{host}");
    }
    for host in [
        "",
        ":",
        ":80",
        "a:",
        "a:b",
        "a:8o",
        "a:65536",
        "a:99999",
        "a:000080",
        "a:-1",
        "a:+1",
        "a:1:2",
        "a: 1",
        "a :1",
        "a b",
        "a,b",
        "u@a",
        "a/b",
        "a?b",
        "a#b",
        "a\\b",
        "a\"",
        "[::1",
        "::1",
        "[::1]:",
        "[::1]x",
        "[::1]:x",
        "[::1]:99999",
        "[]",
        "[a]",
        "a[::1]",
        "[::1%25eth0]",
        "[1.2.3.4]",
        "é",
    ] {
        assert!(!is_host(host.as_bytes()), "{host}");
    }
}

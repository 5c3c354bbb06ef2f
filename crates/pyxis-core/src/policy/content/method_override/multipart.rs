//! Methods that a multipart body names.

use url::form_urlencoded;

use super::{NamedMethod, of_parameter};

/// Parts of a multipart form, found by their header alone: a file that looks like one only makes the verdict stricter.
/// Values are not read.
pub(super) fn named(body: &[u8]) -> Vec<NamedMethod> {
    let mut found = Vec::new();
    let mut lines = body.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        if !begins_disposition(line) {
            continue;
        }
        let mut header = String::from_utf8_lossy(line).into_owned();
        // A header goes on where the next line is indented (RFC 5322, section 2.2.3).
        while let Some(more) = lines.next_if(|line| line.starts_with(b" ") || line.starts_with(b"\t")) {
            header.push_str(&String::from_utf8_lossy(more));
        }
        let id = header
            .split_once(':')
            .filter(|_| is_content_id(line))
            .map(|(_, id)| id.trim().trim_matches(['<', '>']).to_owned());
        found.extend(names_in(&header).chain(id).find_map(|name| of_parameter(name, None)));
    }
    found
}

/// True for a line with the header that names a part. Some versions of Rack find it anywhere in a line, and fall back to
/// `Content-ID`.
fn begins_disposition(line: &[u8]) -> bool {
    let has = |header: &[u8]| line.windows(header.len()).any(|window| window.eq_ignore_ascii_case(header));
    has(b"content-disposition") || is_content_id(line)
}

fn is_content_id(line: &[u8]) -> bool {
    const HEADER: &[u8] = b"content-id";
    line.trim_ascii_start().get(..HEADER.len()).is_some_and(|start| start.eq_ignore_ascii_case(HEADER))
}

/// Every text in the header of a part that some reader takes for its name, also decoded.
fn names_in(header: &str) -> impl Iterator<Item = String> {
    let plain = header.replace('\\', "");
    let parameters: Vec<String> = plain.split(';').map(str::to_owned).collect();
    parameters.into_iter().flat_map(|parameter| {
        let (key, value) = parameter.split_once('=').unwrap_or_default();
        let is_name = matches!(&*key.trim().to_ascii_lowercase(), "name" | "name*");
        // `name*=UTF-8''_method` has the value after the last quote.
        let value = if key.contains('*') { value.rsplit('\'').next().unwrap_or_default() } else { value };
        let value = value.trim().trim_matches(['"', '\'']).to_owned();
        let decoded = form_urlencoded::parse(value.as_bytes()).next().map(|(name, _)| name.into_owned());
        is_name.then_some([Some(value), decoded]).into_iter().flatten().flatten()
    })
}

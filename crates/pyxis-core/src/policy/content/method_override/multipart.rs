//! Methods that a multipart body names.

use super::{NamedMethod, of_parameter};

const DISPOSITION: &[u8] = b"content-disposition";
const CONTENT_ID: &[u8] = b"content-id";

/// Parts of a multipart form, found by their header alone: a file that looks like one only makes the verdict stricter.
/// Values are not read.
///
/// Readers of forms disagree about every header but the plainest. Some need no `form-data`, some join `name*0` and
/// `name*1`, some decode `=?UTF-8?B?…?=`, some look for `name=` anywhere. So the name of a part is read in its
/// plain form alone. A header of any other form that has a name may name anything.
pub(super) fn find_overrides(body: &[u8]) -> Vec<NamedMethod> {
    let mut found = Vec::new();
    let mut lines = body.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        if !begins_disposition(line) {
            continue;
        }
        let mut header = text(line);
        // A header goes on where the next line is indented (RFC 5322, section 2.2.3).
        while let Some(more) = lines.next_if(|line| line.starts_with(b" ") || line.starts_with(b"\t")) {
            header.push_str(&text(more));
        }
        found.extend(in_header(&header));
    }
    found
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned()
}

/// True for a line with the header that names a part. Some versions of Rack find it anywhere in a line, and fall back to
/// `Content-ID`.
fn begins_disposition(line: &[u8]) -> bool {
    line.windows(DISPOSITION.len()).any(|window| window.eq_ignore_ascii_case(DISPOSITION))
        || starts_with(line.trim_ascii_start(), CONTENT_ID)
}

fn starts_with(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
}

fn in_header(header: &str) -> Option<NamedMethod> {
    if starts_with(header.trim_start().as_bytes(), CONTENT_ID) {
        let id = header.split_once(':').map_or("", |(_, id)| id.trim().trim_matches(['<', '>']));
        return of_parameter(id.to_owned(), None);
    }
    if !has_name(header) {
        return None;
    }
    match plain_name(header) {
        Some(name) => of_parameter(name.to_owned(), None),
        None => Some(NamedMethod { parameter: header.trim().to_owned(), method: None }),
    }
}

/// The name in `Content-Disposition: form-data; name="…"`, quoted or a token, with parameters after it that no reader
/// takes for a name.
fn plain_name(header: &str) -> Option<&str> {
    let (field, value) = header.split_once(':')?;
    let value = value.trim_start();
    if !field.as_bytes().eq_ignore_ascii_case(DISPOSITION) || !starts_with(value.as_bytes(), b"form-data") {
        return None;
    }
    let parameter = value["form-data".len()..].trim_start().strip_prefix(';')?.trim_start();
    if !starts_with(parameter.as_bytes(), b"name=") {
        return None;
    }
    let value = &parameter["name=".len()..];
    let (name, rest) = match value.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => value.split_at(value.find([';', ' ', '\t']).unwrap_or(value.len())),
    };
    let is_plain = !name.contains(|c: char| c.is_control() || "\"\\'%=?;*(,".contains(c));
    let rest = rest.trim_start();
    (is_plain && (rest.is_empty() || rest.starts_with(';')) && !has_name(rest)).then_some(name)
}

/// True if a reader can find a parameter in this text that names the part. These are `name`, `name*`, `name*0*`
/// and their like, which are no part of `filename`.
fn has_name(text: &str) -> bool {
    let lower = text.to_ascii_lowercase().replace('\\', "");
    lower.match_indices("name").any(|(at, name)| {
        let after = lower[at + name.len()..]
            .trim_start_matches(|c: char| " \t*\"'".contains(c) || c.is_ascii_digit());
        !lower[..at].ends_with("file") && (after.starts_with('=') || after.starts_with('('))
    })
}

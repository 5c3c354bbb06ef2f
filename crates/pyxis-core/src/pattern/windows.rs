//! Variants for hosts that name files as Windows does. Blanks and dots at the end of a name do not count, and a stream
//! of a file (`name::$DATA`) is the file.

/// Each segment as Windows names it: without its stream (`:name:$TYPE` or `::$TYPE`), and without blanks and dots at
/// its end. A segment of only those becomes a dot segment, of as many dots as it has, up to two.
pub(super) fn names(path: &[u8]) -> Option<Vec<u8>> {
    segments(path, |segment| {
        let bare = without_stream(segment);
        let mut dots = bare.iter().filter(|&&byte| byte == b'.');
        Some(match (trim(bare), dots.next(), dots.next()) {
            ([], None, _) => b"",
            ([], Some(_), None) => b".",
            ([], _, Some(_)) => b"..",
            (name, _, _) => name,
        })
    })
}

/// Removes segments of only blanks and dots, except dot segments.
pub(super) fn without_blank_segments(path: &[u8]) -> Option<Vec<u8>> {
    segments(path, |segment| (!is_blank(segment)).then_some(segment))
}

fn without_stream(segment: &[u8]) -> &[u8] {
    let mut parts = trim(segment).split(|&byte| byte == b':');
    let name = parts.next().unwrap_or_default();
    let is_stream = parts.next_back().is_some_and(|kind| kind.starts_with(b"$"));
    if is_stream { name } else { segment }
}

/// True for blanks and dots that are not already a dot segment.
fn is_blank(segment: &[u8]) -> bool {
    !matches!(segment, b"" | b"." | b"..") && trim(segment).is_empty()
}

/// The segment without the blanks and dots at its end.
fn trim(segment: &[u8]) -> &[u8] {
    let text = segment.utf8_chunks().last().filter(|chunk| chunk.invalid().is_empty());
    let end = text.map_or("", |chunk| chunk.valid());
    let kept = end.trim_end_matches(|character: char| character == '.' || character.is_whitespace());
    &segment[..segment.len() - (end.len() - kept.len())]
}

/// The path with each segment replaced by the result of `read`, or removed; `None` if that changes nothing.
fn segments<'a>(path: &'a [u8], read: impl Fn(&'a [u8]) -> Option<&'a [u8]>) -> Option<Vec<u8>> {
    let mut changed = false;
    let mut out = Vec::with_capacity(path.len());
    for (index, segment) in path.split(|&byte| byte == b'/').enumerate() {
        let reading = read(segment);
        changed |= reading != Some(segment);
        if index > 0 && reading.is_some() {
            out.push(b'/');
        }
        out.extend_from_slice(reading.unwrap_or_default());
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(step: fn(&[u8]) -> Option<Vec<u8>>, path: &str) -> Option<String> {
        step(path.as_bytes()).map(|out| String::from_utf8(out).unwrap())
    }

    #[test]
    fn blanks_and_dots_at_the_end_of_a_segment_do_not_count() {
        for (path, expected) in [
            ("/secret.", "/secret"),
            ("/secret /x. .", "/secret/x"),
            ("/a/.. /b", "/a/../b"),
            ("/a/.. ./b", "/a/../b"),
            ("/a/ ../b", "/a/../b"),
            ("/a/.../b", "/a/../b"),
            ("/a/. /b", "/a/./b"),
            ("/a/ /b", "/a//b"),
            ("/a\u{a0}\u{3000}", "/a"),
        ] {
            assert_eq!(read(names, path).as_deref(), Some(expected), "{path:?}");
        }
        for path in ["/", "/a.b/.c", "/a b", "/a/./b/..", "//a"] {
            assert_eq!(read(names, path), None, "{path:?}");
        }
        assert_eq!(names(b"/a\xFF."), Some(b"/a\xFF".to_vec()));
    }

    #[test]
    fn a_segment_of_blanks_and_dots_may_be_dropped() {
        assert_eq!(read(without_blank_segments, "/a/.. ./b/ ").as_deref(), Some("/a/b"));
        assert_eq!(read(without_blank_segments, "/...").as_deref(), Some(""));
        assert_eq!(read(without_blank_segments, "/a/../b/./c//d"), None);
    }

    #[test]
    fn a_stream_is_its_file() {
        for (path, expected) in [
            ("/a::$DATA", "/a"),
            ("/a.txt::$data/b", "/a.txt/b"),
            ("/a:$I30:$INDEX_ALLOCATION/b", "/a/b"),
            ("/a:$DATA", "/a"),
            ("/a. ::$DATA. ", "/a"),
            ("/a/..::$DATA/b", "/a/../b"),
        ] {
            assert_eq!(read(names, path).as_deref(), Some(expected), "{path}");
        }
        for path in ["/v1/doc:publish", "/a:b:c", "/$ref", "/a$b"] {
            assert_eq!(read(names, path), None, "{path}");
        }
    }
}

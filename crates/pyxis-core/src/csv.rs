//! Cells and lines of CSV (RFC 4180) that no spreadsheet executes.

/// A cell: quoted if necessary, and never a formula. A text that begins like one gets a leading apostrophe.
pub fn cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        format!("{guard}{text}")
    }
}

/// A line of such cells, without its line end.
pub fn line(texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    texts.into_iter().map(|text| cell(text.as_ref())).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_where_needed_and_never_a_formula() {
        for (text, safe) in [
            ("plain", "plain"),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
            ("a,\"b\"", "\"a,\"\"b\"\"\""),
            ("-1,2", "\"'-1,2\""),
            ("", ""),
        ] {
            assert_eq!(cell(text), safe);
        }
        assert_eq!(line(["a", "b,c", "=d"]), "a,\"b,c\",'=d");
    }
}

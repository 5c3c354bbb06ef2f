//! The text that replaces a secret.

use memchr::memmem;

use crate::secret_variants::Forms;

/// Wording of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wording {
    /// `[REDACTED:<label>]`.
    Tag,
    /// ``[contains the secret of `<label>`]``.
    Sentence,
}

/// The label in the given wording, or a plainer text if a secret could be read from that.
///
/// The tag does not contain a form and is not part of one. It neither starts with the end of a form nor ends with the
/// start of one. No surrounding text can therefore form a secret together with it.
pub(crate) fn safe_tag(label: &str, wording: Wording, forms: &Forms) -> Vec<u8> {
    let label: String = label.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let sentence =
        (wording == Wording::Sentence).then(|| format!("[contains the secret of `{label}`]")).into_iter();
    let tags = ["[]", "()", "{}", "<>"].into_iter().flat_map(|brackets| {
        let (open, close) = brackets.split_at(1);
        [format!("{open}REDACTED:{label}{close}"), format!("{open}REDACTED{close}")]
    });
    let worded = sentence.chain(tags);
    // None of the single bytes can continue an escape. A textual secret cannot contain all of them, since UTF-8 never
    // contains 0xff.
    let printable = b"*-_.~=|^!?$@,: ".iter().copied();
    let single = printable.chain(0x80..=0xff);
    worded
        .map(String::into_bytes)
        .chain(single.map(|byte| vec![byte]))
        .find(|tag| forms.iter().all(|form| is_safe(tag, &form.bytes[..form.core])))
        .unwrap_or_default()
}

/// True for characters that cannot start an escape.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-:@/".contains(c)
}

fn is_safe(tag: &[u8], form: &[u8]) -> bool {
    let overlap = 1..=tag.len().min(form.len());
    memmem::find(tag, form).is_none()
        && memmem::find(form, tag).is_none()
        && overlap
            .into_iter()
            .all(|len| !tag.starts_with(&form[form.len() - len..]) && !tag.ends_with(&form[..len]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(secret: &[u8]) -> String {
        String::from_utf8(safe_tag("cred", Wording::Tag, &Forms::derive(&[secret]))).expect("the tag is text")
    }

    #[test]
    fn the_label_stands_in_the_tag_unless_it_would_show_a_secret() {
        assert_eq!(tag(b"hunter2"), "[REDACTED:cred]");
        assert_eq!(tag(b"cred"), "[REDACTED]");
        assert_eq!(tag(b"E"), "*");
        assert_eq!(tag(b"abc["), "(REDACTED:cred)");
        assert_eq!(tag(b"]abc"), "(REDACTED:cred)");
        assert_eq!(tag(b"x[REDACTED:cred]y"), "[REDACTED]");
    }

    #[test]
    fn a_label_cannot_smuggle_an_escape() {
        let tag = safe_tag("a%41\\u0041&amp;", Wording::Tag, &Forms::derive(&[b"hunter2"]));
        assert_eq!(tag, b"[REDACTED:a_41_u0041_amp_]");
    }
}

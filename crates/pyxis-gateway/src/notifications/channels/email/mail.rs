//! A message as mail: headers, plain text, and the same as HTML (RFC 5322, RFC 2045).

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::{Address, Message};
use pyxis_core::brand::Accent;
use pyxis_core::clock::UnixMillis;
use pyxis_core::hex;
use pyxis_core::preview::visible;
use sha2::{Digest, Sha256};

use crate::notifications::channels::message_content::escaped;

/// Longest subject, in characters.
const SUBJECT: usize = 140;

/// A message to write.
pub(super) struct Letter<'a> {
    pub(super) to: &'a Address,
    /// Lines of the message. The first two are the subject as well.
    pub(super) text: &'a str,
    /// Approval page.
    pub(super) url: &'a str,
    pub(super) accent: Option<Accent>,
}

/// A message to send.
pub(super) struct Mail {
    /// `Message-ID`.
    pub(super) id: String,
    pub(super) content: Vec<u8>,
}

impl Letter<'_> {
    /// The mail about this. The `Message-ID` depends on `id` and the sender only, so another attempt has the same one,
    /// and mail programs show both as one.
    pub(super) fn written(
        &self,
        from: &Mailbox,
        id: &str,
        now: UnixMillis,
    ) -> Result<Mail, lettre::error::Error> {
        let message_id = format!("<{id}@{}>", from.email.domain());
        let date = UNIX_EPOCH + Duration::from_secs(u64::try_from(now.seconds()).unwrap_or(0));
        // Agents cannot know the id, so no text of theirs holds the boundary.
        let boundary = format!("px-{}", hex::encode(&Sha256::digest(&message_id)[..16]));
        let parts = MultiPart::alternative()
            .boundary(boundary)
            .singlepart(SinglePart::plain(self.text.to_owned()))
            .singlepart(SinglePart::html(self.html()));
        let message = Message::builder()
            .from(from.clone())
            .to(Mailbox::new(None, self.to.clone()))
            .subject(self.subject())
            .date(date)
            .message_id(Some(message_id.clone()))
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ))
            .multipart(parts)?;
        Ok(Mail { id: message_id, content: message.formatted() })
    }

    /// `Acme · Approval needed: bot wants to use billing`, without line breaks.
    fn subject(&self) -> String {
        let text = self.text.lines().take(2).collect::<Vec<_>>().join(": ");
        let flat = |c: char| if c.is_whitespace() || c.is_control() { ' ' } else { visible(c) };
        let mut subject: String = text.chars().take(SUBJECT).map(flat).collect();
        if text.chars().nth(SUBJECT).is_some() {
            subject.push('…');
        }
        subject
    }

    /// The same lines. Only the link to the approval page is a link.
    fn html(&self) -> String {
        let mut body = String::new();
        for (index, line) in self.text.lines().enumerate() {
            let shown = match line.strip_suffix(self.url).and_then(|line| line.strip_suffix(": ")) {
                Some(words) if !self.url.is_empty() => {
                    let url = escaped(self.url);
                    format!("<a href=\"{url}\"><b>{}</b></a><br>{url}", escaped(words))
                }
                Some(_) | None => escaped(line),
            };
            // Writing to a text cannot fail.
            let _ = match (index, self.accent) {
                (0, Some(accent)) => {
                    let color = accent.text_on();
                    let style = format!("background:{accent};color:{color};padding:4px 8px");
                    write!(body, "<p style=\"{style}\"><b>{shown}</b></p>\n<p>")
                }
                (0, None) => write!(body, "<p><b>{shown}</b></p>\n<p>"),
                _ => writeln!(body, "{shown}<br>"),
            };
        }
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>{}</title></head>\n\
             <body style=\"font-family:sans-serif;line-height:1.5;overflow-wrap:anywhere\">\n{body}</p>\n</body></html>\n",
            escaped(&self.subject())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://px.example.com/approve/1";

    const ID: &str = "0197a1b2-0000-7000-8000-000000000001";

    fn mail(text: &str, accent: Option<&str>) -> Mail {
        let to = "ops@example.com".parse().unwrap();
        let accent = accent.and_then(Accent::parse);
        let letter = Letter { to: &to, text, url: URL, accent };
        letter
            .written(&"Pyxis <px@mail.example>".parse().unwrap(), ID, UnixMillis(1_767_225_600_000))
            .unwrap()
    }

    fn content(text: &str) -> String {
        String::from_utf8(mail(text, None).content).unwrap()
    }

    /// The header section, unfolded.
    fn headers(content: &str) -> Vec<String> {
        let head = content.split("\r\n\r\n").next().unwrap().replace("\r\n ", " ");
        head.split("\r\n").map(str::to_owned).collect()
    }

    #[test]
    fn a_mail_has_a_date_of_the_clock_and_an_id_of_the_message() {
        let first = mail(&format!("Pyxis · Approval needed\nbot wants to use api\nRead: {URL}"), None);
        assert_eq!(first.id, format!("<{ID}@mail.example>"));
        let text = String::from_utf8(first.content).unwrap();
        let headers = headers(&text);
        for expected in [
            "From: Pyxis <px@mail.example>",
            "To: ops@example.com",
            "Date: Thu, 01 Jan 2026 00:00:00 +0000",
            &format!("Message-ID: {}", first.id),
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
        ] {
            assert!(headers.iter().any(|header| header == expected), "{expected}: {headers:?}");
        }
        assert!(text.is_ascii() && text.split("\r\n").all(|line| line.len() <= 998));
    }

    #[test]
    fn no_text_becomes_a_header_or_a_part() {
        let hostile =
            "A\r\nBcc: eve@example.com\nb\r\n\r\n--px\r\nContent-Type: text/html\r\n.\r\nMAIL FROM:<x@y>";
        let text = content(&format!("{hostile}\u{2028}é {}", "x".repeat(5000)));
        let headers = headers(&text);
        let names: Vec<_> = headers.iter().map(|header| header.split(':').next().unwrap()).collect();
        assert_eq!(headers.len(), 8, "{headers:?}");
        assert!(!names.contains(&"Bcc"), "{headers:?}");
        assert_eq!(names.iter().filter(|name| **name == "Subject").count(), 1);
        let boundary = text.split("boundary=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(text.matches(&format!("\r\n--{boundary}")).count(), 3, "{text}");
        assert!(text.is_ascii() && text.split("\r\n").all(|line| line.len() <= 998));
    }

    #[test]
    fn a_long_subject_is_cut_between_characters() {
        let to = "ops@example.com".parse().unwrap();
        let text = format!("{}\nb", "é".repeat(500));
        let letter = Letter { to: &to, text: &text, url: URL, accent: None };
        assert_eq!(letter.subject().chars().count(), SUBJECT + 1);
    }

    #[test]
    fn html_escapes_every_text_and_links_only_to_the_page() {
        let to = "ops@example.com".parse().unwrap();
        let text =
            format!("<Acme>\nb & c\n│ https://evil.example\nRead the full request and approve: {URL}\nend");
        let letter = Letter { to: &to, text: &text, url: URL, accent: Accent::parse("#ffe066") };
        let html = letter.html();
        assert!(html.contains("<b>&lt;Acme&gt;</b>") && html.contains("b &amp; c<br>"), "{html}");
        assert!(html.contains("background:#ffe066;color:#000000"), "{html}");
        assert_eq!(html.matches("<a ").count(), 1, "{html}");
        let link = format!("<a href=\"{URL}\"><b>Read the full request and approve</b></a><br>{URL}<br>");
        assert!(html.contains(&link), "{html}");
    }
}

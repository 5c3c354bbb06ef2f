//! Replies of SMTP servers (RFC 5321, section 4.2).

use pyxis_core::preview::visible;

/// Largest reply, in bytes.
const MAX_REPLY: usize = 16 * 1024;
/// Longest text of a reply that is shown, in characters.
const MAX_SHOWN: usize = 300;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    /// Texts of the lines, without codes.
    pub(super) lines: Vec<String>,
}

/// Reasons that bytes are no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("the server sent something that is not an SMTP reply; check the port")]
    NotSmtp,
    #[error("the server sent a reply of more than 16 KiB")]
    TooLong,
}

impl Reply {
    /// Removes one complete reply from the start of `unread`. `None` if more bytes are needed.
    pub(super) fn take(unread: &mut Vec<u8>) -> Result<Option<Self>, Malformed> {
        let (mut lines, mut start) = (Vec::new(), 0);
        let mut first = None;
        while let Some(length) = unread[start..].iter().position(|byte| *byte == b'\n') {
            let line = &unread[start..start + length];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            start += length + 1;
            if start > MAX_REPLY {
                return Err(Malformed::TooLong);
            }
            let (code, last, text) = split(line).ok_or(Malformed::NotSmtp)?;
            if *first.get_or_insert(code) != code {
                return Err(Malformed::NotSmtp);
            }
            lines.push(text);
            if last {
                unread.drain(..start);
                return Ok(Some(Self { code, lines }));
            }
        }
        // Another protocol may never send an end of line.
        let begun = &unread[start..];
        if !begun.iter().take(3).all(u8::is_ascii_digit) {
            return Err(Malformed::NotSmtp);
        }
        if unread.len() > MAX_REPLY { Err(Malformed::TooLong) } else { Ok(None) }
    }

    /// True for 2xx and 3xx.
    pub(super) const fn is_positive(&self) -> bool {
        self.code < 400
    }

    /// Code and text on one line, with invisible characters replaced, and not too long.
    pub(super) fn on_one_line(&self) -> String {
        let text = self.lines.join(" ");
        let flat = text.chars().map(|c| if c.is_whitespace() { ' ' } else { visible(c) });
        format!("{} {}", self.code, flat.take(MAX_SHOWN).collect::<String>()).trim_end().to_owned()
    }
}

/// Code of a line, true if it is the last, and its text.
fn split(line: &[u8]) -> Option<(u16, bool, String)> {
    let (code, rest) = line.split_at_checked(3)?;
    let [b'2'..=b'5', second, third] = *code else { return None };
    if !second.is_ascii_digit() || !third.is_ascii_digit() {
        return None;
    }
    let number = code.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
    let (last, text) = match rest {
        [] => (true, rest),
        [b' ', text @ ..] => (true, text),
        [b'-', text @ ..] => (false, text),
        _ => return None,
    };
    Some((number, last, String::from_utf8_lossy(text).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(text: &str) -> (Result<Option<Reply>, Malformed>, String) {
        let mut unread = text.as_bytes().to_vec();
        let taken = Reply::take(&mut unread);
        (taken, String::from_utf8(unread).unwrap())
    }

    fn reply(code: u16, lines: &[&str]) -> Reply {
        Reply { code, lines: lines.iter().map(|&line| line.to_owned()).collect() }
    }

    #[test]
    fn a_reply_ends_with_the_line_that_has_no_hyphen_and_the_rest_stays() {
        let whole = "250-mail.example\r\n250-AUTH PLAIN\r\n250 OK\r\n";
        assert_eq!(take(whole).0.unwrap(), Some(reply(250, &["mail.example", "AUTH PLAIN", "OK"])));
        assert_eq!(
            take("220\r\n250 injected\r\n"),
            (Ok(Some(reply(220, &[""]))), "250 injected\r\n".to_owned())
        );
        assert_eq!(take("354 go on\n").0.unwrap(), Some(reply(354, &["go on"])));
        for end in 0..whole.len() {
            assert_eq!(take(&whole[..end]), (Ok(None), whole[..end].to_owned()), "{end}");
        }
    }

    #[test]
    fn what_is_no_reply_is_refused_at_once() {
        for wrong in [
            "HTTP/1.1 400 Bad Request\r\n",
            "\r\n",
            "25\r\n",
            "250x\r\n",
            "150 early\r\n",
            "650 late\r\n",
            "2x0 a\r\n",
            "250-a\r\n251 b\r\n",
            "\u{16}\u{3}\u{1}",
            "SSH",
        ] {
            assert_eq!(take(wrong).0, Err(Malformed::NotSmtp), "{wrong:?}");
        }
    }

    #[test]
    fn a_reply_that_never_ends_is_refused_however_it_is_cut() {
        assert_eq!(take(&format!("250 {}", "a".repeat(MAX_REPLY))).0, Err(Malformed::TooLong));
        assert_eq!(take(&"250-a\r\n".repeat(MAX_REPLY / 7 + 1)).0, Err(Malformed::TooLong));
    }

    #[test]
    fn a_reply_is_shown_on_one_line() {
        assert_eq!(
            reply(550, &["5.1.1 no\u{7}", "such\u{202e} user"]).on_one_line(),
            "550 5.1.1 no\u{fffd} such\u{fffd} user"
        );
        assert_eq!(reply(550, &[""]).on_one_line(), "550");
        assert_eq!(reply(550, &[&"a".repeat(9000)]).on_one_line().len(), 4 + MAX_SHOWN);
    }
}

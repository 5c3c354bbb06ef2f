//! One keep-alive connection, which has one request under way at a time.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::template::Template;

/// Headers in an answer, at most.
const HEADERS: usize = 64;

/// A stream to `address`, never waited for.
pub fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// A request that is due.
pub struct Due {
    pub number: u32,
    pub at: Instant,
}

/// A connection, the requests that wait for it, and what it has of the answer to the one under way.
pub struct Connection {
    /// `None` when the server has closed it.
    stream: Option<TcpStream>,
    waiting: VecDeque<Due>,
    under_way: Option<Due>,
    answer: Vec<u8>,
    read_into: Box<[u8]>,
}

impl Connection {
    pub fn over(stream: TcpStream) -> Self {
        Self {
            stream: Some(stream),
            waiting: VecDeque::new(),
            under_way: None,
            answer: Vec::new(),
            read_into: vec![0; 64 * 1024].into(),
        }
    }

    pub fn push(&mut self, due: Due) {
        self.waiting.push_back(due);
    }

    /// Sends what is due next, unless a request is under way; one that cannot be sent is given back.
    pub fn send(&mut self, template: &mut Template) -> Result<Option<Due>> {
        if self.under_way.is_some() {
            return Ok(None);
        }
        let Some(due) = self.waiting.pop_front() else { return Ok(None) };
        let Some(stream) = &mut self.stream else { return Ok(Some(due)) };
        let bytes = template.fill(due.number)?;
        match stream.write(bytes) {
            Ok(written) if written == bytes.len() => self.under_way = Some(due),
            Ok(_) => bail!("a request does not fit into the buffer of its connection"),
            Err(_) => {
                self.stream = None;
                return Ok(Some(due));
            }
        }
        Ok(None)
    }

    /// Reads what is there. An answer that is complete comes back with its status, or without one where the
    /// connection broke.
    pub fn read(&mut self) -> Result<Option<(Due, Option<u16>)>> {
        let Some(stream) = &mut self.stream else { return Ok(None) };
        let status = match stream.read(&mut self.read_into) {
            Ok(count) if count > 0 => {
                self.answer.extend_from_slice(&self.read_into[..count]);
                match complete(&self.answer)? {
                    Some((status, length)) if length == self.answer.len() => Some(status),
                    Some(_) => bail!("the server sent more than it was asked for"),
                    None => return Ok(None),
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(None);
            }
            Ok(_) | Err(_) => {
                self.stream = None;
                None
            }
        };
        self.answer.clear();
        Ok(self.under_way.take().map(|due| (due, status)))
    }
}

/// Status and length of the answer that `bytes` begin with, if all of it is there.
fn complete(bytes: &[u8]) -> Result<Option<(u16, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut answer = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head) = answer.parse(bytes)? else { return Ok(None) };
    let status = answer.code.context("an answer without a status")?;
    let length = answer.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let body = match length {
        Some(length) => std::str::from_utf8(length.value)?.parse()?,
        None if matches!(status, 204 | 304) => 0,
        None => {
            bail!("an answer of status {status} without Content-Length, which this generator does not read")
        }
    };
    Ok((bytes.len() >= head + body).then_some((status, head + body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_complete_with_the_last_byte_of_its_body() {
        let answer = b"HTTP/1.1 202 Accepted\r\ncontent-length: 3\r\n\r\nabc";
        for end in 0..answer.len() {
            assert_eq!(complete(&answer[..end]).unwrap(), None, "{end}");
        }
        assert_eq!(complete(answer).unwrap(), Some((202, answer.len())));
        assert_eq!(complete(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap(), Some((204, 27)));
    }

    #[test]
    fn an_answer_whose_end_cannot_be_told_is_an_error() {
        assert!(complete(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
    }
}

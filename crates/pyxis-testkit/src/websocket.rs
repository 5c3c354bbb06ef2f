//! WebSocket (RFC 6455) byte by byte: a host that a test drives, and a client.
//!
//! Written apart from the code under test, so that a misreading of the standard shows.

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::ServerConfig;
use sha1::{Digest, Sha1};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// Kind of a frame, by its number on the wire.
pub const TEXT: u8 = 1;
/// See [`TEXT`].
pub const CONTINUATION: u8 = 0;
/// See [`TEXT`].
pub const CLOSE: u8 = 8;
/// See [`TEXT`].
pub const PING: u8 = 9;
/// See [`TEXT`].
pub const PONG: u8 = 10;

/// Key of every client here.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

/// Response to a handshake, from its head.
type HandshakeResponder = dyn Fn(&MessageHead) -> String + Send + Sync;

/// A host that accepts WebSockets. It ends with this value.
pub struct WebSocketHost {
    address: SocketAddr,
    scheme: &'static str,
    opened: UnboundedReceiver<Socket>,
    accepting: JoinHandle<()>,
}

impl WebSocketHost {
    /// Accepts every handshake.
    pub async fn listen(address: SocketAddr, tls: Option<Arc<ServerConfig>>) -> Self {
        Self::answering(address, tls, accepted).await
    }

    /// Answers a handshake with the head and the body that `answer` returns.
    pub async fn answering(
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
        answer: impl Fn(&MessageHead) -> String + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("an address to listen on");
        let address = listener.local_addr().expect("the address of the listener");
        let (sender, opened) = mpsc::unbounded_channel();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let (tls, answer): (Option<TlsAcceptor>, Arc<HandshakeResponder>) =
            (tls.map(Into::into), Arc::new(answer));
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (sender, tls, answer) = (sender.clone(), tls.clone(), Arc::clone(&answer));
                tokio::spawn(async move {
                    let stream: Box<dyn Stream> = match tls {
                        None => Box::new(stream),
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => return,
                        },
                    };
                    let mut socket = Socket { stream, head: MessageHead::default(), is_client: false };
                    socket.head = socket.read_head().await;
                    socket.send(answer(&socket.head).as_bytes()).await;
                    // A test that has ended wants no more.
                    drop(sender.send(socket));
                });
            }
        });
        Self { address, scheme, opened, accepting }
    }

    /// Address that it listens on.
    pub const fn addr(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// The next connection, after its handshake was answered.
    pub async fn accept(&mut self) -> Socket {
        self.opened.recv().await.expect("a running host")
    }

    /// The next connection, if there is one by now.
    pub fn accepted_by_now(&mut self) -> Option<Socket> {
        self.opened.try_recv().ok()
    }
}

impl Drop for WebSocketHost {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The right answer to a handshake.
pub fn accepted(head: &MessageHead) -> String {
    let key = head.header("sec-websocket-key").unwrap_or_default();
    let digest = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\n\r\n",
        STANDARD.encode(digest)
    )
}

/// The head of a request or response: its first line and its fields.
#[derive(Clone, Debug, Default)]
pub struct MessageHead {
    /// Request line or status line.
    pub line: String,
    fields: Vec<(String, String)>,
}

impl MessageHead {
    /// The value of a header. Panics if it occurs more than once.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.fields.iter().filter(|(found, _)| found.eq_ignore_ascii_case(name));
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "header {name} came more than once");
        value
    }

    /// Status of a response.
    pub fn status(&self) -> u16 {
        self.line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line")
    }
}

/// A frame as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// True for the last fragment of a message.
    pub is_last: bool,
    /// Kind.
    pub opcode: u8,
    /// Payload without its mask.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The payload as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.payload).expect("UTF-8")
    }

    /// Status code of a close frame.
    pub fn close_code(&self) -> u16 {
        assert_eq!(self.opcode, CLOSE, "{self:?}");
        u16::from_be_bytes(self.payload[..2].try_into().expect("two bytes"))
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// One side of a connection.
pub struct Socket {
    stream: Box<dyn Stream>,
    /// Head that the other side sent: of the request at a host, of the response at a client.
    pub head: MessageHead,
    /// True if this side masks its frames.
    is_client: bool,
}

impl Socket {
    /// Sends a handshake to a program under test and reads the head of the response.
    pub async fn open(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Self {
        #[expect(clippy::disallowed_methods, reason = "a test dials the program itself")]
        let stream = TcpStream::connect(address).await.expect("the program listens");
        let mut socket = Self { stream: Box::new(stream), head: MessageHead::default(), is_client: true };
        let usual = [
            ("Host", address.to_string()),
            ("Connection", "keep-alive, Upgrade".to_owned()),
            ("Upgrade", "websocket".to_owned()),
            ("Sec-WebSocket-Version", "13".to_owned()),
            ("Sec-WebSocket-Key", KEY.to_owned()),
            ("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits".to_owned()),
        ];
        let is_given = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let mut head = format!("GET {path} HTTP/1.1\r\n");
        for (name, value) in usual.iter().filter(|(name, _)| !is_given(name)) {
            head.extend([name, ": ", value, "\r\n"]);
        }
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.push_str("\r\n");
        socket.send(head.as_bytes()).await;
        socket.head = socket.read_head().await;
        socket
    }

    /// Two sockets on the same connection: one to read from, one to write to.
    pub fn split(self) -> (Self, Self) {
        let (head, is_client) = (self.head.clone(), self.is_client);
        let (read, write) = tokio::io::split(self.stream);
        let reader = Box::new(tokio::io::join(read, tokio::io::sink()));
        let writer = Box::new(tokio::io::join(tokio::io::empty(), write));
        (Self { stream: reader, head: head.clone(), is_client }, Self { stream: writer, head, is_client })
    }

    /// Checks that the WebSocket is open: the answer belongs to the key.
    #[must_use]
    #[track_caller]
    pub fn opened(self) -> Self {
        assert_eq!(self.head.status(), 101, "{:?}", self.head);
        assert_eq!(self.head.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        self
    }

    /// The body of a response with a length.
    pub async fn body(&mut self) -> String {
        let length = self.head.header("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.expect("a length")];
        self.stream.read_exact(&mut body).await.expect("the body");
        String::from_utf8(body).expect("text")
    }

    async fn read_head(&mut self) -> MessageHead {
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            text.push(self.stream.read_u8().await.expect("a whole head"));
        }
        let text = String::from_utf8(text).expect("text");
        let mut lines = text.trim_end().lines();
        let line = lines.next().unwrap_or_default().to_owned();
        let field = |line: &str| {
            let (name, value) = line.split_once(':').expect("a header");
            (name.to_owned(), value.trim().to_owned())
        };
        MessageHead { line, fields: lines.map(field).collect() }
    }

    /// Sends bytes as they are. A connection that has ended is no matter here; the next read tells.
    pub async fn send(&mut self, bytes: &[u8]) {
        drop(self.stream.write_all(bytes).await);
        drop(self.stream.flush().await);
    }

    /// Sends one frame.
    pub async fn frame(&mut self, is_last: bool, opcode: u8, payload: &[u8]) {
        let mut bytes = vec![u8::from(is_last) << 7 | opcode];
        let mask_bit = u8::from(self.is_client) << 7;
        if payload.len() < 126 {
            bytes.push(mask_bit | u8::try_from(payload.len()).expect("a short payload"));
        } else if let Ok(length) = u16::try_from(payload.len()) {
            bytes.push(mask_bit + 126);
            bytes.extend_from_slice(&length.to_be_bytes());
        } else {
            bytes.push(mask_bit + 127);
            bytes.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
        let mask = [0x11, 0x22, 0x33, 0x44];
        if self.is_client {
            bytes.extend_from_slice(&mask);
            bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, key)| byte ^ key));
        } else {
            bytes.extend_from_slice(payload);
        }
        self.send(&bytes).await;
    }

    /// Sends a whole message of text.
    pub async fn text(&mut self, text: &str) {
        self.frame(true, TEXT, text.as_bytes()).await;
    }

    /// Sends a close frame.
    pub async fn close(&mut self, code: u16, reason: &str) {
        self.frame(true, CLOSE, &[&code.to_be_bytes(), reason.as_bytes()].concat()).await;
    }

    /// The next frame; `None` at the end of the connection.
    pub async fn receive(&mut self) -> Option<Frame> {
        let first = self.stream.read_u8().await.ok()?;
        let second = self.stream.read_u8().await.ok()?;
        assert_eq!(first & 0x70, 0, "reserved bits");
        assert_eq!(second & 0x80 != 0, !self.is_client, "a client masks, a server does not");
        let length = match second & 0x7F {
            126 => u64::from(self.stream.read_u16().await.ok()?),
            127 => self.stream.read_u64().await.ok()?,
            short => u64::from(short),
        };
        let mut mask = [0; 4];
        if !self.is_client {
            self.stream.read_exact(&mut mask).await.ok()?;
        }
        let mut payload = vec![0; usize::try_from(length).expect("a length that fits")];
        self.stream.read_exact(&mut payload).await.ok()?;
        for (byte, key) in payload.iter_mut().zip(mask.iter().cycle()) {
            *byte ^= key;
        }
        Some(Frame { is_last: first & 0x80 != 0, opcode: first & 0x0F, payload })
    }

    /// The next message, from all its fragments.
    pub async fn message(&mut self) -> String {
        let mut whole = Vec::new();
        loop {
            let frame = self.receive().await.expect("a message");
            assert!(frame.opcode <= 2, "{frame:?}");
            whole.extend_from_slice(&frame.payload);
            if frame.is_last {
                return String::from_utf8(whole).expect("UTF-8");
            }
        }
    }
}

//! A mail server without encryption whose dialogs meet [`Faults`].

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::faults::{Fault, Faults};

/// A running server. Stops when dropped.
pub struct FaultyMailServer {
    port: u16,
    mails: Arc<Mutex<Vec<String>>>,
    accepting: JoinHandle<()>,
}

impl FaultyMailServer {
    /// Starts on a free local port.
    pub async fn start(faults: Arc<Faults>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address to listen on");
        let port = listener.local_addr().expect("an address").port();
        let mails = Arc::new(Mutex::new(Vec::new()));
        let accepting = tokio::spawn(accept(listener, faults, Arc::clone(&mails)));
        Self { port, mails, accepting }
    }

    /// Listening port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Accepted mails, oldest first, with their headers and without the line breaks of quoted-printable.
    pub fn mails(&self) -> Vec<String> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for FaultyMailServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, faults: Arc<Faults>, mails: Arc<Mutex<Vec<String>>>) {
    while let Ok((stream, _)) = listener.accept().await {
        if faults.is_down() {
            continue;
        }
        let (faults, mails) = (Arc::clone(&faults), Arc::clone(&mails));
        tokio::spawn(async move {
            let fault = faults.draw();
            tokio::select! {
                // The client may disconnect at any time.
                _ = serve(stream, fault, &mails) => {}
                () = faults.cut_off() => {}
            }
        });
    }
}

async fn serve(stream: TcpStream, fault: Fault, mails: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    match fault {
        Fault::CutBefore => return Ok(()),
        Fault::Limited(_) => return stream.write_all(b"421 4.7.0 too many connections\r\n").await,
        Fault::None | Fault::Refused(_) | Fault::CutAfter => {}
    }
    let refused_at = match fault {
        Fault::Refused(500) => Some("MAIL"),
        Fault::Refused(502) => Some("RCPT"),
        Fault::Refused(_) => Some("."),
        _ => None,
    };
    stream.write_all(b"220 mail.example.com ESMTP\r\n").await?;
    let (mut content, mut in_content) = (String::new(), false);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let word = line.trim_end().split(' ').next().unwrap_or_default().to_ascii_uppercase();
        if in_content && word != "." {
            content.push_str(&line);
            continue;
        }
        in_content = word == "DATA";
        let is_refused = refused_at == Some(word.as_str());
        let mail = if word == "." { std::mem::take(&mut content) } else { String::new() };
        if word == "." && !is_refused {
            let mail = mail.replace("=\r\n", "").replace("=3D", "=");
            mails.lock().unwrap_or_else(PoisonError::into_inner).push(mail);
            if fault == Fault::CutAfter {
                return Ok(());
            }
        }
        let reply: &[u8] = match word.as_str() {
            _ if is_refused => b"451 4.3.0 try again later\r\n",
            "DATA" => b"354 go on\r\n",
            "QUIT" => b"221 bye\r\n",
            _ => b"250 OK\r\n",
        };
        stream.write_all(reply).await?;
    }
}

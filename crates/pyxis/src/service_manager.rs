//! Notices to the service manager that started this process: datagrams to `NOTIFY_SOCKET` (`sd_notify(3)`).

use std::os::unix::net::UnixDatagram;

use crate::config::env::{Env, ProcessEnv};

/// A change that a service manager acts on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Notice {
    /// Requests are accepted.
    Ready,
    /// No more requests are accepted; open ones finish.
    Stopping,
}

impl Notice {
    const fn text(self) -> &'static [u8] {
        match self {
            Self::Ready => b"READY=1",
            Self::Stopping => b"STOPPING=1",
        }
    }
}

/// Sends a notice, if a service manager waits for one. A lost notice is its problem: the server goes on.
pub(crate) fn notify(notice: Notice) {
    let Some(address) = ProcessEnv.var("NOTIFY_SOCKET") else { return };
    let sent = UnixDatagram::unbound().and_then(|socket| {
        socket.set_nonblocking(true)?;
        send(&socket, &address, notice.text())
    });
    if let Err(error) = sent {
        tracing::warn!(%error, "cannot notify the service manager at NOTIFY_SOCKET");
    }
}

/// Sends to a socket in the file system, or to an abstract one, whose address begins with `@`.
fn send(socket: &UnixDatagram, address: &str, text: &[u8]) -> std::io::Result<usize> {
    #[cfg(target_os = "linux")]
    if let Some(name) = address.strip_prefix('@') {
        use std::os::linux::net::SocketAddrExt;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        return socket.send_to_addr(text, &address);
    }
    socket.send_to(text, address)
}

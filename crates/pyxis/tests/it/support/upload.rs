//! A request body that comes from a channel.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::mpsc;

pub(super) struct Upload(mpsc::Receiver<Bytes>);

impl Upload {
    /// At most one piece waits, so that the sender notices when no one reads.
    pub(super) fn new() -> (mpsc::Sender<Bytes>, Self) {
        let (sender, receiver) = mpsc::channel(1);
        (sender, Self(receiver))
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// A body of `size` zero bytes cut in pieces, for uploads that must not be held in memory.
pub(crate) async fn send_zeros(sender: mpsc::Sender<Bytes>, size: usize) {
    let piece = Bytes::from(vec![0; 64 * 1024]);
    for _ in 0..size / piece.len() {
        if sender.send(piece.clone()).await.is_err() {
            break;
        }
    }
}

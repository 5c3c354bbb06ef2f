//! A part of a file as a request body, with its hash.

use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context as Poller, Poll, ready};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pyxis_core::hex;
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncSeekExt, ReadBuf};

/// Bytes read from the file at once.
const PIECE: usize = 64 * 1024;

/// Bytes of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilePart<'a> {
    pub(super) path: &'a Path,
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl FilePart<'_> {
    /// SHA-256, hex.
    pub(super) async fn hash(&self) -> Result<String> {
        let (path, offset, length) = (self.path.to_owned(), self.offset, self.length);
        tokio::task::spawn_blocking(move || hash(&path, offset, length)).await?
    }

    pub(super) async fn body(&self) -> Result<FileBody> {
        let mut file = File::open(self.path).await?;
        file.seek(SeekFrom::Start(self.offset)).await?;
        Ok(FileBody { file, left: self.length, piece: vec![0; PIECE] })
    }
}

fn hash(path: &Path, offset: u64, length: u64) -> Result<String> {
    let context = || format!("cannot read {}", path.display());
    let mut file = fs::File::open(path).with_context(context)?;
    file.seek(SeekFrom::Start(offset)).with_context(context)?;
    let (mut hash, mut piece, mut left) = (Sha256::new(), vec![0; PIECE], length);
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        match file.read(&mut piece[..most]) {
            Ok(0) => bail!("{} is shorter than it was", path.display()),
            Ok(read) => {
                hash.update(&piece[..read]);
                left -= read as u64;
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).with_context(context),
        }
    }
    Ok(hex::encode(&hash.finalize()))
}

/// A part of a file as a request body of known length.
pub(super) struct FileBody {
    file: File,
    /// Bytes not yet sent.
    left: u64,
    piece: Vec<u8>,
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Poller<'_>) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let most = usize::try_from(this.left).unwrap_or(PIECE).min(PIECE);
        let mut read = ReadBuf::new(&mut this.piece[..most]);
        ready!(Pin::new(&mut this.file).poll_read(cx, &mut read))?;
        let data = Bytes::copy_from_slice(read.filled());
        if data.is_empty() {
            return Poll::Ready(Some(Err(ErrorKind::UnexpectedEof.into())));
        }
        this.left -= data.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

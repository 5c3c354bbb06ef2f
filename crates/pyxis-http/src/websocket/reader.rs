//! Frames of one side of a connection, in pieces of bounded size.

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::frame::{FrameHeader, Opcode, Violation, apply_mask};

/// Longest piece of a frame, in bytes. A frame up to this length is one piece.
const MAX_PIECE: usize = 32 * 1024;
/// Room made for each read, in bytes.
const READ: usize = 8 * 1024;

/// A frame, or a part of a long one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FramePiece {
    /// Kind of the frame; for data, that of the message to which it belongs.
    pub opcode: Opcode,
    /// The part of the payload, without its mask.
    pub payload: Bytes,
    /// True for the end of a message, and for every control frame.
    pub is_last: bool,
}

/// Reason that no further frame can be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The connection failed, or ended within a frame.
    #[error("the connection ended: {0}")]
    Connection(#[from] std::io::Error),
    /// The other side broke the protocol.
    #[error(transparent)]
    Violation(#[from] Violation),
}

/// Reads frames and checks their order.
pub struct FrameReader<R> {
    source: R,
    /// True for frames of a client.
    expects_mask: bool,
    buffer: BytesMut,
    frame: Option<OpenFrame>,
    /// Kind of the message whose end is still to come.
    message: Option<Opcode>,
}

/// A frame of which a part is still to come.
struct OpenFrame {
    header: FrameHeader,
    /// Kind of its message.
    opcode: Opcode,
    /// Bytes of the payload that were returned.
    done: u64,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    /// Reads the frames of a client, which are masked.
    pub fn of_client(source: R) -> Self {
        Self { source, expects_mask: true, buffer: BytesMut::new(), frame: None, message: None }
    }

    /// Reads the frames of a server.
    pub fn of_server(source: R) -> Self {
        Self { expects_mask: false, ..Self::of_client(source) }
    }

    /// The next piece; `None` at the end of the connection. No byte is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<Option<FramePiece>, ReadError> {
        loop {
            if let Some(piece) = self.parse()? {
                return Ok(Some(piece));
            }
            self.buffer.reserve(READ);
            if self.source.read_buf(&mut self.buffer).await? == 0 {
                let is_between = self.frame.is_none() && self.buffer.is_empty();
                return if is_between { Ok(None) } else { Err(cut_off().into()) };
            }
        }
    }

    /// The next piece among the bytes that were read.
    fn parse(&mut self) -> Result<Option<FramePiece>, Violation> {
        let mut frame = match self.frame.take() {
            Some(frame) => frame,
            None => match self.open()? {
                Some(frame) => frame,
                None => return Ok(None),
            },
        };
        let left = frame.header.length - frame.done;
        let here = usize::try_from(left).unwrap_or(usize::MAX).min(MAX_PIECE);
        if self.buffer.len() < here {
            self.frame = Some(frame);
            return Ok(None);
        }
        let mut payload = self.buffer.split_to(here);
        if let Some(mask) = frame.header.mask {
            apply_mask(&mut payload, mask, frame.done);
        }
        frame.done += here as u64;
        let is_last = frame.header.is_last && frame.done == frame.header.length;
        let piece = FramePiece { opcode: frame.opcode, payload: payload.freeze(), is_last };
        if frame.done < frame.header.length {
            self.frame = Some(frame);
        }
        Ok(Some(piece))
    }

    /// Reads the header of the next frame, once it is there.
    fn open(&mut self) -> Result<Option<OpenFrame>, Violation> {
        let Some((header, length)) = FrameHeader::read(&self.buffer)? else { return Ok(None) };
        if header.mask.is_some() != self.expects_mask {
            return Err(Violation::Mask);
        }
        let opcode = match (header.opcode, self.message) {
            (control, _) if control.is_control() => control,
            (Opcode::Continuation, Some(message)) => message,
            (Opcode::Continuation, None) | (_, Some(_)) => return Err(Violation::Fragment),
            (first, None) => first,
        };
        if !opcode.is_control() {
            self.message = (!header.is_last).then_some(opcode);
        }
        self.buffer.advance(length);
        Ok(Some(OpenFrame { header, opcode, done: 0 }))
    }
}

fn cut_off() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::UnexpectedEof, "within a frame")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(bytes: &mut Vec<u8>, is_last: bool, opcode: Opcode, payload: &[u8], mask: Option<[u8; 4]>) {
        FrameHeader { is_last, opcode, length: payload.len() as u64, mask }.write(bytes);
        let start = bytes.len();
        bytes.extend_from_slice(payload);
        if let Some(mask) = mask {
            apply_mask(&mut bytes[start..], mask, 0);
        }
    }

    /// All pieces of a server's bytes, which arrive `size` at a time.
    async fn read(bytes: &[u8], size: usize) -> Result<Vec<FramePiece>, ReadError> {
        let (mut writer, source) = tokio::io::duplex(size);
        let bytes = bytes.to_vec();
        let writing = tokio::spawn(async move {
            tokio::io::AsyncWriteExt::write_all(&mut writer, &bytes).await.ok();
        });
        let (mut reader, mut pieces) = (FrameReader::of_server(source), Vec::new());
        while let Some(piece) = reader.next().await? {
            pieces.push(piece);
        }
        writing.await.unwrap();
        Ok(pieces)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn messages_arrive_whole_however_they_are_fragmented_and_delivered(
            fragments in prop::collection::vec((0_usize..90_000, any::<bool>()), 1..5),
            size in 1_usize..40_000,
        ) {
            let (mut bytes, mut sent) = (Vec::new(), Vec::new());
            for (position, (length, pings)) in fragments.iter().enumerate() {
                let payload: Vec<u8> = (0..*length).map(|at| u8::try_from(at % 251).unwrap_or_default()).collect();
                let opcode = if position == 0 { Opcode::Binary } else { Opcode::Continuation };
                frame(&mut bytes, position + 1 == fragments.len(), opcode, &payload, None);
                sent.extend_from_slice(&payload);
                if *pings {
                    frame(&mut bytes, true, Opcode::Ping, b"there?", None);
                }
            }
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let pieces = runtime.block_on(read(&bytes, size.max(bytes.len() / 200))).unwrap();
            let (data, control): (Vec<_>, Vec<_>) =
                pieces.into_iter().partition(|piece| piece.opcode == Opcode::Binary);
            prop_assert!(data.iter().all(|piece| piece.payload.len() <= MAX_PIECE));
            prop_assert_eq!(data.iter().filter(|piece| piece.is_last).count(), 1);
            prop_assert!(data.last().is_some_and(|piece| piece.is_last));
            prop_assert_eq!(data.iter().flat_map(|piece| piece.payload.to_vec()).collect::<Vec<_>>(), sent);
            prop_assert_eq!(control.len(), fragments.iter().filter(|(_, pings)| *pings).count());
            prop_assert!(control.iter().all(|piece| &piece.payload[..] == b"there?"));
        }
    }

    #[tokio::test]
    async fn frames_out_of_order_or_with_the_wrong_mask_are_refused() {
        type Frames<'a> = &'a [(bool, Opcode, Option<[u8; 4]>)];
        let cases: [(Frames<'_>, Violation); 3] = [
            (&[(true, Opcode::Continuation, None)], Violation::Fragment),
            (&[(false, Opcode::Text, None), (true, Opcode::Text, None)], Violation::Fragment),
            (&[(true, Opcode::Text, Some([1, 2, 3, 4]))], Violation::Mask),
        ];
        for (frames, violation) in cases {
            let mut bytes = Vec::new();
            for (is_last, opcode, mask) in frames {
                frame(&mut bytes, *is_last, *opcode, b"x", *mask);
            }
            let error = read(&bytes, 64).await.unwrap_err();
            assert!(matches!(error, ReadError::Violation(found) if found == violation), "{error:?}");
        }
    }

    #[tokio::test]
    async fn an_end_within_a_frame_is_no_end_of_the_connection() {
        let mut bytes = Vec::new();
        frame(&mut bytes, true, Opcode::Text, b"hello", None);
        assert_eq!(read(&bytes, 64).await.unwrap().len(), 1);
        bytes.pop();
        assert!(matches!(read(&bytes, 64).await, Err(ReadError::Connection(_))));
    }
}

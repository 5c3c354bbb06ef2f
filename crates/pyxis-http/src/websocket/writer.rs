//! Frames for one side of a connection.

use std::io;
use std::sync::Arc;

use pyxis_core::entropy::{self, Entropy};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::frame::{CloseCode, FrameHeader, MAX_CONTROL, Opcode, apply_mask};

/// Writes frames, each in one piece.
pub struct FrameWriter<W> {
    sink: W,
    /// Source of masks, for frames to a server.
    masks: Option<Arc<dyn Entropy>>,
    buffer: Vec<u8>,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    /// Writes frames to a client.
    pub fn to_client(sink: W) -> Self {
        Self { sink, masks: None, buffer: Vec::new() }
    }

    /// Writes frames to a server, which must be masked with unpredictable bytes (RFC 6455, section 5.3).
    pub fn to_server(sink: W, entropy: Arc<dyn Entropy>) -> Self {
        Self { sink, masks: Some(entropy), buffer: Vec::new() }
    }

    /// Writes one frame and waits until the connection has taken it. A payload of a control frame is cut at 125 bytes.
    pub async fn write(&mut self, is_last: bool, opcode: Opcode, payload: &[u8]) -> io::Result<()> {
        let payload = if opcode.is_control() { truncate_payload(payload) } else { payload };
        let mask = self.masks.as_deref().map(entropy::bytes::<4>);
        self.buffer.clear();
        FrameHeader { is_last, opcode, length: payload.len() as u64, mask }.write(&mut self.buffer);
        let start = self.buffer.len();
        self.buffer.extend_from_slice(payload);
        if let Some(mask) = mask {
            apply_mask(&mut self.buffer[start..], mask, 0);
        }
        self.sink.write_all(&self.buffer).await?;
        self.sink.flush().await
    }

    /// Writes a close frame.
    pub async fn close(&mut self, code: CloseCode, reason: &str) -> io::Result<()> {
        let payload = [&code.number().to_be_bytes(), reason.as_bytes()].concat();
        self.write(true, Opcode::Close, &payload).await
    }

    /// Ends the connection in this direction.
    pub async fn shutdown(&mut self) -> io::Result<()> {
        self.sink.shutdown().await
    }
}

/// As much of a control frame's payload as fits, without half a character at the end.
fn truncate_payload(payload: &[u8]) -> &[u8] {
    if payload.len() <= MAX_CONTROL {
        return payload;
    }
    let is_inside = |at: &usize| payload[*at] & 0xC0 == 0x80;
    let end = (0..=MAX_CONTROL).rev().find(|at| !is_inside(at)).unwrap_or(MAX_CONTROL);
    &payload[..end]
}

#[cfg(test)]
mod tests {
    use pyxis_core::entropy::SeededEntropy;

    use super::super::reader::{FramePiece, FrameReader};
    use super::*;

    #[tokio::test]
    async fn a_frame_to_a_server_is_masked_and_read_as_it_was() {
        let mut wire = Vec::new();
        let mut writer = FrameWriter::to_server(&mut wire, Arc::new(SeededEntropy::new(1)));
        writer.write(true, Opcode::Text, b"hello hello").await.unwrap();
        assert!(!wire.windows(5).any(|window| window == b"hello"));
        let piece = FrameReader::of_client(&wire[..]).next().await.unwrap();
        let payload = b"hello hello"[..].into();
        assert_eq!(piece, Some(FramePiece { opcode: Opcode::Text, payload, is_last: true }));
    }

    #[tokio::test]
    async fn a_long_reason_is_cut_between_characters() {
        let mut wire = Vec::new();
        FrameWriter::to_client(&mut wire).close(CloseCode::PolicyViolation, &"ä".repeat(99)).await.unwrap();
        let piece = FrameReader::of_server(&wire[..]).next().await.unwrap().unwrap();
        assert_eq!(piece.payload[..2], 1008_u16.to_be_bytes());
        assert_eq!(std::str::from_utf8(&piece.payload[2..]).unwrap(), "ä".repeat(61));
    }
}

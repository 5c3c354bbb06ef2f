//! Room for bodies that are held whole: for an approval, for a rule on content, or for a signature.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, Result};

/// Bytes of one permit.
const UNIT: usize = 1024;

/// Memory of this process for bodies that are held.
pub(crate) struct HeldBodies(Arc<Semaphore>);

/// A body, and the room that it takes until its last copy is dropped.
struct HeldBody {
    bytes: Bytes,
    #[expect(dead_code, reason = "held, not used")]
    room: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for HeldBody {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HeldBodies {
    /// Room for `max` bytes.
    pub(crate) fn new(max: usize) -> Self {
        Self(Arc::new(Semaphore::new((max / UNIT).min(Semaphore::MAX_PERMITS))))
    }

    /// Reads a whole body of at most `max` bytes. A body announced as longer is never polled, so a client with
    /// `Expect: 100-continue` does not send it. Room is taken as bytes arrive: an announced length costs nothing.
    ///
    /// # Errors
    /// [`Error::BodyTooLarge`], [`Error::IncompleteBody`], or [`Error::NoRoomForBody`] if other requests take the room.
    pub(crate) async fn read(&self, mut body: impl Body<Data = Bytes> + Unpin, max: usize) -> Result<Bytes> {
        if body.size_hint().lower() > max as u64 {
            return Err(Error::BodyTooLarge { max });
        }
        let mut room = None;
        let mut read = JoinedBody::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| Error::IncompleteBody)?;
            let Ok(data) = frame.into_data() else { continue };
            let length = read.len() + data.len();
            if length > max {
                return Err(Error::BodyTooLarge { max });
            }
            self.grow(&mut room, length)?;
            read.push(data);
        }
        Ok(match room {
            Some(room) => Bytes::from_owner(HeldBody { bytes: read.finish(), room }),
            None => Bytes::new(),
        })
    }

    /// Takes what `room` lacks for `bytes`.
    fn grow(&self, room: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> Result<()> {
        let wanted = bytes.div_ceil(UNIT) - room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let wanted = u32::try_from(wanted).map_err(|_| Error::NoRoomForBody)?;
        if wanted == 0 {
            return Ok(());
        }
        let more = Arc::clone(&self.0).try_acquire_many_owned(wanted);
        let more = more.map_err(|_| Error::NoRoomForBody)?;
        match room {
            Some(room) => room.merge(more),
            None => *room = Some(more),
        }
        Ok(())
    }
}

/// Pieces joined into one; a single piece is not copied.
#[derive(Default)]
struct JoinedBody {
    first: Bytes,
    all: BytesMut,
}

impl JoinedBody {
    fn len(&self) -> usize {
        self.first.len() + self.all.len()
    }

    fn push(&mut self, piece: Bytes) {
        if self.len() == 0 {
            self.first = piece;
        } else {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
            self.all.extend_from_slice(&piece);
        }
    }

    fn finish(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn pieces_are_joined_in_order() {
        for pieces in [&[][..], &["a"], &["a", "bc"], &["", "a", "", "b"]] {
            let mut joined = JoinedBody::default();
            for piece in pieces {
                joined.push(Bytes::from_static(piece.as_bytes()));
            }
            assert_eq!(joined.len(), pieces.concat().len());
            assert_eq!(joined.finish(), pieces.concat());
        }
    }

    #[tokio::test]
    async fn room_is_taken_while_a_body_lives_and_free_after_its_last_copy() {
        let held = HeldBodies::new(4 * UNIT);
        let first = held.read(Body::from(vec![1; 3 * UNIT]), 8 * UNIT).await.unwrap();
        let copy = first.slice(10..);
        drop(first);
        let refused = held.read(Body::from(vec![2; 2 * UNIT]), 8 * UNIT).await;
        assert!(matches!(refused, Err(Error::NoRoomForBody)), "{refused:?}");
        assert_eq!(held.read(Body::from("small"), 8 * UNIT).await.unwrap(), "small");
        drop(copy);
        assert_eq!(held.read(Body::from(vec![2; 4 * UNIT]), 8 * UNIT).await.unwrap().len(), 4 * UNIT);
        assert_eq!(held.0.available_permits(), 4);
    }

    #[tokio::test]
    async fn an_empty_body_takes_no_room_and_a_long_one_is_refused_before_it_takes_any() {
        let held = HeldBodies::new(UNIT);
        let whole = held.read(Body::from(vec![1; UNIT]), UNIT).await.unwrap();
        assert_eq!(held.read(Body::empty(), UNIT).await.unwrap(), "");
        let long = held.read(Body::from(vec![1; UNIT + 1]), UNIT).await;
        assert!(matches!(long, Err(Error::BodyTooLarge { max: UNIT })), "{long:?}");
        assert_eq!(whole.len(), UNIT);
    }
}

//! Streams of events: the responses to the calls of a session, and the streams that a client opens without a call.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http_body::Frame;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::session_registry::Resumptions;

/// Time in which a client may come back for the rest of a stream. The events ask it to come after 3 seconds.
const RESUME: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, PartialEq, Eq)]
enum StreamState {
    Open,
    /// Ended by the server. The client comes back for the rest.
    Closed,
    /// Dropped with its connection.
    Dropped,
}

/// Stream with the response to one call of a session. Other calls have none.
#[derive(Clone)]
pub struct ResponseStream {
    state: Arc<watch::Sender<StreamState>>,
    resumptions: watch::Receiver<()>,
}

impl ResponseStream {
    /// A stream of a session whose client may come back.
    pub(crate) fn new(resumptions: &Resumptions) -> Self {
        Self { state: Arc::new(watch::Sender::new(StreamState::Open)), resumptions: resumptions.subscribe() }
    }

    /// The stream of the call that a handler answers. `None` without a session.
    pub fn from_context(context: &RequestContext<RoleServer>) -> Option<Self> {
        context.extensions.get::<http::request::Parts>()?.extensions.get().cloned()
    }

    /// Ends the stream before the call ends. The client comes back for the rest with `Last-Event-ID`.
    pub fn close(&self) {
        self.leave(StreamState::Closed);
    }

    /// Resolves if the client leaves and does not come back.
    pub(crate) async fn abandoned(&self) {
        self.reaches(StreamState::Dropped).await;
        let mut resumptions = self.resumptions.clone();
        if let Ok(Ok(())) = timeout(RESUME, resumptions.changed()).await {
            // Which call it came back for is not known, so all go on.
            std::future::pending::<()>().await;
        }
    }

    /// The response with this stream, which notices when the client leaves.
    pub(crate) fn carried_by(self, response: Response) -> Response {
        let closed = self.clone();
        let end = async move { closed.reaches(StreamState::Closed).await };
        bounded(response, end, Some(self))
    }

    async fn reaches(&self, state: StreamState) {
        // The sender is here, so this never fails.
        drop(self.state.subscribe().wait_for(|reached| *reached == state).await);
    }

    fn leave(&self, to: StreamState) {
        self.state.send_if_modified(|state| {
            let is_first = *state == StreamState::Open;
            if is_first {
                *state = to;
            }
            is_first
        });
    }
}

/// A response whose stream of events, if it is one, ends in good order when `end` resolves.
pub(crate) fn until(response: Response, end: impl Future<Output = ()> + Send + 'static) -> Response {
    bounded(response, end, None)
}

fn bounded(
    response: Response,
    end: impl Future<Output = ()> + Send + 'static,
    stream: Option<ResponseStream>,
) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    response.map(|events| Body::new(BoundedBody { events, end: Box::pin(end), has_ended: false, stream }))
}

/// Body of a stream.
struct BoundedBody {
    events: Body,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
    has_ended: bool,
    stream: Option<ResponseStream>,
}

impl HttpBody for BoundedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        // Events that are there go out before the end.
        let polled = Pin::new(&mut self.events).poll_frame(context);
        let ends = match &polled {
            Poll::Ready(frame) => frame.is_none(),
            Poll::Pending => self.end.as_mut().poll(context).is_ready(),
        };
        if !ends {
            return polled;
        }
        self.has_ended = true;
        Poll::Ready(None)
    }
}

impl Drop for BoundedBody {
    fn drop(&mut self) {
        if !self.has_ended
            && let Some(stream) = &self.stream
        {
            stream.leave(StreamState::Dropped);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::{BodyExt, StreamBody};
    use tokio::sync::mpsc;

    use super::*;

    type Sent = Result<Frame<Bytes>, Infallible>;

    /// A response with the events that the sender sends.
    fn events() -> (mpsc::UnboundedSender<&'static str>, Response) {
        let (sender, mut queue) = mpsc::unbounded_channel::<&'static str>();
        let frames = futures_util::stream::poll_fn(move |context| {
            queue.poll_recv(context).map(|text| text.map(|text| Sent::Ok(Frame::data(text.into()))))
        });
        let response = Response::builder().header(CONTENT_TYPE, "text/event-stream");
        (sender, response.body(Body::new(StreamBody::new(frames))).unwrap())
    }

    async fn is_abandoned(stream: &ResponseStream) -> bool {
        timeout(RESUME * 2, stream.abandoned()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_the_server_closes_ends_after_its_events_and_is_not_abandoned() {
        let resumptions = Resumptions::default();
        let stream = ResponseStream::new(&resumptions);
        let (sender, response) = events();
        sender.send("first").unwrap();
        stream.close();
        let response = stream.clone().carried_by(response);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "first");
        assert!(!is_abandoned(&stream).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_its_client_drops_is_abandoned_unless_the_client_comes_back() {
        for comes_back in [false, true] {
            let resumptions = Resumptions::default();
            let stream = ResponseStream::new(&resumptions);
            let (_sender, response) = events();
            drop(stream.clone().carried_by(response));
            if comes_back {
                resumptions.send_replace(());
            }
            assert_eq!(is_abandoned(&stream).await, !comes_back);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_whose_call_is_answered_is_not_abandoned() {
        let resumptions = Resumptions::default();
        let stream = ResponseStream::new(&resumptions);
        let (sender, response) = events();
        sender.send("result").unwrap();
        drop(sender);
        let response = stream.clone().carried_by(response);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "result");
        assert!(!is_abandoned(&stream).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_bounded_stream_ends_in_good_order() {
        let (_sender, response) = events();
        let bounded = until(response, tokio::time::sleep(Duration::from_secs(5)));
        assert!(bounded.into_body().collect().await.unwrap().to_bytes().is_empty());
    }
}

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

/// Time in which a stream ends after its call. One whose response went elsewhere, because its client used an id twice,
/// would never end.
const GRACE: Duration = Duration::from_secs(5);

/// Stream with the response to one call of a session, as the handler of the call sees it. Other calls have none.
#[derive(Clone)]
pub struct ResponseStream {
    /// True once the server has ended the stream.
    closed: Arc<watch::Sender<bool>>,
    client: watch::Receiver<()>,
}

/// The client at the other end of a stream: present until this is dropped.
type Presence = watch::Sender<()>;

/// End of a stream at which the response leaves.
pub(crate) struct StreamEnd {
    closed: watch::Receiver<bool>,
    presence: Presence,
}

/// A stream, for the handler and for the response.
pub(crate) fn pair() -> (ResponseStream, StreamEnd) {
    let (close, closed) = watch::channel(false);
    let (presence, client) = watch::channel(());
    (ResponseStream { closed: Arc::new(close), client }, StreamEnd { closed, presence })
}

impl ResponseStream {
    /// The stream of the call that a handler answers. `None` without a session.
    pub fn from_context(context: &RequestContext<RoleServer>) -> Option<Self> {
        context.extensions.get::<http::request::Parts>()?.extensions.get().cloned()
    }

    /// Ends the stream before the call ends. The client comes back for the rest with `Last-Event-ID`.
    pub fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Resolves if the client leaves.
    pub(crate) async fn abandoned(&self) {
        let mut client = self.client.clone();
        while client.changed().await.is_ok() {}
        if *self.closed.borrow() {
            // It was sent away, and comes back.
            std::future::pending::<()>().await;
        }
    }
}

impl StreamEnd {
    /// The response with this stream, which notices when the client leaves.
    pub(crate) fn attach_to(self, response: Response) -> Response {
        let Self { mut closed, presence } = self;
        let end = async move {
            // Without a sender the call has ended.
            if closed.wait_for(|closed| *closed).await.is_err() {
                tokio::time::sleep(GRACE).await;
            }
        };
        bounded(response, end, Some(presence))
    }
}

/// A response whose stream of events, if it is one, ends in good order when `end` resolves.
pub(crate) fn until(response: Response, end: impl Future<Output = ()> + Send + 'static) -> Response {
    bounded(response, end, None)
}

fn bounded(
    response: Response,
    end: impl Future<Output = ()> + Send + 'static,
    presence: Option<Presence>,
) -> Response {
    let kind = response.headers().get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        return response;
    }
    response.map(|events| Body::new(BoundedBody { events, end: Box::pin(end), has_ended: false, presence }))
}

/// Body of a stream.
struct BoundedBody {
    events: Body,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
    has_ended: bool,
    presence: Option<Presence>,
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
        self.presence = None;
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::{BodyExt, StreamBody};
    use tokio::sync::mpsc;
    use tokio::time::timeout;

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
        timeout(GRACE * 2, stream.abandoned()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_the_server_closes_ends_after_its_events_and_is_not_abandoned() {
        let (stream, end) = pair();
        let (sender, response) = events();
        sender.send("first").unwrap();
        stream.close();
        let body = end.attach_to(response).into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, "first");
        assert!(!is_abandoned(&stream).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_is_abandoned_once_its_client_drops_it_and_not_before() {
        let (stream, end) = pair();
        let (_sender, response) = events();
        let response = end.attach_to(response);
        assert!(!is_abandoned(&stream).await);
        drop(response);
        assert!(is_abandoned(&stream).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_that_another_one_replaces_is_abandoned() {
        let (stream, end) = pair();
        let (sender, response) = events();
        let mut body = end.attach_to(response).into_body();
        drop(sender);
        assert!(body.frame().await.is_none());
        assert!(is_abandoned(&stream).await, "although the body still exists");
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_without_a_response_ends_after_its_call() {
        let (stream, end) = pair();
        let (_sender, response) = events();
        let body = end.attach_to(response).into_body().collect();
        drop(stream);
        assert!(timeout(GRACE * 2, body).await.unwrap().unwrap().to_bytes().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_bounded_stream_ends_in_good_order() {
        let (_sender, response) = events();
        let bounded = until(response, tokio::time::sleep(Duration::from_secs(5)));
        assert!(bounded.into_body().collect().await.unwrap().to_bytes().is_empty());
    }
}

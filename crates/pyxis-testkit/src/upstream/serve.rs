//! The server behind [`super::Upstream`].

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::header::HOST;
use http::{Request, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::reply::{Frames, Reply};
use super::{Received, State};

pub(super) async fn accept(listener: TcpListener, tls: Option<Arc<ServerConfig>>, state: Arc<State>) {
    let tls = tls.map(TlsAcceptor::from);
    while let Ok((stream, _)) = listener.accept().await {
        let number = state.record(|script| {
            script.connections += 1;
            script.connections - 1
        });
        let (state, tls) = (state.clone(), tls.clone());
        let mut hang_up = state.hang_up.subscribe();
        tokio::spawn(async move {
            let serving = async {
                // Send small responses without waiting for more data.
                let _ = stream.set_nodelay(true);
                match tls {
                    None => serve(stream, number, state).await,
                    Some(tls) => match tls.accept(stream).into_fallible().await {
                        Ok(stream) => serve(stream, number, state).await,
                        Err((_, stream)) => linger(stream).await,
                    },
                }
            };
            tokio::select! {
                () = serving => {}
                _ = hang_up.changed() => {}
            }
        });
    }
}

/// Reads the remaining data. Closing with unread data would discard the response on the client's side.
async fn linger(mut stream: TcpStream) {
    // The client may have disconnected.
    let _ = stream.shutdown().await;
    let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, number: usize, state: Arc<State>) {
    let service = service_fn(|request| answer(request, number, state.clone()));
    // Broken connections are part of what tests provoke.
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    request: Request<Incoming>,
    connection: usize,
    state: Arc<State>,
) -> Result<Response<Frames>, io::Error> {
    let (received, body) = head(request, connection);
    // A queued reply belongs to the request whose head arrived first, however slow its body is.
    let (index, queued) = state.record(|script| {
        script.received.push(received);
        (script.received.len() - 1, script.replies.pop_front())
    });
    let reply = match queued {
        Some(reply) if reply.early => {
            tokio::spawn(read(body, index, state));
            reply
        }
        queued => {
            read(body, index, state.clone()).await;
            queued.unwrap_or_else(|| otherwise(&state, index))
        }
    };
    send(reply).await
}

fn otherwise(state: &State, index: usize) -> Reply {
    let (answer, request) = {
        let script = state.script();
        (script.otherwise.clone(), script.received[index].clone())
    };
    answer(&request)
}

async fn send(mut reply: Reply) -> Result<Response<Frames>, io::Error> {
    if let Some(wait) = reply.wait.take() {
        // Dropping the sender is the signal, too.
        let _ = wait.await;
    }
    if reply.abort {
        return Err(io::Error::other("broken off by the test"));
    }
    Ok(reply.into_response())
}

fn head(request: Request<Incoming>, connection: usize) -> (Received, Incoming) {
    let (parts, body) = request.into_parts();
    let host = parts
        .uri
        .authority()
        .map(ToString::to_string)
        .or_else(|| parts.headers.get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned));
    let received = Received {
        method: parts.method,
        target: parts.uri.path_and_query().map_or_else(|| parts.uri.to_string(), ToString::to_string),
        version: parts.version,
        host: host.unwrap_or_default(),
        headers: parts.headers,
        body: Bytes::new(),
        trailers: None,
        complete: false,
        aborted: false,
        connection,
    };
    (received, body)
}

/// Maximum size of an incomplete body in the record, in bytes. Copying more with every piece would make large uploads
/// slow.
const VISIBLE_WHILE_ARRIVING: usize = 64 * 1024;

/// Reads a body to its end and keeps the request's record up to date.
async fn read(mut body: Incoming, index: usize, state: Arc<State>) {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            state.record(|script| script.received[index].aborted = true);
            return;
        };
        match frame.into_data() {
            Ok(data) => {
                whole.extend_from_slice(&data);
                if whole.len() <= VISIBLE_WHILE_ARRIVING {
                    state.record(|script| script.received[index].body = whole.clone().freeze());
                }
            }
            Err(frame) => {
                let trailers = frame.into_trailers().ok();
                state.record(|script| script.received[index].trailers = trailers);
            }
        }
    }
    state.record(|script| {
        script.received[index].body = whole.freeze();
        script.received[index].complete = true;
    });
}

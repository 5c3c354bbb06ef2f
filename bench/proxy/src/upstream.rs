//! The upstream of the benchmarks: 1 KiB of JSON for every request.
//!
//! `upstream ADDRESS` serves HTTP/1.1 with keep-alive and prints the bound address.

use std::convert::Infallible;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Length of every answer, in bytes.
const LENGTH: usize = 1024;

#[tokio::main]
async fn main() -> Result<()> {
    let address = std::env::args().nth(1).context("usage: upstream ADDRESS")?;
    let listener =
        TcpListener::bind(&address).await.with_context(|| format!("cannot listen on {address}"))?;
    println!("{}", listener.local_addr()?);
    let answer = Bytes::from(answer());
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(async |_: Request<Incoming>| {
                let mut response = Response::new(Full::new(answer.clone()));
                response
                    .headers_mut()
                    .insert(CONTENT_TYPE, "application/json".parse().expect("a header value"));
                Ok::<_, Infallible>(response)
            });
            // A client that hangs up is the end of the connection and nothing else.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// JSON that looks like an answer of an interface, padded to its length.
fn answer() -> String {
    let mut text = String::from(r#"{"items":["#);
    for number in 0.. {
        let item = format!(r#"{{"id":{number},"name":"item {number}","state":"open"}},"#);
        if text.len() + item.len() + 20 > LENGTH {
            break;
        }
        text.push_str(&item);
    }
    text.pop();
    text.push_str(r#"],"pad":""#);
    text.extend(std::iter::repeat_n('.', LENGTH - text.len() - 2));
    text.push_str("\"}");
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_answer_has_the_length() {
        assert_eq!(super::answer().len(), super::LENGTH);
    }
}

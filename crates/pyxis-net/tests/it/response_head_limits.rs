//! Response heads up to the limit, and the error for larger ones.

use http::HeaderName;
use http_body_util::BodyExt;
use pyxis_net::{Client, ClientConfig, Error, MAX_ANSWER_HEAD, MAX_ANSWER_LINES};
use pyxis_testkit::resolver::ScriptedResolver;
use pyxis_testkit::tls::Authority;
use pyxis_testkit::upstream::{Reply, Upstream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{PATIENCE, client, config, failure, get};

const NAME: &str = "api.example.com";

/// Starts a host that answers each connection's first request with exactly these bytes. Returns its URL.
async fn raw(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{addr}/")
}

fn answer(lines: &str) -> String {
    format!("HTTP/1.1 200 OK\r\n{lines}\r\n")
}

/// The failure, and its public message.
async fn public_failure(answer: String) -> (Error, &'static str) {
    let error = failure(&client(), get(&raw(answer).await)).await;
    assert!(error.was_sent(), "{error:?}");
    let told = error.public_message();
    (error, told)
}

#[tokio::test]
async fn an_answer_may_have_a_thousand_lines_and_256_kib_of_headers() {
    let lines = (1..MAX_ANSWER_LINES)
        .map(|number| format!("x-line-{number}: {}\r\n", "y".repeat(200)))
        .collect::<Vec<_>>()
        .concat();
    let url = raw(answer(&format!("content-length: 0\r\n{lines}"))).await;
    let response = client().send(get(&url), PATIENCE).await.unwrap();
    assert_eq!(response.headers().len(), MAX_ANSWER_LINES);
    let long = "y".repeat(MAX_ANSWER_HEAD - "content-length: 0\r\nx: \r\n".len());
    let url = raw(answer(&format!("content-length: 0\r\nx: {long}\r\n"))).await;
    let response = client().send(get(&url), PATIENCE).await.unwrap();
    assert_eq!(response.headers()["x"].len(), long.len());
}

#[tokio::test]
async fn a_larger_head_is_told_as_one_and_the_host_as_one_that_answered() {
    let many = "x: y\r\n".repeat(MAX_ANSWER_LINES + 1);
    let long = format!("x: {}\r\n", "y".repeat(MAX_ANSWER_HEAD));
    let endless = format!("x: {}\r\n", "y".repeat(4 * MAX_ANSWER_HEAD));
    for lines in [many, long, endless] {
        let (error, told) = public_failure(answer(&lines)).await;
        assert!(matches!(error, Error::HeadTooLarge), "{error:?}");
        assert!(told.starts_with("the host answered") && told.contains("1000 header lines"), "{told}");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_says_that_the_host_answered() {
    for answer in [
        "SSH-2.0-OpenSSH_9.9\r\n\r\n",
        "\u{15}\u{3}\u{3}\0\u{2}\u{2}(",
        "<html><body>no head</body></html>\r\n\r\n",
        "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx : y\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    ] {
        let (error, told) = public_failure(answer.to_owned()).await;
        assert!(matches!(error, Error::Protocol(_)), "{answer:?} {error:?}");
        assert!(told.starts_with("the host answered") && !told.contains("HTTP"), "{told}");
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_told_from_one_that_was_broken_off() {
    for (body, is_unreadable) in [
        ("x\r\nabc\r\n", true),
        ("3\r\nabcdef", true),
        ("fffffffffffffffff\r\n", true),
        ("0\r\nbad trailer\r\n\r\n", true),
        ("5\r\nabc", false),
        ("", false),
    ] {
        let url = raw(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}")).await;
        let response = client().send(get(&url), PATIENCE).await.unwrap();
        let error = Error::from(response.into_body().collect().await.expect_err("a failure"));
        assert_eq!(matches!(error, Error::Protocol(_)), is_unreadable, "{body:?} {error:?}");
        assert!(error.was_sent(), "{body:?}");
    }
}

#[tokio::test]
async fn over_http_2_the_same_heads_are_taken() {
    let authority = Authority::new();
    let upstream = Upstream::https(&authority, &[NAME]).await;
    let resolver = ScriptedResolver::new().answer(NAME, &["127.0.0.1"]);
    let client =
        Client::new(&ClientConfig { extra_roots: vec![authority.root()], ..config(resolver) }).unwrap();
    let url = upstream.url_at(NAME, "/");
    // The upstream adds a few lines of its own.
    let lines = |lines: usize, bytes: usize| {
        (0..lines).fold(Reply::new(204), |reply, number| {
            reply.header(&format!("x-line-{number}"), &"y".repeat(bytes))
        })
    };
    upstream.reply(lines(MAX_ANSWER_LINES - 10, 200));
    let response = client.send(get(&url), PATIENCE).await.unwrap();
    assert_eq!(response.version(), http::Version::HTTP_2);
    assert!(response.headers().contains_key(HeaderName::from_static("x-line-989")));
    for reply in [lines(MAX_ANSWER_LINES + 1, 1), lines(3, MAX_ANSWER_HEAD)] {
        upstream.reply(reply);
        let error = failure(&client, get(&url)).await;
        assert!(matches!(error, Error::HeadTooLarge), "{error:?}");
    }
}

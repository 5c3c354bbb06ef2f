//! Responses that arrive piece by piece.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use pyxis_testkit::upstream::Reply;

use super::Scene;
use super::scene::SECRET;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_event_reaches_the_tool_before_the_next_is_sent_over_either_version_of_http() {
    let scene = Scene::new().await;
    for option in ["--http1.1", "--http2"] {
        let (reply, events) = Reply::streaming();
        scene.site.upstream.reply(reply.header("content-type", "text/event-stream"));
        let mut command = scene.command(&[], &["curl", "-sSfN", option, &scene.url("/events")]);
        let mut curl = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(curl.stdout.take().unwrap());
        for number in 1..=3 {
            events.send(format!("data: {number}\n\n"));
            // The upstream sends no more until this event was read.
            let mut event = String::new();
            tokio::task::block_in_place(|| {
                output.read_line(&mut event).unwrap();
                output.read_line(&mut event).unwrap();
            });
            assert_eq!(event, format!("data: {number}\n\n"), "{option}");
        }
        drop(events);
        let mut rest = String::new();
        tokio::task::block_in_place(|| output.read_to_string(&mut rest).unwrap());
        assert_eq!(rest, "", "{option}");
        assert!(curl.wait().unwrap().success(), "{option}");
    }
    let requests = scene.site.upstream.requests();
    assert_eq!(requests.len(), 2);
    let authorized = format!("Bearer {SECRET}");
    assert!(requests.iter().all(|request| request.header("authorization") == Some(&authorized)));
}

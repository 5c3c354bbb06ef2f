use bytes::Bytes;
use pyxis_core::entropy::SeededEntropy;
use pyxis_http::websocket::{FramePiece, Opcode};
use pyxis_scrub::Needles;
use tokio::io::{DuplexStream, ReadHalf, WriteHalf, duplex};
use tokio::task::JoinHandle;

use super::*;

type Half = (FrameReader<ReadHalf<DuplexStream>>, FrameWriter<WriteHalf<DuplexStream>>);

/// An open WebSocket, seen from both sides.
struct Scene {
    agent: Half,
    host: Half,
    shared: Arc<SocketSignal>,
    relaying: JoinHandle<(SocketEnd, u64)>,
}

/// A WebSocket whose connections hold so many bytes.
fn open(capacity: usize) -> Scene {
    let entropy = Arc::new(SeededEntropy::new(1));
    let ((agent, agent_side), (host, host_side)) = (duplex(capacity), duplex(capacity));
    let ((agent_reader, agent_writer), (host_reader, host_writer)) = (split(agent_side), split(host_side));
    let shared = SocketSignal::new();
    let to_host = FrameWriter::to_server(host_writer, entropy.clone());
    let mut up = Pump::new(FrameReader::of_client(agent_reader), to_host, &shared);
    let needles = Arc::new(Needles::new("api", &[b"canary-4471"]));
    let mut down =
        Pump::new(FrameReader::of_server(host_reader), FrameWriter::to_client(agent_writer), &shared)
            .scrubbed(needles);
    let signal = Arc::clone(&shared);
    let relaying = tokio::spawn(async move {
        let ended = relay(&mut up, &mut down, &signal, std::future::pending()).await;
        (SocketEnd { sent: up.traffic(), received: down.traffic(), ..ended }, down.redactions())
    });
    let ((agent_in, agent_out), (host_in, host_out)) = (split(agent), split(host));
    Scene {
        agent: (FrameReader::of_server(agent_in), FrameWriter::to_server(agent_out, entropy)),
        host: (FrameReader::of_client(host_in), FrameWriter::to_client(host_out)),
        shared,
        relaying,
    }
}

async fn received(half: &mut Half) -> (Opcode, String, bool) {
    let FramePiece { opcode, payload, is_last } = half.0.next().await.unwrap().unwrap();
    (opcode, String::from_utf8_lossy(&payload).into_owned(), is_last)
}

fn text(payload: &str) -> (Opcode, String, bool) {
    (Opcode::Text, payload.to_owned(), true)
}

#[tokio::test]
async fn messages_pass_in_both_directions_and_only_those_of_the_host_are_scrubbed() {
    let mut scene = open(64 * 1024);
    scene.agent.1.write(true, Opcode::Text, b"is it canary-4471?").await.unwrap();
    assert_eq!(received(&mut scene.host).await, text("is it canary-4471?"));
    scene.host.1.write(true, Opcode::Text, b"it is canary-4471!").await.unwrap();
    assert_eq!(received(&mut scene.agent).await, text("it is [REDACTED:api]!"));
    scene.host.1.write(true, Opcode::Ping, b"canary-4471").await.unwrap();
    assert_eq!(received(&mut scene.agent).await, (Opcode::Ping, "[REDACTED:api]".to_owned(), true));
    scene.agent.1.write(true, Opcode::Close, &[&1000_u16.to_be_bytes()[..], b"bye"].concat()).await.unwrap();
    assert_eq!(scene.host.0.next().await.unwrap().unwrap().payload[2..], b"bye"[..]);
    scene.host.1.write(true, Opcode::Close, &1000_u16.to_be_bytes()).await.unwrap();
    assert_eq!(received(&mut scene.agent).await.0, Opcode::Close);
    let (ended, redactions) = scene.relaying.await.unwrap();
    assert_eq!((ended.closed_by, ended.close_code, redactions), ("agent", Some(1000), 2));
    assert_eq!((ended.sent.messages, ended.received.messages), (1, 1));
    assert_eq!((ended.sent.bytes, ended.received.bytes), (18, 18));
}

#[tokio::test]
async fn a_secret_is_found_wherever_a_message_is_cut() {
    let message = b"<canary-4471>";
    for cut in 0..=message.len() {
        let mut scene = open(64 * 1024);
        scene.host.1.write(false, Opcode::Text, &message[..cut]).await.unwrap();
        scene.host.1.write(true, Opcode::Pong, b"").await.unwrap();
        scene.host.1.write(true, Opcode::Continuation, &message[cut..]).await.unwrap();
        let mut whole = String::new();
        loop {
            let (opcode, payload, is_last) = received(&mut scene.agent).await;
            if opcode == Opcode::Pong {
                continue;
            }
            assert_eq!(opcode, Opcode::Text);
            whole.push_str(&payload);
            if is_last {
                break;
            }
        }
        assert_eq!(whole, "<[REDACTED:api]>", "{cut}");
    }
}

#[tokio::test]
async fn a_message_of_any_length_passes_piece_by_piece_with_back_pressure() {
    let mut scene = open(1024);
    let message = Bytes::from(vec![b'x'; 3 * 1024 * 1024]);
    let sent = message.clone();
    let sending = tokio::spawn(async move {
        scene.host.1.write(true, Opcode::Binary, &sent).await.unwrap();
        scene.host
    });
    let mut whole = Vec::new();
    loop {
        let piece = scene.agent.0.next().await.unwrap().unwrap();
        whole.extend_from_slice(&piece.payload);
        if piece.is_last {
            break;
        }
    }
    assert!(whole == message);
    drop(sending.await.unwrap());
    let (ended, _) = scene.relaying.await.unwrap();
    assert_eq!((ended.closed_by, ended.close_code), ("host", None));
}

#[tokio::test(start_paused = true)]
async fn both_sides_are_told_when_pyxis_closes_and_left_if_they_do_not_answer() {
    let mut scene = open(64 * 1024);
    scene.shared.close(STOPPING);
    for half in [&mut scene.agent, &mut scene.host] {
        let (opcode, payload, _) = received(half).await;
        assert_eq!(opcode, Opcode::Close);
        assert!(payload.ends_with(STOPPING.text), "{payload}");
    }
    let (ended, _) = scene.relaying.await.unwrap();
    assert_eq!((ended.closed_by, ended.close_code, ended.reason), ("pyxis", Some(1001), Some("stopping")));
}

#[tokio::test]
async fn a_side_that_breaks_the_protocol_ends_the_connection_for_both() {
    let mut scene = open(64 * 1024);
    scene.host.1.write(true, Opcode::Continuation, b"of nothing").await.unwrap();
    for half in [&mut scene.agent, &mut scene.host] {
        let close = half.0.next().await.unwrap().unwrap();
        assert_eq!(close.payload[..2], 1002_u16.to_be_bytes());
        half.1.write(true, Opcode::Close, &close.payload).await.unwrap();
    }
    let (ended, _) = scene.relaying.await.unwrap();
    assert_eq!((ended.closed_by, ended.reason), ("pyxis", Some("protocol_error")));
}

#[tokio::test(start_paused = true)]
async fn a_side_that_reads_nothing_does_not_keep_the_other_one() {
    let mut scene = open(256);
    let flood =
        tokio::spawn(
            async move { while scene.host.1.write(true, Opcode::Text, &[b'x'; 512]).await.is_ok() {} },
        );
    scene.agent.1.write(true, Opcode::Close, &1000_u16.to_be_bytes()).await.unwrap();
    let (ended, _) = scene.relaying.await.unwrap();
    assert_eq!((ended.closed_by, ended.close_code), ("agent", Some(1000)));
    flood.await.unwrap();
}

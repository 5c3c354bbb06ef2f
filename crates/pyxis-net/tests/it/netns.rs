//! Actual connection targets, in a network in which every address is this machine.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;

use pyxis_net::{Client, ClientConfig, Guard};
use pyxis_testkit::netns;
use pyxis_testkit::resolver::ScriptedResolver;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::support::{PATIENCE, get};

const PORT: u16 = 8080;

/// Listens on every address and reports the local address of each connection.
async fn listen_everywhere() -> UnboundedReceiver<SocketAddr> {
    let listener = TcpListener::bind(("::", PORT)).await.unwrap();
    let (dialed, reports) = unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let local = stream.local_addr().unwrap();
            dialed.send(SocketAddr::new(local.ip().to_canonical(), local.port())).unwrap();
            tokio::spawn(async move {
                let mut head = [0; 1024];
                let _ = stream.read(&mut head).await;
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await;
            });
        }
    });
    reports
}

fn url(host: &str) -> String {
    if host.contains(':') { format!("http://[{host}]:{PORT}/") } else { format!("http://{host}:{PORT}/") }
}

fn client(resolver: ScriptedResolver) -> Client {
    Client::new(&ClientConfig { resolver: Arc::new(resolver), ..ClientConfig::new(Guard::default()) })
        .unwrap()
}

const PUBLIC: [&str; 6] =
    ["93.184.216.34", "8.8.8.8", "203.0.112.255", "11.0.0.0", "2606:4700::1111", "2a00:1450:4001:831::200e"];

const SPECIAL: [&str; 22] = [
    "127.0.0.1",
    "127.1.2.3",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "168.63.129.16",
    "192.0.0.192",
    "198.18.0.1",
    "203.0.113.7",
    "192.88.99.1",
    "240.0.0.1",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::a00:1",
    "2002:a00:1::1",
    "2001:0:a00:1::1",
    "fd00:ec2::254",
    "fe80::1",
    "2001:db8::1",
];

#[tokio::test]
async fn a_public_literal_is_dialed_exactly_and_a_special_one_never() {
    if !netns::inside("netns::a_public_literal_is_dialed_exactly_and_a_special_one_never") {
        return;
    }
    let mut dialed = listen_everywhere().await;
    let client = client(ScriptedResolver::new());
    for ip in SPECIAL {
        let error = client.send(get(&url(ip)), PATIENCE).await.expect_err(ip);
        assert!(error.blocked().is_some(), "{ip}: {error:?}");
    }
    for ip in PUBLIC {
        let response = client.send(get(&url(ip)), PATIENCE).await.unwrap();
        assert_eq!(response.status(), 204, "{ip}");
        let expected: IpAddr = ip.parse().unwrap();
        // Reports are in order, so this also shows that no special address was dialed before.
        assert_eq!(dialed.recv().await, Some(SocketAddr::new(expected, PORT)));
    }
    // The test only proves something if the special addresses would have answered.
    for ip in ["10.0.0.1", "169.254.169.254", "172.16.0.1", "fd00:ec2::254"] {
        let addr = SocketAddr::new(ip.parse().unwrap(), PORT);
        TcpStream::connect(addr).unwrap();
        assert_eq!(dialed.recv().await, Some(addr));
    }
}

#[tokio::test]
async fn a_name_is_dialed_at_its_first_public_address_and_never_at_a_special_one() {
    if !netns::inside("netns::a_name_is_dialed_at_its_first_public_address_and_never_at_a_special_one") {
        return;
    }
    let mut dialed = listen_everywhere().await;
    let resolver = ScriptedResolver::new()
        .answer("internal.example.com", &["10.0.0.1"])
        .answer("mixed.example.com", &["8.8.8.8", "169.254.169.254"])
        .answer("mapped.example.com", &["::ffff:8.8.8.8"])
        .answer("public.example.com", &["2606:4700::1111", "8.8.8.8"])
        .answer("public.example.com", &["127.0.0.1"]);
    let client = client(resolver);
    for name in ["internal", "mixed", "mapped"] {
        let error = client.send(get(&url(&format!("{name}.example.com"))), PATIENCE).await.expect_err(name);
        assert!(error.blocked().is_some(), "{name}: {error:?}");
    }
    client.send(get(&url("public.example.com")), PATIENCE).await.unwrap();
    assert_eq!(dialed.recv().await, Some("[2606:4700::1111]:8080".parse().unwrap()));
    let error = client.send(get(&url("public.example.com")), PATIENCE).await.unwrap_err();
    assert!(error.blocked().is_some(), "{error:?}");
    assert!(dialed.try_recv().is_err());
}

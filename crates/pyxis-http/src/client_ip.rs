//! The address of the client, as far as it can be believed.

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;

/// The other end of the TCP connection; an extension of requests where a route asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub SocketAddr);

/// The client behind `peer`: the right-most `X-Forwarded-For` entry that is not itself a trusted
/// proxy, and `peer` where it is not trusted.
pub fn client_ip(peer: SocketAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |ip: IpAddr| trusted.iter().any(|net| net.contains(&ip));
    let mut client = peer.ip();
    if !is_trusted(client) {
        return client;
    }
    let values: Vec<&str> =
        headers.get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok()).collect();
    for entry in values.iter().rev().flat_map(|value| value.rsplit(',')) {
        let Ok(ip) = entry.trim().parse::<IpAddr>() else { break };
        client = ip;
        if !is_trusted(ip) {
            break;
        }
    }
    client
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(peer: &str, forwarded: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", forwarded.parse().unwrap());
        let trusted = ["10.0.0.0/8".parse().unwrap()];
        client_ip(format!("{peer}:1").parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_and_only_up_to_the_first_stranger() {
        assert_eq!(ask("203.0.113.9", "1.1.1.1"), "203.0.113.9");
        assert_eq!(ask("10.0.0.1", "6.6.6.6, 8.8.8.8, 10.0.0.2"), "8.8.8.8");
        assert_eq!(ask("10.0.0.1", "8.8.8.8, nonsense"), "10.0.0.1");
    }
}

//! A load generator with a fixed rate, which does not hide the time that requests spend waiting.
//!
//! Every request has a moment at which it is due, whatever became of the ones before. Its latency is
//! counted from that moment, so a server that stalls is charged for every request it kept waiting
//! (no coordinated omission). Requests are spread over the connections in turn.
//!
//! It shares the machine with what it measures. So one thread does everything, and a request costs it
//! little more than a write and a read.

mod connection;
mod template;

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use hyper::{Method, Uri};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::fd::OwnedFd;

use crate::connection::{Connection, Due, connect};
use crate::template::Template;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Time for the last answers. A missing one has failed then.
const PATIENCE: Duration = Duration::from_mins(1);
/// Most connections that one wake-up tells of.
const EVENTS: usize = 256;

/// Sends requests at a fixed rate and prints, separated by tabs: requests, failures, and in
/// microseconds p50, p99, largest latency, and p99 of the generator's own lateness.
#[derive(Parser)]
struct Arguments {
    /// Where to; plain http only. A path that ends in `/address` gets another address for each request.
    #[arg(long)]
    url: Uri,
    /// Number of addresses: 1 to this, as numbers of 20 bytes.
    #[arg(long, default_value_t = 1)]
    addresses: u64,
    /// HTTP method.
    #[arg(long, default_value = "POST")]
    method: Method,
    /// `Name: value`; `{n}` in the value becomes the number of the request.
    #[arg(long = "header")]
    headers: Vec<String>,
    /// Body of each request; `{n}` becomes the number of the request.
    #[arg(long, default_value = "")]
    body: String,
    /// Requests a second.
    #[arg(long)]
    rate: u32,
    /// Requests in all.
    #[arg(long)]
    count: u32,
    /// Requests at the start that are sent but not counted.
    #[arg(long, default_value_t = 0)]
    warm_up: u32,
    /// Keep-alive connections.
    #[arg(long, default_value_t = 64)]
    connections: u32,
    /// Status of an answer that is no failure.
    #[arg(long, default_value_t = 200)]
    expect: u16,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    ensure!(arguments.rate > 0 && arguments.connections > 0, "rate and connections must not be 0");
    ensure!(arguments.count > arguments.warm_up, "count must be larger than warm-up");
    let seen = Generator::new(&arguments)?.run()?;
    report(seen)
}

/// Outcomes of the requests that count.
#[derive(Default)]
struct LoadStats {
    latencies: Vec<Duration>,
    failures: u32,
    /// Lateness of the generator itself.
    lateness: Vec<Duration>,
}

/// All connections, and what was seen so far.
struct Generator<'a> {
    arguments: &'a Arguments,
    template: Template,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// Requests without an answer.
    open: u32,
    seen: LoadStats,
}

impl<'a> Generator<'a> {
    fn new(arguments: &'a Arguments) -> Result<Self> {
        let to = resolve(&arguments.url)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let mut connections = Vec::new();
        for index in 0..u64::from(arguments.connections) {
            let stream = connect(to)?;
            epoll::add(&epoll, &stream, epoll::EventData::new_u64(index), epoll::EventFlags::IN)?;
            connections.push(Connection::over(stream));
        }
        let template = Template::new(
            arguments.method.as_str(),
            &arguments.url,
            &arguments.headers,
            &arguments.body,
            arguments.addresses,
        )?;
        Ok(Self { arguments, template, epoll, connections, open: 0, seen: LoadStats::default() })
    }

    fn run(mut self) -> Result<LoadStats> {
        let start = Instant::now() + Duration::from_millis(10);
        let step = Duration::from_secs(1) / self.arguments.rate;
        let mut next = 0;
        while next < self.arguments.count || self.open > 0 {
            let mut at = start + step * next;
            if next == self.arguments.count {
                at += PATIENCE;
                if Instant::now() >= at {
                    self.seen.failures += self.open;
                    break;
                }
            }
            self.answers(at)?;
            while next < self.arguments.count && start + step * next <= Instant::now() {
                self.hand_out(Due { number: next, at: start + step * next })?;
                next += 1;
            }
        }
        Ok(self.seen)
    }

    /// Gives a request that is due to the connection whose turn it is.
    fn hand_out(&mut self, due: Due) -> Result<()> {
        self.seen.lateness.push(due.at.elapsed());
        self.open += 1;
        let index = due.number as usize % self.connections.len();
        self.connections[index].push(due);
        self.go_on(index)
    }

    /// Takes what has been answered, waiting for it until `until`.
    fn answers(&mut self, until: Instant) -> Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        let wait = Timespec::try_from(until.saturating_duration_since(Instant::now()))?;
        match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&wait)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in events {
            let index = usize::try_from(event.data.u64())?;
            if let Some((due, answer)) = self.connections[index].read()? {
                self.count(&due, answer == Some(self.arguments.expect));
                self.go_on(index)?;
            }
        }
        Ok(())
    }

    /// Sends the next request of a connection that is free; those of one that is gone have failed.
    fn go_on(&mut self, index: usize) -> Result<()> {
        while let Some(lost) = self.connections[index].send(&mut self.template)? {
            self.count(&lost, false);
        }
        Ok(())
    }

    fn count(&mut self, due: &Due, success: bool) {
        self.open -= 1;
        self.seen.failures += u32::from(!success);
        if due.number >= self.arguments.warm_up {
            self.seen.latencies.push(due.at.elapsed());
        }
    }
}

fn resolve(url: &Uri) -> Result<SocketAddr> {
    let authority = url.authority().context("the URL names no host")?;
    let port = authority.port_u16().unwrap_or(80);
    let mut found = (authority.host(), port).to_socket_addrs()?;
    found.next().with_context(|| format!("no address for {authority}"))
}

fn report(mut seen: LoadStats) -> Result<()> {
    ensure!(!seen.latencies.is_empty(), "nothing was measured");
    seen.latencies.sort_unstable();
    seen.lateness.sort_unstable();
    let micros = |latency: Duration| latency.as_micros();
    println!(
        "{}\t{}\t{}\t{}\t{}\t{}",
        seen.latencies.len(),
        seen.failures,
        micros(percentile(&seen.latencies, 50)),
        micros(percentile(&seen.latencies, 99)),
        micros(percentile(&seen.latencies, 100)),
        micros(percentile(&seen.lateness, 99)),
    );
    Ok(())
}

/// The value that `percent` of the sorted, non-empty `values` do not exceed.
fn percentile(values: &[Duration], percent: usize) -> Duration {
    let rank = (values.len() * percent).div_ceil(100);
    values[rank.max(1) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_was_seen() {
        let values: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&values, 50), Duration::from_millis(100));
        assert_eq!(percentile(&values, 99), Duration::from_millis(198));
        assert_eq!(percentile(&values, 100), Duration::from_millis(200));
        assert_eq!(percentile(&values[..1], 99), Duration::from_millis(1));
    }
}

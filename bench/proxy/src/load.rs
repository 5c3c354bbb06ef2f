//! A load generator with a fixed rate, which does not hide the time that requests spend waiting.
//!
//! Every request has a moment at which it is due, whatever became of the ones before. Its latency is
//! counted from that moment, so a server that stalls is charged for every request it kept waiting
//! (no coordinated omission). Requests are spread over the connections in turn.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use clap::Parser;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::HOST;
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Sends requests at a fixed rate and prints, separated by tabs: requests, failures, and in
/// microseconds p50, p99, largest latency, and p99 of the generator's own lateness.
#[derive(Parser)]
struct Arguments {
    /// Where to; plain http only. A path that ends in `/address` gets another address for each request.
    #[arg(long)]
    url: Uri,
    /// How many addresses there are: 1 to this, as numbers of 20 bytes.
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

/// A request that is due.
struct Due {
    number: u32,
    at: Instant,
}

/// What a connection saw.
#[derive(Default)]
struct Seen {
    latencies: Vec<Duration>,
    failures: u32,
}

#[tokio::main(worker_threads = 1)]
async fn main() -> Result<()> {
    let arguments: &'static Arguments = Box::leak(Box::new(Arguments::parse()));
    ensure!(arguments.rate > 0 && arguments.connections > 0, "rate and connections must not be 0");
    ensure!(arguments.count > arguments.warm_up, "count must be larger than warm-up");
    let mut queues = Vec::new();
    let mut connections = JoinSet::new();
    for _ in 0..arguments.connections {
        let (queue, due) = unbounded_channel();
        let sender = connect(arguments).await?;
        queues.push(queue);
        connections.spawn(work(arguments, sender, due));
    }
    let scheduler = std::thread::spawn(move || schedule(arguments, &queues));
    let mut all = Seen::default();
    while let Some(seen) = connections.join_next().await {
        let seen = seen?;
        all.latencies.extend(seen.latencies);
        all.failures += seen.failures;
    }
    let mut lateness = scheduler.join().map_err(|_| anyhow::anyhow!("the scheduler failed"))?;
    report(&mut all, &mut lateness)
}

/// Hands out each request when it is due; how late it was. A thread of its own with the system's
/// timer: the runtime's has a grain of a millisecond.
fn schedule(arguments: &Arguments, queues: &[UnboundedSender<Due>]) -> Vec<Duration> {
    let start = Instant::now() + Duration::from_millis(10);
    let step = Duration::from_secs(1) / arguments.rate;
    let mut lateness = Vec::with_capacity(arguments.count as usize);
    for (number, queue) in (0..arguments.count).zip(queues.iter().cycle()) {
        let at = start + step * number;
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        lateness.push(at.elapsed());
        // A connection that is gone has counted its failure.
        let _ = queue.send(Due { number, at });
    }
    lateness
}

async fn connect(arguments: &Arguments) -> Result<SendRequest<Full<Bytes>>> {
    let authority = arguments.url.authority().context("the URL names no host")?;
    let address = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(80));
    let stream =
        TcpStream::connect(&address).await.with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn work(
    arguments: &'static Arguments,
    mut sender: SendRequest<Full<Bytes>>,
    mut due: UnboundedReceiver<Due>,
) -> Seen {
    let mut seen = Seen::default();
    while let Some(Due { number, at }) = due.recv().await {
        let answered = send(arguments, &mut sender, number).await;
        if !answered.is_ok_and(|status| status == arguments.expect) {
            seen.failures += 1;
        }
        if number >= arguments.warm_up {
            seen.latencies.push(at.elapsed());
        }
    }
    seen
}

/// The status of one answer, read to its end.
async fn send(arguments: &Arguments, sender: &mut SendRequest<Full<Bytes>>, number: u32) -> Result<u16> {
    sender.ready().await?;
    let answer = sender.send_request(request(arguments, number)?).await?;
    let status = answer.status().as_u16();
    let mut body = answer.into_body();
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(status)
}

fn request(arguments: &Arguments, number: u32) -> Result<Request<Full<Bytes>>> {
    let filled = |text: &str| text.replace("{n}", &number.to_string());
    let path = path(arguments, number);
    let host = arguments.url.authority().context("the URL names no host")?.as_str();
    let mut request = Request::builder().method(&arguments.method).uri(path).header(HOST, host);
    for header in &arguments.headers {
        let (name, value) = header.split_once(':').with_context(|| format!("not a header: {header}"))?;
        request = request.header(name.trim(), filled(value.trim()));
    }
    Ok(request.body(Full::from(filled(&arguments.body)))?)
}

/// The path of a request; addresses are taken in an order that no cache foresees.
fn path(arguments: &Arguments, number: u32) -> String {
    let path = arguments.url.path_and_query().map_or("/", |path| path.as_str());
    match path.strip_suffix("/address") {
        Some(before) => {
            let spread = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            format!("{before}/0x{:040x}", spread % arguments.addresses.max(1) + 1)
        }
        None => path.to_owned(),
    }
}

fn report(all: &mut Seen, lateness: &mut [Duration]) -> Result<()> {
    ensure!(!all.latencies.is_empty(), "nothing was measured");
    all.latencies.sort_unstable();
    lateness.sort_unstable();
    let micros = |latency: Duration| latency.as_micros();
    println!(
        "{}\t{}\t{}\t{}\t{}\t{}",
        all.latencies.len(),
        all.failures,
        micros(percentile(&all.latencies, 50)),
        micros(percentile(&all.latencies, 99)),
        micros(percentile(&all.latencies, 100)),
        micros(percentile(lateness, 99)),
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

//! JSON-RPC over POST, with batches as large as a node accepts and failover to the next node.

mod wire;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request};
use metrics::{counter, histogram};
use pyxis_core::metric;
use pyxis_net::{Client, body};
use tokio::time::Instant;

use crate::Error;

pub(crate) use wire::{Answers, CallOutcome, RawJson, RpcCall};

/// Maximum size of a response, in bytes.
const MAX_RESPONSE: usize = 32 << 20;
/// Maximum size of an error response body, in bytes.
const MAX_REFUSAL: usize = 1 << 20;
/// Calls of the first request to a node. Some providers accept no more.
const FIRST_BATCH: usize = 10;
/// Maximum calls per request.
const MAX_BATCH: usize = 100;
/// Lifetime of a learned size. Afterwards it is learned again, in case the provider changed its limit.
const REMEMBERED: Duration = Duration::from_mins(10);
/// Number of times that a lagging node is asked again.
const AGAIN: usize = 2;

/// Calls that fit into one request to a node. The number grows while the node accepts it, and shrinks when it refuses.
pub(crate) struct Learned {
    first: usize,
    most: usize,
    size: Mutex<Option<Size>>,
}

#[derive(Clone, Copy)]
struct Size {
    calls: usize,
    /// True if the node refused more.
    is_limit: bool,
    since: Instant,
}

impl Size {
    fn is_recent(&self) -> bool {
        self.since.elapsed() < REMEMBERED
    }
}

impl Learned {
    pub(crate) const fn new(first: usize, most: usize) -> Self {
        Self { first, most, size: Mutex::new(None) }
    }

    pub(crate) fn now(&self) -> usize {
        self.lock().filter(Size::is_recent).map_or(self.first, |size| size.calls)
    }

    /// Remembers a size that was accepted after a larger one was refused.
    pub(crate) fn record_limit(&self, calls: usize) {
        *self.lock() = Some(Size { calls, is_limit: true, since: Instant::now() });
    }

    /// Doubles the size after that many calls were accepted, unless the node recently refused more.
    fn record_accepted(&self, asked: usize) {
        // One lock for reading and writing: a limit that is learned meanwhile stays.
        let mut size = self.lock();
        let recent = size.filter(Size::is_recent);
        let calls = recent.map_or(self.first, |size| size.calls);
        if asked >= calls && calls < self.most && !recent.is_some_and(|size| size.is_limit) {
            *size = Some(Size { calls: self.most.min(calls * 2), is_limit: false, since: Instant::now() });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Size>> {
        self.size.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct Endpoint {
    net: Client,
    url: String,
    timeout: Duration,
    /// Calls per JSON-RPC request.
    batch: Learned,
    /// Calls per Multicall3 call.
    pub(crate) aggregated: Learned,
}

impl Endpoint {
    /// Answers every call. Calls that the node refuses together are sent in smaller requests. A call refused on its own
    /// fails all.
    pub(crate) async fn call_batch(&self, calls: &[RpcCall]) -> Result<Vec<CallOutcome>, Error> {
        let mut outcomes: Vec<Option<CallOutcome>> = vec![None; calls.len()];
        let mut open: Vec<usize> = (0..calls.len()).collect();
        let (mut size, mut refused) = (self.batch.now(), false);
        while !open.is_empty() {
            let some = &open[..size.min(open.len())];
            let asked = some.len();
            let requests: Vec<&RpcCall> = some.iter().map(|index| &calls[*index]).collect();
            let failure = match self.post(&requests).await {
                Ok(Answers { outcomes: found, failure }) => {
                    for (index, outcome) in some.iter().zip(found) {
                        outcomes[*index] = outcome;
                    }
                    failure
                }
                Err(error) => Some(error),
            };
            let before = open.len();
            open.retain(|index| outcomes[*index].is_none());
            let answered = before - open.len();
            match failure {
                None if refused && asked == size => self.batch.record_limit(size),
                None if refused => {}
                None => {
                    self.batch.record_accepted(asked);
                    size = self.batch.now();
                }
                // The node answers other calls, so this call is the problem.
                Some(Error::Refused { .. }) if asked == 1 && outcomes.iter().any(Option::is_some) => {
                    outcomes[open.remove(0)] = Some(CallOutcome::Unfinished);
                }
                Some(error) if asked == 1 || !error.eases_with_fewer() => return Err(error),
                Some(error) => {
                    tracing::debug!(%error, asked, "a node refused a batch");
                    refused = true;
                    let fewer = if answered == 0 { asked / 2 } else { answered };
                    size = error.named_limit(asked).unwrap_or(fewer);
                }
            }
        }
        outcomes.into_iter().collect::<Option<_>>().ok_or(Error::Malformed("a call without a response"))
    }

    /// Maximum calls that the node accepts in one request, if fewer than Pyxis sends.
    pub(crate) async fn largest_batch(&self, probe: &RpcCall) -> Option<usize> {
        let accepts = async |size: usize| {
            let answers = self.post(&vec![probe; size]).await;
            answers.is_ok_and(|answers| answers.failure.is_none())
        };
        if accepts(MAX_BATCH).await || !accepts(1).await {
            return None;
        }
        // `taken` is known to be accepted, `refused` to be refused.
        let (mut taken, mut refused) = (1, MAX_BATCH);
        while refused - taken > 1 {
            let middle = usize::midpoint(taken, refused);
            if accepts(middle).await { taken = middle } else { refused = middle }
        }
        Some(taken)
    }

    /// Sends one request.
    async fn post(&self, calls: &[&RpcCall]) -> Result<Answers, Error> {
        let request = Request::post(&self.url);
        let request = request.header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let request = request.body(body::full(wire::written(calls))).map_err(|_| Error::Url)?;
        let answer = tokio::time::timeout(self.timeout, self.send(request, calls.len())).await;
        answer.map_err(|_| Error::Timeout)?
    }

    async fn send(&self, request: Request<pyxis_net::Body>, count: usize) -> Result<Answers, Error> {
        let response = self.net.send(request, self.timeout).await?;
        let status = response.status();
        if status.is_success() {
            return wire::read(&body::read_capped(response.into_body(), MAX_RESPONSE).await?, count);
        }
        // Some nodes give the reason, or a revert, as JSON-RPC in the error response.
        let said = body::read_capped(response.into_body(), MAX_REFUSAL).await.unwrap_or_default();
        refusal(&said, count).ok_or(Error::Status(status.as_u16()))
    }

    /// Scheme, host and port. The rest of the URL is left out because it may contain a key.
    pub(crate) fn origin(&self) -> String {
        let url: Option<http::Uri> = self.url.parse().ok();
        let origin = url.as_ref().and_then(|url| {
            let port = url.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
            Some(format!("{}://{}{port}", url.scheme_str()?, url.host()?))
        });
        origin.unwrap_or_else(|| "a node without a usable url".to_owned())
    }
}

/// Errors from a response with a failure status. A result in such a response is not trusted.
fn refusal(said: &Bytes, count: usize) -> Option<Answers> {
    let answers = wire::read(said, count).ok()?;
    let result = answers.outcomes.iter().flatten().any(|outcome| matches!(outcome, CallOutcome::Result(_)));
    let unread = matches!(answers.failure, Some(Error::Malformed(_)));
    (!result && !unread).then_some(answers)
}

/// A question to a network. It keeps the answers so far, so that the next node is asked only for the rest.
pub(crate) trait NodeQuery: Send {
    /// Asks one node for everything still open. `last` means that a lagging node will not be asked again.
    fn put_to(&mut self, node: &Endpoint, last: bool) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Timeouts and sizes of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Timeout of each request.
    pub(crate) timeout: Duration,
    /// Pause before a lagging node is asked again.
    pub(crate) pause: Duration,
    /// Maximum calls per Multicall3 call.
    pub(crate) aggregated: usize,
}

/// Nodes of a network, in order of preference.
pub(crate) struct Nodes {
    all: Vec<Endpoint>,
    pause: Duration,
    /// Index of the node that answered last.
    preferred: AtomicUsize,
}

impl Nodes {
    pub(crate) fn new(net: &Client, urls: &[String], limits: Limits) -> Self {
        let Limits { timeout, pause, aggregated } = limits;
        let endpoint = |url: &String| Endpoint {
            net: net.private(),
            url: url.clone(),
            timeout,
            batch: Learned::new(FIRST_BATCH, MAX_BATCH),
            aggregated: Learned::new(aggregated, aggregated),
        };
        Self { all: urls.iter().map(endpoint).collect(), pause, preferred: AtomicUsize::new(0) }
    }

    pub(crate) fn all(&self) -> &[Endpoint] {
        &self.all
    }

    /// Asks the node that answered last, then the others, until one answers. A lagging node is asked again after a
    /// pause. If any node lagged, the error says so, whatever else failed.
    pub(crate) async fn answer<Q: NodeQuery>(&self, question: &mut Q) -> Result<(), Error> {
        let began = Instant::now();
        let answered = self.answer_by_any(question).await;
        let result = if answered.is_ok() { "answered" } else { "failed" };
        counter!(metric::CHAIN_QUESTIONS.name, "result" => result).increment(1);
        histogram!(metric::CHAIN_SECONDS.name).record(began.elapsed().as_secs_f64());
        answered
    }

    async fn answer_by_any<Q: NodeQuery>(&self, question: &mut Q) -> Result<(), Error> {
        let first = self.preferred.load(Ordering::Relaxed);
        let mut failure = Error::Url;
        for offset in 0..self.all.len() {
            let index = (first + offset) % self.all.len();
            match self.patiently(&self.all[index], question).await {
                Ok(()) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(());
                }
                Err(error) => {
                    tracing::debug!(%error, node = index, "a node failed");
                    if offset + 1 < self.all.len() {
                        counter!(metric::CHAIN_FAILOVERS.name).increment(1);
                    }
                    if !failure.is_behind() {
                        failure = error;
                    }
                }
            }
        }
        Err(failure)
    }

    async fn patiently<Q: NodeQuery>(&self, node: &Endpoint, question: &mut Q) -> Result<(), Error> {
        for _ in 0..AGAIN {
            match question.put_to(node, false).await {
                Err(error) if error.is_behind() => tokio::time::sleep(self.pause).await,
                done => return done,
            }
        }
        question.put_to(node, true).await
    }

    pub(crate) async fn call_one(&self, call: RpcCall) -> Result<CallOutcome, Error> {
        let mut single = Single { call: [call], outcome: None };
        self.answer(&mut single).await?;
        single.outcome.ok_or(Error::Malformed("a call without a response"))
    }
}

/// A single call.
struct Single {
    call: [RpcCall; 1],
    outcome: Option<CallOutcome>,
}

impl NodeQuery for Single {
    async fn put_to(&mut self, node: &Endpoint, _: bool) -> Result<(), Error> {
        self.outcome = node.call_batch(&self.call).await?.pop();
        Ok(())
    }
}

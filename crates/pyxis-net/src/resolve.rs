//! DNS resolution.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Pending answer of a resolver.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// DNS resolver. Returns every address of a name, in the order in which they should be tried.
pub trait Resolve: Send + Sync + 'static {
    /// Addresses of `host`, a DNS name without a trailing dot. `Err` or an empty list if it has none.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// The machine's resolver, including its hosts file and search domains.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            #[expect(clippy::disallowed_methods, reason = "the one place that resolves names")]
            let answers = tokio::net::lookup_host((host, 0)).await?;
            Ok(answers.map(|addr| addr.ip()).collect())
        })
    }
}

/// Maximum number of names in the cache of the pre-check.
const REMEMBERED_NAMES: u64 = 4096;

/// Cache of answers for a few seconds, so that not every request's pre-check costs a query. Never used to dial: a
/// connection always uses a fresh answer.
#[derive(Clone)]
pub(crate) struct CachingResolver {
    resolver: Arc<dyn Resolve>,
    answers: moka::future::Cache<String, Arc<[IpAddr]>>,
}

impl CachingResolver {
    pub(crate) fn new(resolver: Arc<dyn Resolve>, ttl: Duration) -> Self {
        let answers = moka::future::Cache::builder().max_capacity(REMEMBERED_NAMES).time_to_live(ttl).build();
        Self { resolver, answers }
    }

    /// Addresses of `host`. Concurrent callers share one query. Failures are not cached.
    pub(crate) async fn resolve(&self, host: &str) -> Result<Arc<[IpAddr]>, Arc<io::Error>> {
        self.answers
            .try_get_with_by_ref(host, async { self.resolver.resolve(host).await.map(Arc::from) })
            .await
    }
}

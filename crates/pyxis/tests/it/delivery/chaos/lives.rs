//! The node that does all work in the background. It is killed or restarted at any moment.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use pyxis_core::clock::{Clock, FixedClock, UnixMillis};
use pyxis_gateway::{Config, State, channels, workers};
use serde_json::Value;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tower::ServiceExt;

use crate::races::proxy::Proxy;

/// Time for calls of the database that a kill interrupts.
const LAST_CALLS: Duration = Duration::from_secs(20);

/// One node after the other, each with a runtime of its own.
pub(super) struct Lives {
    config: Config,
    clock: Arc<FixedClock>,
    current: Mutex<Option<Life>>,
    /// Held while one life follows another.
    turn: tokio::sync::Mutex<()>,
    kills: AtomicUsize,
}

struct Life {
    state: State,
    router: Router,
    stop: watch::Sender<bool>,
    loops: JoinHandle<()>,
    runtime: KilledRuntime,
}

/// A runtime whose tasks end at their next pause when it is dropped.
struct KilledRuntime(Option<Runtime>);

impl Drop for KilledRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Life {
    async fn begin(proxy: &Proxy, config: &Config) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let (state, router) = {
            let _inside = runtime.enter();
            proxy.another_node(config.clone())
        };
        let (stop, stopping) = watch::channel(false);
        let (tell, started) = oneshot::channel();
        let starting = state.clone();
        let loops = runtime.spawn(async move {
            starting.store.watch();
            let mut loops = workers::start(&starting, &stopping).await.unwrap();
            tell.send(()).unwrap();
            while loops.join_next().await.is_some() {}
        });
        started.await.expect("the workers start");
        Self { state, router, stop, loops, runtime: KilledRuntime(Some(runtime)) }
    }

    fn handle(&self) -> Handle {
        self.runtime.0.as_ref().unwrap().handle().clone()
    }

    /// Ends at once, or after what is under way.
    async fn end(mut self, kill: bool) {
        if !kill {
            self.stop.send_replace(true);
            self.loops.await.unwrap();
        }
        let runtime = self.runtime.0.take().unwrap();
        spawn_blocking(move || runtime.shutdown_timeout(LAST_CALLS)).await.unwrap();
    }
}

impl Lives {
    pub(super) async fn begin(proxy: &Proxy, config: Config) -> Self {
        let current = Mutex::new(Some(Life::begin(proxy, &config).await));
        Self {
            config,
            clock: proxy.clock(),
            current,
            turn: tokio::sync::Mutex::default(),
            kills: AtomicUsize::new(0),
        }
    }

    pub(super) fn kill_count(&self) -> usize {
        self.kills.load(Ordering::Relaxed)
    }

    /// Ends the life of now and begins the next one.
    pub(super) async fn next(&self, proxy: &Proxy, kill: bool) {
        let _turn = self.turn.lock().await;
        self.end_current(kill).await;
        let next = Life::begin(proxy, &self.config).await;
        *self.current.lock().unwrap() = Some(next);
        self.kills.fetch_add(usize::from(kill), Ordering::Relaxed);
    }

    /// Finishes what is under way.
    pub(super) async fn end(&self) {
        let _turn = self.turn.lock().await;
        self.end_current(false).await;
    }

    async fn end_current(&self, kill: bool) {
        let life = self.current.lock().unwrap().take();
        if let Some(life) = life {
            life.end(kill).await;
        }
    }

    fn with<T>(&self, read: impl FnOnce(&Life) -> T) -> Option<T> {
        self.current.lock().unwrap().as_ref().map(read)
    }

    pub(super) fn now(&self) -> UnixMillis {
        self.clock.now()
    }

    /// Calls the node as a platform does; `None` if it did not live to answer.
    pub(super) async fn call(&self, request: Request<Body>) -> Option<(StatusCode, Value)> {
        let (handle, router) = self.with(|life| (life.handle(), life.router.clone()))?;
        let answering = handle.spawn(async move {
            let (head, body) = router.oneshot(request).await.unwrap().into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            (head.status, serde_json::from_slice(&body).unwrap_or_default())
        });
        answering.await.ok()
    }

    /// Lets the node post and edit what is due.
    pub(super) async fn deliver(&self) {
        let Some((handle, state)) = self.with(|life| (life.handle(), life.state.clone())) else { return };
        // What a killed node leaves undone, the next one does.
        drop(handle.spawn(async move { channels::deliver_due(&state).await }).await);
    }
}

//! Requests are announced on every platform and decided by clicks and on the page, while the platforms and the receivers
//! of webhooks fail at random, and the node that does the work is killed or restarted at any moment.
//!
//! Each request is decided once. No click is lost after it was acknowledged. Each announcement arrives once its platform
//! works again, and shows the outcome where messages can be changed. Other platforms go on meanwhile, and no secret is
//! in any message, log or error. `PX_TEST_SEED` repeats the choices of an earlier run.

mod floods;
mod limits;
mod lives;
mod logs;
mod lost_posts;
mod peers;
mod receivers;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::Clock;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::TxnId;
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::{Config, Error, channels, workers};
use pyxis_store::approvals;
use pyxis_store::chat_identities::{self, ChatIdentityRow};
use pyxis_store::chat_messages::{self, ChatMessageRow};
use pyxis_store::deliveries::{self, DeliveryFilter};
use pyxis_testkit::database::TestDatabase;
use pyxis_testkit::engines;
use pyxis_testkit::long_form::{Dice, rounds};
use tokio::sync::{Semaphore, watch};

use self::lives::Lives;
use self::logs::Logs;
use self::peers::{Announcement, Click, Peer, PlannedRequest, policy};
use self::receivers::Receivers;
use crate::races::proxy::Proxy;

/// The message about a request.
async fn row(proxy: &Proxy, asked: PlannedRequest) -> ChatMessageRow {
    chat_messages::list(&proxy.state.store, proxy.workspace, asked.txn).await.unwrap().remove(0)
}

/// Number of requests.
fn request_count() -> usize {
    rounds(64, 1000)
}
/// Requests in progress at once.
const AT_ONCE: usize = 12;
/// Of each hundred calls of a platform, those that meet a fault.
const TROUBLE: u64 = 15;
/// Real time between two beats.
const BEAT: Duration = Duration::from_millis(40);
/// Time by which the proxy's clock moves with each beat.
const STEP: Duration = Duration::from_secs(2);
/// Beats for which a person waits for a message, or for the outcome of a click before clicking again.
const PATIENCE: usize = 3000;
const CLICK_AGAIN: usize = 60;
/// Requests that are decided on other platforms while one is down.
const MEANWHILE: usize = 4;
/// Part of every secret of a platform, and the secret of the credential.
const SECRETS: [&str; 2] = ["canary", "s3cret-value"];

/// Requests so far.
#[derive(Clone, Copy, Default)]
struct Progress {
    begun: usize,
    decided: usize,
}

struct ChaosTest {
    proxy: Proxy,
    lives: Lives,
    peers: Vec<Box<dyn Peer>>,
    receivers: Receivers,
    dice: Arc<Mutex<Dice>>,
    slots: Semaphore,
    /// Held while the policy names the platform of a request.
    turn: tokio::sync::Mutex<()>,
    progress: watch::Sender<Progress>,
    beats: watch::Sender<u64>,
}

impl ChaosTest {
    async fn start(database: TestDatabase) -> Self {
        let dice = Arc::new(Mutex::new(Dice::new()));
        let peers = peers::start(&dice).await;
        let mut chats = peers::settings(&peers);
        chats.set_digest_after(1);
        let base_url = "https://px.example.com".to_owned();
        let config = Config { base_url, chats, sole_node: false, ..Config::default() };
        let proxy = Proxy::with_config(database, config.clone()).await;
        for peer in &peers {
            link(&proxy, &**peer).await;
        }
        let receivers = Receivers::start(&proxy).await;
        let lives = Lives::begin(&proxy, config).await;
        for peer in &peers {
            peer.faults().set_percent(TROUBLE);
        }
        Self {
            proxy,
            lives,
            peers,
            receivers,
            dice,
            slots: Semaphore::new(AT_ONCE),
            turn: tokio::sync::Mutex::default(),
            progress: watch::Sender::default(),
            beats: watch::Sender::default(),
        }
    }

    fn throw(&self, sides: u64) -> u64 {
        self.dice.lock().unwrap().below(sides)
    }

    /// Lets time pass and what is due be posted, for ever.
    async fn pass_time(&self) {
        let mut beat = tokio::time::interval(BEAT);
        loop {
            beat.tick().await;
            self.proxy.advance(STEP);
            self.lives.deliver().await;
            self.beats.send_modify(|count| *count += 1);
        }
    }

    /// Waits until something is true, for so many beats at most.
    async fn within(&self, beats: usize, reached: impl AsyncFn() -> bool) -> bool {
        let mut next = self.beats.subscribe();
        for _ in 0..beats {
            if reached().await {
                return true;
            }
            next.changed().await.unwrap();
        }
        false
    }

    /// One platform after the other is down until requests were decided on others.
    async fn storms(&self) {
        let all = request_count();
        let mut progress = self.progress.subscribe();
        while self.progress.borrow().begun < all {
            let peer = &self.peers[usize::try_from(self.throw(self.peers.len() as u64)).unwrap()];
            peer.faults().set_down(true);
            peer.disturb();
            self.receivers.hang_up();
            let until = progress.borrow().decided + MEANWHILE;
            progress.wait_for(|now| now.decided >= until || now.begun == all).await.unwrap();
            peer.faults().set_down(false);
            let until = progress.borrow().decided + MEANWHILE;
            progress.wait_for(|now| now.decided >= until || now.begun == all).await.unwrap();
        }
    }

    /// One request from its announcement to its decision.
    async fn request(&self, round: usize) -> PlannedRequest {
        let _slot = self.slots.acquire().await.unwrap();
        if self.throw(10) == 0 {
            self.lives.next(&self.proxy, self.throw(3) > 0).await;
        }
        let peer = &*self.peers[round % self.peers.len()];
        let txn = {
            let _turn = self.turn.lock().await;
            self.proxy.policy(&policy(peer)).await;
            self.proxy.pause(round).await
        };
        self.progress.send_modify(|progress| progress.begun += 1);
        let asked = PlannedRequest { round, txn, approve: self.throw(2) == 0 };
        let decides = peer.platform().spec().decides;
        match self.throw(4) {
            0 => assert_eq!(self.decide_on_page(asked).await, 1),
            1 if decides => {
                self.see(peer, asked).await;
                tokio::join!(self.decide_by_click(peer, asked), self.decide_on_page(asked));
            }
            _ if decides => {
                self.see(peer, asked).await;
                if self.is_in_digest(asked).await {
                    assert_eq!(self.decide_on_page(asked).await, 1);
                } else {
                    self.decide_by_click(peer, asked).await;
                }
            }
            _ => {
                self.see(peer, asked).await;
                assert_eq!(self.decide_on_page(asked).await, 1);
            }
        }
        self.progress.send_modify(|progress| progress.decided += 1);
        asked
    }

    /// Waits until people see a request on its platform, alone or with others.
    async fn see(&self, peer: &dyn Peer, asked: PlannedRequest) {
        let seen = self.within(PATIENCE, async || {
            peer.announcements().iter().any(|shown| asked.is_in(&shown.text))
                || self.is_in_digest(asked).await
        });
        assert!(seen.await, "never announced on {:?}: {:?}", peer.platform(), self.message(asked.txn).await);
    }

    /// True if it was announced together with others, in a message without buttons.
    async fn is_in_digest(&self, asked: PlannedRequest) -> bool {
        self.message(asked.txn).await.message_ref.is_some_and(|id| id.starts_with("digest:"))
    }

    /// Two people decide the same on the page at once. Returns how many of them did.
    async fn decide_on_page(&self, asked: PlannedRequest) -> usize {
        let proxy = &self.proxy;
        let verdict = || if asked.approve { Decision::Approve(None) } else { Decision::Deny(None) };
        let (one, two) =
            (proxy.approver(0, DecisionSurface::Dashboard), proxy.approver(1, DecisionSurface::Api));
        let (one, two) = tokio::join!(
            Box::pin(decide(&proxy.state, &one, asked.txn, verdict())),
            Box::pin(decide(&proxy.state, &two, asked.txn, verdict()))
        );
        let outcomes = [one, two];
        for outcome in &outcomes {
            assert!(matches!(outcome, Ok(_) | Err(Error::AlreadyDecided(_))), "{outcome:?}");
        }
        outcomes.iter().filter(|outcome| outcome.is_ok()).count()
    }

    /// Clicks until a click is acknowledged or the request is decided.
    async fn decide_by_click(&self, peer: &dyn Peer, asked: PlannedRequest) {
        let decided = async || self.state(asked.txn).await != ApprovalState::Pending;
        for _ in 0..PATIENCE / CLICK_AGAIN {
            let click = peer.click(&self.lives, asked).await;
            if click == Click::Acknowledged {
                assert!(decided().await, "a click on {:?} was acknowledged and is lost", peer.platform());
            }
            if self.within(CLICK_AGAIN, &decided).await {
                return;
            }
        }
        panic!("no click on {:?} decides: {:?}", peer.platform(), self.message(asked.txn).await);
    }

    async fn state(&self, txn: TxnId) -> ApprovalState {
        approvals::find(&self.proxy.state.store, self.proxy.workspace, txn).await.unwrap().unwrap().state
    }

    async fn message(&self, txn: TxnId) -> ChatMessageRow {
        let rows = chat_messages::list(&self.proxy.state.store, self.proxy.workspace, txn).await.unwrap();
        let [row] = rows.try_into().expect("one message about each request");
        row
    }

    /// Ends all faults, and lets time pass until every message is as it should be.
    async fn calm(&self) {
        for peer in &self.peers {
            peer.faults().set_percent(0);
            peer.faults().set_down(false);
        }
        self.lives.end().await;
        let (state, store) = (&self.proxy.state, &self.proxy.state.store);
        workers::send_all(state).await.unwrap();
        for _ in 0..1000 {
            channels::deliver_due(state).await.unwrap();
            let now = self.proxy.clock().now();
            let mut next = Vec::new();
            for platform in ChatPlatform::ALL {
                next.extend(chat_messages::next_due(store, *platform, now).await.unwrap());
            }
            let Some(next) = next.into_iter().min() else { return };
            self.proxy.advance(next.since(now));
        }
        panic!("messages do not come to an end");
    }

    /// Every request ended as people wanted, was sent at most once and only if it was approved, and its message says so.
    async fn check_requests(&self, all: &[PlannedRequest]) {
        let sent = self.proxy.upstream.requests();
        for asked in all {
            let end = if asked.approve { ApprovalState::Approved } else { ApprovalState::Denied };
            assert_eq!(self.state(asked.txn).await, end);
            let body = format!("round {}", asked.round);
            let times = sent.iter().filter(|request| request.body == body.as_bytes()).count();
            assert!(times <= usize::from(asked.approve), "{asked:?} was sent {times} times");
            let peer = &*self.peers[asked.round % self.peers.len()];
            let row = self.message(asked.txn).await;
            check_message(&row, end, &peer.announcements(), *asked, peer.posts_once());
            let told = self.proxy.poll(asked.txn).await.body().to_string();
            check_no_secret(&told);
        }
        let approved = all.iter().filter(|asked| asked.approve).count();
        assert!(sent.len() + self.lives.kill_count() * AT_ONCE >= approved, "what was approved is sent");
    }

    /// Nothing that people, operators or receivers read has a secret.
    async fn check_secrets(&self, logs: &Logs) {
        check_no_secret(&logs.text());
        for shown in self.peers.iter().flat_map(|peer| peer.announcements()) {
            check_no_secret(&shown.text);
        }
        let (store, filter) = (&self.proxy.state.store, DeliveryFilter::default());
        let deliveries = deliveries::list(store, self.proxy.workspace, &filter, 500).await.unwrap();
        for row in deliveries {
            check_no_secret(&format!("{row:?}"));
        }
    }
}

/// Links the account of a person to the first owner.
async fn link(proxy: &Proxy, peer: &dyn Peer) {
    let Some(account) = peer.account() else { return };
    let row = ChatIdentityRow {
        workspace_id: proxy.workspace,
        platform: peer.platform(),
        external_id: account.to_owned(),
        user_id: proxy.approver(0, DecisionSurface::Dashboard).user,
        label: "Ada".to_owned(),
        linked_at: proxy.clock_now(),
    };
    chat_identities::link(&proxy.state.store, &row).await.unwrap();
}

fn check_message(
    row: &ChatMessageRow,
    end: ApprovalState,
    shown: &[Announcement],
    asked: PlannedRequest,
    posts_once: bool,
) {
    assert_eq!((row.wanted, row.next_at), (end.into(), None), "nothing is left: {row:?}");
    let about = shown.iter().filter(|one| asked.is_in(&one.text)).count();
    assert!(about <= 1 || !posts_once, "posted {about} times: {row:?}");
    // Decided before it could be posted: there is nothing left to ask.
    let Some(name) = &row.message_ref else { return };
    assert!(row.error.is_none() && row.shown.is_some(), "{row:?}");
    let id = name.trim_start_matches("digest:");
    let posted = shown.iter().find(|one| one.id.as_deref().is_none_or(|known| known == id));
    let posted = posted.unwrap_or_else(|| panic!("what was posted is there: {row:?}"));
    if row.platform.spec().edits && id == name {
        let word = if end == ApprovalState::Approved { "Approved by" } else { "Denied by" };
        assert!(row.shown == Some(end.into()) && posted.text.contains(word), "{row:?}: {}", posted.text);
    }
}

fn check_no_secret(text: &str) {
    for secret in SECRETS {
        let found = text.find(secret).map(|at| text[..at].lines().last().unwrap_or_default());
        assert!(found.is_none(), "{secret} after: {found:?}");
    }
}

async fn chaos(database: TestDatabase) {
    let logs = Logs::start();
    let test = ChaosTest::start(database).await;
    let requests = async {
        let deciding = join_all((0..request_count()).map(|round| test.request(round)));
        let (asked, ()) = tokio::join!(deciding, test.storms());
        asked
    };
    let asked = tokio::select! {
        asked = requests => asked,
        () = test.pass_time() => unreachable!("time has no end"),
    };
    test.calm().await;
    test.check_requests(&asked).await;
    test.receivers.check(&test.proxy, request_count()).await;
    test.check_secrets(&logs).await;
}

engines! {
    async fn every_request_is_decided_once_while_all_channels_fail_and_the_node_is_killed(database: TestDatabase) {
        chaos(database).await;
    }
}

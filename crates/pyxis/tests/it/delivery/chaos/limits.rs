//! Times that platforms ask to wait.

use pyxis_testkit::faults::Fault;

use super::*;

/// Pause that the platforms ask for.
const LIMIT: Duration = Duration::from_secs(30);

/// The last second of that pause.
const LAST: Duration = Duration::from_secs(1);

/// Lets the next message meet the limit.
async fn meet_limit(proxy: &Proxy, peer: &dyn Peer) -> usize {
    peer.faults().script(Fault::Limited(LIMIT.as_secs()));
    channels::deliver_due(&proxy.state).await.unwrap();
    peer.faults().calls()
}

/// Nothing is sent before the end of the limit.
async fn keep_limit(proxy: &Proxy, peer: &dyn Peer, calls: usize) {
    for wait in [Duration::ZERO, LIMIT.saturating_sub(LAST)] {
        proxy.advance(wait);
        channels::deliver_due(&proxy.state).await.unwrap();
        assert_eq!(peer.faults().calls(), calls, "{:?} is called after {wait:?}", peer.platform());
    }
    proxy.advance(LAST);
    channels::deliver_due(&proxy.state).await.unwrap();
}

/// A request of this round.
async fn send_round(proxy: &Proxy, round: usize) -> PlannedRequest {
    PlannedRequest { round, txn: proxy.pause(round).await, approve: false }
}

fn showing(peer: &dyn Peer, asked: PlannedRequest, words: &str) -> bool {
    peer.announcements().iter().any(|one| asked.is_in(&one.text) && one.text.contains(words))
}

async fn keeps_limits(database: TestDatabase) {
    let peers = peers::start(&Arc::new(Mutex::new(Dice::new()))).await;
    let base_url = "https://px.example.com".to_owned();
    let config = Config { base_url, chats: peers::settings(&peers), ..Config::default() };
    let proxy = Proxy::with_config(database, config).await;
    for (round, peer) in peers.iter().map(|peer| &**peer).filter(|peer| peer.limits()).enumerate() {
        proxy.policy(&policy(peer)).await;
        let first = send_round(&proxy, round * 2).await;
        let calls = meet_limit(&proxy, peer).await;
        let second = send_round(&proxy, round * 2 + 1).await;
        keep_limit(&proxy, peer, calls).await;
        assert!([first, second].iter().all(|asked| showing(peer, *asked, "")), "{:?}", peer.platform());
        if !peer.platform().spec().edits {
            continue;
        }
        let approver = proxy.approver(0, DecisionSurface::Dashboard);
        decide(&proxy.state, &approver, first.txn, Decision::Deny(None)).await.unwrap();
        let calls = meet_limit(&proxy, peer).await;
        decide(&proxy.state, &approver, second.txn, Decision::Deny(None)).await.unwrap();
        keep_limit(&proxy, peer, calls).await;
        assert!(
            [first, second].iter().all(|asked| showing(peer, *asked, "Denied by")),
            "{:?}",
            peer.platform()
        );
    }
}

engines! {
    async fn nothing_is_sent_to_a_limited_room_before_its_time_even_if_it_is_due_later(database: TestDatabase) {
        keeps_limits(database).await;
    }
}

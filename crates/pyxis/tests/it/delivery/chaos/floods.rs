//! One message instead of a flood, on every platform (`docs/reference/notifications.md#floods`).

use super::*;

/// Requests that are announced one by one.
const SINGLE: usize = 2;

fn digests(peer: &dyn Peer) -> Vec<String> {
    let all = peer.announcements().into_iter().map(|one| one.text);
    all.filter(|text| text.contains("need approval")).collect()
}

/// Asks at this round and the ones after it, one each second.
async fn send_each_second(proxy: &Proxy, rounds: std::ops::Range<usize>) -> Vec<PlannedRequest> {
    let mut all = Vec::new();
    for round in rounds {
        all.push(PlannedRequest { round, txn: proxy.pause(round).await, approve: false });
        proxy.advance(Duration::from_secs(1));
    }
    all
}

/// A peer shows the first requests one by one, and the others as their number, with a link and nothing to decide with.
async fn becomes_one_message(proxy: &Proxy, peer: &dyn Peer, first: usize) {
    let platform = peer.platform();
    proxy.policy(&policy(peer)).await;
    let mut all = send_each_second(proxy, first..first + 8).await;
    channels::deliver_due(&proxy.state).await.unwrap();
    assert_eq!((peer.announcements().len(), digests(peer).len()), (SINGLE, 0), "{platform:?}");
    // The oldest of the others has waited for a minute.
    proxy.advance(Duration::from_secs(54));
    channels::deliver_due(&proxy.state).await.unwrap();
    let [digest] = digests(peer).try_into().unwrap();
    assert!(digest.contains("6 requests need approval"), "{platform:?}: {digest}");
    assert!(digest.contains("6 more requests are waiting for approval."), "{platform:?}: {digest}");
    assert!(digest.contains("https://px.example.com/app/inbox"), "{platform:?}: {digest}");
    assert!(all.iter().all(|asked| !asked.is_in(&digest)), "{platform:?}: {digest}");
    // The flood goes on: the number changes where messages can, and another message comes where they cannot.
    all.extend(send_each_second(proxy, first + 8..first + 11).await);
    channels::deliver_due(&proxy.state).await.unwrap();
    assert_eq!(peer.announcements().len(), SINGLE + 1, "{platform:?}");
    proxy.advance(Duration::from_mins(1));
    channels::deliver_due(&proxy.state).await.unwrap();
    let digests = digests(peer);
    let (count, number) = if platform.spec().edits { (1, 9) } else { (2, 3) };
    assert_eq!(
        (digests.len(), peer.announcements().len()),
        (count, SINGLE + count),
        "{platform:?}: {digests:?}"
    );
    let last = digests.last().unwrap();
    assert!(last.contains(&format!("{number} requests need approval")), "{platform:?}: {last}");
    // Those that were announced one by one show their outcome, and the message with the number stays.
    let approver = proxy.approver(0, DecisionSurface::Dashboard);
    for asked in &all {
        decide(&proxy.state, &approver, asked.txn, Decision::Deny(None)).await.unwrap();
    }
    channels::deliver_due(&proxy.state).await.unwrap();
    assert_eq!(self::digests(peer), digests, "{platform:?}");
    for (at, asked) in all.iter().enumerate() {
        let row = row(proxy, *asked).await;
        assert_eq!(row.next_at, None, "{row:?}");
        assert_eq!(row.message_ref.unwrap().starts_with("digest:"), at >= SINGLE, "{platform:?}: {at}");
    }
}

async fn floods(database: TestDatabase) {
    let peers = peers::start(&Arc::new(Mutex::new(Dice::new()))).await;
    let mut chats = peers::settings(&peers);
    chats.set_digest_after(u32::try_from(SINGLE).unwrap());
    let base_url = "https://px.example.com".to_owned();
    let proxy = Proxy::with_config(database, Config { base_url, chats, ..Config::default() }).await;
    for (number, peer) in peers.iter().enumerate() {
        becomes_one_message(&proxy, &**peer, number * 20).await;
    }
}

engines! {
    async fn after_a_few_requests_within_a_minute_every_platform_shows_one_message_with_a_count(database: TestDatabase) {
        floods(database).await;
    }
}

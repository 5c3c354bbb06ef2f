//! The registry of proofs: intervals, uniqueness of nullifiers, blocks, clocks and the log.

use pyxis_core::address::EvmAddress;
use pyxis_core::field::FieldElement;
use pyxis_core::proof::{ActionId, DEFAULT_ACTION, Kind, NetworkName, ProofNullifier, Subject};
use pyxis_core::sui::SuiAddress;
use pyxis_store::anonymous_limits;
use pyxis_store::attestation_keys::{self, KeyRow, Scheme};
use pyxis_store::block_clocks::{self, ClockKind, ClockRow};
use pyxis_store::blocklist::{self, BlockedRow};
use pyxis_store::proof_issuers::{self, ProofIssuerRow};
use pyxis_store::proof_log::{self, Change, LogRow, StatementRow};
use pyxis_store::proofs::{self, Ended, Filter, NewProof, RegistryQuery};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, at, at_once, exactly_one, query_strings};

fn network() -> NetworkName {
    "optimism".parse().unwrap()
}

fn subject(number: u8) -> Subject {
    EvmAddress([number; 20]).into()
}

fn nullifier(number: u64) -> ProofNullifier {
    ProofNullifier(FieldElement::small(number))
}

fn proof(holder: u8, number: u64, from_height: i64) -> NewProof {
    NewProof {
        network: network(),
        kind: Kind::GovId,
        subject: subject(holder),
        action_id: DEFAULT_ACTION,
        nullifier: nullifier(number),
        issuer: "0xaa".to_owned(),
        issued_at: NOW,
        expires_at: at(1000),
        from_height,
        registered_at: NOW,
    }
}

fn question(height: i64, moment: i64) -> RegistryQuery {
    RegistryQuery {
        network: network(),
        kind: Kind::GovId,
        action_id: Some(DEFAULT_ACTION),
        height,
        at: at(moment),
    }
}

fn clock(name: &str, sealed_height: i64) -> ClockRow {
    let kind = Some(ClockKind::Local);
    ClockRow {
        network: name.parse().unwrap(),
        genesis_at: NOW,
        block_ms: 1000,
        sealed_height,
        kind,
        local_until: None,
        rpc_from: None,
    }
}

fn entry() -> LogRow {
    LogRow {
        id: 0,
        change: Change::Register,
        network: network(),
        height: 3,
        at: NOW,
        kind: Some(Kind::GovId),
        subject: SuiAddress([3; 32]).into(),
        action_id: Some(DEFAULT_ACTION),
        nullifier: Some(nullifier(7)),
        expires_at: Some(at(9)),
        reason: None,
        made_by: "0xaa".into(),
    }
}

engines! {
    async fn a_proof_holds_from_its_first_height_until_its_last(main: &Workspace) {
        let store = &main.store;
        let id = proofs::insert(store, &proof(1, 7, 10)).await.unwrap();
        let live = async |height, moment| {
            proofs::live_until(store, &question(height, moment), subject(1)).await.unwrap()
        };
        assert_eq!(live(9, 0).await, None);
        assert_eq!(live(10, 0).await, Some(at(1000)));
        assert_eq!((live(10, 999).await, live(10, 1000).await), (Some(at(1000)), None));
        assert!(proofs::end(store, id, 20, Ended::Revoked).await.unwrap());
        assert!(!proofs::end(store, id, 15, Ended::Rebound).await.unwrap());
        assert_eq!((live(19, 0).await, live(20, 0).await), (Some(at(1000)), None));
        let again = proofs::insert(store, &proof(1, 8, 30)).await.unwrap();
        assert!(again > id);
        assert_eq!((live(29, 0).await, live(30, 0).await), (None, Some(at(1000))));
        let rows = proofs::known_of(store, &question(i64::MAX, 0), &[subject(1)]).await.unwrap();
        assert_eq!(rows.iter().map(|row| (row.until_height, row.ended)).collect::<Vec<_>>(),
            [(Some(20), Some(Ended::Revoked)), (None, None)]);
        assert_eq!(proofs::find(store, id).await.unwrap().as_ref(), Some(&rows[0]));
        assert_eq!(proofs::of_subject(store, subject(1)).await.unwrap()[0].id, again);
        assert!(proofs::insert(store, &proof(1, 9, 40)).await.is_err(), "one open proof for each use");
    }

    async fn another_action_kind_network_or_address_is_another_proof(main: &Workspace) {
        let store = &main.store;
        let other = ActionId(FieldElement::small(5));
        proofs::insert(store, &proof(1, 7, 1)).await.unwrap();
        proofs::insert(store, &NewProof { action_id: other, expires_at: at(2000), ..proof(1, 7, 1) }).await.unwrap();
        proofs::insert(store, &NewProof { kind: Kind::Phone, ..proof(1, 7, 1) }).await.unwrap();
        proofs::insert(store, &NewProof { network: "base-sepolia".parse().unwrap(), ..proof(1, 7, 1) }).await.unwrap();
        let until = async |question: RegistryQuery| proofs::live_until(store, &question, subject(1)).await.unwrap();
        assert_eq!(until(question(1, 0)).await, Some(at(1000)));
        assert_eq!(until(RegistryQuery { action_id: Some(other), ..question(1, 0) }).await, Some(at(2000)));
        assert_eq!(until(RegistryQuery { action_id: None, ..question(1, 0) }).await, Some(at(2000)));
        assert_eq!(until(RegistryQuery { kind: Kind::Epassport, ..question(1, 0) }).await, None);
        let open = proofs::open_of_nullifier(store, Kind::GovId, DEFAULT_ACTION, nullifier(7)).await.unwrap();
        assert_eq!(open.len(), 2, "on both networks");
        let found = proofs::open_of_subject(store, &network(), Kind::Phone, subject(1), DEFAULT_ACTION).await.unwrap();
        assert_eq!(found.unwrap().kind, Kind::Phone);
        let filter = Filter { kind: Some(Kind::GovId), subject: Some(subject(1)), ..Filter::default() };
        let page = proofs::list(store, &filter, 2).await.unwrap();
        assert_eq!(page.len(), 2);
        let rest = Filter { before: Some(page[1].id), network: Some(network()), ..filter };
        assert_eq!(proofs::list(store, &rest, 2).await.unwrap().len(), 1);
    }

    async fn many_are_asked_about_at_once(main: &Workspace) {
        let store = &main.store;
        for holder in [1, 2, 3] {
            proofs::insert(store, &proof(holder, holder.into(), 1)).await.unwrap();
        }
        let blocked = BlockedRow {
            id: 0, network: network(), subject: subject(2), from_height: 5, until_height: None,
            reason: "sold".to_owned(), blocked_at: NOW,
        };
        blocklist::add(store, &blocked).await.unwrap();
        let asked: Vec<Subject> = (1..=5).map(subject).collect();
        let mut before = proofs::live_among(store, &question(4, 0), &asked).await.unwrap();
        before.sort();
        assert_eq!(before, [subject(1), subject(2), subject(3)]);
        let mut after = proofs::live_among(store, &question(5, 0), &asked).await.unwrap();
        after.sort();
        assert_eq!(after, [subject(1), subject(3)]);
        assert_eq!(proofs::blocked_among(store, &question(5, 0), &asked).await.unwrap(), [subject(2)]);
        assert!(proofs::live_among(store, &question(5, 0), &[]).await.unwrap().is_empty());
        assert!(proofs::known_of(store, &question(5, 0), &[]).await.unwrap().is_empty());
        assert!(proofs::blocked_among(store, &question(5, 0), &[]).await.unwrap().is_empty());
    }

    async fn a_blocked_address_has_no_live_proof_until_the_block_is_lifted(main: &Workspace) {
        let store = &main.store;
        proofs::insert(store, &proof(1, 7, 1)).await.unwrap();
        let block = BlockedRow {
            id: 0, network: network(), subject: subject(1), from_height: 3, until_height: None,
            reason: "sold".to_owned(), blocked_at: NOW,
        };
        blocklist::add(store, &block).await.unwrap();
        assert!(blocklist::add(store, &block).await.unwrap_err().is_conflict());
        assert_eq!(blocklist::of_subject(store, subject(1)).await.unwrap().len(), 1);
        assert!(blocklist::lift(store, &network(), subject(1), 6).await.unwrap());
        assert!(!blocklist::lift(store, &network(), subject(1), 7).await.unwrap());
        let mut live = Vec::new();
        for height in [2, 3, 5, 6] {
            live.push(proofs::live_until(store, &question(height, 0), subject(1)).await.unwrap().is_some());
        }
        assert_eq!(live, [true, false, false, true]);
        assert!(blocklist::list(store, 9).await.unwrap().is_empty());
        blocklist::add(store, &BlockedRow { from_height: 9, ..block }).await.unwrap();
        assert_eq!(blocklist::list(store, 9).await.unwrap()[0].from_height, 9);
    }

    async fn a_nullifier_is_one_addresss_until_it_ends_or_is_given_up(main: &Workspace) {
        let store = &main.store;
        let mark = (Kind::GovId, DEFAULT_ACTION, nullifier(7));
        let take = async |holder, until, now| {
            proofs::take(store, mark, subject(holder), at(until), at(now)).await.unwrap()
        };
        assert!(take(1, 100, 0).await);
        assert!(!take(2, 500, 99).await);
        assert!(take(1, 50, 0).await, "again, and it does not shorten");
        assert!(!take(2, 500, 99).await);
        assert!(take(2, 500, 100).await);
        assert!(!proofs::release(store, mark, subject(1)).await.unwrap());
        assert!(proofs::release(store, mark, subject(2)).await.unwrap());
        assert!(take(3, 500, 0).await);
        let other = (Kind::Phone, DEFAULT_ACTION, nullifier(7));
        assert!(proofs::take(store, other, subject(4), at(9), at(0)).await.unwrap());
    }

    async fn of_many_who_want_a_nullifier_one_gets_it(main: &Workspace) {
        let taken = at_once(16, |number| {
            let store = main.store.clone();
            async move {
                let holder = subject(u8::try_from(number).unwrap() + 1);
                let mark = (Kind::GovId, DEFAULT_ACTION, nullifier(7));
                proofs::take(&store, mark, holder, at(100), at(0)).await.unwrap()
            }
        })
        .await;
        assert!(exactly_one(taken));
    }

    async fn a_clock_starts_once_and_seals_upwards_only(main: &Workspace) {
        let store = &main.store;
        block_clocks::ensure(store, &[clock("optimism", 0), clock("sui", 0)]).await.unwrap();
        block_clocks::ensure(store, &[ClockRow { genesis_at: at(9), ..clock("sui", 4) }]).await.unwrap();
        assert_eq!(block_clocks::list(store).await.unwrap(), [clock("optimism", 0), clock("sui", 0)]);
        assert_eq!(block_clocks::seal(store, &network(), 5).await.unwrap(), Some(5));
        assert_eq!(block_clocks::seal(store, &network(), 3).await.unwrap(), Some(5));
        assert_eq!(block_clocks::seal(store, &"none".parse().unwrap(), 3).await.unwrap(), None);
        let mut tx = store.begin().await.unwrap();
        assert_eq!(block_clocks::lock(&mut tx).await.unwrap()[0].sealed_height, 5);
    }

    async fn a_clock_changes_its_kind_only_while_nobody_used_it(main: &Workspace) {
        let store = &main.store;
        let settle = async |kind| block_clocks::settle(store, &network(), kind).await.unwrap();
        assert!(!settle(ClockKind::Local).await, "there is none");
        // A clock from before kinds were recorded adopts the first kind that is set.
        block_clocks::ensure(store, &[ClockRow { kind: None, ..clock("optimism", 7) }]).await.unwrap();
        assert!(settle(ClockKind::Rpc).await);
        assert!((settle(ClockKind::Rpc).await, settle(ClockKind::Local).await) == (true, false));
        assert_eq!(block_clocks::list(store).await.unwrap()[0].kind, Some(ClockKind::Rpc));
        let other = "gnosis".parse().unwrap();
        block_clocks::ensure(store, &[clock("gnosis", 0)]).await.unwrap();
        assert!(block_clocks::settle(store, &other, ClockKind::Rpc).await.unwrap());
        proof_log::append(store, &LogRow { network: other.clone(), ..entry() }).await.unwrap();
        assert!(!block_clocks::settle(store, &other, ClockKind::Local).await.unwrap());
    }

    async fn what_an_address_was_last_said_to_have_outdates_what_was_signed_before(main: &Workspace) {
        let store = &main.store;
        let outdated = async || {
            proofs::outdated_before(store, &network(), Kind::GovId, subject(1), DEFAULT_ACTION).await.unwrap()
        };
        assert_eq!(outdated().await, None);
        let id = proofs::insert(store, &NewProof { issued_at: at(5), ..proof(1, 7, 10) }).await.unwrap();
        assert_eq!(outdated().await, Some(at(5)));
        assert!(proofs::end_signed(store, id, 20, Ended::Revoked, at(9)).await.unwrap());
        assert!(!proofs::end_signed(store, id, 21, Ended::Revoked, at(99)).await.unwrap());
        assert_eq!(outdated().await, Some(at(9)));
        let id = proofs::insert(store, &NewProof { issued_at: at(12), ..proof(1, 8, 30) }).await.unwrap();
        assert!(proofs::end(store, id, 40, Ended::Expired).await.unwrap());
        assert_eq!(outdated().await, Some(at(12)));
    }

    async fn a_proof_that_moved_is_counted_once(main: &Workspace) {
        let store = &main.store;
        let moved = LogRow { change: Change::Rebind, ..entry() };
        for row in [entry(), moved, LogRow { subject: subject(4), ..entry() }, entry()] {
            proof_log::append(store, &row).await.unwrap();
        }
        assert_eq!(proofs::per_day(store, at(-1)).await.unwrap(), [(Kind::GovId, NOW.0 / 86_400_000, 2)]);
    }

    async fn the_log_is_read_in_order_and_statements_are_remembered(main: &Workspace) {
        let (store, entry) = (&main.store, entry());
        let block = LogRow {
            change: Change::Block, kind: None, action_id: None, nullifier: None, expires_at: None,
            reason: Some("sold".to_owned()), ..entry.clone()
        };
        proof_log::append(store, &entry).await.unwrap();
        proof_log::append(store, &block).await.unwrap();
        let all = proof_log::page(store, 0, 10).await.unwrap();
        assert_eq!(all, [LogRow { id: all[0].id, ..entry }, LogRow { id: all[1].id, ..block }]);
        assert_eq!(proof_log::page(store, all[0].id, 10).await.unwrap(), [all[1].clone()]);
        let days = proofs::per_day(store, at(-1)).await.unwrap();
        assert_eq!(days, [(Kind::GovId, NOW.0 / 86_400_000, 1)]);
        let statement = StatementRow {
            digest: [1; 32], issuer: "0xaa".to_owned(), network: network(), height: 3, proof_id: Some(1),
        };
        proof_log::remember(store, &statement).await.unwrap();
        assert_eq!(proof_log::find_statement(store, &[1; 32]).await.unwrap(), Some(statement));
        assert_eq!(proof_log::find_statement(store, &[2; 32]).await.unwrap(), None);
    }

    async fn issuers_are_listed_for_each_kind(main: &Workspace) {
        let store = &main.store;
        let row = |kind, name: &str| ProofIssuerRow {
            kind, issuer: "0xaa".to_owned(), name: name.to_owned(), created_at: NOW,
        };
        for new in [row(Kind::Phone, "p"), row(Kind::GovId, "g"), row(Kind::GovId, "G")] {
            proof_issuers::put(store, &new).await.unwrap();
        }
        assert_eq!(proof_issuers::list(store).await.unwrap(), [row(Kind::GovId, "G"), row(Kind::Phone, "p")]);
        assert!(proof_issuers::is_listed(store, Kind::Phone, "0xaa").await.unwrap());
        assert!(proof_issuers::remove(store, Kind::Phone, "0xaa").await.unwrap());
        assert!(!proof_issuers::remove(store, Kind::Phone, "0xaa").await.unwrap());
        assert!(!proof_issuers::is_listed(store, Kind::Phone, "0xaa").await.unwrap());
    }

    async fn visits_are_counted_exactly_and_forgotten_with_the_next_window(main: &Workspace) {
        let admitted = at_once(12, |_| {
            let store = main.store.clone();
            async move { anonymous_limits::admit(&store, "192.0.2.1", NOW, 5).await.unwrap() }
        })
        .await;
        assert_eq!(admitted.into_iter().filter(|admitted| *admitted).count(), 5);
        assert!(anonymous_limits::admit(&main.store, "192.0.2.2", NOW, 5).await.unwrap());
        assert!(anonymous_limits::admit(&main.store, "192.0.2.1", at(60_000), 1).await.unwrap());
        assert!(!anonymous_limits::admit(&main.store, "192.0.2.1", at(60_000), 1).await.unwrap());
        assert_eq!(query_strings(main, "SELECT client FROM visits").await, ["192.0.2.1"]);
    }

    async fn one_key_of_a_scheme_signs_at_a_time(main: &Workspace) {
        let store = &main.store;
        let key = |id, scheme| KeyRow {
            id, scheme, public_key: format!("0x{id}"), created_at: NOW, retired_at: None,
        };
        assert!(attestation_keys::insert(store, &key(1, Scheme::Ed25519)).await.unwrap());
        assert!(!attestation_keys::insert(store, &key(2, Scheme::Ed25519)).await.unwrap());
        assert!(attestation_keys::insert(store, &key(2, Scheme::Eip712)).await.unwrap());
        assert!(attestation_keys::retire(store, 1, at(5)).await.unwrap());
        assert!(!attestation_keys::retire(store, 1, at(6)).await.unwrap());
        assert_eq!(attestation_keys::active(store, Scheme::Ed25519).await.unwrap(), None);
        assert!(attestation_keys::insert(store, &key(3, Scheme::Ed25519)).await.unwrap());
        assert_eq!(attestation_keys::active(store, Scheme::Ed25519).await.unwrap().unwrap().id, 3);
        assert_eq!(attestation_keys::list(store).await.unwrap().len(), 3);
    }
}

//! Messages about tasks and announcements of them, next to those about requests.

use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{ChatMessageId, CredentialId, TaskId, UserId};
use pyxis_core::task::TaskState;
use pyxis_store::Tx;
use pyxis_store::announcements::{self, AnnouncementRow, RecipientKind};
use pyxis_store::chat_messages::{self, ChatMessageRow, NewChatMessage};
use pyxis_store::message_subject::{MessageState, MessageSubject};
use pyxis_store::tasks::{self, TaskDecision, TaskStop};
use pyxis_testkit::database::{Fixture, TestDatabase};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_approval, at};
use crate::tasks::add;

const TELEGRAM: ChatPlatform = ChatPlatform::TELEGRAM;

async fn add_task(main: &Workspace, expires: UnixMillis) -> TaskId {
    add(main, TaskState::Proposed, expires, &[CredentialId::new(NOW, &OsEntropy)], 0).await
}

async fn add_message(main: &Workspace, subject: impl Into<MessageSubject>, due: UnixMillis) -> ChatMessageId {
    add_held_message(main, subject, due, due).await
}

/// A message of `asked` that is due later.
async fn add_held_message(
    main: &Workspace,
    subject: impl Into<MessageSubject>,
    asked: UnixMillis,
    due: UnixMillis,
) -> ChatMessageId {
    let id = ChatMessageId::new(asked, &OsEntropy);
    let new = NewChatMessage {
        id,
        workspace_id: main.id,
        subject: subject.into(),
        platform: TELEGRAM,
        chat: "-100".to_owned(),
        nonce_hash: format!("hash of {id}"),
        created_at: due,
        recipient: None,
    };
    chat_messages::insert(&main.store, &new).await.unwrap();
    id
}

/// A change of many messages of a chat.
#[derive(Clone, Copy, Debug)]
enum ChatChange {
    Postpone,
    Digest,
    Revive,
}

async fn one(main: &Workspace, subject: impl Into<MessageSubject>) -> ChatMessageRow {
    chat_messages::list(&main.store, main.id, subject).await.unwrap().remove(0)
}

async fn claim(main: &Workspace, now: UnixMillis, limit: u32) -> Vec<ChatMessageRow> {
    chat_messages::claim(&main.store, TELEGRAM, now, UnixMillis(now.0 + 60_000), limit).await.unwrap()
}

engines! {
    async fn a_message_wants_to_show_every_change_of_its_task(main: &Workspace) {
        let (task, other) = (add_task(main, at(10)).await, add_task(main, at(10)).await);
        for id in [task, other] {
            add_message(main, id, NOW).await;
        }
        let mine = claim(main, NOW, 10).await;
        let about = |id: TaskId| mine.iter().filter(|row| row.subject == id.into()).count();
        assert_eq!((mine.len(), about(task), about(other)), (2, 1, 1));
        for row in &mine {
            chat_messages::record_shown(&main.store, row, MessageState::Pending, "77", at(1)).await.unwrap();
        }
        let mut tx = main.store.begin().await.unwrap();
        let approval = TaskDecision { state: TaskState::Approved, by: Some("a@b.c"), reason: None, expires_at: None, passkey: None };
        assert!(tasks::decide(&mut tx, main.id, task, approval, at(2)).await.unwrap());
        tx.commit().await.unwrap();
        let row = one(main, task).await;
        assert_eq!((row.wanted, row.shown, row.next_at), (MessageState::Approved, Some(MessageState::Pending), Some(at(2))));
        let mut tx = main.store.begin().await.unwrap();
        let stop = TaskStop { reason: "stopped", by: None, now: at(3) };
        assert!(tasks::stop(&mut tx, main.id, task, stop).await.unwrap().is_some());
        tx.commit().await.unwrap();
        assert_eq!(one(main, task).await.wanted, MessageState::Stopped);
        assert_eq!(one(main, other).await.wanted, MessageState::Pending);
    }

    async fn a_proposal_expires_once_at_the_end_of_its_time(main: &Workspace) {
        let (due, later) = (add_task(main, at(5)).await, add_task(main, at(6)).await);
        add_message(main, due, NOW).await;
        assert_eq!(tasks::next_expiry(&main.store).await.unwrap(), Some(at(5)));
        assert_eq!(tasks::due(&main.store, at(4), 10).await.unwrap(), []);
        assert_eq!(tasks::due(&main.store, at(5), 10).await.unwrap(), [(main.id, due)]);
        for expected in [true, false] {
            let mut tx = main.store.begin().await.unwrap();
            assert_eq!(tasks::expire(&mut tx, main.id, due, at(5)).await.unwrap(), expected);
            assert!(!tasks::expire(&mut tx, main.id, later, at(5)).await.unwrap());
            tx.commit().await.unwrap();
        }
        assert_eq!(one(main, due).await.wanted, MessageState::Expired);
        assert_eq!(tasks::next_expiry(&main.store).await.unwrap(), Some(at(6)));
    }

    async fn messages_about_requests_and_tasks_share_rounds_and_counts(main: &Workspace) {
        let mut ids = Vec::new();
        for round in 0..6 {
            let txn = add_approval(main, &format!("r{round}")).await.txn_id;
            ids.push(add_message(main, txn, at(2 * round)).await);
            ids.push(add_message(main, add_task(main, at(100)).await, at(2 * round + 1)).await);
        }
        let claimed = claim(main, at(12), 8).await;
        let about_tasks = claimed.iter().filter(|row| matches!(row.subject, MessageSubject::Task(_))).count();
        assert_eq!((claimed.len(), about_tasks), (8, 2), "tasks take a quarter");
        let last = claimed.into_iter().find(|row| row.id == ids[10]).unwrap();
        assert_eq!(claim(main, at(12), 8).await.len(), 4, "no requests are left");
        for (steps, expected) in [(1, Some(9)), (2, Some(8)), (10, Some(0)), (11, None)] {
            let before = chat_messages::created_before(&main.store, &last, steps).await.unwrap();
            assert_eq!(before, expected.map(at), "{steps}");
        }
        let midst = UnixMillis(at(5).0 + 1);
        let held = add_held_message(main, add_task(main, at(100)).await, midst, at(100)).await;
        let waiting = chat_messages::list_unposted(&main.store, &last, at(12)).await.unwrap();
        assert_eq!(waiting.iter().map(|row| row.id).collect::<Vec<_>>(), ids);
        let count = chat_messages::record_digest(&main.store, &waiting[0], ids[11], "digest:1", at(12)).await.unwrap();
        assert_eq!(count, 11);
        let waiting = chat_messages::list_unposted(&main.store, &last, at(100)).await.unwrap();
        assert_eq!(waiting.iter().map(|row| row.id).collect::<Vec<_>>(), [ids[0], held]);
        let moved = ("-100", "-200");
        let mut tx = main.store.begin().await.unwrap();
        assert_eq!(chat_messages::rename_chat(&mut tx, main.id, TELEGRAM, moved, at(20)).await.unwrap(), 13);
        tx.commit().await.unwrap();
        assert_eq!(chat_messages::next_due(&main.store, TELEGRAM, at(19)).await.unwrap(), Some(at(20)));
    }

    async fn a_chat_that_accepts_a_later_message_of_either_kind_is_reachable(main: &Workspace) {
        let (task, txn) = (add_task(main, at(100)).await, add_approval(main, "a").await.txn_id);
        let unreachable = async || {
            let rows = chat_messages::unreachable(&main.store, TELEGRAM).await.unwrap();
            rows.into_iter().map(|row| row.subject).collect::<Vec<_>>()
        };
        add_message(main, task, NOW).await;
        chat_messages::failed(&main.store, &claim(main, NOW, 10).await[0], "kicked", None).await.unwrap();
        assert_eq!(unreachable().await, [task.into()]);
        assert_eq!(chat_messages::list_failing(&main.store, main.id, TELEGRAM, 5).await.unwrap().len(), 1);
        add_message(main, txn, at(1)).await;
        let later = claim(main, at(1), 10).await.remove(0);
        chat_messages::failed(&main.store, &later, "kicked", None).await.unwrap();
        assert_eq!(unreachable().await, [txn.into()], "the newest of both");
        assert_eq!(chat_messages::revive(&main.store, TELEGRAM, "-100", at(2)).await.unwrap(), 2);
        for row in claim(main, at(2), 10).await {
            chat_messages::record_shown(&main.store, &row, MessageState::Pending, "78", at(2)).await.unwrap();
        }
        assert!(unreachable().await.is_empty());
        let found = chat_messages::find_by_ref(&main.store, TELEGRAM, "78").await.unwrap().unwrap();
        assert_eq!(found.subject, txn.into());
    }

    async fn messages_and_announcements_are_deleted_with_their_task(main: &Workspace) {
        let task = add_task(main, at(1)).await;
        add_message(main, task, NOW).await;
        let person = UserId::new(NOW, &OsEntropy);
        let announced = |kind, recipient: String, time| AnnouncementRow {
            subject: task.into(), channel: "telegram".to_owned(), kind, recipient, at: time, workspace_id: main.id,
        };
        let room = announced(RecipientKind::Room, "-100".to_owned(), NOW);
        let later = announced(RecipientKind::Person, person.to_string(), at(50));
        let mut tx = main.store.begin().await.unwrap();
        for _ in 0..2 {
            announcements::insert(&mut tx, &[room.clone(), later.clone()]).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(announcements::list(&main.store, main.id, task).await.unwrap(), [room.clone(), later]);
        let mut tx = main.store.begin().await.unwrap();
        assert_eq!(announcements::remove_later(&mut tx, main.id, "telegram", person, at(2)).await.unwrap(), 1);
        tx.commit().await.unwrap();
        assert_eq!(announcements::list(&main.store, main.id, task).await.unwrap(), [room]);
        assert_eq!(tasks::purge(&main.store, at(100)).await.unwrap(), 1);
        assert!(announcements::list(&main.store, main.id, task).await.unwrap().is_empty());
        assert!(chat_messages::list(&main.store, main.id, task).await.unwrap().is_empty());
    }
}

// On SQLite the second one waits before it begins.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_a_chat_and_of_two_of_its_tasks_do_not_wait_for_each_other_on_postgres() {
    let main = &Workspace::start(TestDatabase::postgres("changes_of_a_chat").await).await;
    for (start, change) in [(-90, ChatChange::Postpone), (-60, ChatChange::Digest), (-30, ChatChange::Revive)]
    {
        let mut subjects: Vec<MessageSubject> = Vec::new();
        for asked in start..start + 3 {
            let task = add_task(main, at(100)).await;
            add_message(main, task, at(asked)).await;
            subjects.push(task.into());
        }
        let (first, last) = (one(main, subjects[0]).await, one(main, subjects[2]).await.id);
        if matches!(change, ChatChange::Revive) {
            for subject in &subjects {
                chat_messages::failed(&main.store, &one(main, *subject).await, "kicked", None).await.unwrap();
            }
        }
        // The last task is stopped, and then the one before it, in one transaction.
        let mut tx = main.store.begin().await.unwrap();
        let stop = async |tx: &mut Tx, subject: MessageSubject| {
            chat_messages::set_desired_state(tx, main.id, subject, MessageState::Stopped, at(1)).await
        };
        assert_eq!(stop(&mut tx, subjects[2]).await.unwrap(), 1);
        let store = main.store.clone();
        let changed = tokio::spawn(async move {
            match change {
                ChatChange::Postpone => {
                    chat_messages::postpone(&store, TELEGRAM, "-100", at(2), at(50)).await
                }
                ChatChange::Digest => {
                    chat_messages::record_digest(&store, &first, last, "digest:1", at(2)).await
                }
                ChatChange::Revive => chat_messages::revive(&store, TELEGRAM, "-100", at(2)).await,
            }
        });
        let finished = async {
            while !changed.is_finished() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = finished => {}
            () = crate::support::postgres(main).until_one_waits() => {}
        }
        assert_eq!(stop(&mut tx, subjects[1]).await.unwrap(), 1, "{change:?}");
        tx.commit().await.unwrap();
        assert!(changed.await.unwrap().unwrap() > 0, "{change:?}");
        let due = claim(main, at(60), 10).await;
        let is_due =
            |subject| due.iter().any(|row| row.subject == subject && row.wanted == MessageState::Stopped);
        assert!(is_due(subjects[1]) && is_due(subjects[2]), "{change:?}: {due:?}");
    }
}

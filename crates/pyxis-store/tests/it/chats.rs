//! Chat messages, accounts and default chats.

use pyxis_core::approval_mode::ApprovalState;
use pyxis_core::chat::ChatPlatform;
use pyxis_core::clock::UnixMillis;
use pyxis_core::entropy::OsEntropy;
use pyxis_core::id::{ChatMessageId, TxnId};
use pyxis_store::chat_identities::{self, ChatIdentityRow, LinkCodeRow};
use pyxis_store::chat_messages::{self, ChatMessageRow, NewChatMessage};
use pyxis_store::message_subject::MessageState;
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_approval, add_user, at, at_once};

const TELEGRAM: ChatPlatform = ChatPlatform::TELEGRAM;

async fn add(main: &Workspace, txn: TxnId, platform: ChatPlatform, due: UnixMillis) -> NewChatMessage {
    let id = ChatMessageId::new(NOW, &OsEntropy);
    let new = NewChatMessage {
        id,
        workspace_id: main.id,
        subject: txn.into(),
        platform,
        chat: "-100".to_owned(),
        nonce_hash: format!("hash of {id}"),
        created_at: due,
        recipient: None,
    };
    chat_messages::insert(&main.store, &new).await.unwrap();
    new
}

async fn one(main: &Workspace, txn: TxnId) -> ChatMessageRow {
    chat_messages::list(&main.store, main.id, txn).await.unwrap().remove(0)
}

async fn claim(main: &Workspace, now: UnixMillis) -> Vec<ChatMessageRow> {
    chat_messages::claim(&main.store, TELEGRAM, now, UnixMillis(now.0 + 60_000), 10).await.unwrap()
}

engines! {
    async fn a_message_is_due_until_it_shows_what_is_wanted(main: &Workspace) {
        let txn = add_approval(main, "a").await.txn_id;
        let new = add(main, txn, TELEGRAM, NOW).await;
        assert!(claim(main, at(-1)).await.is_empty());
        let claimed = claim(main, NOW).await;
        assert_eq!((claimed.len(), claimed[0].id, claimed[0].shown, &claimed[0].chat), (1, new.id, None, &new.chat));
        assert!(claim(main, at(1)).await.is_empty(), "somebody has it");
        chat_messages::record_shown(&main.store, &claimed[0], ApprovalState::Pending, "77", at(2)).await.unwrap();
        let row = one(main, txn).await;
        assert_eq!((row.shown, row.message_ref.as_deref(), row.next_at), (Some(MessageState::Pending), Some("77"), None));
        assert_eq!(chat_messages::set_desired_state(&main.store, main.id, txn, ApprovalState::Denied, at(3)).await.unwrap(), 1);
        assert_eq!(chat_messages::set_desired_state(&main.store, main.id, txn, ApprovalState::Denied, at(4)).await.unwrap(), 0);
        assert_eq!(chat_messages::next_due(&main.store, TELEGRAM, at(2)).await.unwrap(), Some(at(3)));
        let mine = &claim(main, at(3)).await[0];
        // It was decided while the first text was being sent, so it is due again immediately.
        chat_messages::record_shown(&main.store, mine, ApprovalState::Pending, "77", at(5)).await.unwrap();
        assert_eq!(one(main, txn).await.next_at, Some(at(5)));
        let mine = &claim(main, at(5)).await[0];
        chat_messages::record_shown(&main.store, mine, ApprovalState::Denied, "77", at(6)).await.unwrap();
        assert_eq!(one(main, txn).await.next_at, None);
        assert_eq!(chat_messages::next_due(&main.store, TELEGRAM, at(-9)).await.unwrap(), None);
    }

    async fn what_changes_while_a_message_is_on_its_way_is_shown_afterwards_and_posted_once(main: &Workspace) {
        let txn = add_approval(main, "a").await.txn_id;
        add(main, txn, TELEGRAM, NOW).await;
        let renew = async |now| chat_messages::refresh(&main.store, main.id, txn, now).await.unwrap();
        let shown = async |state, claimed: &ChatMessageRow, now| {
            chat_messages::record_shown(&main.store, claimed, state, "77", now).await.unwrap();
        };
        // While it is being posted, no one else may post it, and it is due again afterwards.
        let mine = &claim(main, NOW).await[0];
        assert_eq!(renew(at(1)).await, 1);
        assert!(claim(main, at(2)).await.is_empty());
        shown(ApprovalState::Pending, mine, at(3)).await;
        let mine = &claim(main, at(3)).await[0];
        shown(ApprovalState::Pending, mine, at(4)).await;
        assert_eq!(one(main, txn).await.next_at, None);
        // While it is posted, it is due immediately.
        renew(at(5)).await;
        let mine = &claim(main, at(5)).await[0];
        shown(ApprovalState::Pending, mine, at(6)).await;
        // Messages that are final, or were given up before being posted, are left alone.
        chat_messages::set_desired_state(&main.store, main.id, txn, ApprovalState::Denied, at(7)).await.unwrap();
        assert_eq!(renew(at(8)).await, 0);
        let refused = add_approval(main, "b").await.txn_id;
        add(main, refused, TELEGRAM, NOW).await;
        chat_messages::failed(&main.store, &one(main, refused).await, "chat not found", None).await.unwrap();
        assert_eq!(chat_messages::refresh(&main.store, main.id, refused, at(9)).await.unwrap(), 0);
    }

    async fn failures_are_counted_and_a_message_can_be_handed_back_uncounted(main: &Workspace) {
        let txn = add_approval(main, "a").await.txn_id;
        add(main, txn, TELEGRAM, NOW).await;
        chat_messages::failed(&main.store, &one(main, txn).await, "no answer", Some(at(9))).await.unwrap();
        let row = one(main, txn).await;
        assert_eq!((row.attempts, row.error.as_deref(), row.next_at), (1, Some("no answer"), Some(at(9))));
        chat_messages::release_claim(&main.store, &row, Some(at(20))).await.unwrap();
        let row = one(main, txn).await;
        assert_eq!((row.attempts, row.next_at), (1, Some(at(20))));
        chat_messages::record_shown(&main.store, &row, ApprovalState::Pending, "1", at(20)).await.unwrap();
        assert_eq!((one(main, txn).await.attempts, one(main, txn).await.error), (0, None));
    }

    async fn what_is_decided_while_a_message_fails_or_is_handed_back_stays_due(main: &Workspace) {
        for (name, given_up) in [("a", None), ("b", Some(at(900)))] {
            let txn = add_approval(main, name).await.txn_id;
            add(main, txn, TELEGRAM, NOW).await;
            let want = async |state, now| {
                chat_messages::set_desired_state(&main.store, main.id, txn, state, now).await.unwrap();
            };
            let mine = &claim(main, NOW).await[0];
            want(ApprovalState::Denied, at(1)).await;
            chat_messages::failed(&main.store, mine, "no answer", given_up).await.unwrap();
            let row = one(main, txn).await;
            assert_eq!((row.attempts, row.error.as_deref(), row.next_at), (1, Some("no answer"), Some(at(1))));
            let mine = &claim(main, at(2)).await[0];
            want(ApprovalState::Approved, at(3)).await;
            chat_messages::release_claim(&main.store, mine, given_up).await.unwrap();
            assert_eq!(one(main, txn).await.next_at, Some(at(3)));
            // Nothing happened meanwhile, so the claimer's result applies.
            let mine = &claim(main, at(4)).await[0];
            chat_messages::release_claim(&main.store, mine, given_up).await.unwrap();
            assert_eq!(one(main, txn).await.next_at, given_up);
        }
    }

    async fn a_claim_that_ran_out_gives_nothing_back_that_another_has(main: &Workspace) {
        let txn = add_approval(main, "a").await.txn_id;
        add(main, txn, TELEGRAM, NOW).await;
        let slow = &claim(main, NOW).await[0];
        let other = &claim(main, slow.next_at.unwrap()).await[0];
        chat_messages::release_claim(&main.store, slow, None).await.unwrap();
        chat_messages::failed(&main.store, slow, "no answer", None).await.unwrap();
        assert_eq!(one(main, txn).await.next_at, other.next_at);
    }

    async fn messages_that_could_not_be_shown_are_found_newest_first(main: &Workspace) {
        let txn = add_approval(main, "a").await.txn_id;
        let (first, good, second) = (
            add(main, txn, TELEGRAM, NOW).await,
            add(main, txn, TELEGRAM, NOW).await,
            add(main, txn, TELEGRAM, NOW).await,
        );
        for row in chat_messages::list(&main.store, main.id, txn).await.unwrap() {
            if row.id == good.id {
                continue;
            }
            chat_messages::failed(&main.store, &row, "chat not found", None).await.unwrap();
        }
        let found = async |ws, platform, limit| {
            let rows = chat_messages::list_failing(&main.store, ws, platform, limit).await.unwrap();
            rows.into_iter().map(|row| row.id).collect::<Vec<_>>()
        };
        let mut both = vec![first.id, second.id];
        both.sort_by(|a, b| b.cmp(a));
        assert_eq!(found(main.id, TELEGRAM, 9).await, both);
        assert_eq!(found(main.id, TELEGRAM, 1).await, both[..1]);
        assert!(!found(main.id, TELEGRAM, 9).await.contains(&good.id));
        assert!(found(main.id, ChatPlatform::MATRIX, 9).await.is_empty());
        assert!(found(main.add_workspace("other").await, TELEGRAM, 9).await.is_empty());
    }

    async fn each_message_is_claimed_once_and_a_platform_gets_its_own_only(main: &Workspace) {
        let txn = add_approval(main, "a").await.txn_id;
        for _ in 0..20 {
            add(main, txn, TELEGRAM, NOW).await;
        }
        add(main, txn, ChatPlatform::MATRIX, NOW).await;
        let taken = at_once(8, |_| {
            let store = main.store.clone();
            async move { chat_messages::claim(&store, TELEGRAM, NOW, at(60_000), 5).await.unwrap().len() }
        })
        .await;
        assert_eq!(taken.into_iter().sum::<usize>(), 20);
        assert_eq!(chat_messages::claim(&main.store, ChatPlatform::MATRIX, NOW, at(1), 5).await.unwrap().len(), 1);
    }

    async fn a_message_is_found_by_its_nonce_and_by_its_name(main: &Workspace) {
        let txn = add_approval(main, "a").await.txn_id;
        let new = add(main, txn, TELEGRAM, NOW).await;
        let by_nonce = async |platform, hash: &str| {
            chat_messages::find_by_nonce(&main.store, platform, hash).await.unwrap().map(|row| row.id)
        };
        assert_eq!(by_nonce(TELEGRAM, &new.nonce_hash).await, Some(new.id));
        assert_eq!(by_nonce(ChatPlatform::MATRIX, &new.nonce_hash).await, None);
        assert_eq!(by_nonce(TELEGRAM, "x").await, None);
        let row = one(main, txn).await;
        chat_messages::record_shown(&main.store, &row, ApprovalState::Pending, "$event", NOW).await.unwrap();
        let found = chat_messages::find_by_ref(&main.store, TELEGRAM, "$event").await.unwrap();
        assert_eq!(found.map(|row| row.id), Some(new.id));
        assert!(chat_messages::find_by_ref(&main.store, ChatPlatform::MATRIX, "$event").await.unwrap().is_none());
    }

    async fn the_place_where_reading_stopped_is_kept(main: &Workspace) {
        assert_eq!(chat_messages::cursor(&main.store, TELEGRAM).await.unwrap(), None);
        for position in ["1", "2"] {
            chat_messages::set_cursor(&main.store, TELEGRAM, position).await.unwrap();
            assert_eq!(chat_messages::cursor(&main.store, TELEGRAM).await.unwrap().as_deref(), Some(position));
        }
        assert_eq!(chat_messages::cursor(&main.store, ChatPlatform::MATRIX).await.unwrap(), None);
    }

    async fn a_link_code_works_once_in_time_and_on_its_platform(main: &Workspace) {
        let user = add_user(main, "a@example.com").await;
        let code = |hash: &str| LinkCodeRow {
            code_hash: hash.to_owned(),
            workspace_id: main.id,
            user_id: user,
            platform: TELEGRAM,
            created_at: NOW,
            expires_at: at(100),
        };
        for hash in ["one", "two"] {
            chat_identities::insert_code(&main.store, &code(hash)).await.unwrap();
        }
        let take = async |platform, hash: &str, now| {
            let mut tx = main.store.begin().await.unwrap();
            let taken = chat_identities::take_code(&mut tx, platform, hash, now).await.unwrap();
            tx.commit().await.unwrap();
            taken
        };
        assert_eq!(take(ChatPlatform::MATRIX, "one", NOW).await, None);
        assert_eq!(take(TELEGRAM, "one", at(100)).await, None);
        assert_eq!(take(TELEGRAM, "one", at(99)).await, Some(code("one")));
        assert_eq!(take(TELEGRAM, "one", at(99)).await, None);
        assert_eq!(chat_identities::purge_codes(&main.store, at(99)).await.unwrap(), 0);
        assert_eq!(chat_identities::purge_codes(&main.store, at(100)).await.unwrap(), 1);
    }

    async fn an_account_belongs_to_one_person_of_a_workspace(main: &Workspace) {
        let (ada, ben) = (add_user(main, "a@example.com").await, add_user(main, "b@example.com").await);
        let identity = |user_id| ChatIdentityRow {
            workspace_id: main.id,
            platform: TELEGRAM,
            external_id: "42".to_owned(),
            user_id,
            label: "@ada".to_owned(),
            linked_at: NOW,
        };
        chat_identities::link(&main.store, &identity(ada)).await.unwrap();
        chat_identities::link(&main.store, &identity(ben)).await.unwrap();
        let found = chat_identities::find(&main.store, main.id, TELEGRAM, "42").await.unwrap();
        assert_eq!(found, Some(identity(ben)));
        assert!(chat_identities::find(&main.store, main.id, ChatPlatform::MATRIX, "42").await.unwrap().is_none());
        let other = main.add_workspace("other").await;
        assert!(chat_identities::find(&main.store, other, TELEGRAM, "42").await.unwrap().is_none());
        assert_eq!(chat_identities::list(&main.store, main.id, TELEGRAM).await.unwrap().len(), 1);
        assert!(chat_identities::list_for_user(&main.store, main.id, ada).await.unwrap().is_empty());
        assert!(!chat_identities::unlink(&main.store, main.id, ada, TELEGRAM, "42").await.unwrap());
        assert!(chat_identities::unlink(&main.store, main.id, ben, TELEGRAM, "42").await.unwrap());
        assert!(chat_identities::list(&main.store, main.id, TELEGRAM).await.unwrap().is_empty());
    }

    async fn a_workspace_has_a_default_chat_for_each_platform(main: &Workspace) {
        let read = async |platform| chat_identities::default_chat(&main.store, main.id, platform).await.unwrap();
        let write = async |chat| chat_identities::set_default_chat(&main.store, main.id, TELEGRAM, chat).await.unwrap();
        assert_eq!(read(TELEGRAM).await, None);
        write(Some("-1")).await;
        write(Some("-2")).await;
        assert_eq!(read(TELEGRAM).await.as_deref(), Some("-2"));
        assert_eq!(read(ChatPlatform::MATRIX).await, None);
        write(None).await;
        assert_eq!(read(TELEGRAM).await, None);
    }
}

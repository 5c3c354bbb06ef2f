//! Workspaces, users, sign-in links and sessions.

use std::time::Duration;

use pyxis_core::approval_mode::{ApprovalMode, Role};
use pyxis_core::entropy::{OsEntropy, token};
use pyxis_core::id::SessionId;
use pyxis_store::sessions::{self, SessionKind, SessionRow};
use pyxis_store::sign_in_links::{self, SignInLinkRow};
use pyxis_store::{StoreError, users, workspaces};
use pyxis_testkit::engines;

use crate::support::{NOW, Workspace, add_user, at, at_once, exactly_one, tamper};

async fn add_session(main: &Workspace, user: pyxis_core::id::UserId) -> SessionRow {
    let row = SessionRow {
        id: SessionId::new(NOW, &OsEntropy),
        token_hash: token::<32>(&OsEntropy, ""),
        workspace_id: main.id,
        user_id: user,
        kind: SessionKind::Browser,
        csrf: "c".to_owned(),
        created_at: NOW,
        expires_at: at(1000),
        last_seen_at: NOW,
        user_agent: Some("Test/1".to_owned()),
    };
    sessions::insert(&main.store, &row).await.unwrap();
    row
}

async fn add_link(main: &Workspace, user: pyxis_core::id::UserId, expires: i64) -> SignInLinkRow {
    let link = SignInLinkRow {
        token_hash: token::<32>(&OsEntropy, ""),
        workspace_id: main.id,
        user_id: user,
        created_at: NOW,
        expires_at: at(expires),
        used_at: None,
        made_by: None,
    };
    sign_in_links::insert(&main.store, &link).await.unwrap();
    link
}

engines! {
    async fn a_workspace_is_found_by_name_and_its_settings_change(main: &Workspace) {
        let row = workspaces::find_by_name(&main.store, "MAIN").await.unwrap().unwrap();
        assert_eq!((row.id, row.mode), (main.id, ApprovalMode::Gated));
        assert!(workspaces::insert(&main.store, &workspaces::WorkspaceRow { name: "Main".to_owned(), ..row.clone() })
            .await
            .unwrap_err()
            .is_conflict());
        assert!(workspaces::update_settings(&main.store, main.id, ApprovalMode::Autonomous, Some(60)).await.unwrap());
        let row = workspaces::find(&main.store, main.id).await.unwrap().unwrap();
        assert_eq!((row.mode, row.approval_timeout_secs), (ApprovalMode::Autonomous, Some(60)));
        assert_eq!(workspaces::list(&main.store).await.unwrap(), [row]);
    }

    async fn a_user_is_unique_in_a_workspace_and_found_in_all(main: &Workspace) {
        let id = add_user(main, "Owner@Example.com").await;
        let row = users::find_by_email(&main.store, main.id, "owner@example.COM").await.unwrap().unwrap();
        assert_eq!((row.id, row.role, row.email.as_str()), (id, Role::Owner, "Owner@Example.com"));
        let other = main.add_workspace("other").await;
        let mut twin = users::NewUser {
            id: pyxis_core::id::UserId::new(at(1), &OsEntropy),
            workspace_id: main.id,
            email: "OWNER@example.com".to_owned(),
            role: Role::Member,
            password_hash: None,
            created_at: NOW,
        };
        assert!(users::insert(&main.store, &twin).await.unwrap_err().is_conflict());
        twin.workspace_id = other;
        users::insert(&main.store, &twin).await.unwrap();
        assert_eq!(users::find_all_by_email(&main.store, "owner@example.com").await.unwrap().len(), 2);
        assert_eq!(users::list(&main.store, other).await.unwrap().len(), 1);
        assert!(users::find(&main.store, other, id).await.unwrap().is_none());
    }

    async fn five_failures_lock_and_time_success_or_a_new_password_unlocks(main: &Workspace) {
        let id = add_user(main, "o@example.com").await;
        let attempt = async |millis| {
            let lock_for = Duration::from_mins(15);
            users::record_attempt(&main.store, main.id, id, at(millis), 5, lock_for).await.unwrap()
        };
        for count in 1..5 {
            let lock = attempt(count).await.unwrap();
            assert_eq!((lock.failed_sign_ins, lock.locked_until), (count, None));
        }
        let end = 5 + 900_000;
        assert_eq!(attempt(5).await.unwrap().locked_until, Some(at(end)));
        for millis in [5, 6, end - 1] {
            assert_eq!(attempt(millis).await, None);
        }
        assert_eq!(attempt(end).await.unwrap().failed_sign_ins, 1);
        assert!(users::record_success(&main.store, main.id, id, at(7)).await.unwrap());
        let row = users::find(&main.store, main.id, id).await.unwrap().unwrap();
        assert_eq!((row.failed_sign_ins, row.locked_until, row.last_sign_in_at), (0, None, Some(at(7))));
        attempt(8).await.unwrap();
        assert!(users::set_password(&main.store, main.id, id, "$argon2id$x").await.unwrap());
        let row = users::find(&main.store, main.id, id).await.unwrap().unwrap();
        assert_eq!((row.failed_sign_ins, row.password_hash.as_deref()), (0, Some("$argon2id$x")));
    }

    async fn of_many_attempts_at_once_exactly_the_limit_is_let_through(main: &Workspace) {
        let id = add_user(main, "o@example.com").await;
        let attempts = at_once(32, |_| {
            let (store, ws) = (main.store.clone(), main.id);
            async move { users::record_attempt(&store, ws, id, NOW, 5, Duration::from_secs(9)).await.unwrap() }
        })
        .await;
        let let_through: Vec<_> = attempts.into_iter().flatten().collect();
        assert_eq!(let_through.len(), 5);
        assert!(exactly_one(let_through.iter().map(|lock| lock.locked_until.is_some())));
    }

    async fn a_sign_in_link_works_once(main: &Workspace) {
        let user = add_user(main, "o@example.com").await;
        let link = add_link(main, user, 1000).await;
        assert_eq!(sign_in_links::peek(&main.store, &link.token_hash, NOW).await.unwrap(), Some(link.clone()));
        assert!(sign_in_links::consume(&main.store, &link.token_hash, at(1000)).await.unwrap().is_none());
        let consumed = at_once(16, |_| {
            let (store, hash) = (main.store.clone(), link.token_hash.clone());
            async move { sign_in_links::consume(&store, &hash, at(1)).await.unwrap().is_some() }
        })
        .await;
        assert!(exactly_one(consumed));
        assert!(sign_in_links::peek(&main.store, &link.token_hash, at(2)).await.unwrap().is_none());
    }

    async fn a_link_knows_who_made_it_and_is_listed_until_it_is_used_or_over(main: &Workspace) {
        let (user, maker) = (add_user(main, "o@example.com").await, add_user(main, "m@example.com").await);
        let link = add_link(main, user, 1000).await;
        let made = SignInLinkRow { token_hash: token::<32>(&OsEntropy, ""), made_by: Some(maker), ..link.clone() };
        sign_in_links::insert(&main.store, &made).await.unwrap();
        let open = async |millis| sign_in_links::list_open(&main.store, main.id, at(millis)).await.unwrap();
        assert_eq!(open(0).await.len(), 2);
        assert!(open(1000).await.is_empty());
        let consumed = sign_in_links::consume(&main.store, &made.token_hash, at(1)).await.unwrap().unwrap();
        assert_eq!(consumed.made_by, Some(maker));
        assert_eq!(open(2).await, [link]);
        let other = main.add_workspace("other").await;
        assert!(sign_in_links::list_open(&main.store, other, NOW).await.unwrap().is_empty());
    }

    async fn who_opened_an_account_is_noted_and_taken_back(main: &Workspace) {
        let (user, maker) = (add_user(main, "o@example.com").await, add_user(main, "m@example.com").await);
        let opened = async || {
            let row = users::find(&main.store, main.id, user).await.unwrap().unwrap();
            (row.opened_by, row.opened_at)
        };
        assert_eq!(opened().await, (None, None));
        assert!(users::set_opened(&main.store, main.id, user, Some((maker, at(5)))).await.unwrap());
        assert_eq!(opened().await, (Some(maker), Some(at(5))));
        assert!(users::set_opened(&main.store, main.id, user, None).await.unwrap());
        assert_eq!(opened().await, (None, None));
    }

    async fn only_somebody_who_never_signed_in_is_removed(main: &Workspace) {
        let (came, invited) = (add_user(main, "o@example.com").await, add_user(main, "m@example.com").await);
        users::record_success(&main.store, main.id, came, NOW).await.unwrap();
        assert!(!users::remove_invited(&main.store, main.id, came).await.unwrap());
        add_link(main, invited, 1000).await;
        let other = main.add_workspace("other").await;
        assert!(!users::remove_invited(&main.store, other, invited).await.unwrap());
        assert!(users::remove_invited(&main.store, main.id, invited).await.unwrap());
        assert!(users::find(&main.store, main.id, invited).await.unwrap().is_none());
    }

    async fn links_are_forgotten_once_they_have_expired(main: &Workspace) {
        let user = add_user(main, "o@example.com").await;
        let (early, spent, late) =
            (add_link(main, user, 1000).await, add_link(main, user, 1000).await, add_link(main, user, 1001).await);
        assert!(sign_in_links::consume(&main.store, &spent.token_hash, at(1)).await.unwrap().is_some());
        assert_eq!(sign_in_links::purge(&main.store, at(999)).await.unwrap(), 0);
        assert_eq!(sign_in_links::purge(&main.store, at(1000)).await.unwrap(), 2);
        // A purge with an earlier clock does not revive a link; only the late one is left.
        for (link, left) in [(&early, false), (&spent, false), (&late, true)] {
            let found = sign_in_links::peek(&main.store, &link.token_hash, NOW).await.unwrap();
            assert_eq!(found.is_some(), left);
        }
    }

    async fn a_session_lives_until_it_expires_ends_or_its_person_is_disabled(main: &Workspace) {
        let user = add_user(main, "o@example.com").await;
        let session = add_session(main, user).await;
        let live = async |millis| {
            sessions::find_live(&main.store, &session.token_hash, at(millis)).await.unwrap().map(|(row, _)| row)
        };
        assert_eq!(live(1).await, Some(session.clone()));
        assert_eq!(live(1000).await, None);
        users::set_disabled(&main.store, main.id, user, Some(NOW)).await.unwrap();
        assert_eq!(live(1).await, None);
        users::set_disabled(&main.store, main.id, user, None).await.unwrap();
        sessions::touch(&main.store, main.id, session.id, at(4)).await.unwrap();
        assert_eq!(live(5).await.unwrap().last_seen_at, at(4));
        let other = main.add_workspace("other").await;
        assert!(!sessions::remove(&main.store, other, session.id).await.unwrap());
        assert!(sessions::remove(&main.store, main.id, session.id).await.unwrap());
        assert_eq!(live(1).await, None);

        add_session(main, user).await;
        assert_eq!(sessions::list_for_user(&main.store, main.id, user).await.unwrap().len(), 1);
        assert_eq!(sessions::remove_for_user(&main.store, main.id, user).await.unwrap(), 1);
        add_session(main, user).await;
        assert_eq!(sessions::purge(&main.store, at(999)).await.unwrap(), 0);
        assert_eq!(sessions::purge(&main.store, at(1000)).await.unwrap(), 1);
    }

    async fn a_corrupt_value_names_its_place(main: &Workspace) {
        let id = add_user(main, "o@example.com").await;
        tamper(main, "UPDATE users SET role = 'emperor'").await;
        match users::find(&main.store, main.id, id).await {
            Err(StoreError::Corrupt { table, column, row }) => {
                assert_eq!((table, column, row), ("users", "role", id.to_string()));
            }
            other => panic!("expected a corrupt row, got {other:?}"),
        }
    }
}

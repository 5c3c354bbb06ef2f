//! Browser notifications, received by something that decrypts them.

use std::time::Duration;

use pyxis_core::approval_mode::Role;
use pyxis_core::grant::DecisionSurface;
use pyxis_core::id::UserId;
use pyxis_gateway::Error;
use pyxis_gateway::admin::people;
use pyxis_gateway::admin::push::{self, Subscription};
use pyxis_gateway::admin::rights::{self, Right};
use pyxis_gateway::approvals::decide::{Decision, decide};
use pyxis_gateway::notifications::brand;
use pyxis_testkit::engines;
use pyxis_testkit::picture;
use pyxis_testkit::push::{Browser, claims};
use pyxis_testkit::upstream::{Release, Reply, Upstream};
use serde_json::{Value, json};

use crate::races::proxy::Proxy;

mod floods;

const SERVICE: &str = "push.example.com";

async fn service(proxy: &Proxy) -> Upstream {
    let service = Upstream::https(&proxy.authority, &[SERVICE]).await;
    service.reply_with(|_| Reply::new(201));
    proxy.policy(r#"{"channel": "dashboard"}"#).await;
    service
}

fn owner(proxy: &Proxy) -> UserId {
    proxy.approver(0, DecisionSurface::Dashboard).user
}

async fn subscribe(proxy: &Proxy, service: &Upstream, browser: &Browser) {
    subscribe_as(proxy, service, browser, owner(proxy), "/send/abc").await;
}

async fn subscribe_as(proxy: &Proxy, service: &Upstream, browser: &Browser, user: UserId, path: &str) {
    let new = Subscription {
        endpoint: service.url_at(SERVICE, path),
        p256dh: browser.p256dh(),
        auth: browser.auth(),
        label: "Chromium on Linux".to_owned(),
    };
    push::subscribe(&proxy.state, &proxy.actor(), user, new).await.unwrap();
}

async fn browsers(proxy: &Proxy) -> usize {
    push::list(&proxy.state.store, proxy.workspace, owner(proxy)).await.unwrap().len()
}

engines! {
    async fn a_browser_is_told_who_asks_for_what_and_where_and_nothing_else(proxy: &Proxy) {
        let (service, browser) = (service(proxy).await, Browser::new());
        subscribe(proxy, &service, &browser).await;
        brand::put(&proxy.state.audited, &proxy.actor(), "Acme", "").await.unwrap();
        let txn = proxy.pause(1).await;
        push::send_due(&proxy.state).await.unwrap();
        let [sent] = service.received(1).await.try_into().unwrap();
        assert_eq!((sent.method.as_str(), sent.target.as_str()), ("POST", "/send/abc"));
        assert_eq!(sent.header("content-encoding"), Some("aes128gcm"));
        assert_eq!((sent.header("ttl"), sent.header("urgency")), (Some("3600"), Some("high")));
        assert_eq!(sent.header("topic"), Some(txn.to_string().replace('-', "").as_str()));
        let claims = claims(sent.header("authorization").unwrap(), &push::public_key(&proxy.state.keyring));
        assert_eq!(claims["aud"], format!("https://{SERVICE}:{}", service.port()));
        let told: Value = serde_json::from_slice(&browser.decrypt(&sent.body)).unwrap();
        let host = proxy.upstream.addr();
        assert_eq!(told, json!({
            "title": "Acme: approval needed",
            "body": format!("default-agent wants to use api: POST {host}\nSecured by Pyxis"),
            "path": format!("/approve/{txn}"),
            "tag": txn.to_string(),
            "icon": null,
        }));
        push::send_due(&proxy.state).await.unwrap();
        assert_eq!(service.requests().len(), 1, "it is told once");
    }

    async fn a_push_service_is_told_a_contact_that_it_can_take(proxy: &Proxy) {
        let (service, browser) = (service(proxy).await, Browser::new());
        subscribe(proxy, &service, &browser).await;
        proxy.pause(1).await;
        push::send_due(&proxy.state).await.unwrap();
        let sent = service.received(1).await.remove(0);
        let claims = claims(sent.header("authorization").unwrap(), &push::public_key(&proxy.state.keyring));
        let contact = claims["sub"].as_str().unwrap();
        assert_eq!(push::contact::check(contact), Ok(()), "{contact}");
    }

    async fn a_browser_whose_push_service_refuses_is_kept_and_shown_until_it_is_told_again(proxy: &Proxy) {
        let (service, browser) = (service(proxy).await, Browser::new());
        subscribe(proxy, &service, &browser).await;
        let told = async |round: usize, answer: Reply| {
            service.reply(answer);
            proxy.pause(round).await;
            push::send_due(&proxy.state).await.unwrap();
            service.received(round).await;
            push::refused_subscriptions(&proxy.state.store, proxy.workspace).await.unwrap()
        };
        let wrong = |answer| Reply::new(answer).body("{\"reason\":\"BadJwtToken\"}");
        let [(first, email)] = told(1, wrong(403)).await.try_into().unwrap();
        assert_eq!((first.refused_status, email.as_str()), (Some(403), "a@example.com"));
        assert_eq!(first.refused_why.as_deref(), Some("{\"reason\":\"BadJwtToken\"}"));
        proxy.advance(Duration::from_secs(5));
        let [(second, _)] = told(2, wrong(401)).await.try_into().unwrap();
        assert_eq!((second.refused_status, second.refused_at), (Some(401), first.refused_at), "since the first");
        assert_eq!(browsers(proxy).await, 1);
        assert!(told(3, Reply::new(201)).await.is_empty());
        told(4, wrong(403)).await;
        assert!(told(5, Reply::new(410)).await.is_empty());
        assert_eq!(browsers(proxy).await, 0, "one that is gone is forgotten");
    }

    async fn a_notification_shows_the_logo_or_a_tile_in_the_accent(proxy: &Proxy) {
        let (service, browser) = (service(proxy).await, Browser::new());
        subscribe(proxy, &service, &browser).await;
        let icon = async |round: usize| {
            proxy.pause(round).await;
            push::send_due(&proxy.state).await.unwrap();
            let sent = service.received(round).await.remove(round - 1);
            serde_json::from_slice::<Value>(&browser.decrypt(&sent.body)).unwrap()["icon"].clone()
        };
        let (state, actor) = (&proxy.state, proxy.actor());
        let picture = async || brand::icon(&state.store, proxy.workspace).await.unwrap();
        assert_eq!((icon(1).await, picture().await), (Value::Null, None));
        let url = json!(brand::logo_url(&state.config, proxy.workspace));
        brand::put(&state.audited, &actor, "Acme", "#ffe066").await.unwrap();
        assert_eq!(icon(2).await, url);
        let (tile, kind) = picture().await.unwrap();
        assert_eq!(kind, "image/png");
        brand::set_logo(&state.audited, &actor, Some(picture::dot())).await.unwrap();
        assert_eq!(icon(3).await, url);
        assert_ne!(picture().await.unwrap().0, tile);
    }

    async fn people_who_may_decide_are_told_and_nobody_else(proxy: &Proxy) {
        let (service, browser) = (service(proxy).await, Browser::new());
        let member = |email: &'static str| async move {
            people::add(&proxy.state, &proxy.actor(), email, Role::Member).await.unwrap().0.id
        };
        let (granted, plain) = (member("granted@example.com").await, member("plain@example.com").await);
        let right = Right { approve: true, policy: false };
        rights::set(&proxy.state.audited, &proxy.actor(), granted, "api", right).await.unwrap();
        let people = [("/owner", owner(proxy)), ("/second", proxy.approver(1, DecisionSurface::Dashboard).user),
            ("/granted", granted), ("/plain", plain)];
        for (path, user) in people {
            subscribe_as(proxy, &service, &browser, user, path).await;
        }
        let told = async |round: usize, count: usize| {
            proxy.pause(round).await;
            push::send_due(&proxy.state).await.unwrap();
            let mut all: Vec<String> = service.received(count).await.into_iter().map(|sent| sent.target).collect();
            all.sort();
            all
        };
        assert_eq!(told(1, 3).await, ["/granted", "/owner", "/second"]);
        // The policy's list narrows the approvers, and adds no one.
        let listed = r#"{"channel": "dashboard", "allowed_approvers": ["granted@example.com", "plain@example.com"]}"#;
        proxy.policy(listed).await;
        assert_eq!(told(2, 4).await, ["/granted", "/granted", "/owner", "/second"]);
        // A person who lost the right before the push service could be reached is no longer notified.
        proxy.policy(r#"{"channel": "dashboard", "allowed_approvers": ["granted@example.com"]}"#).await;
        service.reply(Reply::new(503));
        proxy.pause(3).await;
        push::send_due(&proxy.state).await.unwrap();
        rights::set(&proxy.state.audited, &proxy.actor(), granted, "api", Right::default()).await.unwrap();
        proxy.advance(Duration::from_mins(1));
        push::send_due(&proxy.state).await.unwrap();
        assert_eq!(service.requests().len(), 5, "the one that failed was the last");
    }

    async fn what_is_decided_before_it_could_be_told_is_not_told(proxy: &Proxy) {
        let (service, browser) = (service(proxy).await, Browser::new());
        subscribe(proxy, &service, &browser).await;
        service.reply(Reply::new(503));
        let txn = proxy.pause(1).await;
        push::send_due(&proxy.state).await.unwrap();
        let approver = proxy.approver(0, DecisionSurface::Dashboard);
        decide(&proxy.state, &approver, txn, Decision::Deny(None)).await.unwrap();
        proxy.advance(Duration::from_mins(1));
        push::send_due(&proxy.state).await.unwrap();
        assert_eq!(service.requests().len(), 1);
    }

    async fn trouble_is_waited_out_and_a_browser_that_is_gone_is_forgotten(proxy: &Proxy) {
        let (service, browser) = (service(proxy).await, Browser::new());
        subscribe(proxy, &service, &browser).await;
        service.reply(Reply::new(500)).reply(Reply::new(429).header("retry-after", "30")).reply(Reply::new(410));
        proxy.pause(1).await;
        for (wait, count) in [(0, 1), (1, 2), (29, 2), (1, 3)] {
            proxy.advance(Duration::from_secs(wait));
            push::send_due(&proxy.state).await.unwrap();
            assert_eq!(service.requests().len(), count, "{wait}");
        }
        assert_eq!(browsers(proxy).await, 0);
        proxy.pause(2).await;
        push::send_due(&proxy.state).await.unwrap();
        assert_eq!(service.requests().len(), 3);
    }

    async fn a_push_service_that_does_not_answer_delays_no_decision_and_no_other_browser(proxy: &Proxy) {
        let (stuck, browser) = (service(proxy).await, Browser::new());
        subscribe(proxy, &stuck, &browser).await;
        let (late, never) = Reply::new(201).hold();
        stuck.reply(late);
        let workers = proxy.work().await;
        let txn = proxy.pause(1).await;
        stuck.received(1).await;
        let approver = proxy.approver(0, DecisionSurface::Dashboard);
        decide(&proxy.state, &approver, txn, Decision::Approve(None)).await.unwrap();
        proxy.upstream.received(1).await;
        // A browser of another service, and a request that only it is notified of.
        let quick = service(proxy).await;
        subscribe_as(proxy, &quick, &browser, proxy.approver(1, DecisionSurface::Dashboard).user, "/second").await;
        proxy.policy(r#"{"channel": "dashboard", "allowed_approvers": ["b@example.com"]}"#).await;
        proxy.pause(2).await;
        quick.received(1).await;
        never.send();
        workers.end().await;
        let first = push::list(&proxy.state.store, proxy.workspace, owner(proxy)).await.unwrap().remove(0);
        assert!(first.last_success_at.is_some(), "the first was under way all the time, and is finished");
    }

    async fn a_crowd_is_told_side_by_side_and_not_all_at_once(proxy: &Proxy) {
        const AT_ONCE: usize = 32;
        let (service, browser) = (service(proxy).await, Browser::new());
        for (voter, n) in (0..40).map(|n| (n % 2, n)) {
            let user = proxy.approver(voter, DecisionSurface::Dashboard).user;
            subscribe_as(proxy, &service, &browser, user, &format!("/{n}")).await;
        }
        let hold = || {
            let (late, release) = Reply::new(201).hold();
            service.reply(late);
            release
        };
        let releases: Vec<Release> = std::iter::repeat_with(hold).take(AT_ONCE).collect();
        proxy.pause(1).await;
        let state = proxy.state.clone();
        let sending = tokio::spawn(async move { push::send_due(&state).await });
        service.received(AT_ONCE).await;
        let now = proxy.clock_now();
        let untouched = pyxis_store::push::claim(&proxy.state.store, now, now, 100).await.unwrap();
        assert_eq!(untouched.len(), 40 - AT_ONCE);
        drop(releases);
        sending.await.unwrap().unwrap();
        assert_eq!(service.requests().len(), 40);
    }

    async fn only_requests_that_are_announced_in_the_dashboard_are_told(proxy: &Proxy) {
        let (service, browser) = (service(proxy).await, Browser::new());
        subscribe(proxy, &service, &browser).await;
        proxy.policy(r#"{"channel": "agent_reflected"}"#).await;
        proxy.pause(1).await;
        push::send_due(&proxy.state).await.unwrap();
        assert!(service.requests().is_empty());
    }

    async fn an_endpoint_that_may_not_be_reached_or_keys_that_are_none_are_refused(proxy: &Proxy) {
        let browser = Browser::new();
        let good = Subscription {
            endpoint: "https://8.8.8.8/send".to_owned(),
            p256dh: browser.p256dh(),
            auth: browser.auth(),
            label: String::new(),
        };
        for bad in [
            Subscription { endpoint: "http://8.8.8.8/send".to_owned(), ..good.clone() },
            Subscription { endpoint: "https://10.0.0.1/send".to_owned(), ..good.clone() },
            Subscription { endpoint: String::new(), ..good.clone() },
            Subscription { p256dh: browser.auth(), ..good.clone() },
            Subscription { auth: "AAAA".to_owned(), ..good.clone() },
            Subscription { auth: "?".to_owned(), ..good.clone() },
        ] {
            let refused = push::subscribe(&proxy.state, &proxy.actor(), owner(proxy), bad).await;
            assert!(matches!(refused, Err(Error::InvalidField { .. })));
        }
        push::subscribe(&proxy.state, &proxy.actor(), owner(proxy), good.clone()).await.unwrap();
        push::subscribe(&proxy.state, &proxy.actor(), owner(proxy), good).await.unwrap();
        assert_eq!(browsers(proxy).await, 1, "the same browser again");
    }
}

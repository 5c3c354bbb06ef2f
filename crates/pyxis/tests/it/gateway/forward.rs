//! The plain cases (`docs/reference/behavior/proxy.md#order-of-the-checks`).

use pyxis_testkit::engines;

use crate::support::{SECRET, Setup, Site};

engines! {
    async fn get_reaches_the_upstream_with_the_secret(setup: Setup) {
        let site = Site::with(setup).await;
        let answer = site.forward("GET", "/things?x=1").send().await.forwarded(200);
        assert_eq!(answer.text(), "ok");
        let [request] = site.upstream.received(1).await.try_into().unwrap();
        assert_eq!((request.method.as_str(), request.target.as_str()), ("GET", "/things?x=1"));
        assert_eq!(request.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
    }
}

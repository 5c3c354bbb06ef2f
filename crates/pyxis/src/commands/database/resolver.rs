//! Name resolution, which `pyxis healthcheck` checks in the same way.

use pyxis_net::Client;

use super::Finding;
use crate::app;
use crate::config::Config;

const PART: &str = "resolver";
const FIX: &str =
    "let this machine resolve names: check /etc/hosts, which must have localhost, and /etc/resolv.conf";

/// `None` if the settings have no usable client; then another finding says why.
pub(super) async fn examine(config: &Config) -> Option<Finding> {
    Some(answers(&app::client(config).ok()?).await)
}

async fn answers(client: &Client) -> Finding {
    if client.resolver_answers().await {
        Finding::good(PART)
    } else {
        Finding::bad(PART, "unavailable: the name localhost cannot be resolved", FIX)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::IpAddr;
    use std::sync::Arc;

    use pyxis_net::resolve::{Resolve, Resolving};
    use pyxis_net::{ClientConfig, Guard};

    use super::*;

    /// A resolver that knows localhost, or no name.
    struct Names(bool);

    impl Resolve for Names {
        fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
            let is_known = self.0;
            Box::pin(async move {
                if is_known {
                    Ok(vec![IpAddr::from([127, 0, 0, 1])])
                } else {
                    Err(io::ErrorKind::NotFound.into())
                }
            })
        }
    }

    #[tokio::test]
    async fn a_resolver_that_answers_nothing_is_wrong_and_says_what_to_do() {
        for is_known in [true, false] {
            let guard = Guard::new(Vec::new(), Vec::new());
            let settings = ClientConfig { resolver: Arc::new(Names(is_known)), ..ClientConfig::new(guard) };
            let found = answers(&Client::new(&settings).unwrap()).await;
            assert_eq!((found.part.as_str(), found.wrong.is_none()), ("resolver", is_known));
            assert_eq!(found.fix.contains("/etc/hosts"), !is_known);
        }
    }
}

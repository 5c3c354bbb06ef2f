//! Node's own `fetch`, which has a proxy since 22.21: in the Node that `PX_TEST_NODE` names (`ci/node.sh`).

use super::fetched;
use crate::support::languages::node;

#[tokio::test]
async fn fetch_of_node_reaches_an_api_with_the_secret_attached() {
    let code = r"
        fetch(process.argv[1]).then(async answer => {
            if (!answer.ok) throw new Error(await answer.text());
            console.log(await answer.text());
        })";
    fetched(&[&node(), "-e", code, "URL"]).await;
}

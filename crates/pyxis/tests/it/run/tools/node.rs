//! Node's own `fetch`, which has a proxy since 22.21: in the Node that `PX_TEST_NODE` names (`ci/node.sh`).

use super::fetched;

/// Path of that Node. Panics if there is none.
#[expect(clippy::disallowed_methods, reason = "the environment of the tests names the Node to run")]
fn node() -> String {
    let node = std::env::var("PX_TEST_NODE");
    node.expect("PX_TEST_NODE names no Node: put ci/node.sh before the command that runs the tests")
}

#[tokio::test]
async fn fetch_of_node_reaches_an_api_with_the_secret_attached() {
    let code = r"
        fetch(process.argv[1]).then(async answer => {
            if (!answer.ok) throw new Error(await answer.text());
            console.log(await answer.text());
        })";
    fetched(&[&node(), "-e", code, "URL"]).await;
}

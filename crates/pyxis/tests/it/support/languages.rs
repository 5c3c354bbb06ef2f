//! Interpreters of other languages with their libraries, which the environment of the tests names.

use std::path::PathBuf;

/// Path of the Python with the libraries of `ci/python-tools.sh`. Panics if there is none.
#[expect(clippy::disallowed_methods, reason = "the environment of the tests names the Python to run")]
pub(crate) fn python() -> String {
    let environment = std::env::var_os("PX_TEST_PYTHON_TOOLS").expect(
        "PX_TEST_PYTHON_TOOLS names no environment: put ci/python-tools.sh before the command that runs the tests",
    );
    PathBuf::from(environment).join("bin/python").to_str().unwrap().to_owned()
}

/// Path of the Node of `ci/node.sh`. Panics if there is none.
#[expect(clippy::disallowed_methods, reason = "the environment of the tests names the Node to run")]
pub(crate) fn node() -> String {
    let node = std::env::var("PX_TEST_NODE");
    node.expect("PX_TEST_NODE names no Node: put ci/node.sh before the command that runs the tests")
}

//! The program with third-party libraries preloaded, as tools for debugging, profiling and replacement clocks do.

use std::path::PathBuf;

use crate::support::app::run;
use crate::support::{Setup, Site};

/// Libraries on this machine that replace system functions: clocks, allocators, syncs.
fn libraries() -> Vec<PathBuf> {
    const NAMES: [&str; 7] = [
        "faketime/libfaketime.so.1",
        "faketime/libfaketimeMT.so.1",
        "libeatmydata.so",
        "libjemalloc.so.2",
        "libtcmalloc.so.4",
        "libtcmalloc_minimal.so.4",
        "libstderred.so",
    ];
    let folders = ["/usr/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];
    let all =
        folders.iter().flat_map(|folder| NAMES.iter().map(move |name| PathBuf::from(folder).join(name)));
    let found: Vec<_> = all.filter(|library| library.exists()).collect();
    assert!(
        found.iter().any(|library| library.ends_with("libfaketime.so.1")),
        "faketime is missing: run ci/setup.sh"
    );
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preloaded_library_does_not_crash_the_program() {
    let libraries = libraries();
    let site = Site::new().await;
    for library in libraries {
        for arguments in [&["--version"][..], &["key", "generate"], &["doctor", "--json"]] {
            let mut command = site.app.command(arguments);
            command.env("LD_PRELOAD", &library);
            let ran = run(command).await;
            assert_eq!(ran.code, Some(0), "{} {arguments:?}: {ran:?}", library.display());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_forwards_with_another_clock_preloaded() {
    let libraries = libraries();
    let clock = libraries.iter().find(|library| library.ends_with("libfaketime.so.1"));
    let clock = clock.and_then(|library| library.to_str()).unwrap();
    let setup = Setup::new().env("LD_PRELOAD", clock).env("FAKETIME", "+30d");
    let site = Site::with(setup).await;
    site.forward("GET", "/x").send().await.forwarded(200);
    let txn = site.pause("/y").await;
    site.owner.approve(&txn).await;
    assert_eq!(site.agent.outcome(&txn).await["response"]["status"], 200);
}

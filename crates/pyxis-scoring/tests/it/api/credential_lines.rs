//! Lines of credential files, as programs write them.

use std::io::Cursor;

use pyxis_scoring::import::{ImportProgress, Options, import};

use super::scene::{Scene, wallet};

#[tokio::test]
async fn a_file_may_begin_with_a_mark_have_the_ends_of_windows_and_empty_lines() {
    const MARK: &str = "\u{feff}";
    let scene = Scene::on_sqlite().await;
    let mut wallets = 0..;
    let mut credential = || {
        let number = wallets.next().unwrap();
        scene.credential(wallet(number), "A", &format!("n:{number}"), 9)
    };
    let mut line = |text: &str| text.replace('@', &credential());
    let line = &mut line;
    for (text, accepted, rejected) in [
        (line("@") + "\n" + &line("@") + "\n", 2, 0),
        (line("@") + "\r\n" + &line("@") + "\r\n", 2, 0),
        (line("@") + "\r\n\r\n \t\r\n\n" + &line("@"), 2, 0),
        (line(&format!("{MARK}@\r\n")) + &line("@"), 2, 0),
        (format!("{MARK}\r\n") + &line("@"), 1, 0),
        (MARK.to_owned(), 0, 0),
        (String::new(), 0, 0),
        // Only the beginning of the file may have one, and only one.
        (line("@\n") + &line(&format!("{MARK}@\n")), 1, 1),
        (line(&format!("{MARK}{MARK}@\n")), 0, 1),
        (format!("{MARK}{}\n", "x".repeat(100_000)) + &line("@"), 1, 1),
    ] {
        let (options, mut rejects) = (Options { workspace: scene.workspace, threads: 2 }, Vec::new());
        let (db, clock, begun) = (&scene.state.db, &*scene.clock, ImportProgress::default());
        let source = Cursor::new(text.clone());
        let done = import(db, clock, options, source, &mut rejects, begun, |_| true).await.unwrap();
        assert_eq!((done.accepted, done.rejected), (accepted, rejected), "{text:?}");
        assert_eq!((done.bytes, done.last.is_some()), (text.len() as u64, accepted > 0), "{text:?}");
        let rejects = String::from_utf8(rejects).unwrap();
        assert_eq!(rejects.contains("too_large"), text.len() > 100_000, "{rejects}");
    }
}

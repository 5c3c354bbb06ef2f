use std::sync::LazyLock;

use super::*;

const NOW: UnixMillis = UnixMillis(1_700_000_000_000);
const FAR: i64 = 100_000;
/// The clock of these tests, which stands still until a test moves it.
static AT: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A key's window in the database.
#[derive(Default)]
struct Window {
    admitted: i64,
    statements: usize,
}

/// The database's answer to a step.
#[derive(Debug)]
enum DatabaseAnswer {
    Counted(PendingAdmissions, Result<Counted, StoreError>),
    Reserved(i64, Result<Option<i64>, StoreError>),
    GaveBack(i64, Result<(), StoreError>),
}

impl Window {
    /// Executes a key window's step, if it is one for the database.
    fn carry_out(&mut self, key_window: &KeyWindow, step: WindowStep) -> Option<DatabaseAnswer> {
        let limit = key_window.limit;
        let said = match step {
            WindowStep::Count(waiting) => {
                let admitted = waiting.len().min(limit - self.admitted).max(0);
                self.admitted += admitted;
                DatabaseAnswer::Counted(waiting, Ok(Counted { admitted, used: self.admitted }))
            }
            WindowStep::Reserve { requests, within } => {
                let fits = self.admitted + requests <= within;
                assert!(within + AMPLE * requests <= limit, "it leaves room for others");
                self.admitted += if fits { requests } else { 0 };
                DatabaseAnswer::Reserved(requests, Ok(fits.then_some(self.admitted)))
            }
            WindowStep::GiveBack { requests } => {
                self.admitted -= requests;
                DatabaseAnswer::GaveBack(requests, Ok(()))
            }
            WindowStep::Rest(_) | WindowStep::End => return None,
        };
        self.statements += 1;
        Some(said)
    }

    /// Works for a key window until it rests and returns the time of its next step; `None` if it ended.
    fn work(&mut self, key_window: &mut KeyWindow, at: Instant) -> Option<Instant> {
        loop {
            match key_window.next(at) {
                WindowStep::Rest(until) => return Some(until),
                WindowStep::End => return None,
                step => self.carry_out(key_window, step).unwrap().send_to(key_window),
            }
        }
    }
}

impl DatabaseAnswer {
    /// The same with a failed statement, regardless of whether it was executed.
    fn failed(self, error: &StoreError) -> Self {
        match self {
            Self::Counted(waiting, _) => Self::Counted(waiting, Err(error.clone())),
            Self::Reserved(requests, _) => Self::Reserved(requests, Err(error.clone())),
            Self::GaveBack(requests, _) => Self::GaveBack(requests, Err(error.clone())),
        }
    }

    fn send_to(self, key_window: &mut KeyWindow) {
        match self {
            Self::Counted(waiting, counted) => waiting.send_results(&key_window.record_count(counted)),
            Self::Reserved(requests, reserved) => key_window.reserved(requests, &reserved),
            Self::GaveBack(requests, gave_back) => key_window.gave_back(requests, &gave_back),
        }
    }
}

/// An error that leaves the outcome unknown.
fn unclear() -> StoreError {
    StoreError::Unavailable(Arc::new(std::io::Error::other("the connection broke")))
}

fn new_window(limit: i64) -> KeyWindow {
    KeyWindow::new(limit, *AT)
}

fn admit(key_window: &mut KeyWindow) -> WindowAdmission {
    key_window.admit(NOW, *AT)
}

fn waits(key_window: &mut KeyWindow) -> bool {
    matches!(admit(key_window), WindowAdmission::Pending(_))
}

/// The number of a request, once the database has done its work.
fn number(key_window: &mut KeyWindow, window: &mut Window, at: Instant) -> Option<i64> {
    let place = key_window.admit(NOW, at);
    window.work(key_window, at);
    match place {
        WindowAdmission::Admitted(number) => Some(number),
        WindowAdmission::Pending(mut answer) => answer.try_recv().unwrap().unwrap(),
    }
}

/// A key window that has admitted this many, one after the other.
fn used(requests: i64) -> (KeyWindow, Window) {
    let (mut key_window, mut window) = (new_window(FAR), Window::default());
    for expected in 1..=requests {
        assert_eq!(number(&mut key_window, &mut window, *AT), Some(expected));
    }
    (key_window, window)
}

#[test]
fn ten_thousand_requests_one_after_the_other_are_a_few_dozen_statements() {
    let (_, window) = used(10_000);
    assert!(window.statements < 50, "{}", window.statements);
}

#[test]
fn under_load_nobody_waits_while_the_next_block_is_reserved() {
    let (mut key_window, mut window) = used(30_000);
    for _ in 0..10 {
        let reserving = loop {
            match key_window.next(*AT) {
                WindowStep::Rest(_) => assert!(!waits(&mut key_window)),
                step => break window.carry_out(&key_window, step).unwrap(),
            }
        };
        assert!(matches!(reserving, DatabaseAnswer::Reserved(..)));
        for _ in 0..key_window.block() / 2 - 1 {
            assert!(!waits(&mut key_window), "half a block is left for that long");
        }
        reserving.send_to(&mut key_window);
    }
}

#[test]
fn two_processes_that_share_a_window_leave_each_other_room() {
    let mut window = Window::default();
    let mut key_windows = [(); 2].map(|()| new_window(FAR));
    for expected in 0..35_000 {
        for key_window in &mut key_windows {
            assert!(number(key_window, &mut window, *AT).is_some(), "{expected}");
        }
    }
    // As many as one process needs for each of two blocks, not for each request.
    assert!(window.statements < 150, "{}", window.statements);
}

#[test]
fn a_request_that_comes_alone_is_one_statement_and_reserves_nothing() {
    let (mut key_window, mut window) = (new_window(FAR), Window::default());
    assert!(waits(&mut key_window));
    let rest = window.work(&mut key_window, *AT);
    assert_eq!(rest, Some(*AT + LIFE));
    assert_eq!(window.work(&mut key_window, *AT + LIFE), None);
    assert_eq!((window.admitted, window.statements), (1, 1));
}

#[test]
fn no_more_is_reserved_than_a_tenth_of_what_is_left_nor_than_half_of_what_was_let_in() {
    for limit in [FAR, 10 * FAR] {
        let (mut key_window, mut window) = (new_window(limit), Window::default());
        for requests in 1..70_000 {
            number(&mut key_window, &mut window, *AT);
            let reserved = window.admitted - requests;
            let most = BLOCK.min(requests / 2).min((limit - requests) / 10);
            assert!(reserved <= most, "{reserved} after {requests} of {limit}");
        }
    }
}

#[test]
fn near_the_limit_every_request_waits_for_its_count() {
    let (mut key_window, mut window) = (new_window((AMPLE + 1) * LEAST), Window::default());
    for expected in 1..=10 {
        assert!(waits(&mut key_window));
        assert_eq!(window.work(&mut key_window, *AT), None, "nothing is kept");
        assert_eq!(window.admitted, expected);
    }
}

#[test]
fn what_is_reserved_goes_back_at_once_when_the_limit_comes_near() {
    let (mut key_window, mut window) = used(1000);
    assert!(window.admitted > 1000);
    // Another process uses the window up to where a block no longer fits.
    window.admitted = FAR - AMPLE * LEAST;
    let others = window.admitted - key_window.unspent;
    assert_eq!(
        window.work(&mut key_window, *AT + LIFE / 2),
        Some(*AT + LIFE),
        "a block lives as long as this"
    );
    assert!(!waits(&mut key_window));
    key_window.entered = *AT + LIFE / 2;
    assert_eq!(window.work(&mut key_window, *AT + LIFE), None);
    assert_eq!(window.admitted, others + 1);
}

#[test]
fn what_is_reserved_goes_back_when_no_request_comes_any_more() {
    let (mut key_window, mut window) = used(1000);
    let mut at = *AT;
    while let Some(until) = window.work(&mut key_window, at) {
        assert!(at < *AT + 2 * LIFE);
        at = until;
    }
    assert_eq!(window.admitted, 1000);
}

#[test]
fn a_lane_that_is_closed_gives_back_what_it_has_and_counts_exactly_who_still_comes() {
    let (mut key_window, mut window) = used(1000);
    assert!(window.admitted > 1000);
    key_window.close();
    assert!(!waits(&mut key_window), "it is not given back yet");
    let step = key_window.next(*AT);
    assert!(matches!(step, WindowStep::GiveBack { .. }));
    let gave_back = window.carry_out(&key_window, step).unwrap();
    assert_eq!(window.admitted, 1001);
    assert!(waits(&mut key_window));
    gave_back.send_to(&mut key_window);
    assert_eq!(window.work(&mut key_window, *AT), None);
    assert_eq!(window.admitted, 1002);
}

#[test]
fn the_worker_is_woken_by_who_waits_by_what_is_low_and_by_the_close() {
    let (mut key_window, mut window) = used(1000);
    let wake = key_window.wake();
    let is_woken = || std::pin::pin!(wake.notified()).as_mut().enable();
    while is_woken() {}
    while !key_window.is_low() {
        assert!(!is_woken());
        assert!(!waits(&mut key_window));
    }
    assert!(is_woken());
    window.work(&mut key_window, *AT);
    while !waits(&mut key_window) {}
    assert!(is_woken() && !is_woken());
    key_window.close();
    assert!(is_woken());
}

#[test]
fn numbers_go_on_by_one_whatever_is_reserved_given_back_and_used_by_others() {
    let (mut key_window, mut window) = used(500);
    window.admitted += 70;
    // This key window learns of it with its next statement; until then it continues as if it were alone.
    window.work(&mut key_window, *AT + LIFE - Duration::from_millis(1));
    assert_eq!(number(&mut key_window, &mut window, *AT + LIFE / 2), Some(501));
    window.work(&mut key_window, *AT + LIFE);
    assert_eq!(number(&mut key_window, &mut window, *AT + LIFE), Some(572));
    key_window.close();
    window.work(&mut key_window, *AT + LIFE);
    assert_eq!(window.admitted, 572);
    assert_eq!(number(&mut new_window(FAR), &mut window, *AT), Some(573));
}

#[test]
fn those_who_wait_come_in_their_order_and_nobody_overtakes_them() {
    let mut key_window = new_window(5);
    let [mut one, mut two, mut three] = [(); 3].map(|()| match admit(&mut key_window) {
        WindowAdmission::Pending(answer) => answer,
        WindowAdmission::Admitted(number) => panic!("nothing is known yet, and yet {number}"),
    });
    let mut window = Window { admitted: 3, ..Window::default() };
    window.work(&mut key_window, *AT);
    let told = [&mut one, &mut two, &mut three].map(|answer| answer.try_recv().unwrap().unwrap());
    assert_eq!(told, [Some(4), Some(5), None]);

    let (mut key_window, _) = used(100);
    assert!(key_window.unspent > 1);
    key_window.waiting.0.push(oneshot::channel().0);
    assert!(waits(&mut key_window));
}

#[test]
fn a_release_that_did_not_happen_is_tried_again_after_a_while_and_can_be_spent_until_then() {
    let (mut key_window, mut window) = used(1000);
    key_window.close();
    let WindowStep::GiveBack { requests } = key_window.next(*AT) else { panic!("something is reserved") };
    DatabaseAnswer::GaveBack(requests, Err(StoreError::Aborted)).send_to(&mut key_window);
    assert_eq!(window.work(&mut key_window, *AT), Some(*AT + LIFE));
    assert!(!waits(&mut key_window));
    assert_eq!(window.work(&mut key_window, *AT + LIFE), None);
    assert_eq!(window.admitted, 1001);
}

#[test]
fn a_release_of_which_nobody_knows_is_not_repeated_and_admits_nobody() {
    for happened in [false, true] {
        let (mut key_window, mut window) = used(1000);
        let held = key_window.unspent;
        key_window.close();
        let step = key_window.next(*AT);
        assert!(matches!(step, WindowStep::GiveBack { requests } if requests == held));
        if happened {
            window.carry_out(&key_window, step);
        }
        DatabaseAnswer::GaveBack(held, Err(unclear())).send_to(&mut key_window);
        assert!(waits(&mut key_window));
        assert_eq!(window.work(&mut key_window, *AT), None);
        assert_eq!(window.admitted, 1001 + if happened { 0 } else { held });
    }
}

#[test]
fn a_reservation_of_which_nobody_knows_admits_nobody_and_stays_counted_if_it_happened() {
    for happened in [false, true] {
        let (mut key_window, mut window) = used(1000);
        let held = window.admitted - 1000;
        while !key_window.is_low() {
            assert!(!waits(&mut key_window));
        }
        let step = key_window.next(*AT);
        let WindowStep::Reserve { requests, .. } = step else { panic!("{step:?}") };
        if happened {
            window.carry_out(&key_window, step);
        }
        DatabaseAnswer::Reserved(requests, Err(unclear())).send_to(&mut key_window);
        let lost = if happened { requests } else { 0 };
        assert_eq!(window.admitted, 1000 + held + lost);
        key_window.close();
        window.work(&mut key_window, *AT + LIFE);
        assert_eq!(window.admitted, key_window.admitted + lost);
    }
}

#[test]
fn a_count_that_failed_is_told_and_a_reservation_that_failed_reserves_nothing() {
    let mut key_window = new_window(FAR);
    let WindowAdmission::Pending(mut answer) = admit(&mut key_window) else { panic!("nothing is known yet") };
    let step = key_window.next(*AT);
    Window::default()
        .carry_out(&key_window, step)
        .unwrap()
        .failed(&StoreError::Aborted)
        .send_to(&mut key_window);
    assert!(answer.try_recv().unwrap().is_err());
    assert!(matches!(key_window.next(*AT), WindowStep::End));

    let (mut key_window, window) = used(1000);
    let held = window.admitted - 1000;
    DatabaseAnswer::Reserved(BLOCK, Err(StoreError::Aborted)).send_to(&mut key_window);
    assert_eq!((0..held).filter(|_| waits(&mut key_window)).count(), 0, "what was reserved before is good");
    assert!(waits(&mut key_window));
}

#[test]
fn whoever_came_during_a_statement_that_failed_hears_of_it_too() {
    let mut key_window = new_window(10);
    let WindowAdmission::Pending(mut first) = admit(&mut key_window) else { panic!("nothing is reserved") };
    let WindowStep::Count(waiting) = key_window.next(*AT) else { panic!("one waits") };
    let WindowAdmission::Pending(mut second) = admit(&mut key_window) else { panic!("nobody overtakes") };
    assert_eq!(
        key_window.also_failed(&Ok(())).len(),
        0,
        "after a statement that went well, the next one is theirs"
    );
    let failed: Result<Counted, StoreError> = Err(unclear());
    let others = key_window.also_failed(&failed);
    let failed = key_window.record_count(failed);
    waiting.send_results(&failed);
    others.send_results(&failed);
    assert!(first.try_recv().unwrap().is_err() && second.try_recv().unwrap().is_err());
}

#[test]
fn a_count_is_of_the_time_of_the_newest_request_whatever_the_order_they_come_in() {
    let mut key_window = new_window(10);
    let later = NOW.plus(Duration::from_secs(5));
    drop((key_window.admit(later, *AT), key_window.admit(NOW, *AT)));
    assert_eq!(key_window.latest(), later);
}

/// One of several processes.
struct Process {
    key_window: KeyWindow,
    answers: Vec<oneshot::Receiver<AdmissionCount>>,
    /// The database's answer that the process has not received yet.
    said: Option<DatabaseAnswer>,
}

impl Process {
    fn new(limit: i64, at: Instant) -> Self {
        Self { key_window: KeyWindow::new(limit, at), answers: Vec::new(), said: None }
    }

    /// Requests that stay counted without being answered if it is killed now, or if the outcome of its statement
    /// remains unknown.
    fn unanswered(&self) -> i64 {
        let statement = match &self.said {
            Some(DatabaseAnswer::Reserved(requests, Ok(Some(_)))) => *requests,
            _ => 0,
        };
        statement + i64::try_from(self.answers.len()).unwrap()
    }

    /// Number of waiting requests that were admitted.
    fn let_in(&mut self) -> i64 {
        let mut let_in = 0;
        self.answers.retain_mut(|answer| match answer.try_recv() {
            Ok(outcome) => {
                let_in += i64::from(matches!(outcome, Ok(Some(_))));
                false
            }
            Err(error) => error == oneshot::error::TryRecvError::Empty,
        });
        let_in
    }
}

/// Three processes use up a window, in an order that `seed` chooses. Returns the admitted requests, the final count,
/// and the number of counted requests that may have had no answer. Those waited or were reserved when a process was
/// killed, or when the database's outcome was unknown.
fn use_up(limit: i64, seed: u64, kills: bool) -> (i64, i64, i64) {
    let mut random = seed;
    let mut random = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut at = *AT;
    let mut window = Window::default();
    let mut processes = [(); 3].map(|()| Process::new(limit, at));
    let (mut let_in, mut excess) = (0, 0);
    for _ in 0..2_000 {
        at += Duration::from_millis(random(40) * random(40) / 8);
        let process = &mut processes[usize::try_from(random(3)).unwrap()];
        match random(if kills { 100 } else { 90 }) {
            0..40 => {
                for _ in 0..random(120) {
                    match process.key_window.admit(NOW, at) {
                        WindowAdmission::Admitted(number) => {
                            assert!(number <= limit);
                            let_in += 1;
                        }
                        WindowAdmission::Pending(answer) => process.answers.push(answer),
                    }
                }
            }
            40..65 if process.said.is_none() => match process.key_window.next(at) {
                WindowStep::End => {
                    process.key_window = KeyWindow::new(limit, at);
                }
                step => process.said = window.carry_out(&process.key_window, step),
            },
            40..90 => {
                if let Some(said) = process.said.take() {
                    said.send_to(&mut process.key_window);
                }
            }
            90..97 => {
                if process.said.is_some() {
                    excess += process.unanswered();
                }
                if let Some(said) = process.said.take() {
                    said.failed(&unclear()).send_to(&mut process.key_window);
                }
            }
            _ => {
                let_in += process.let_in();
                let held = process.key_window.unspent;
                assert!(held <= limit / 10, "{held}");
                excess += process.unanswered() + held;
                *process = Process::new(limit, at);
            }
        }
        let_in += process.let_in();
        assert!(let_in <= window.admitted && window.admitted <= limit, "{let_in}, {}", window.admitted);
    }
    for process in &mut processes {
        if let Some(said) = process.said.take() {
            said.send_to(&mut process.key_window);
        }
        process.key_window.close();
        at += LIFE;
        assert_eq!(window.work(&mut process.key_window, at), None);
        let_in += process.let_in();
    }
    (let_in, window.admitted, excess)
}

#[test]
fn however_processes_take_turns_exactly_the_limit_is_let_in() {
    for seed in 0..15 {
        let (let_in, counted, _) = use_up(28_000, seed, false);
        assert_eq!((let_in, counted), (28_000, 28_000), "{seed}");
        let (let_in, counted, _) = use_up(200_000, seed, false);
        assert_eq!(let_in, counted, "{seed}");
    }
}

#[test]
fn whoever_dies_and_whatever_fails_exactly_what_was_let_in_is_counted_and_those_who_heard_nothing() {
    for seed in 0..15 {
        for limit in [28_000, 200_000] {
            let (let_in, counted, excess) = use_up(limit, seed, true);
            assert!(let_in <= counted && counted <= let_in + excess, "{seed}: {let_in}, {counted}, {excess}");
        }
    }
}

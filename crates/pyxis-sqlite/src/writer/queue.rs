//! Jobs waiting for the writer thread, each with a deadline.

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use tokio::time::Instant;

use super::Job;
use crate::Error;

/// A job, with the time at which its caller is told that the database is busy.
pub(super) struct QueuedJob {
    pub(super) job: Job,
    pub(super) deadline: Instant,
}

/// Jobs in order of arrival.
pub(super) struct Queue {
    incoming: Receiver<QueuedJob>,
    /// Already received, to check their deadlines.
    taken: VecDeque<QueuedJob>,
    patience: Duration,
}

impl Queue {
    pub(super) fn new(incoming: Receiver<QueuedJob>, patience: Duration) -> Self {
        Self { incoming, taken: VecDeque::new(), patience }
    }

    /// Time from a job's submission to its deadline.
    pub(super) const fn patience(&self) -> Duration {
        self.patience
    }

    /// Waits for the next job. `None` if no senders are left.
    pub(super) fn next(&mut self) -> Option<QueuedJob> {
        self.taken.pop_front().or_else(|| self.incoming.recv().ok())
    }

    /// The next job, if there is one already.
    pub(super) fn next_at_once(&mut self) -> Option<QueuedJob> {
        self.taken.pop_front().or_else(|| self.incoming.try_recv().ok())
    }

    /// Makes a job the next one again.
    pub(super) fn put_back(&mut self, entry: QueuedJob) {
        self.taken.push_front(entry);
    }

    /// Waits until `until`, and refuses jobs that are then past their deadline.
    pub(super) fn wait(&mut self, until: Instant) {
        std::thread::sleep(until.saturating_duration_since(Instant::now()));
        self.taken.extend(self.incoming.try_iter());
        self.refuse_late(Instant::now());
    }

    fn refuse_late(&mut self, now: Instant) {
        let late = |entry: &QueuedJob| entry.deadline <= now && entry.job.can_be_refused();
        if !self.taken.iter().any(late) {
            return;
        }
        let (late, rest): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.taken).into_iter().partition(late);
        self.taken = rest;
        for entry in late {
            entry.job.refuse(Error::Busy);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::writer::answering;

    #[test]
    fn a_job_is_refused_at_its_deadline_however_many_wait_before_it() {
        let (jobs, incoming) = channel();
        let mut queue = Queue::new(incoming, Duration::from_secs(5));
        let now = Instant::now();
        let (past, future) = (now, now + Duration::from_hours(1));
        let mut answers = Vec::new();
        for deadline in [future, past, future, past, past] {
            let (work, answer) = answering(|_| Ok::<_, Error>(()));
            jobs.send(QueuedJob { job: Job::Work(work), deadline }).unwrap();
            answers.push(answer);
        }
        let (stepped, step) = channel();
        let aside = Job::Aside(Box::new(move |_| stepped.send(()).unwrap()));
        jobs.send(QueuedJob { job: aside, deadline: past }).unwrap();
        queue.wait(now);
        let refused = answers.iter_mut().map(|answer| matches!(answer.try_recv(), Ok(Err(_))));
        assert_eq!(refused.collect::<Vec<_>>(), [false, true, false, true, true]);
        assert!(step.try_recv().is_err(), "what cannot be told stays");
        assert_eq!(std::iter::from_fn(|| queue.next_at_once()).count(), 3);
    }
}

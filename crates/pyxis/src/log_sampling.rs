//! Repeated warnings and errors: the first few are logged, the rest are counted. A full disk would otherwise write as
//! many lines as there are requests.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Lines of one message in a period; more are counted.
const MOST: u32 = 5;
/// Length of a period.
pub(crate) const PERIOD: Duration = Duration::from_secs(10);

/// Counts of repeated lines. Clones share their counts.
#[derive(Clone, Default)]
pub(crate) struct LogSampling(Arc<Mutex<HashMap<Identifier, Window>>>);

/// Lines of one message in the current period.
struct Window {
    began: Instant,
    lines: u32,
    left_out: u64,
    message: String,
}

/// Lines that were left out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) message: String,
    pub(crate) count: u64,
}

impl LogSampling {
    fn lock(&self) -> MutexGuard<'_, HashMap<Identifier, Window>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the periods that are over, and returns what was left out in them.
    pub(crate) fn take_left_out(&self) -> Vec<LeftOut> {
        let mut left_out = Vec::new();
        self.lock().retain(|_, window| {
            let goes_on = window.began.elapsed() < PERIOD;
            if !goes_on && window.left_out > 0 {
                left_out
                    .push(LeftOut { message: std::mem::take(&mut window.message), count: window.left_out });
            }
            goes_on
        });
        left_out
    }

    /// Logs what was left out, until the process ends.
    pub(crate) async fn report(self) {
        loop {
            tokio::time::sleep(PERIOD).await;
            for LeftOut { message, count } in self.take_left_out() {
                tracing::warn!(count, message_left_out = message, "repeated log lines were left out");
            }
        }
    }

    fn admits(&self, event: &Event<'_>) -> bool {
        let mut windows = self.lock();
        let window = windows.entry(event.metadata().callsite()).or_insert_with(|| {
            let mut message = Message(String::new());
            event.record(&mut message);
            Window { began: Instant::now(), lines: 0, left_out: 0, message: message.0 }
        });
        if window.lines < MOST {
            window.lines += 1;
            return true;
        }
        window.left_out += 1;
        false
    }
}

/// The text of an event.
struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

/// A format that writes nothing for what is left out. A filter could not do this. It would have to decide before
/// the event is complete, and the registry keeps such a decision for the next event.
pub(crate) struct SampledFormat<F> {
    pub(crate) format: F,
    pub(crate) sampling: LogSampling,
}

impl<S, N, F> FormatEvent<S, N> for SampledFormat<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if *event.metadata().level() > Level::WARN || self.sampling.admits(event) {
            self.format.format_event(context, writer, event)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// Lines that were written.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_lines_of_a_period_are_logged_and_the_rest_is_counted() {
        let (sampling, lines) = (LogSampling::default(), Lines::default());
        let written = lines.clone();
        let layer = tracing_subscriber::fmt::layer().with_writer(move || written.clone()).with_ansi(false);
        let format = |format| SampledFormat { format, sampling: sampling.clone() };
        let subscriber = tracing_subscriber::registry().with(layer.map_event_format(format));
        let _default = tracing::subscriber::set_default(subscriber);
        let full = || tracing::warn!("the disk is full");
        (0..20).for_each(|_| full());
        tracing::warn!("something else");
        (0..20).for_each(|_| tracing::info!("an answer"));
        let count =
            |text: &str| String::from_utf8(lines.0.lock().unwrap().clone()).unwrap().matches(text).count();
        assert_eq!([count("the disk is full"), count("something else"), count("an answer")], [5, 1, 20]);
        assert_eq!(sampling.take_left_out(), []);
        tokio::time::advance(PERIOD).await;
        let message = "the disk is full".to_owned();
        assert_eq!(sampling.take_left_out(), [LeftOut { message, count: 15 }]);
        full();
        assert_eq!(count("the disk is full"), 6);
    }
}

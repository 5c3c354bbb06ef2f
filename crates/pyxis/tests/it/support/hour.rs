//! What uses an hourly budget up.

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures_util::FutureExt;
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::window::hour_start;

use super::Setup;
use crate::postgres::Database;

/// Plays a scene that uses a budget up. The hour may end at any moment, and the next one has a budget of its own: a
/// scene that failed over the end of one is played once more, from the start.
pub(crate) async fn in_one_hour(mut setup: Setup, scene: impl AsyncFn(Setup)) {
    loop {
        let hour = hour_start(SystemClock.now());
        let (on_postgres, env) = (setup.postgres.is_some(), setup.env.clone());
        let Err(failure) = AssertUnwindSafe(scene(setup)).catch_unwind().await else { return };
        if hour_start(SystemClock.now()) == hour {
            resume_unwind(failure);
        }
        let postgres = if on_postgres { Database::create("the next hour").await } else { None };
        setup = Setup { postgres, env };
    }
}

//! Scenes that use up an hourly budget.

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures_util::FutureExt;
use pyxis_core::clock::{Clock, SystemClock};
use pyxis_core::window::hour_start;

use super::Setup;
use pyxis_testkit::postgres::Database;

/// Runs a scene that uses up a budget. The hour may end at any moment, and the next one has its own budget. A scene
/// that failed across the end of an hour is repeated once, from the start.
pub(crate) async fn in_one_hour(mut setup: Setup, scene: impl AsyncFn(Setup)) {
    loop {
        let hour = hour_start(SystemClock.now());
        let on_postgres = setup.postgres.is_some();
        let (env, program) = (setup.env.clone(), setup.program.clone());
        let Err(failure) = AssertUnwindSafe(scene(setup)).catch_unwind().await else { return };
        if hour_start(SystemClock.now()) == hour {
            resume_unwind(failure);
        }
        let postgres = if on_postgres { Some(Database::migrated("the next hour").await) } else { None };
        setup = Setup { postgres, env, program };
    }
}

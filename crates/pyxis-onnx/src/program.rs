//! A model that was let in, and what it answers.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tract_onnx::prelude::*;
use tract_onnx::tract_hir::infer::Factoid;
use tract_onnx::tract_hir::internal::DimLike;

use crate::ask::Ask;
use crate::graph::{self, Checked};
use crate::{MOST_BYTES, Refused, operators};

/// The largest table within a model.
const MOST_NUMBERS: usize = 1 << 18;
/// How far from a probability rounding may lead.
const ROUNDING: f64 = 1e-3;

/// What a file says of itself and how it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// What wrote the file.
    pub producer: String,
    /// The output that holds the probability.
    pub output: String,
    /// The column of it that is the human one.
    pub human: usize,
    /// Operators by name.
    pub operators: Vec<String>,
    /// What an answer costs: steps through trees, and multiplications with weights.
    pub steps: usize,
}

/// A model answered with something else than a probability.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(String);

/// A model that can be asked.
#[derive(Clone)]
pub struct Program {
    plan: Arc<TypedRunnableModel>,
    about: About,
    features: usize,
    unknown: f32,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("about", &self.about).finish_non_exhaustive()
    }
}

/// What every feature is in a trial, and how that is called.
const TRIALS: [(f32, &str); 5] = [(0.0, "0"), (1.0, "1"), (-1.0, "-1"), (1000.0, "1000"), (0.5, "0.5")];

impl Program {
    /// Reads a file, refuses what cannot be used, and tries the rest.
    pub fn load(bytes: &[u8], ask: &Ask) -> Result<Self, Refused> {
        if bytes.len() > MOST_BYTES {
            return Err(Refused::TooLarge(bytes.len()));
        }
        // What a library makes of a hostile file is its own affair, but not the end of the program.
        let loaded = catch_unwind(AssertUnwindSafe(|| Self::read(bytes, ask)));
        let program = loaded.unwrap_or_else(|_| Err(Refused::Damaged("reading it failed".to_owned())))?;
        program.try_out()
    }

    fn read(bytes: &[u8], ask: &Ask) -> Result<Self, Refused> {
        let mut library = tract_onnx::onnx();
        operators::teach(&mut library);
        let model = library
            .proto_model_for_read(&mut &bytes[..])
            .map_err(|error| Refused::NotOnnx(error.to_string()))?;
        let producer = format!("{} {}", model.producer_name, model.producer_version).trim().to_owned();
        let Checked { model, output, human, operators, steps, knows_unknown } = graph::check(model, ask)?;
        // Some operators make a number of what is none.
        if !knows_unknown && ask.unknown.is_none() {
            return Err(Refused::Unknown);
        }
        let plan = planned(&library, &model).map_err(|error| Refused::Damaged(innermost(&error)))?;
        let human = ask.human.or(human);
        let about = About { producer, output, human: human.unwrap_or(usize::MAX), operators, steps };
        let unknown = ask.unknown.unwrap_or(f32::NAN);
        Ok(Self { plan, about, features: ask.features, unknown })
    }

    /// What the file says of itself and how it is used.
    pub const fn about(&self) -> &About {
        &self.about
    }

    /// The probability that a wallet with these features is a human.
    pub fn probability(&self, seen: &[f32]) -> Result<f64, Failed> {
        let answer = self.answer(seen)?;
        let wanted = answer.get(self.about.human).copied();
        wanted.filter(|_| is_probable(&answer)).map(|probability| probability.clamp(0.0, 1.0)).ok_or_else(
            || Failed(format!("the model answers {answer:?}, which is no probability from 0 to 1")),
        )
    }

    fn answer(&self, seen: &[f32]) -> Result<Vec<f64>, Failed> {
        if seen.len() != self.features {
            return Err(Failed(format!("{} features where {} are wanted", seen.len(), self.features)));
        }
        let row: Vec<f32> =
            seen.iter().map(|number| if number.is_nan() { self.unknown } else { *number }).collect();
        let run = || {
            let row = Tensor::from_shape(&[1, row.len()], &row)?;
            let answers = self.plan.run(tvec!(row.into_tvalue()))?;
            let answer = answers[0].cast_to::<f64>()?;
            let plain = answer.try_as_plain_ram()?;
            Ok(plain.as_slice::<f64>()?.to_vec())
        };
        let answer: TractResult<Vec<f64>> =
            catch_unwind(AssertUnwindSafe(run)).map_err(|_| Failed("the model broke down".to_owned()))?;
        answer.map_err(|error| Failed(innermost(&error)))
    }

    /// Asks for wallets that do not exist, and settles which column is the human one.
    fn try_out(mut self) -> Result<Self, Refused> {
        for (value, tried) in TRIALS {
            let answer = self.trial(&vec![value; self.features])?;
            let columns = answer.len();
            if self.about.human == usize::MAX {
                self.about.human = columns.saturating_sub(1);
            }
            if !(1..=2).contains(&columns) {
                return Err(Refused::NoProbability { answer: format!("{columns} numbers"), tried });
            }
            if self.about.human >= columns {
                return Err(Refused::Column { columns, wanted: self.about.human });
            }
            if !is_probable(&answer) {
                return Err(Refused::NoProbability { answer: format!("{answer:?}"), tried });
            }
        }
        // Everything unknown, and each half of it: what a wallet without times, or without neighbours, is.
        let whole = vec![f32::NAN; self.features];
        let halves = [0, 1].map(|half| {
            let number =
                |place: usize| if (place * 2 < self.features) == (half == 0) { f32::NAN } else { 1.0 };
            (0..self.features).map(number).collect::<Vec<f32>>()
        });
        for row in [whole].iter().chain(&halves) {
            let answer = self.trial(row)?;
            if answer.iter().any(|number| number.is_nan()) {
                return Err(Refused::Unknown);
            }
            if !is_probable(&answer) {
                return Err(Refused::NoProbability { answer: format!("{answer:?}"), tried: "unknown" });
            }
        }
        Ok(self)
    }

    fn trial(&self, row: &[f32]) -> Result<Vec<f64>, Refused> {
        self.answer(row).map_err(|failed| Refused::Damaged(failed.0))
    }
}

/// One probability, or two that make one.
fn is_probable(answer: &[f64]) -> bool {
    let within = answer.iter().all(|number| (-ROUNDING..=1.0 + ROUNDING).contains(number));
    within && (answer.len() == 1 || answer.len() == 2 && (answer[0] + answer[1] - 1.0).abs() < ROUNDING)
}

/// Everything has a size and a type before it runs.
fn planned(
    library: &tract_onnx::Onnx,
    model: &tract_onnx::pb::ModelProto,
) -> TractResult<Arc<TypedRunnableModel>> {
    let mut parsed = library.parse(model, None)?.model;
    parsed.analyse(false)?;
    for node in parsed.nodes() {
        for outlet in &node.outputs {
            let size = outlet.fact.shape.concretize().map(|sides| {
                sides.iter().map(|side| side.to_usize().unwrap_or(usize::MAX)).fold(1, usize::saturating_mul)
            });
            if size.is_none_or(|size| size > MOST_NUMBERS && !node.inputs.is_empty()) {
                return Err(tract_onnx::tract_hir::internal::format_err!(
                    "{} makes a table of unknown or too large size",
                    node.op.name()
                ));
            }
        }
    }
    parsed.into_optimized()?.into_runnable()
}

/// The cause that stands at the end of the chain says most.
fn innermost(error: &TractError) -> String {
    error.chain().last().map_or_else(|| error.to_string(), ToString::to_string)
}

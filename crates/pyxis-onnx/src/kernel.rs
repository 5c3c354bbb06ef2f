//! Interface between operators and the plan that runs them.

use std::fmt::Debug;

use crate::tensor::TensorData;

/// Reason why a model has no answer for one input.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct EvaluationError(pub(crate) String);

/// Storage of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ValueSource {
    /// Index of a tensor that is the same for all inputs.
    Constant(usize),
    /// Index of a buffer.
    Buffer(usize),
}

/// Inputs of one operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) sources: &'a [ValueSource],
    pub(crate) constants: &'a [TensorData],
    pub(crate) buffers: &'a [TensorData],
}

/// Value that is computed from inputs whose types and shapes are known.
pub(crate) trait Kernel: Debug + Send + Sync {
    /// Computes the output. It has its length; its values are those of another tensor.
    fn run(&self, inputs: Inputs<'_>, output: &mut TensorData) -> Result<(), EvaluationError>;
}

/// Number type that carries elements.
pub(crate) trait Carrier: Copy + PartialOrd + Default + Debug + 'static {
    /// Elements of a tensor of this type; none of another.
    fn typed_elements(data: &TensorData) -> &[Self];

    fn of_mut(data: &mut TensorData) -> &mut [Self];
}

macro_rules! carrier {
    ($number:ty, $variant:ident) => {
        impl Carrier for $number {
            fn typed_elements(data: &TensorData) -> &[Self] {
                if let TensorData::$variant(elements) = data { elements } else { &[] }
            }

            fn of_mut(data: &mut TensorData) -> &mut [Self] {
                if let TensorData::$variant(elements) = data { elements } else { &mut [] }
            }
        }
    };
}

carrier!(f32, F32);
carrier!(f64, F64);
carrier!(i128, Int);

impl<'a> Inputs<'a> {
    pub(crate) fn data(self, index: usize) -> Option<&'a TensorData> {
        match self.sources.get(index)? {
            ValueSource::Constant(constant) => self.constants.get(*constant),
            ValueSource::Buffer(buffer) => self.buffers.get(*buffer),
        }
    }

    /// Elements of an input.
    pub(crate) fn elements<T: Carrier>(self, index: usize) -> &'a [T] {
        self.data(index).map_or(&[], T::typed_elements)
    }
}

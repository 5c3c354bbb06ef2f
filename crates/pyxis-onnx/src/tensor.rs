//! Tensors, and the types of their elements.

use crate::half;
use crate::proto::TensorProto;

/// Maximum number of dimensions of a tensor.
pub(crate) const MAX_RANK: usize = 8;

/// Type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementType {
    Bool,
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F16,
    F32,
    F64,
}

/// Type and shape of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TensorType {
    pub(crate) element: ElementType,
    pub(crate) shape: Vec<usize>,
}

/// Elements in row-major order. Three representations carry all element types. Half precision is carried as single
/// precision, and integers and booleans as `i128`, where every product of two of them wraps correctly.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TensorData {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Int(Vec<i128>),
}

/// ONNX name of the type with this code.
pub(crate) fn type_name(code: i64) -> &'static str {
    const NAMES: [&str; 24] = [
        "undefined",
        "float",
        "uint8",
        "int8",
        "uint16",
        "int16",
        "int32",
        "int64",
        "string",
        "bool",
        "float16",
        "double",
        "uint32",
        "uint64",
        "complex64",
        "complex128",
        "bfloat16",
        "float8e4m3fn",
        "float8e4m3fnuz",
        "float8e5m2",
        "float8e5m2fnuz",
        "uint4",
        "int4",
        "float4e2m1",
    ];
    usize::try_from(code).ok().and_then(|code| NAMES.get(code)).unwrap_or(&"unknown")
}

impl ElementType {
    const ALL: [(Self, i64); 12] = [
        (Self::F32, 1),
        (Self::U8, 2),
        (Self::I8, 3),
        (Self::U16, 4),
        (Self::I16, 5),
        (Self::I32, 6),
        (Self::I64, 7),
        (Self::Bool, 9),
        (Self::F16, 10),
        (Self::F64, 11),
        (Self::U32, 12),
        (Self::U64, 13),
    ];

    /// Type with this code in a file.
    pub(crate) fn from_code(code: i64) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(_, known)| *known == code);
        found.map(|(element, _)| *element).ok_or_else(|| format!("tensors of type {}", type_name(code)))
    }

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(element, _)| *element == self).map_or("", |(_, code)| type_name(*code))
    }

    pub(crate) const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32 | Self::F64)
    }

    /// Smallest and largest integer of the type; `None` for floats.
    const fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::Bool => (0, 1),
            Self::U8 => (0, u8::MAX as i128),
            Self::U16 => (0, u16::MAX as i128),
            Self::U32 => (0, u32::MAX as i128),
            Self::U64 => (0, u64::MAX as i128),
            Self::I8 => (i8::MIN as i128, i8::MAX as i128),
            Self::I16 => (i16::MIN as i128, i16::MAX as i128),
            Self::I32 => (i32::MIN as i128, i32::MAX as i128),
            Self::I64 => (i64::MIN as i128, i64::MAX as i128),
            Self::F16 | Self::F32 | Self::F64 => return None,
        })
    }

    /// Type that holds the values of both: the wider of two floats, of two signed or of two unsigned integers.
    pub(crate) fn common(self, other: Self) -> Option<Self> {
        let wider = |order: &[Self]| {
            let rank = |element| order.iter().position(|found| *found == element);
            Some(order[rank(self)?.max(rank(other)?)])
        };
        wider(&[Self::F16, Self::F32, Self::F64])
            .or_else(|| wider(&[Self::I8, Self::I16, Self::I32, Self::I64]))
            .or_else(|| wider(&[Self::U8, Self::U16, Self::U32, Self::U64]))
            .or_else(|| wider(&[Self::Bool]))
    }

    /// Normalizes an operator's results to the type: integers wrap, and floats are rounded to half precision if needed.
    pub(crate) fn normalize(self, data: &mut TensorData) {
        match (data, self.range()) {
            (TensorData::Int(ints), Some((least, most))) => {
                let width = most - least + 1;
                for int in ints.iter_mut().filter(|int| !(least..=most).contains(*int)) {
                    *int = (*int).wrapping_sub(least).rem_euclid(width) + least;
                }
            }
            (TensorData::F32(floats), None) if self == Self::F16 => {
                for float in floats {
                    *float = half::to_f32(half::from_f32(*float));
                }
            }
            _ => {}
        }
    }

    /// Converts elements to this type. Floats are truncated to integers and saturate; NaN becomes 0.
    pub(crate) fn convert(self, from: &TensorData, into: &mut TensorData) {
        let (least, most) = self.range().unwrap_or((i128::MIN, i128::MAX));
        let truth = self == Self::Bool;
        match (from, &mut *into) {
            (TensorData::F32(from), TensorData::F32(into)) => into.copy_from_slice(from),
            (TensorData::F32(from), TensorData::F64(into)) => map(from, into, f64::from),
            (TensorData::F64(from), TensorData::F32(into)) => map(from, into, single),
            (TensorData::F64(from), TensorData::F64(into)) => into.copy_from_slice(from),
            (TensorData::Int(from), TensorData::F32(into)) => map(from, into, int_to_f32),
            (TensorData::Int(from), TensorData::F64(into)) => map(from, into, int_to_f64),
            (TensorData::F32(from), TensorData::Int(into)) if truth => {
                map(from, into, |float| i128::from(float != 0.0));
            }
            (TensorData::F64(from), TensorData::Int(into)) if truth => {
                map(from, into, |float| i128::from(float != 0.0));
            }
            (TensorData::Int(from), TensorData::Int(into)) if truth => {
                map(from, into, |int| i128::from(int != 0));
            }
            (TensorData::F32(from), TensorData::Int(into)) => {
                map(from, into, |float| float_to_int(f64::from(float)).clamp(least, most));
            }
            (TensorData::F64(from), TensorData::Int(into)) => {
                map(from, into, |float| float_to_int(float).clamp(least, most));
            }
            (TensorData::Int(from), TensorData::Int(into)) => into.copy_from_slice(from),
        }
        self.normalize(into);
    }
}

fn map<T: Copy, U>(from: &[T], into: &mut [U], convert: impl Fn(T) -> U) {
    for (from, into) in from.iter().zip(into) {
        *into = convert(*from);
    }
}

/// Nearest single-precision number.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what the type asks for")]
pub(crate) const fn single(number: f64) -> f32 {
    number as f32
}

#[expect(clippy::cast_precision_loss, reason = "rounding is what the type asks for")]
const fn int_to_f32(int: i128) -> f32 {
    int as f32
}

#[expect(clippy::cast_precision_loss, reason = "rounding is what the type asks for")]
pub(crate) const fn int_to_f64(int: i128) -> f64 {
    int as f64
}

/// Number of elements as a divisor.
pub(crate) fn count(elements: usize) -> f64 {
    i128::try_from(elements).map_or(f64::INFINITY, int_to_f64)
}

#[expect(clippy::cast_possible_truncation, reason = "truncates, saturates, and makes 0 of NaN")]
pub(crate) const fn float_to_int(float: f64) -> i128 {
    float as i128
}

impl TensorData {
    /// Empty storage for elements of this type, with this capacity.
    pub(crate) fn with_capacity(element: ElementType, capacity: usize) -> Self {
        match element {
            ElementType::F16 | ElementType::F32 => Self::F32(Vec::with_capacity(capacity)),
            ElementType::F64 => Self::F64(Vec::with_capacity(capacity)),
            _ => Self::Int(Vec::with_capacity(capacity)),
        }
    }

    /// Sets the number of elements. Their values are undefined; an operator writes all of them.
    pub(crate) fn resize(&mut self, length: usize) {
        match self {
            Self::F32(floats) => floats.resize(length, 0.0),
            Self::F64(floats) => floats.resize(length, 0.0),
            Self::Int(ints) => ints.resize(length, 0),
        }
    }

    pub(crate) const fn len(&self) -> usize {
        match self {
            Self::F32(floats) => floats.len(),
            Self::F64(floats) => floats.len(),
            Self::Int(ints) => ints.len(),
        }
    }

    /// Element as a double; `None` beyond the end.
    pub(crate) fn number(&self, index: usize) -> Option<f64> {
        match self {
            Self::F32(floats) => floats.get(index).copied().map(f64::from),
            Self::F64(floats) => floats.get(index).copied(),
            Self::Int(ints) => ints.get(index).copied().map(int_to_f64),
        }
    }

    /// Elements as integers; floats are refused.
    pub(crate) fn ints(&self) -> Option<Vec<i64>> {
        match self {
            Self::Int(ints) => ints.iter().map(|int| i64::try_from(*int).ok()).collect(),
            Self::F32(_) | Self::F64(_) => None,
        }
    }
}

/// Number of elements of a shape; saturates.
pub(crate) fn size(shape: &[usize]) -> usize {
    shape.iter().copied().fold(1, usize::saturating_mul)
}

/// Reads weights of a file.
pub(crate) fn read(tensor: &TensorProto<'_>) -> Result<(TensorType, TensorData), String> {
    let element = ElementType::from_code(tensor.data_type)?;
    let shape: Vec<usize> = tensor.dims.iter().filter_map(|side| usize::try_from(*side).ok()).collect();
    let length = size(&shape);
    let wrong = || format!("weights {:?} do not have {length} elements", tensor.name);
    if shape.len() != tensor.dims.len() || shape.len() > MAX_RANK {
        return Err(format!("weights {:?} have the shape {:?}", tensor.name, tensor.dims));
    }
    let mut data = TensorData::with_capacity(element, 0);
    if !tensor.raw_data.is_empty() || length == 0 {
        data = raw(element, tensor.raw_data).ok_or_else(wrong)?;
    } else {
        match &mut data {
            TensorData::F32(floats) if element == ElementType::F16 => {
                let bits = |bits: &i64| half::to_f32((bits & 0xffff).try_into().unwrap_or(0));
                *floats = tensor.ints.iter().map(bits).collect();
            }
            TensorData::F32(floats) => floats.clone_from(&tensor.floats),
            TensorData::F64(doubles) => doubles.clone_from(&tensor.doubles),
            TensorData::Int(ints) if element == ElementType::U64 => {
                *ints = tensor.ints.iter().map(|int| i128::from(int.cast_unsigned())).collect();
            }
            TensorData::Int(ints) if element == ElementType::Bool => {
                *ints = tensor.ints.iter().map(|int| i128::from(*int != 0)).collect();
            }
            TensorData::Int(ints) => *ints = tensor.ints.iter().copied().map(i128::from).collect(),
        }
        element.normalize(&mut data);
    }
    if data.len() == length { Ok((TensorType { element, shape }, data)) } else { Err(wrong()) }
}

/// Elements from little-endian bytes.
fn raw(element: ElementType, bytes: &[u8]) -> Option<TensorData> {
    fn each<const N: usize, T>(bytes: &[u8], read: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
        let (chunks, rest) = bytes.as_chunks::<N>();
        rest.is_empty().then(|| chunks.iter().map(|chunk| read(*chunk)).collect())
    }
    Some(match element {
        ElementType::F32 => TensorData::F32(each(bytes, f32::from_le_bytes)?),
        ElementType::F16 => TensorData::F32(each(bytes, |bits| half::to_f32(u16::from_le_bytes(bits)))?),
        ElementType::F64 => TensorData::F64(each(bytes, f64::from_le_bytes)?),
        ElementType::Bool => TensorData::Int(each(bytes, |[byte]: [u8; 1]| i128::from(byte != 0))?),
        ElementType::U8 => TensorData::Int(each(bytes, |[byte]: [u8; 1]| i128::from(byte))?),
        ElementType::I8 => TensorData::Int(each(bytes, |byte| i128::from(i8::from_le_bytes(byte)))?),
        ElementType::U16 => TensorData::Int(each(bytes, |int| i128::from(u16::from_le_bytes(int)))?),
        ElementType::I16 => TensorData::Int(each(bytes, |int| i128::from(i16::from_le_bytes(int)))?),
        ElementType::U32 => TensorData::Int(each(bytes, |int| i128::from(u32::from_le_bytes(int)))?),
        ElementType::I32 => TensorData::Int(each(bytes, |int| i128::from(i32::from_le_bytes(int)))?),
        ElementType::U64 => TensorData::Int(each(bytes, |int| i128::from(u64::from_le_bytes(int)))?),
        ElementType::I64 => TensorData::Int(each(bytes, |int| i128::from(i64::from_le_bytes(int)))?),
    })
}

#[cfg(test)]
mod tests;

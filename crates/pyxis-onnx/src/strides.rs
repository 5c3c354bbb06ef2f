//! Walks over tensors of several dimensions that are broadcast to one shape.

use crate::tensor::MAX_RANK;

/// Shape that both broadcast to: dimensions align at the end, and 1 stretches.
pub(crate) fn broadcast(one: &[usize], other: &[usize]) -> Option<Vec<usize>> {
    let rank = one.len().max(other.len());
    let side =
        |shape: &[usize], index: usize| (index + shape.len()).checked_sub(rank).map_or(1, |at| shape[at]);
    (0..rank)
        .map(|index| match (side(one, index), side(other, index)) {
            (1, side) | (side, 1) => Some(side),
            (one, other) => (one == other).then_some(one),
        })
        .collect()
}

/// Distance between neighbors in each dimension of a row-major tensor.
pub(crate) fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1_usize; shape.len()];
    for index in (1..shape.len()).rev() {
        strides[index - 1] = strides[index].saturating_mul(shape[index]);
    }
    strides
}

/// Strides with which a tensor of `from` is read as one of `to`, which it broadcasts to.
pub(crate) fn broadcasting(from: &[usize], to: &[usize]) -> Vec<usize> {
    let strides = row_major(from);
    let added = to.len().saturating_sub(from.len());
    let stride = |index: usize| match index.checked_sub(added) {
        Some(at) if from[at] != 1 => strides[at],
        _ => 0,
    };
    (0..to.len()).map(stride).collect()
}

/// Walk over a shape in row-major order that follows the offsets of `N` tensors. The caller loops over the last
/// dimension. Dimensions that are contiguous in all tensors are merged.
#[derive(Clone, Debug)]
pub(crate) struct Walk<const N: usize> {
    outer: Vec<(usize, [usize; N])>,
    /// Length of the inner loop.
    length: usize,
    /// Steps of the inner loop.
    steps: [usize; N],
}

impl<const N: usize> Walk<N> {
    /// A walk over `shape` with the strides of each tensor.
    pub(crate) fn new(shape: &[usize], strides: [&[usize]; N]) -> Self {
        let mut merged: Vec<(usize, [usize; N])> = Vec::with_capacity(shape.len());
        for (index, side) in shape.iter().copied().enumerate().filter(|(_, side)| *side != 1) {
            let inner = strides.map(|strides| strides[index]);
            match merged.last_mut() {
                Some((outer_side, outer)) if (0..N).all(|tensor| outer[tensor] == inner[tensor] * side) => {
                    *outer_side *= side;
                    *outer = inner;
                }
                _ => merged.push((side, inner)),
            }
        }
        let (length, steps) = merged.pop().unwrap_or((1, [0; N]));
        Self { outer: merged, length, steps }
    }

    /// Length of the inner loop.
    pub(crate) const fn length(&self) -> usize {
        self.length
    }

    /// Steps of the inner loop, one for each tensor.
    pub(crate) const fn steps(&self) -> [usize; N] {
        self.steps
    }

    /// Calls with the offsets at which each inner loop starts.
    pub(crate) fn each(&self, mut call: impl FnMut([usize; N])) {
        if self.length == 0 || self.outer.iter().any(|(side, _)| *side == 0) {
            return;
        }
        let mut position = [0; MAX_RANK];
        let mut offsets = [0; N];
        loop {
            call(offsets);
            let mut dimension = self.outer.len();
            loop {
                let Some(next) = dimension.checked_sub(1) else { return };
                dimension = next;
                let (side, strides) = &self.outer[dimension];
                position[dimension] += 1;
                for (offset, stride) in offsets.iter_mut().zip(strides) {
                    *offset += stride;
                }
                if position[dimension] < *side {
                    break;
                }
                position[dimension] = 0;
                for (offset, stride) in offsets.iter_mut().zip(strides) {
                    *offset -= stride * side;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_from_the_end() {
        assert_eq!(broadcast(&[1, 4], &[3, 1]), Some(vec![3, 4]));
        assert_eq!(broadcast(&[], &[2, 1]), Some(vec![2, 1]));
        assert_eq!(broadcast(&[0], &[1]), Some(vec![0]));
        assert_eq!(broadcast(&[2, 3], &[2]), None);
    }

    fn visited<const N: usize>(shape: &[usize], strides: [&[usize]; N]) -> Vec<[usize; N]> {
        let walk = Walk::new(shape, strides);
        let mut visited = Vec::new();
        walk.each(|start| {
            for step in 0..walk.length() {
                visited.push(std::array::from_fn(|tensor| start[tensor] + step * walk.steps()[tensor]));
            }
        });
        visited
    }

    #[test]
    fn a_walk_follows_every_tensor_in_row_major_order() {
        let (row, column) = (broadcasting(&[3], &[2, 3]), broadcasting(&[2, 1], &[2, 3]));
        assert_eq!(visited(&[2, 3], [&row, &column]), [[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1]]);
        assert_eq!(visited(&[], [&[]]), [[0]]);
        assert_eq!(visited(&[2, 0], [&[0, 1]]), [[0]; 0]);
        assert_eq!(Walk::new(&[2, 3, 4], [&row_major(&[2, 3, 4])]).length(), 24, "contiguous: one loop");
        let transposed = visited(&[2, 2, 2], [&[1, 4, 2]]).into_iter().flatten().collect::<Vec<_>>();
        assert_eq!(transposed, [0, 2, 4, 6, 1, 3, 5, 7]);
    }
}

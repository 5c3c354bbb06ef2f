//! Arithmetic of the numbers that carry elements.

use crate::kernel::Carrier;

/// Number with the operators of ONNX. Integers wrap around; they are normalized to their type afterwards.
pub(super) trait Number: Carrier {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// Quotient; integers are truncated toward zero.
    fn div(self, other: Self) -> Self;
    fn pow(self, exponent: Self) -> Self;
    /// Larger of two; NaN if either is NaN.
    fn max(self, other: Self) -> Self;
    /// Smaller of two; NaN if either is NaN.
    fn min(self, other: Self) -> Self;
    fn abs(self) -> Self;
    fn neg(self) -> Self;
    /// True for divisors with a quotient.
    fn can_divide(self) -> bool;
}

macro_rules! float {
    ($float:ty) => {
        impl Number for $float {
            fn add(self, other: Self) -> Self {
                self + other
            }

            fn sub(self, other: Self) -> Self {
                self - other
            }

            fn mul(self, other: Self) -> Self {
                self * other
            }

            fn div(self, other: Self) -> Self {
                self / other
            }

            fn pow(self, exponent: Self) -> Self {
                self.powf(exponent)
            }

            fn max(self, other: Self) -> Self {
                if self.is_nan() || self > other { self } else { other }
            }

            fn min(self, other: Self) -> Self {
                if self.is_nan() || self < other { self } else { other }
            }

            fn abs(self) -> Self {
                <$float>::abs(self)
            }

            fn neg(self) -> Self {
                -self
            }

            fn can_divide(self) -> bool {
                true
            }
        }
    };
}

float!(f32);
float!(f64);

impl Number for i128 {
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn sub(self, other: Self) -> Self {
        self.wrapping_sub(other)
    }

    fn mul(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }

    fn div(self, other: Self) -> Self {
        self.checked_div(other).unwrap_or(0)
    }

    fn pow(self, exponent: Self) -> Self {
        match (u64::try_from(exponent), self) {
            (Ok(exponent), _) => {
                let (mut result, mut square, mut left) = (1, self, exponent);
                while left > 0 {
                    if left & 1 == 1 {
                        result = Self::wrapping_mul(result, square);
                    }
                    square = square.wrapping_mul(square);
                    left >>= 1;
                }
                result
            }
            // The reciprocal of any other number is truncated to zero.
            (Err(_), 1) => 1,
            (Err(_), -1) => 1 - 2 * (exponent & 1),
            (Err(_), _) => 0,
        }
    }

    fn max(self, other: Self) -> Self {
        Ord::max(self, other)
    }

    fn min(self, other: Self) -> Self {
        Ord::min(self, other)
    }

    fn abs(self) -> Self {
        self.wrapping_abs()
    }

    fn neg(self) -> Self {
        self.wrapping_neg()
    }

    fn can_divide(self) -> bool {
        self != 0
    }
}

//! Half-precision floats (IEEE 754 binary16) as bits.

/// Value of half-precision bits.
pub(crate) const fn to_f32(bits: u16) -> f32 {
    let sign = ((bits & 0x8000) as u32) << 16;
    let exponent = ((bits >> 10) & 0x1f) as u32;
    let fraction = (bits & 0x3ff) as u32;
    match exponent {
        // Subnormal: the fraction counts units of 2^-24.
        0 => {
            let magnitude = (bits & 0x3ff) as f32 / 16_777_216.0;
            if sign == 0 { magnitude } else { -magnitude }
        }
        0x1f => f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

/// Nearest half-precision bits; ties go to the even one, and too large numbers become infinite.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "what is cast fits in 16 bits")]
pub(crate) fn from_f32(number: f32) -> u16 {
    let bits = number.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    if number.is_nan() {
        return sign | 0x7e00;
    }
    let magnitude = number.abs();
    if magnitude >= 65_520.0 {
        return sign | 0x7c00;
    }
    if magnitude < 0.000_061_035_156 {
        // Below the normal range, half-precision floats are the multiples of 2^-24.
        return sign | (magnitude * 16_777_216.0).round_ties_even() as u16;
    }
    let bits = magnitude.to_bits();
    let rounded = bits + 0x0fff + (bits >> 13 & 1);
    sign | ((rounded >> 13) - (112 << 10)) as u16
}

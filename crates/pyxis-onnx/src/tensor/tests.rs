use super::*;

fn converted(from: &TensorData, to: ElementType) -> TensorData {
    let mut into = TensorData::with_capacity(to, 0);
    into.resize(from.len());
    to.convert(from, &mut into);
    into
}

#[test]
fn floats_become_integers_by_truncation_and_saturate() {
    let floats = TensorData::F32(vec![1.9, -1.9, f32::NAN, f32::INFINITY, -1e30, -0.0]);
    let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
    assert_eq!(converted(&floats, ElementType::I64), TensorData::Int(vec![1, -1, 0, most, least, 0]));
    assert_eq!(converted(&floats, ElementType::U8), TensorData::Int(vec![1, 0, 0, 255, 0, 0]));
    assert_eq!(converted(&floats, ElementType::Bool), TensorData::Int(vec![1, 1, 1, 1, 1, 0]));
}

#[test]
fn integers_wrap_to_narrower_types() {
    let ints = TensorData::Int(vec![300, -1, i128::from(i64::MIN), 127]);
    assert_eq!(converted(&ints, ElementType::U8), TensorData::Int(vec![44, 255, 0, 127]));
    assert_eq!(converted(&ints, ElementType::I8), TensorData::Int(vec![44, -1, 0, 127]));
    assert_eq!(converted(&ints, ElementType::U64), TensorData::Int(vec![300, (1 << 64) - 1, 1 << 63, 127]));
    let mut product = TensorData::Int(vec![i128::from(i64::MAX) * 2, i128::MAX, i128::MIN]);
    ElementType::I64.normalize(&mut product);
    assert_eq!(product, TensorData::Int(vec![-2, -1, 0]));
}

#[test]
fn half_precision_rounds_to_the_nearest_even() {
    for (number, rounded) in [
        (1.0, 1.0),
        (2049.0, 2048.0),
        (2051.0, 2052.0),
        (65_519.0, 65_504.0),
        (65_520.0, f32::INFINITY),
        (5.960_464_5e-8, 5.960_464_5e-8),
        (2.9e-8, 0.0),
        (6.1e-5, 6.097_555e-5),
        (-0.333_333_34, -0.333_251_95),
    ] {
        assert_eq!(
            converted(&TensorData::F32(vec![number]), ElementType::F16),
            TensorData::F32(vec![rounded]),
            "{number}"
        );
    }
    let all = (0..=u16::MAX).filter(|bits| !half::to_f32(*bits).is_nan());
    for bits in all {
        assert_eq!(half::from_f32(half::to_f32(bits)), bits, "{bits:#x}");
    }
    assert!(half::to_f32(half::from_f32(f32::NAN)).is_nan());
}

#[test]
fn weights_are_read_from_raw_bytes_and_from_lists() {
    let proto =
        |data_type, dims: &[i64]| TensorProto { data_type, dims: dims.to_vec(), ..TensorProto::default() };
    let raw = TensorProto { raw_data: &[1, 0, 0, 0, 0, 0, 0, 0x80], ..proto(13, &[1]) };
    assert_eq!(read(&raw).unwrap().1, TensorData::Int(vec![1 + (1 << 63)]));
    let list = TensorProto { ints: vec![0x3c00, 0xfc00], ..proto(10, &[2]) };
    assert_eq!(read(&list).unwrap().1, TensorData::F32(vec![1.0, f32::NEG_INFINITY]));
    let unsigned = TensorProto { ints: vec![-1], ..proto(13, &[]) };
    assert_eq!(read(&unsigned).unwrap().1, TensorData::Int(vec![i128::from(u64::MAX)]));
    assert_eq!(read(&proto(1, &[0, 3])).unwrap().1, TensorData::F32(vec![]));
    for wrong in
        [proto(1, &[2]), proto(8, &[0]), proto(1, &[-1]), TensorProto { raw_data: &[0; 5], ..proto(1, &[1]) }]
    {
        assert!(read(&wrong).is_err(), "{wrong:?}");
    }
}

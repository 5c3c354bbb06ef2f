//! Decoder of the protocol buffers wire format. It copies nothing and never recurses.

/// Reason why bytes are not a protocol buffers message.
pub(crate) type Malformed = &'static str;

/// Largest field number of the format.
const MAX_FIELD: u64 = (1 << 29) - 1;

/// Value of one field, as the wire format encodes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Bytes(&'a [u8]),
    Fixed32([u8; 4]),
}

/// Fields of a message in file order: number and value. Ends after the first error.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) const fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn read_bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or("a field ends early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.read_bytes(N)?.try_into().map_err(|_| "a field ends early")
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for (index, byte) in self.rest.iter().enumerate().take(10) {
            if index == 9 && *byte > 1 {
                break;
            }
            number |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[index + 1..];
                return Ok(number);
            }
        }
        Err("a variable-length integer does not end")
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), Malformed> {
        let tag = self.varint()?;
        let number = tag >> 3;
        if !(1..=MAX_FIELD).contains(&number) {
            return Err("a field number is out of range");
        }
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => Value::Fixed64(self.fixed()?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| "a field ends early")?;
                Value::Bytes(self.read_bytes(length)?)
            }
            5 => Value::Fixed32(self.fixed()?),
            _ => return Err("a field has an unknown wire type"),
        };
        Ok((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

impl<'a> Value<'a> {
    pub(crate) const fn bytes(self) -> Result<&'a [u8], Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err("a field has another type than ONNX gives it"),
        }
    }

    pub(crate) fn text(self) -> Result<&'a str, Malformed> {
        str::from_utf8(self.bytes()?).map_err(|_| "a name is not UTF-8")
    }

    pub(crate) const fn int(self) -> Result<i64, Malformed> {
        match self {
            Self::Varint(number) => Ok(number.cast_signed()),
            _ => Err("a field has another type than ONNX gives it"),
        }
    }

    pub(crate) const fn float(self) -> Result<f32, Malformed> {
        match self {
            Self::Fixed32(bytes) => Ok(f32::from_le_bytes(bytes)),
            _ => Err("a field has another type than ONNX gives it"),
        }
    }

    /// Appends integers, packed or single.
    pub(crate) fn extend_ints(self, ints: &mut Vec<i64>) -> Result<(), Malformed> {
        match self {
            Self::Bytes(packed) => {
                let mut packed = Fields::new(packed);
                while !packed.rest.is_empty() {
                    ints.push(packed.varint()?.cast_signed());
                }
                Ok(())
            }
            single => single.int().map(|int| ints.push(int)),
        }
    }

    /// Appends floats, packed or single.
    pub(crate) fn extend_floats(self, floats: &mut Vec<f32>) -> Result<(), Malformed> {
        match self {
            Self::Bytes(packed) => {
                let (chunks, []) = packed.as_chunks::<4>() else { return Err("a list of floats ends early") };
                floats.extend(chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)));
                Ok(())
            }
            single => single.float().map(|float| floats.push(float)),
        }
    }

    /// Appends doubles, packed or single.
    pub(crate) fn extend_doubles(self, doubles: &mut Vec<f64>) -> Result<(), Malformed> {
        match self {
            Self::Bytes(packed) => {
                let (chunks, []) = packed.as_chunks::<8>() else {
                    return Err("a list of doubles ends early");
                };
                doubles.extend(chunks.iter().map(|chunk| f64::from_le_bytes(*chunk)));
                Ok(())
            }
            Self::Fixed64(bytes) => {
                doubles.push(f64::from_le_bytes(bytes));
                Ok(())
            }
            _ => Err("a field has another type than ONNX gives it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<(u64, Value<'_>)>, Malformed> {
        Fields::new(bytes).collect()
    }

    #[test]
    fn fields_of_every_wire_type_are_read_in_order() {
        let bytes =
            [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 0, 0, 0x80, 0x3f, 0x21, 1, 0, 0, 0, 0, 0, 0, 0];
        let fields = read(&bytes).unwrap();
        assert_eq!(fields[0], (1, Value::Varint(150)));
        assert_eq!(fields[1].1.text(), Ok("hi"));
        assert_eq!(fields[2].1.float(), Ok(1.0));
        assert_eq!(fields[3], (4, Value::Fixed64([1, 0, 0, 0, 0, 0, 0, 0])));
    }

    #[test]
    fn the_largest_and_the_smallest_integer_are_read() {
        let mut minus_one = vec![0x08];
        minus_one.extend([0xff; 9]);
        minus_one.push(0x01);
        assert_eq!(read(&minus_one).unwrap()[0].1.int(), Ok(-1));
        minus_one[10] = 0x02;
        assert!(read(&minus_one).is_err(), "65 bits");
    }

    #[test]
    fn damaged_messages_are_errors() {
        for bytes in [&[0x08][..], &[0x12, 5, 1], &[0x00, 1], &[0x0b], &[0x0d, 1, 2], &[0x09, 1], &[0xff; 12]]
        {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
        let mut floats = Vec::new();
        assert!(Value::Bytes(&[1, 2, 3]).extend_floats(&mut floats).is_err());
        assert!(Value::Bytes(&[0xff]).extend_ints(&mut Vec::new()).is_err());
    }
}

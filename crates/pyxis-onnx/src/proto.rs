//! Messages of the ONNX format, limited to the fields that an evaluator needs. They borrow from the file.

use crate::wire::{Fields, Malformed, Value};

/// Maximum number of messages and names in a file. Without a limit, a file of two-byte messages uses 100 times its size
/// in memory.
const MAX_PARTS: usize = 1 << 18;

/// Counts messages and names while a file is read.
struct Budget(usize);

impl Budget {
    const fn spend(&mut self) -> Result<(), Malformed> {
        match self.0.checked_sub(1) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => Err("it has too many parts"),
        }
    }
}

/// A file.
#[derive(Debug, Default)]
pub(crate) struct Model<'a> {
    pub(crate) producer_name: &'a str,
    pub(crate) producer_version: &'a str,
    /// Version of the default operator set; 0 without one.
    pub(crate) opset: i64,
    pub(crate) graph: Option<Graph<'a>>,
    pub(crate) has_functions: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Graph<'a> {
    pub(crate) nodes: Vec<GraphNode<'a>>,
    pub(crate) initializers: Vec<TensorProto<'a>>,
    pub(crate) has_sparse_initializers: bool,
    pub(crate) inputs: Vec<ValueInfo<'a>>,
    pub(crate) outputs: Vec<&'a str>,
}

/// One operator and its wiring. An absent optional input has an empty name.
#[derive(Debug, Default)]
pub(crate) struct GraphNode<'a> {
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    pub(crate) op_type: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) attributes: Vec<Attribute<'a>>,
}

#[derive(Debug, Default)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a str,
    /// Code of its type in the file; 0 without one.
    pub(crate) kind: i64,
    pub(crate) f: f32,
    pub(crate) i: i64,
    pub(crate) s: &'a [u8],
    pub(crate) t: Option<TensorProto<'a>>,
    pub(crate) has_graph: bool,
    pub(crate) floats: Vec<f32>,
    pub(crate) ints: Vec<i64>,
    pub(crate) strings: Vec<&'a [u8]>,
}

#[derive(Debug, Default)]
pub(crate) struct TensorProto<'a> {
    pub(crate) name: &'a str,
    pub(crate) dims: Vec<i64>,
    pub(crate) data_type: i64,
    pub(crate) raw_data: &'a [u8],
    pub(crate) floats: Vec<f32>,
    pub(crate) doubles: Vec<f64>,
    /// Integers of any width, also booleans and the bits of half-precision floats.
    pub(crate) ints: Vec<i64>,
    pub(crate) is_external: bool,
}

/// An input of the graph.
#[derive(Debug, Default)]
pub(crate) struct ValueInfo<'a> {
    pub(crate) name: &'a str,
    pub(crate) tensor: Option<TensorInfo>,
}

#[derive(Debug, Default)]
pub(crate) struct TensorInfo {
    pub(crate) data_type: i64,
    /// Dimensions; `None` is free or named.
    pub(crate) dims: Vec<Option<i64>>,
}

impl<'a> Model<'a> {
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut budget = Budget(MAX_PARTS);
        let mut model = Self::default();
        for field in Fields::new(bytes) {
            match field? {
                (2, value) => model.producer_name = value.text()?,
                (3, value) => model.producer_version = value.text()?,
                (7, value) => model.graph.get_or_insert_default().merge(value.bytes()?, &mut budget)?,
                (8, value) => {
                    let (mut domain, mut version) = ("", 0);
                    for field in Fields::new(value.bytes()?) {
                        match field? {
                            (1, value) => domain = value.text()?,
                            (2, value) => version = value.int()?,
                            _ => {}
                        }
                    }
                    if matches!(domain, "" | "ai.onnx") {
                        model.opset = version;
                    }
                }
                (25, _) => model.has_functions = true,
                _ => {}
            }
        }
        Ok(model)
    }
}

impl<'a> Graph<'a> {
    fn merge(&mut self, bytes: &'a [u8], budget: &mut Budget) -> Result<(), Malformed> {
        for field in Fields::new(bytes) {
            let (number, value) = field?;
            match number {
                1 => self.nodes.push(GraphNode::read(value, budget)?),
                5 => self.initializers.push(TensorProto::read(value, budget)?),
                11 => self.inputs.push(ValueInfo::read(value, budget)?),
                12 => self.outputs.push(ValueInfo::read(value, budget)?.name),
                15 => self.has_sparse_initializers = true,
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'a> GraphNode<'a> {
    fn read(value: Value<'a>, budget: &mut Budget) -> Result<Self, Malformed> {
        budget.spend()?;
        let mut node = Self::default();
        for field in Fields::new(value.bytes()?) {
            let (number, value) = field?;
            match number {
                1 | 2 => {
                    budget.spend()?;
                    let names = if number == 1 { &mut node.inputs } else { &mut node.outputs };
                    names.push(value.text()?);
                }
                4 => node.op_type = value.text()?,
                5 => node.attributes.push(Attribute::read(value, budget)?),
                7 => node.domain = value.text()?,
                _ => {}
            }
        }
        Ok(node)
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        self.attribute(name).map(|attribute| attribute.i)
    }

    /// True if a flag is set; absent is false.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.int(name).is_some_and(|flag| flag != 0)
    }

    pub(crate) fn float(&self, name: &str) -> Option<f32> {
        self.attribute(name).map(|attribute| attribute.f)
    }

    pub(crate) fn ints(&self, name: &str) -> &[i64] {
        self.attribute(name).map_or(&[], |attribute| &attribute.ints)
    }

    pub(crate) fn floats(&self, name: &str) -> &[f32] {
        self.attribute(name).map_or(&[], |attribute| &attribute.floats)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        self.attribute(name).map(|attribute| str::from_utf8(attribute.s).unwrap_or(""))
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<&'a str> {
        let texts = self.attribute(name).map_or(&[][..], |attribute| &attribute.strings);
        texts.iter().map(|text| str::from_utf8(text).unwrap_or("")).collect()
    }

    /// Labels of a classifier's classes, as text.
    pub(crate) fn labels(&self) -> Vec<String> {
        let texts = self.texts("classlabels_strings");
        if !texts.is_empty() {
            return texts.into_iter().map(str::to_owned).collect();
        }
        let names = ["classlabels_int64s", "classlabels_ints"];
        let found = names.map(|name| self.ints(name)).into_iter().find(|found| !found.is_empty());
        found.unwrap_or_default().iter().map(ToString::to_string).collect()
    }
}

impl<'a> Attribute<'a> {
    fn read(value: Value<'a>, budget: &mut Budget) -> Result<Self, Malformed> {
        budget.spend()?;
        let mut attribute = Self::default();
        for field in Fields::new(value.bytes()?) {
            let (number, value) = field?;
            match number {
                1 => attribute.name = value.text()?,
                2 => attribute.f = value.float()?,
                3 => attribute.i = value.int()?,
                4 => attribute.s = value.bytes()?,
                5 => attribute.t = Some(TensorProto::read(value, budget)?),
                6 | 11 => attribute.has_graph = true,
                7 => value.extend_floats(&mut attribute.floats)?,
                8 => value.extend_ints(&mut attribute.ints)?,
                9 => {
                    budget.spend()?;
                    attribute.strings.push(value.bytes()?);
                }
                20 => attribute.kind = value.int()?,
                _ => {}
            }
        }
        Ok(attribute)
    }
}

impl<'a> TensorProto<'a> {
    fn read(value: Value<'a>, budget: &mut Budget) -> Result<Self, Malformed> {
        budget.spend()?;
        let mut tensor = Self::default();
        for field in Fields::new(value.bytes()?) {
            let (number, value) = field?;
            match number {
                1 => value.extend_ints(&mut tensor.dims)?,
                2 => tensor.data_type = value.int()?,
                4 => value.extend_floats(&mut tensor.floats)?,
                5 | 7 | 11 => value.extend_ints(&mut tensor.ints)?,
                8 => tensor.name = value.text()?,
                9 => tensor.raw_data = value.bytes()?,
                10 => value.extend_doubles(&mut tensor.doubles)?,
                13 => tensor.is_external = true,
                14 => tensor.is_external |= value.int()? == 1,
                _ => {}
            }
        }
        Ok(tensor)
    }
}

impl<'a> ValueInfo<'a> {
    fn read(value: Value<'a>, budget: &mut Budget) -> Result<Self, Malformed> {
        budget.spend()?;
        let mut info = Self::default();
        for field in Fields::new(value.bytes()?) {
            match field? {
                (1, value) => info.name = value.text()?,
                (2, value) => {
                    for field in Fields::new(value.bytes()?) {
                        if let (1, value) = field? {
                            info.tensor = Some(TensorInfo::read(value, budget)?);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(info)
    }
}

impl TensorInfo {
    fn read(value: Value<'_>, budget: &mut Budget) -> Result<Self, Malformed> {
        let mut tensor = Self::default();
        for field in Fields::new(value.bytes()?) {
            match field? {
                (1, value) => tensor.data_type = value.int()?,
                (2, value) => {
                    for field in Fields::new(value.bytes()?) {
                        let (1, value) = field? else { continue };
                        budget.spend()?;
                        tensor.dims.push(dimension(value)?);
                    }
                }
                _ => {}
            }
        }
        Ok(tensor)
    }
}

fn dimension(value: Value<'_>) -> Result<Option<i64>, Malformed> {
    let mut size = None;
    for field in Fields::new(value.bytes()?) {
        if let (1, value) = field? {
            size = Some(value.int()?).filter(|size| *size > 0);
        }
    }
    Ok(size)
}

//! What is written at an operator of a file.

use tract_onnx::pb::{AttributeProto, NodeProto};

/// Reads attributes by name; what is absent is empty.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a>(pub(crate) &'a NodeProto);

impl<'a> Attributes<'a> {
    pub(crate) fn find(self, name: &str) -> Option<&'a AttributeProto> {
        self.0.attribute.iter().find(|attribute| attribute.name == name)
    }

    pub(crate) fn ints(self, name: &str) -> &'a [i64] {
        self.find(name).map_or(&[], |attribute| &attribute.ints)
    }

    pub(crate) fn floats(self, name: &str) -> &'a [f32] {
        self.find(name).map_or(&[], |attribute| &attribute.floats)
    }

    pub(crate) fn texts(self, name: &str) -> Vec<&'a str> {
        let texts = self.find(name).map_or(&[][..], |attribute| &attribute.strings);
        texts.iter().map(|text| str::from_utf8(text).unwrap_or("")).collect()
    }

    pub(crate) fn text(self, name: &str) -> Option<&'a str> {
        self.find(name).map(|attribute| str::from_utf8(&attribute.s).unwrap_or(""))
    }

    /// Labels of classes, as texts.
    pub(crate) fn labels(self) -> Vec<String> {
        let texts = self.texts("classlabels_strings");
        if !texts.is_empty() {
            return texts.into_iter().map(str::to_owned).collect();
        }
        let names = ["classlabels_int64s", "classlabels_ints"];
        let found = names.map(|name| self.ints(name)).into_iter().find(|found| !found.is_empty());
        found.unwrap_or_default().iter().map(ToString::to_string).collect()
    }
}

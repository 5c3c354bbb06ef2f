//! Lists in responses: one member with the items, and for a page the cursor of the next one.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use utoipa::openapi::schema::{ArrayBuilder, SchemaType, Type};
use utoipa::openapi::{ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::openapi::{format, text};

/// An item that lists hold.
pub trait Listed: Serialize + ToSchema {
    /// Member of a list that holds its items, for example `agents`.
    const MEMBER: &'static str;

    /// Name of the list's schema, if it is not the item's with `ListResponse`.
    const LIST_SCHEMA: Option<&'static str> = None;
}

/// An item of lists that are sent in pages.
pub trait Paged: Listed {
    type Cursor: Cursor;
    /// Member that holds the cursor of the next page.
    const NEXT: &'static str;
    /// Parameter that takes it.
    const PARAMETER: &'static str = "before";

    /// Cursor of the page that follows this item.
    fn cursor(&self) -> Self::Cursor;
}

/// A position in a list, as it is sent.
pub trait Cursor: Serialize {
    /// Schema of a cursor, without null.
    fn schema() -> ObjectBuilder;
}

/// A number, such as a position in a log.
impl Cursor for i64 {
    fn schema() -> ObjectBuilder {
        ObjectBuilder::new().schema_type(Type::Integer)
    }
}

/// The id of an item, a UUID.
impl Cursor for String {
    fn schema() -> ObjectBuilder {
        text().format(Some(format("uuid")))
    }
}

/// A complete list: `{"agents": […]}`.
#[derive(Debug)]
pub struct CompleteList<T>(Vec<T>);

/// One page of a list: `{"approvals": […], "next_before": …}`.
#[derive(Debug)]
pub struct PagedList<T: Paged> {
    items: Vec<T>,
    next: Option<T::Cursor>,
}

impl<T: Paged> PagedList<T> {
    /// A page that was read with this limit. A full one may have a successor.
    pub fn new(items: Vec<T>, limit: u32) -> Self {
        let full = items.len() >= limit as usize;
        let next = items.last().filter(|_| full).map(Paged::cursor);
        Self { items, next }
    }
}

impl<T> From<Vec<T>> for CompleteList<T> {
    fn from(items: Vec<T>) -> Self {
        Self(items)
    }
}

impl<T> FromIterator<T> for CompleteList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<T: Listed> Serialize for CompleteList<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(1))?;
        map.serialize_entry(T::MEMBER, &self.0)?;
        map.end()
    }
}

impl<T: Paged> Serialize for PagedList<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(2))?;
        map.serialize_entry(T::MEMBER, &self.items)?;
        map.serialize_entry(T::NEXT, &self.next)?;
        map.end()
    }
}

fn list_name<T: Listed>() -> Cow<'static, str> {
    match T::LIST_SCHEMA {
        Some(name) => name.into(),
        None => std::format!("{}ListResponse", T::name()).into(),
    }
}

/// Schema of a list without a cursor.
fn list<T: Listed>() -> ObjectBuilder {
    let items = ArrayBuilder::new().items(Ref::from_schema_name(T::name()));
    ObjectBuilder::new().property(T::MEMBER, items).required(T::MEMBER)
}

/// Schemas that the schema of a list refers to.
fn item_schemas<T: Listed>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

impl<T: Listed> PartialSchema for CompleteList<T> {
    fn schema() -> RefOr<Schema> {
        list::<T>().into()
    }
}

impl<T: Listed> ToSchema for CompleteList<T> {
    fn name() -> Cow<'static, str> {
        list_name::<T>()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        item_schemas::<T>(schemas);
    }
}

impl<T: Paged> PartialSchema for PagedList<T> {
    fn schema() -> RefOr<Schema> {
        let said = std::format!("Value of `{}` for the next page; null on the last page.", T::PARAMETER);
        let mut cursor = T::Cursor::schema().build();
        cursor.schema_type = match cursor.schema_type {
            SchemaType::Type(kind) => SchemaType::from_iter([kind, Type::Null]),
            other => other,
        };
        cursor.description = Some(said);
        cursor.examples = vec![Value::Null];
        list::<T>().property(T::NEXT, cursor).required(T::NEXT).into()
    }
}

impl<T: Paged> ToSchema for PagedList<T> {
    fn name() -> Cow<'static, str> {
        list_name::<T>()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        item_schemas::<T>(schemas);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, ToSchema)]
    struct Row {
        id: i64,
    }

    impl Listed for Row {
        const MEMBER: &'static str = "rows";
    }

    impl Paged for Row {
        type Cursor = i64;
        const NEXT: &'static str = "next";

        fn cursor(&self) -> i64 {
            self.id
        }
    }

    fn json(value: &impl Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }

    #[test]
    fn a_full_page_has_the_cursor_of_the_next_one() {
        let rows = |ids: &[i64]| ids.iter().map(|id| Row { id: *id }).collect::<Vec<_>>();
        assert_eq!(json(&CompleteList::from(rows(&[1]))), r#"{"rows":[{"id":1}]}"#);
        assert_eq!(json(&PagedList::new(rows(&[2, 1]), 2)), r#"{"rows":[{"id":2},{"id":1}],"next":1}"#);
        assert_eq!(json(&PagedList::new(rows(&[2]), 2)), r#"{"rows":[{"id":2}],"next":null}"#);
    }

    #[test]
    fn a_page_is_described_with_its_items_and_its_cursor() {
        let schema = json(&PagedList::<Row>::schema());
        assert!(schema.contains(r##""$ref":"#/components/schemas/Row""##), "{schema}");
        assert!(schema.contains(r#""type":["integer","null"]"#), "{schema}");
        assert_eq!(PagedList::<Row>::name(), "RowListResponse");
    }
}

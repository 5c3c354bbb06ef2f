//! A router whose routes carry their description, so that none can be served without one.

use axum::Router;
use axum::routing::MethodRouter;
use utoipa::ToSchema;
use utoipa::openapi::{ComponentsBuilder, OpenApi, Paths, Ref, RefOr, Response, Schema};
use utoipa_axum::router::UtoipaMethodRouter;

type Components<T> = Vec<(String, RefOr<T>)>;

/// Two components share a name but differ.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("two different schemas are named {0}: name one of them with #[schema(as = …)]")]
pub struct Clash(pub String);

/// Routes with their descriptions.
pub struct DescribedRouter<S> {
    router: Router<S>,
    paths: Paths,
    schemas: Components<Schema>,
}

impl<S: Clone + Send + Sync + 'static> Default for DescribedRouter<S> {
    fn default() -> Self {
        Self { router: Router::new(), paths: Paths::new(), schemas: Vec::new() }
    }
}

impl<S: Clone + Send + Sync + 'static> DescribedRouter<S> {
    /// Adds the handlers of one path, from `utoipa_axum::routes!`.
    #[must_use]
    pub fn routes(self, handlers: UtoipaMethodRouter<S>) -> Self {
        self.routes_with(handlers, |router| router)
    }

    /// The same, with a change to the path's method router, such as a fallback for other methods.
    #[must_use]
    pub fn routes_with(
        mut self,
        (schemas, paths, handlers): UtoipaMethodRouter<S>,
        change: impl FnOnce(MethodRouter<S>) -> MethodRouter<S>,
    ) -> Self {
        let path = paths.paths.keys().next().cloned().unwrap_or_default();
        self.router = self.router.route(&path, change(handlers));
        self.describe(paths, schemas)
    }

    /// Adds descriptions only, for handlers that are served in another way.
    #[must_use]
    pub fn with_descriptions(self, (schemas, paths, _): UtoipaMethodRouter<S>) -> Self {
        self.describe(paths, schemas)
    }

    /// Adds a schema to which only responses refer.
    #[must_use]
    pub fn schema<T: ToSchema>(mut self) -> Self {
        self.schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.schemas);
        self
    }

    fn describe(mut self, paths: Paths, schemas: Components<Schema>) -> Self {
        self.paths.merge(paths);
        self.schemas.extend(schemas);
        self
    }

    /// Adds all routes of another router.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.describe(other.paths, other.schemas)
    }

    /// The routes without their description.
    pub fn into_router(self) -> Router<S> {
        self.router
    }

    /// The description of the routes, with these responses as components.
    pub fn into_description(self, responses: Vec<(&str, RefOr<Response>)>) -> Result<OpenApi, Clash> {
        description(self.paths, self.schemas, responses)
    }
}

/// A description of `paths`; an error if two schemas have one name.
pub fn description(
    paths: Paths,
    schemas: Components<Schema>,
    responses: Vec<(&str, RefOr<Response>)>,
) -> Result<OpenApi, Clash> {
    let mut components = ComponentsBuilder::new().build();
    for (name, schema) in schemas {
        if is_itself(&name, &schema) {
            continue;
        }
        if components.schemas.get(&name).is_some_and(|known| *known != schema) {
            return Err(Clash(name));
        }
        components.schemas.insert(name, schema);
    }
    components.responses.extend(responses.into_iter().map(|(name, response)| (name.to_owned(), response)));
    let mut description = OpenApi::default();
    description.paths = paths;
    description.components = Some(components);
    Ok(description)
}

/// True for a reference to the schema of the same name, which says nothing.
fn is_itself(name: &str, schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::Ref(reference) if *reference == Ref::from_schema_name(name))
}

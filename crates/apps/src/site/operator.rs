//! Interfaces of operators: who may use them, and what describes them.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;

use super::unauthorized;
use crate::page::guard::{bearer, equal_in_constant_time};

/// An interface for who has this token, and its description in OpenAPI, which is for all.
pub(crate) fn operators<S>(guarded: Router<S>, token: &str, description: &'static str) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let token: Arc<str> = token.into();
    let description = async move || ([(CONTENT_TYPE, "application/json")], description);
    Router::new()
        .route("/api/openapi.json", get(description))
        .merge(guarded.layer(middleware::from_fn_with_state(token, authorize)))
}

async fn authorize(State(token): State<Arc<str>>, request: Request, next: Next) -> Response {
    if bearer(request.headers()).is_some_and(|given| equal_in_constant_time(given, &token)) {
        return next.run(request).await;
    }
    unauthorized(
        "This is the operator's: send the header \"Authorization: Bearer TOKEN\" with the token of \
         --operator-token, or the one that the program printed.",
    )
}

/// What an interface describes itself to have.
#[cfg(test)]
pub(crate) mod description {
    use std::collections::BTreeSet;

    use serde::Serialize;
    use serde_json::Value;

    fn fields(value: &Value) -> BTreeSet<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    /// It has every route of the source, and no other.
    pub(crate) fn assert_routes(description: &str, source: &str) {
        let description: Value = serde_json::from_str(description).unwrap();
        let routes = source.split(".route(\"").skip(1).filter(|it| it.starts_with('/'));
        let routed: BTreeSet<_> = routes.filter_map(|it| it.split('"').next()).collect();
        let mut described = fields(&description["paths"]);
        assert!(described.remove("/api/openapi.json"), "the description itself");
        assert_eq!(routed, described);
    }

    /// It has every field of an answer, and no other.
    pub(crate) fn assert_fields(description: &str, name: &str, value: &impl Serialize) {
        let description: Value = serde_json::from_str(description).unwrap();
        let value = serde_json::to_value(value).unwrap();
        let schema = &description["components"]["schemas"][name];
        assert_eq!(fields(&value), fields(&schema["properties"]), "{name}");
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::header::AUTHORIZATION;
    use axum::http::{Request, StatusCode};
    use tower::ServiceExt as _;

    use super::*;

    async fn ask(path: &str, authorization: Option<&str>) -> StatusCode {
        let guarded = Router::new().route("/api/all", get(|| async { "all" }));
        let router: Router = operators(guarded, "secret", "{}");
        let mut request = Request::get(path);
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap().status()
    }

    #[tokio::test]
    async fn only_the_token_itself_opens_and_the_description_is_for_all() {
        assert_eq!(ask("/api/all", Some("Bearer secret")).await, StatusCode::OK);
        for wrong in ["Bearer secre", "Bearer ", "secret", "Basic secret", "Bearer secrets"] {
            assert_eq!(ask("/api/all", Some(wrong)).await, StatusCode::UNAUTHORIZED, "{wrong}");
        }
        assert_eq!(ask("/api/all", None).await, StatusCode::UNAUTHORIZED);
        assert_eq!(ask("/api/openapi.json", None).await, StatusCode::OK);
    }
}

//! [`Exposition`]: what Prometheus is told.

use std::fmt::{Display, Write as _};

use anabranch_driver::Counters;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// Samples in Prometheus' text format.
#[derive(Debug, Default)]
pub(crate) struct Exposition(String);

impl Exposition {
    pub(crate) fn head(&mut self, name: &str, kind: &str, help: &str) {
        _ = writeln!(self.0, "# HELP anabranch_{name} {help}\n# TYPE anabranch_{name} {kind}");
    }

    /// A sample, with labels or without.
    pub(crate) fn line(&mut self, name: &str, labels: &str, value: impl Display) {
        let braces = if labels.is_empty() { ["", ""] } else { ["{", "}"] };
        _ = writeln!(self.0, "anabranch_{name}{}{labels}{} {value}", braces[0], braces[1]);
    }

    pub(crate) fn gauge(&mut self, name: &str, help: &str, value: usize) {
        self.head(name, "gauge", help);
        self.line(name, "", value);
    }

    /// What passed a port.
    pub(crate) fn traffic(&mut self, traffic: &Counters) {
        let counters = [
            ("sent_bytes_total", "Bytes of datagrams sent.", traffic.tx.bytes),
            ("received_bytes_total", "Bytes of datagrams received.", traffic.rx.bytes),
            ("unsent_datagrams_total", "Datagrams that could not be sent.", traffic.lost.sum()),
        ];
        for (name, help, value) in counters {
            self.head(name, "counter", help);
            self.line(name, "", value);
        }
    }

    #[cfg(test)]
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl IntoResponse for Exposition {
    fn into_response(self) -> Response {
        ([(CONTENT_TYPE, "text/plain; version=0.0.4")], self.0).into_response()
    }
}

//! The demo clip's own format.

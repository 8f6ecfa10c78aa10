//! [`Value`]: what stands behind a key.

use super::Place;

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The key; those of tables within have dots, as in `up.rate`.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Where it stands.
    pub place: Place,
}

/// What stands behind a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text; numbers and booleans are told by theirs.
    One(String),
    /// Several.
    Many(Vec<Self>),
}

impl Value {
    pub(super) fn canonical(&self) -> String {
        match self {
            Self::One(text) => format!("{text:?}"),
            Self::Many(values) => {
                let values: Vec<String> = values.iter().map(Self::canonical).collect();
                format!("[{}]", values.join(", "))
            }
        }
    }
}

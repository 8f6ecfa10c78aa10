//! [`Enter`]: how an agent says which room it wants to be in.

use std::fmt;

use anabranch_session::{CONTROL_LEN_MAX, printable};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::DecodeError;

/// The first words of who comes over an association of its own, where no HTTP names the room. The
/// `hello` follows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "enter")]
pub struct Enter {
    /// The room, as in its link.
    pub room: String,
    /// What opens it.
    pub token: String,
}

impl Enter {
    /// As it goes over stream 0.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        // Two texts: nothing that JSON cannot hold.
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// Reads an agent's first words.
    ///
    /// # Errors
    /// It says something else.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > CONTROL_LEN_MAX {
            return Err(DecodeError::TooLong { len: bytes.len() });
        }
        serde_json::from_slice(bytes)
            .map_err(|error| DecodeError::Syntax { reason: printable(&error.to_string()) })
    }
}

impl fmt::Debug for Enter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Enter({:?}, ..)", self.room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_survives_the_way_and_nothing_else_is_one() {
        let enter = Enter { room: "lab".to_owned(), token: "0123".to_owned() };
        assert_eq!(Enter::decode(&enter.encode()), Ok(enter.clone()));
        assert!(!format!("{enter:?}").contains("0123"));
        let others: [&[u8]; 4] = [b"", b"{}", br#"{"type":"bye"}"#, br#"{"type":"enter"}"#];
        for other in others {
            assert!(matches!(Enter::decode(other), Err(DecodeError::Syntax { .. })), "{other:?}");
        }
        let long = vec![b' '; CONTROL_LEN_MAX + 1];
        assert_eq!(Enter::decode(&long), Err(DecodeError::TooLong { len: long.len() }));
    }
}

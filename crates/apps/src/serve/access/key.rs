//! [`AccessKey`]: the secret that signs tokens, in a file.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// RFC 7518 section 3.2: "A key of the same size as the hash output (for instance, 256 bits for
/// "HS256") or larger MUST be used with this algorithm."
const KEY_LEN_MIN: usize = 32;

/// Random bytes of a key that is made here, each two letters.
const RANDOM_BYTES: usize = 32;

/// Signs and verifies tokens.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessKey(String);

/// Why there is no key.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read.
    #[error("cannot read the key for tokens in {}: {source}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The file cannot be made.
    #[error("cannot make a key for tokens in {}: {source}", file.display())]
    NotMade {
        /// The file.
        file: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// The file holds no key.
    #[error(
        "{} has no key for tokens: write at least {KEY_LEN_MIN} letters and digits on one line, as \
         openssl rand -hex 32 makes them",
        file.display()
    )]
    NoKey {
        /// The file.
        file: PathBuf,
    },
    /// Whoever reads it makes tokens.
    #[error("{} can be read by others, who could make tokens: chmod 600 it", file.display())]
    Exposed {
        /// The file.
        file: PathBuf,
    },
}

impl AccessKey {
    /// Reads the key in a file.
    ///
    /// # Errors
    /// It cannot be read, holds no key, or is for all to see.
    pub fn read(file: &Path) -> Result<Self, KeyError> {
        let unreadable = |source| KeyError::Unreadable { file: file.to_owned(), source };
        let text = fs::read_to_string(file).map_err(unreadable)?;
        let mode = fs::metadata(file).map_err(unreadable)?.permissions().mode();
        if mode & 0o007 != 0 {
            return Err(KeyError::Exposed { file: file.to_owned() });
        }
        let key = text.trim();
        if key.len() < KEY_LEN_MIN || key.contains(|c: char| !c.is_ascii_graphic()) {
            return Err(KeyError::NoKey { file: file.to_owned() });
        }
        Ok(Self(key.to_owned()))
    }

    /// Reads the key in a file, which is made if it is not there. Says whether it was.
    ///
    /// # Errors
    /// It can be neither read nor made.
    pub fn read_or_make(file: &Path) -> Result<(Self, bool), KeyError> {
        let not_made = |source| KeyError::NotMade { file: file.to_owned(), source };
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(0o600).open(file) {
            Ok(mut made) => {
                let key = random().map_err(not_made)?;
                writeln!(made, "{key}").map_err(not_made)?;
                Ok((Self(key), true))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok((Self::read(file)?, false))
            }
            Err(error) => Err(not_made(error)),
        }
    }

    pub(super) const fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    #[cfg(test)]
    pub(in crate::serve) fn of(text: &str) -> Self {
        Self(text.to_owned())
    }
}

fn random() -> io::Result<String> {
    let mut random = [0; RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl fmt::Debug for AccessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("anabranch-{}-{name}.key", std::process::id()))
    }

    #[test]
    fn a_key_is_made_once_and_for_its_owner_only() {
        let file = scratch("made");
        let (made, is_new) = AccessKey::read_or_make(&file).unwrap();
        assert!(is_new && made.0.len() == 2 * RANDOM_BYTES, "{}", made.0);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(AccessKey::read_or_make(&file).unwrap(), (made.clone(), false));
        assert!(!format!("{made:?}").contains(&made.0));
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn a_short_key_and_one_that_others_read_are_refused_in_words() {
        let file = scratch("bad");
        let refused = || AccessKey::read(&file).unwrap_err().to_string();
        assert!(refused().starts_with("cannot read the key for tokens in "));
        fs::write(&file, "secret\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(refused().contains("at least 32 letters and digits on one line"));
        fs::write(&file, "0123456789abcdef0123456789abcdef\n").unwrap();
        AccessKey::read(&file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(refused().contains("can be read by others, who could make tokens: chmod 600 it"));
        fs::remove_file(&file).unwrap();
    }
}

//! Names and tokens that nobody guesses.

use super::SiteError;
use crate::net::NetError;

/// Random bytes of a token.
const TOKEN_BYTES: usize = 16;

/// So many random bytes, in hexadecimal digits.
pub(crate) fn random_hex<const BYTES: usize>() -> Result<String, SiteError> {
    let mut random = [0; BYTES];
    getrandom::fill(&mut random)
        .map_err(|error| NetError::NoRandomness { message: error.to_string() })?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What opens something for who was given it.
pub(crate) fn random_token() -> Result<String, SiteError> {
    random_hex::<TOKEN_BYTES>()
}

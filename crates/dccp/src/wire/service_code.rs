//! [`ServiceCode`]: which service a client asks for.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Which service a client asks for, whatever the port: RFC 4340 section 8.1.2, RFC 5595.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceCode(pub u32);

impl ServiceCode {
    /// RFC 4340 section 8.1.2: "Service Code 0 represents the absence of a meaningful Service Code
    /// and MUST NOT be allocated."
    pub const NONE: Self = Self(0);

    /// RFC 4340 section 8.1.2: "The value 4294967295 is an invalid Service Code."
    pub const INVALID: Self = Self(u32::MAX);

    /// The code of up to four characters, as `SC:` writes it.
    fn from_characters(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if !(1..=4).contains(&bytes.len()) || !bytes.iter().all(|byte| is_character(*byte)) {
            return None;
        }
        // RFC 4340 section 8.1.2: "The Service Code is calculated by padding the string on the
        // right with spaces (value 32) and intepreting the four-character result as a 32-bit
        // big-endian number."
        let padded = bytes.iter().copied().chain(std::iter::repeat(b' ')).take(4);
        Some(Self(padded.fold(0, |code, byte| code << 8 | u32::from(byte))))
    }

    fn from_number(text: &str, radix: u32) -> Option<Self> {
        // A sign is no digit.
        let has_digits = !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
        let code = u32::from_str_radix(text, radix).ok().filter(|_| has_digits)?;
        // RFC 4340 section 8.1.2: "Values above 4294967294 are illegal."
        Some(Self(code)).filter(|code| *code != Self::INVALID)
    }
}

/// Why a text is no service code.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{text:?} is no service code: write SC: and one to four of letters, digits and -_+.*/?@, \
     SC= and a number below 4294967295, or SC=x and a hexadecimal one"
)]
pub struct ServiceCodeError {
    text: String,
}

impl FromStr for ServiceCode {
    type Err = ServiceCodeError;

    fn from_str(text: &str) -> Result<Self, ServiceCodeError> {
        let code = match text.get(..3) {
            Some("SC:") => Self::from_characters(&text[3..]),
            Some("SC=") => match text[3..].strip_prefix(['x', 'X']) {
                Some(digits) => Self::from_number(digits, 16),
                None => Self::from_number(&text[3..], 10),
            },
            _ => None,
        };
        code.ok_or_else(|| ServiceCodeError { text: text.to_owned() })
    }
}

impl fmt::Display for ServiceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.to_be_bytes();
        let text: String = bytes.map(char::from).iter().collect();
        let text = text.trim_end_matches(' ');
        if Self::from_characters(text) == Some(*self) {
            write!(f, "SC:{text}")
        } else {
            write!(f, "SC={}", self.0)
        }
    }
}

/// RFC 4340 section 8.1.2: "letters, digits, and the characters in "-_+.*/?@" (not including
/// quotes)".
const fn is_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'_' | b'+' | b'.' | b'*' | b'/' | b'?' | b'@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms_of_the_rfc_are_one_code() {
        // RFC 4340 section 8.1.2: "either SC:fdpz, SC=1717858426, or SC=x6664707A".
        for text in ["SC:fdpz", "SC=1717858426", "SC=x6664707A", "SC=X6664707a"] {
            assert_eq!(text.parse(), Ok(ServiceCode(1_717_858_426)), "{text}");
        }
        assert_eq!(ServiceCode(1_717_858_426).to_string(), "SC:fdpz");
    }

    #[test]
    fn short_names_are_padded_with_spaces() {
        assert_eq!("SC:a".parse(), Ok(ServiceCode(0x6120_2020)));
        assert_eq!(ServiceCode(0x6120_2020).to_string(), "SC:a");
        assert_eq!(ServiceCode(0x2061_2020).to_string(), "SC=543236128");
        assert_eq!(ServiceCode::NONE.to_string(), "SC=0");
    }

    #[test]
    fn what_is_no_code_is_refused() {
        let wrong = [
            "",
            "SC",
            "SC:",
            "SC:abcde",
            "SC:a b",
            "SC:\u{e4}",
            "SC=",
            "SC=x",
            "SC=-1",
            "SC=+1",
            "SC=4294967295",
            "SC=xffffffff",
            "SC=12x",
            "fdpz",
            "\u{20ac}",
        ];
        for text in wrong {
            let error = text.parse::<ServiceCode>().unwrap_err();
            assert!(error.to_string().contains("SC=x and a hexadecimal one"), "{text}");
        }
    }
}

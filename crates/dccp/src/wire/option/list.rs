//! [`Options`] and [`OptionsBuf`]: the options of a packet, read and written.

use std::fmt;

use thiserror::Error;

use super::{OPTION_DATA_MAX, OptionError, OptionType, PacketOption};

/// The most bytes of options that any packet has room for: 255 words less the longest header, that
/// of a Response or a Reset.
pub const OPTIONS_LEN_MAX: usize = 255 * 4 - 28;

/// Type and length.
const HEADER_LEN: usize = 2;

/// The options of a packet, which are read as they are asked for.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Options<'a>(&'a [u8]);

/// An option with its type and data, not yet read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Whether a Mandatory option came right before.
    pub is_mandatory: bool,
    /// The type.
    pub ty: OptionType,
    /// What follows type and length.
    pub data: &'a [u8],
}

/// A Mandatory option that no other option follows.
///
/// RFC 4340 section 5.8.2: "The connection is in error and should be reset with Reset Code 5,
/// "Option Error", if option O is absent (Mandatory was the last byte of the option list), or if
/// option O equals Mandatory."
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a Mandatory option that no other option follows")]
pub struct DanglingMandatory;

impl<'a> Options<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes, with all padding.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// The options in order, without padding. Nothing follows an error, nor an option that is
    /// longer than what is left.
    pub fn iter(&self) -> impl Iterator<Item = Result<Entry<'a>, DanglingMandatory>> + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let entry = next(&mut rest).transpose();
            if !matches!(entry, Some(Ok(_))) {
                rest = &[];
            }
            entry
        })
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.iter().map(|entry| entry.map(|entry| entry.decode()));
        f.debug_list().entries(entries).finish()
    }
}

fn next<'a>(rest: &mut &'a [u8]) -> Result<Option<Entry<'a>>, DanglingMandatory> {
    let mut is_mandatory = false;
    while let Some((&code, behind)) = rest.split_first() {
        *rest = behind;
        match OptionType(code) {
            // RFC 4340 section 5.8.2: "the combination "Mandatory Padding" is valid, and MUST
            // behave like two bytes of Padding."
            OptionType::PADDING => is_mandatory = false,
            OptionType::MANDATORY if is_mandatory => break,
            OptionType::MANDATORY => is_mandatory = true,
            ty if ty.is_single_byte() => return Ok(Some(Entry { is_mandatory, ty, data: &[] })),
            ty => {
                // RFC 4340 section 5.8: "options with nonsensical lengths (length byte less than
                // two or more than the remaining space in the options portion of the header) MUST
                // be ignored, and any option space following an option with nonsensical length MUST
                // likewise be ignored."
                let Some((&len, behind)) = behind.split_first() else { break };
                let data_len = usize::from(len).checked_sub(HEADER_LEN);
                let split = data_len.and_then(|len| behind.split_at_checked(len));
                let Some((data, behind)) = split else { break };
                *rest = behind;
                return Ok(Some(Entry { is_mandatory, ty, data }));
            }
        }
    }
    if is_mandatory { Err(DanglingMandatory) } else { Ok(None) }
}

impl<'a> Entry<'a> {
    /// Reads the option.
    ///
    /// # Errors
    ///
    /// If it is unknown or wrong, so that it is to be ignored: RFC 4340 section 5.8.
    pub fn decode(&self) -> Result<PacketOption<'a>, OptionError> {
        PacketOption::decode(self.ty, self.data)
    }
}

/// Options that are being written. Their number is limited by what fits into a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionsBuf {
    /// With the padding.
    bytes: Vec<u8>,
    /// Where the padding begins.
    end: usize,
}

impl OptionsBuf {
    /// No options.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), end: 0 }
    }

    /// Appends an option; false if it does not fit any more.
    pub fn push(&mut self, option: &PacketOption<'_>) -> bool {
        self.push_with(false, option)
    }

    /// Appends an option that must be understood; false if it does not fit any more.
    pub fn push_mandatory(&mut self, option: &PacketOption<'_>) -> bool {
        self.push_with(true, option)
    }

    fn push_with(&mut self, is_mandatory: bool, option: &PacketOption<'_>) -> bool {
        self.bytes.truncate(self.end);
        if is_mandatory {
            self.bytes.push(OptionType::MANDATORY.0);
        }
        let ty = option.option_type();
        self.bytes.push(ty.0);
        let mut fits = true;
        if !ty.is_single_byte() {
            let length_at = self.bytes.len();
            self.bytes.push(0);
            option.encode(&mut self.bytes);
            let data_len = self.bytes.len() - length_at - 1;
            fits = data_len <= OPTION_DATA_MAX;
            self.bytes[length_at] = (data_len + HEADER_LEN) as u8;
        }
        if !fits || self.bytes.len() > OPTIONS_LEN_MAX {
            self.bytes.truncate(self.end);
            fits = false;
        }
        self.end = self.bytes.len();
        self.pad();
        fits
    }

    /// The options so far, padded to whole words.
    #[must_use]
    pub fn as_options(&self) -> Options<'_> {
        Options(&self.bytes)
    }

    /// How many bytes they take in a packet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes all options away.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.end = 0;
    }

    /// RFC 4340 section 5.8: "the combination of all options MUST add up to a multiple of 32 bits;
    /// Padding options MUST be added as necessary".
    fn pad(&mut self) {
        let padding = self.bytes.len().wrapping_neg() % 4;
        self.bytes.extend(std::iter::repeat_n(OptionType::PADDING.0, padding));
    }
}

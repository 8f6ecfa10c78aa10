//! Type-length-value fields: the common form of parameters and error causes.

/// The type and length fields.
pub(crate) const HEADER_LEN: usize = 4;

/// One field, split from the list it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tlv<'a> {
    pub(crate) ty: u16,
    pub(crate) value: &'a [u8],
    /// The whole field with its header, without padding.
    pub(crate) bytes: &'a [u8],
}

/// Why a list cannot be split further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TlvError {
    HeaderTruncated { len: usize },
    LengthBelowHeader { ty: u16, len: usize },
    BeyondEnd { ty: u16, len: usize, available: usize },
}

/// Splits the first field and its padding from `bytes`, which are not empty.
pub(crate) fn split_first(bytes: &[u8]) -> Result<(Tlv<'_>, &[u8]), TlvError> {
    let Some((&[ty0, ty1, len0, len1], _)) = bytes.split_first_chunk::<HEADER_LEN>() else {
        return Err(TlvError::HeaderTruncated { len: bytes.len() });
    };
    let ty = u16::from_be_bytes([ty0, ty1]);
    let len = usize::from(u16::from_be_bytes([len0, len1]));
    if len < HEADER_LEN {
        return Err(TlvError::LengthBelowHeader { ty, len });
    }
    let available = bytes.len();
    let Some((field, rest)) = bytes.split_at_checked(len) else {
        return Err(TlvError::BeyondEnd { ty, len, available });
    };
    let (_, value) = field.split_at(HEADER_LEN);
    Ok((Tlv { ty, value, bytes: field }, without_padding(len, rest)))
}

/// `rest` after the padding that follows a field of `len` bytes.
///
/// The padding of the last field may be missing: a chunk's length does not count it.
fn without_padding(len: usize, rest: &[u8]) -> &[u8] {
    rest.get(padding(len)..).unwrap_or_default()
}

/// `bytes` without the padding of its last field; `bytes` as they are if they cannot be split.
pub(crate) fn trim_final_padding(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    let mut padding_len = 0;
    while !rest.is_empty() {
        let Ok((field, next)) = split_first(rest) else { return bytes };
        padding_len = rest.len() - field.bytes.len() - next.len();
        rest = next;
    }
    let (trimmed, _) = bytes.split_at(bytes.len() - padding_len);
    trimmed
}

/// Appends a field and its padding.
pub(crate) fn encode(buf: &mut Vec<u8>, ty: u16, value: &[u8]) {
    put_header(buf, ty, value.len());
    buf.extend_from_slice(value);
    pad(buf, value.len());
}

/// Appends the header of a field whose value has `value_len` bytes.
pub(crate) fn put_header(buf: &mut Vec<u8>, ty: u16, value_len: usize) {
    let [ty0, ty1] = ty.to_be_bytes();
    let [len0, len1] = length_field(HEADER_LEN + value_len).to_be_bytes();
    buf.extend_from_slice(&[ty0, ty1, len0, len1]);
}

/// Appends the padding of a field, a value or a chunk of `len` bytes.
pub(crate) fn pad(buf: &mut Vec<u8>, len: usize) {
    // RFC 9260 section 3.2: "If the length of the chunk is not a multiple of 4 bytes, the sender
    // MUST pad the chunk with all zero bytes, and this padding is not included in the Chunk Length
    // field."
    let (zeros, _) = [0; 3].split_at(padding(len));
    buf.extend_from_slice(zeros);
}

/// How many bytes bring `len` to a multiple of 4.
pub(crate) const fn padding(len: usize) -> usize {
    len.wrapping_neg() % 4
}

/// `len` and its padding.
pub(crate) const fn padded(len: usize) -> usize {
    len + padding(len)
}

/// `len` as the length field of a chunk, a parameter or a cause.
///
/// # Panics
///
/// If `len` exceeds 65,535: the caller built what no packet can hold.
pub(crate) fn length_field(len: usize) -> u16 {
    assert!(len <= usize::from(u16::MAX), "{len} bytes do not fit a 16-bit length field");
    len as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_brings_any_length_to_a_multiple_of_4() {
        let lens: Vec<_> = (0..9).map(padded).collect();
        assert_eq!(lens, [0, 4, 4, 4, 4, 8, 8, 8, 8]);
        for len in 0..9 {
            let mut buf = vec![0xff; len];
            pad(&mut buf, len);
            assert_eq!(buf.len(), padded(len));
            assert!(buf[len..].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn only_the_padding_of_the_last_field_is_trimmed() {
        let mut bytes = Vec::new();
        encode(&mut bytes, 1, b"a");
        encode(&mut bytes, 2, b"bc");
        assert_eq!(bytes, *b"\0\x01\0\x05a\0\0\0\0\x02\0\x06bc\0\0");
        assert_eq!(trim_final_padding(&bytes), &bytes[..14]);
        assert_eq!(trim_final_padding(&bytes[..14]), &bytes[..14]);
        assert_eq!(trim_final_padding(&bytes[..13]), &bytes[..13], "cannot be split");
        assert_eq!(trim_final_padding(b""), b"");
    }
}

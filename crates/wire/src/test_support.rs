//! What the tests of this crate share.

use crate::{
    ChecksumField, ChecksumMode, Chunk, CommonHeader, DecodeError, EncodeChunk, ErrorCause,
    ErrorCauses, Packet, PacketWriter, Parameter, Parameters, VerificationTag,
};

/// The bytes that `text` spells in hexadecimal, white space aside.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let (pairs, []) = digits.as_chunks::<2>() else { panic!("odd number of digits") };
    pairs.iter().map(|pair| u8::from_str_radix(&String::from_iter(pair), 16).unwrap()).collect()
}

/// A packet around the bytes of chunks, with a checksum of zero.
pub(crate) fn packet_around(chunks: &[u8]) -> Vec<u8> {
    let header = CommonHeader {
        source_port: 5000,
        destination_port: 5001,
        verification_tag: VerificationTag(1),
    };
    let mut packet = Vec::new();
    PacketWriter::new(&mut packet, header).finish(ChecksumField::Zero);
    packet.extend_from_slice(chunks);
    packet
}

/// What the first chunk in `packet` decodes to.
pub(crate) fn first_chunk(packet: &[u8]) -> Result<Chunk<'_>, DecodeError> {
    Packet::decode(packet, ChecksumMode::Ignore)?.chunks().next().unwrap()
}

/// Asserts that `bytes` are the chunk `expected`, alone, and that it encodes to them again.
#[track_caller]
pub(crate) fn assert_chunk(bytes: &[u8], expected: &Chunk<'_>) {
    let packet = packet_around(bytes);
    let chunks: Vec<_> = Packet::decode(&packet, ChecksumMode::Ignore).unwrap().chunks().collect();
    assert_eq!(chunks, [Ok(*expected)]);
    let mut encoded = Vec::new();
    expected.encode(&mut encoded);
    assert_eq!(encoded, bytes);
    assert_eq!(expected.encoded_len(), bytes.len());
}

/// Asserts that `chunk` survives encoding and decoding.
#[track_caller]
pub(crate) fn assert_round_trip(chunk: &Chunk<'_>) {
    let mut bytes = Vec::new();
    chunk.encode(&mut bytes);
    assert_chunk(&bytes, chunk);
}

/// Asserts that `bytes` are the parameter `expected`, alone, and that it encodes to them again.
#[track_caller]
pub(crate) fn assert_parameter(bytes: &[u8], expected: Parameter<'_>) {
    let parameters: Vec<_> = Parameters::from_bytes(bytes).iter().collect();
    assert_eq!(parameters, [Ok(expected)]);
    let mut encoded = Vec::new();
    expected.encode(&mut encoded);
    assert_eq!(encoded, bytes);
}

/// Asserts that `bytes` are the error cause `expected`, alone, and that it encodes to them again.
#[track_caller]
pub(crate) fn assert_cause(bytes: &[u8], expected: ErrorCause<'_>) {
    let causes: Vec<_> = ErrorCauses::from_bytes(bytes).iter().collect();
    assert_eq!(causes, [Ok(expected)]);
    let mut encoded = Vec::new();
    expected.encode(&mut encoded);
    assert_eq!(encoded, bytes);
}

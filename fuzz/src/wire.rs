//! Checks of `anabranch-wire`: whatever decodes, encodes to bytes that decode to the same.

use anabranch_wire::{
    ChecksumField, ChecksumMode, Chunk, ChunkType, CommonHeader, DecodeError, EncodeChunk,
    ErrorCause, ErrorCauses, Packet, PacketWriter, Parameter, Parameters, VerificationTag,
};

/// Checks `bytes` as a packet from the network.
pub fn packet(bytes: &[u8]) {
    if let Err(error) = Packet::decode(bytes, ChecksumMode::Verify) {
        show(&error);
    }
    match Packet::decode(bytes, ChecksumMode::Ignore) {
        Ok(packet) => walk(&packet),
        Err(error) => show(&error),
    }
}

/// Checks a chunk whose type is chosen by the first of `bytes`, whose flags are the second, and
/// whose value is the rest: every decoder is one byte away, and the length is always right.
pub fn chunk(bytes: &[u8]) {
    let Some((&[choice, flags], value)) = bytes.split_first_chunk() else { return };
    let known = usize::from(choice) % (CHUNK_TYPES.len() + 1);
    let ty = CHUNK_TYPES.get(known).map_or(choice, |ty| ty.0);
    let Ok(len) = u16::try_from(4 + value.len()) else { return };
    let [len0, len1] = len.to_be_bytes();

    let mut packet_bytes = Vec::new();
    PacketWriter::new(&mut packet_bytes, HEADER).finish(ChecksumField::Zero);
    packet_bytes.extend_from_slice(&[ty, flags, len0, len1]);
    packet_bytes.extend_from_slice(value);
    packet(&packet_bytes);
}

const HEADER: CommonHeader = CommonHeader {
    source_port: 5000,
    destination_port: 5001,
    verification_tag: VerificationTag(1),
};

const CHUNK_TYPES: [ChunkType; 22] = [
    ChunkType::DATA,
    ChunkType::INIT,
    ChunkType::INIT_ACK,
    ChunkType::SACK,
    ChunkType::HEARTBEAT,
    ChunkType::HEARTBEAT_ACK,
    ChunkType::ABORT,
    ChunkType::SHUTDOWN,
    ChunkType::SHUTDOWN_ACK,
    ChunkType::ERROR,
    ChunkType::COOKIE_ECHO,
    ChunkType::COOKIE_ACK,
    ChunkType::ECNE,
    ChunkType::CWR,
    ChunkType::SHUTDOWN_COMPLETE,
    ChunkType::FORWARD_TSN,
    ChunkType::AUTH,
    ChunkType::ASCONF_ACK,
    ChunkType::ASCONF,
    ChunkType::RE_CONFIG,
    ChunkType::I_DATA,
    ChunkType::I_FORWARD_TSN,
];

/// Writes all chunks of `packet` into another, which must hold the same.
fn walk(packet: &Packet<'_>) {
    let mut bytes = Vec::new();
    let mut writer = PacketWriter::new(&mut bytes, packet.header);
    let mut chunks = Vec::new();
    for chunk in packet.chunks() {
        match chunk {
            Ok(chunk) => {
                let before = writer.len();
                writer.push(&chunk);
                assert_eq!(writer.len() - before, chunk.encoded_len());
                walk_chunk(&chunk);
                chunks.push(chunk);
            }
            Err(error) => show(&error),
        }
    }
    assert_eq!(writer.chunks(), chunks.len());
    if writer.is_empty() {
        return;
    }
    writer.finish(ChecksumField::Fill);

    let again = Packet::decode(&bytes, ChecksumMode::Verify).expect("we wrote this packet");
    assert_eq!(again.header, packet.header);
    assert!(again.chunks().eq(chunks.into_iter().map(Ok)));
}

/// Walks what stands inside a chunk.
fn walk_chunk(chunk: &Chunk<'_>) {
    assert!(!chunk.ty().to_string().is_empty());
    match chunk {
        Chunk::Init(init) => walk_parameters(init.parameters),
        Chunk::InitAck(init_ack) => walk_parameters(init_ack.parameters),
        Chunk::Asconf(asconf) => walk_parameters(asconf.parameters),
        Chunk::AsconfAck(ack) => walk_parameters(ack.responses),
        Chunk::ReConfig(re_config) => walk_parameters(re_config.parameters),
        Chunk::Abort(abort) => walk_causes(abort.causes),
        Chunk::Error(error) => walk_causes(error.causes),
        Chunk::Unknown(unknown) => assert_eq!(unknown.action().stop, unknown.ty.0 < 0x80),
        Chunk::Data(_)
        | Chunk::IData(_)
        | Chunk::Sack(_)
        | Chunk::Heartbeat(_)
        | Chunk::HeartbeatAck(_)
        | Chunk::Shutdown(_)
        | Chunk::ShutdownAck
        | Chunk::CookieEcho(_)
        | Chunk::CookieAck
        | Chunk::Ecne(_)
        | Chunk::Cwr(_)
        | Chunk::ShutdownComplete(_)
        | Chunk::Auth(_)
        | Chunk::ForwardTsn(_)
        | Chunk::Dtls(_)
        | Chunk::Pad(_)
        | Chunk::IForwardTsn(_) => {}
    }
}

fn walk_parameters(parameters: Parameters<'_>) {
    let mut bytes = Vec::new();
    let decoded: Vec<Parameter<'_>> = parameters.iter().map_while(shown).collect();
    for parameter in &decoded {
        assert!(!parameter.ty().to_string().is_empty());
        parameter.encode(&mut bytes);
        assert!(bytes.len().is_multiple_of(4));
    }
    assert!(Parameters::from_bytes(&bytes).iter().eq(decoded.into_iter().map(Ok)));
}

fn walk_causes(causes: ErrorCauses<'_>) {
    let mut bytes = Vec::new();
    let decoded: Vec<ErrorCause<'_>> = causes.iter().map_while(shown).collect();
    for cause in &decoded {
        assert!(!cause.to_string().is_empty());
        cause.encode(&mut bytes);
        assert!(bytes.len().is_multiple_of(4));
    }
    assert!(ErrorCauses::from_bytes(&bytes).iter().eq(decoded.into_iter().map(Ok)));
}

fn shown<T>(decoded: Result<T, DecodeError>) -> Option<T> {
    decoded.inspect_err(show).ok()
}

/// Formats an error, as a trace line would.
fn show(error: &DecodeError) {
    assert!(!error.to_string().is_empty());
}

//! Checks of `anabranch-sctp`: whatever a peer sends and when, an endpoint comes to rest, keeps to
//! its limits and sends only what can be read.

use std::collections::BTreeSet;
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use anabranch_sctp::{
    Association, AssociationConfig, Authentication, Endpoint, EndpointConfig, Level,
    OutgoingMessage, PathId, Protection, ReceiveOrder, Reliability, SharedKey,
};
use anabranch_wire::{
    Auth, ChecksumField, ChecksumMode, Chunk, ChunkType, CommonHeader, CookieAck, CookieEcho, Data,
    EncodeChunk, HeartbeatAck, HmacIdentifier, Init, InitAck, Items, Packet, PacketWriter,
    Parameter, Parameters, Ppid, Sack, Ssn, StreamId, Tsn, VerificationTag,
};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Plays `bytes` as a script against an endpoint: what its peer sends, what its user does, and how
/// time passes. The first byte says who calls, whether there is an association from the start,
/// whether its messages interleave, whether all is authenticated, and whether the peer marks
/// levels.
pub fn peer(bytes: &[u8]) {
    let mut script = Script(bytes);
    let start = script.byte();
    let mut play = Play::new(start & 1 == 0, start & 8 != 0);
    if start & 2 == 0 {
        play.shake_hands(start & 4 != 0, start & 16 != 0);
    }
    while !script.0.is_empty() {
        play.step(&mut script);
        play.settle();
        play.check();
    }
}

/// Plays `bytes` as a script of what arrives in which order, and how often, against a receiver that
/// is read rarely and has room for little. The messages, of up to three chunks in four streams,
/// ordered and not, are complete in any case; their marks may change from one copy to the next.
/// Each is read once, those of a stream in order, memory stays within its limit, and what a SACK
/// no longer lists can be sent again until all is read.
pub fn receive_queue(bytes: &[u8]) {
    let mut script = Script(bytes);
    let start = script.byte();
    let mut play = Play::new(true, false);
    play.shake_hands(false, start & 1 == 0);
    let messages = Messages::new(u64::from(script.byte()), start & 2 != 0);
    let mut reader = Reader::default();
    while !script.0.is_empty() {
        match script.byte() % 8 {
            0..5 => {
                let missing = messages.missing(&play.acknowledged);
                let tsn = missing.get(usize::from(script.byte()) % AHEAD_MAX);
                let level = Level::ALL[usize::from(script.byte() % 4)];
                tsn.into_iter()
                    .for_each(|tsn| play.deliver(0, play.tag, &messages.data(*tsn, level)));
            }
            5 => reader.read(&mut play, usize::from(script.byte() % 8)),
            6 => play.pass(Duration::from_millis(1 << (script.byte() % 12))),
            _ => {
                // A copy of what has arrived: lying peers send such.
                let tsn = u32::from(script.byte()) % messages.0.len() as u32;
                play.deliver(0, play.tag, &messages.data(tsn, Level::Urgent));
            }
        }
        play.settle();
        play.answer_heartbeats();
        play.check();
    }
    for _ in 0..ROUNDS_MAX {
        reader.read(&mut play, usize::MAX);
        play.pass(Duration::from_millis(1));
        let missing = messages.missing(&play.acknowledged);
        let Some(next) = missing.first() else { break };
        play.deliver(0, play.tag, &messages.data(*next, Level::Normal));
        play.settle();
    }
    reader.read(&mut play, usize::MAX);
    assert_eq!(reader.read.len(), messages.count(), "all are read");
}

/// How far beyond the first that is missing a script reaches.
const AHEAD_MAX: usize = 32;

/// Chunks that a script may send; each is sent once more at most where the script has ended.
const CHUNKS: usize = 120;
const ROUNDS_MAX: usize = 4 * CHUNKS;

/// What a SACK says of our TSNs, the first of which is 0 here.
#[derive(Debug, Default)]
struct Acknowledged {
    /// How many without a gap.
    through: u32,
    beyond: Vec<u32>,
}

impl Acknowledged {
    fn of(sack: &Sack<'_>) -> Self {
        let through = sack.cumulative_tsn_ack.0.wrapping_sub(OUR_TSN - 1);
        let blocks = sack.gap_ack_blocks.iter();
        let blocks = blocks.flat_map(|block| u32::from(block.start)..=u32::from(block.end));
        Self { through, beyond: blocks.map(|at| through.wrapping_add(at - 1)).collect() }
    }
}

/// What is sent, by TSN.
struct Messages(Vec<Fragment>);

#[derive(Clone, Copy)]
struct Fragment {
    message: u32,
    stream: u16,
    ssn: u16,
    unordered: bool,
    beginning: bool,
    ending: bool,
    len: usize,
}

/// The longest chunk that is sent.
static PAYLOAD: [u8; 1_000] = [7; 1_000];

impl Messages {
    fn new(seed: u64, is_long: bool) -> Self {
        let mut rng = Rng::from_u64(seed);
        let (mut fragments, mut next) = (Vec::new(), [0_u16; 4]);
        let mut message = 0;
        while fragments.len() < CHUNKS {
            let (stream, unordered) = (rng.range(0..4) as u16, rng.chance(0.5));
            let count = if is_long { 1 + rng.range(0..3) } else { 1 };
            let ssn = next[usize::from(stream)];
            next[usize::from(stream)] += u16::from(!unordered);
            for n in 0..count {
                let (beginning, ending) = (n == 0, n + 1 == count);
                let len = rng.range(1..PAYLOAD.len() as u64) as usize;
                let fragment = Fragment { message, stream, ssn, unordered, beginning, ending, len };
                fragments.push(fragment);
            }
            message += 1;
        }
        Self(fragments)
    }

    fn count(&self) -> usize {
        self.0.last().map_or(0, |last| last.message as usize + 1)
    }

    fn missing(&self, acknowledged: &Acknowledged) -> Vec<u32> {
        let rest = acknowledged.through..self.0.len() as u32;
        rest.filter(|tsn| !acknowledged.beyond.contains(tsn)).collect()
    }

    fn data(&self, tsn: u32, level: Level) -> Data<'static> {
        let Fragment { message, stream, ssn, unordered, beginning, ending, len } =
            self.0[tsn as usize];
        Data {
            tsn: Tsn(OUR_TSN + tsn),
            stream: StreamId(stream),
            ssn: Ssn(ssn),
            ppid: Ppid(message),
            unordered,
            beginning,
            ending,
            immediate: true,
            level,
            payload: &PAYLOAD[..len],
        }
    }
}

/// What was read.
#[derive(Default)]
struct Reader {
    read: BTreeSet<u32>,
    /// The place of the next ordered message of each stream.
    next: [u16; 4],
}

impl Reader {
    fn read(&mut self, play: &mut Play, most: usize) {
        let Some(id) = play.endpoint.associations().next() else { return };
        let Some(association) = play.endpoint.association_mut(id) else { return };
        for message in std::iter::from_fn(|| association.receive()).take(most) {
            assert!(self.read.insert(message.ppid.0), "{:?} is read twice", message.ppid);
            if message.ordered {
                let next = &mut self.next[usize::from(message.stream.0)];
                assert_eq!(message.ssn.0, *next, "the order of {:?}", message.stream);
                *next += 1;
            }
        }
        play.settle();
    }
}

const PORTS: (u16, u16) = (5_000, 5_001);
const OUR_TAG: VerificationTag = VerificationTag(0x0bad_cafe);
const OUR_TSN: u32 = 1_000;

/// Packets and timers that one step of the script may cause: windows and buffers are far smaller.
const EVENTS_MAX: u32 = 20_000;

/// What both ends know, and the number of the key.
const SECRET: &[u8] = b"a secret of two";
const KEY: u16 = 1;

const CHUNK_TYPES: [ChunkType; 20] = [
    ChunkType::DATA,
    ChunkType::SACK,
    ChunkType::FORWARD_TSN,
    ChunkType::HEARTBEAT,
    ChunkType::HEARTBEAT_ACK,
    ChunkType::ABORT,
    ChunkType::SHUTDOWN,
    ChunkType::SHUTDOWN_ACK,
    ChunkType::ERROR,
    ChunkType::COOKIE_ECHO,
    ChunkType::COOKIE_ACK,
    ChunkType::SHUTDOWN_COMPLETE,
    ChunkType::INIT,
    ChunkType::INIT_ACK,
    ChunkType::RE_CONFIG,
    ChunkType::I_DATA,
    ChunkType::I_FORWARD_TSN,
    ChunkType::ASCONF,
    ChunkType::ASCONF_ACK,
    ChunkType::AUTH,
];

/// What is left of the input; where it ends, zeros follow.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}

/// The endpoint, and what its peer knows.
struct Play {
    endpoint: Endpoint,
    is_keyed: bool,
    /// Signs what the peer sends, once both ends have announced how.
    seal: Option<Seal>,
    /// RANDOM, CHUNKS and HMAC-ALGO, as the endpoint announced them.
    their_vector: Vec<u8>,
    now: Time,
    /// The tag that the endpoint wants, once it told.
    tag: VerificationTag,
    /// The endpoint's first TSN.
    their_tsn: u32,
    /// The last State Cookie that it gave out.
    cookie: Vec<u8>,
    /// What comes in the next packet.
    chunks: Vec<u8>,
    /// The TSNs of ours that its last SACK listed.
    acknowledged: Acknowledged,
    /// What its HEARTBEATs asked that the peer has not answered.
    heartbeats: Vec<Vec<u8>>,
}

/// Chunks as bytes, right or wrong.
struct Raw<'a>(&'a [u8]);

impl EncodeChunk for Raw<'_> {
    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        buf.extend_from_slice(self.0);
    }
}

impl Play {
    fn new(is_listener: bool, is_keyed: bool) -> Self {
        let association = config()
            .with(|config| config.extensions.authentication = is_keyed.then(authentication));
        let config = EndpointConfig {
            accept: is_listener,
            association: association.clone(),
            associations_max: 4,
            short_inits_per_second: u32::MAX,
            ..EndpointConfig::default()
        };
        let mut endpoint = Endpoint::new(config, Rng::from_u64(1));
        if !is_listener {
            let paths = [0, 1].map(tuple);
            let called = endpoint.connect(Time::ZERO, &paths, (PORTS.1, PORTS.0), association);
            called.expect("nothing stands against it");
        }
        let mut play = Self {
            endpoint,
            is_keyed,
            seal: None,
            their_vector: Vec::new(),
            now: Time::ZERO,
            tag: VerificationTag(0),
            their_tsn: 0,
            cookie: Vec::new(),
            chunks: Vec::new(),
            acknowledged: Acknowledged::default(),
            heartbeats: Vec::new(),
        };
        play.settle();
        play
    }

    /// Completes the handshake that the endpoint began, or calls it.
    fn shake_hands(&mut self, interleaves: bool, marks_levels: bool) {
        let mut parameters = Vec::new();
        if marks_levels {
            Parameter::LevelMarksSupported.encode(&mut parameters);
        }
        Parameter::ForwardTsnSupported.encode(&mut parameters);
        let mut types = vec![ChunkType::RE_CONFIG];
        if interleaves {
            types.extend([ChunkType::I_DATA, ChunkType::I_FORWARD_TSN]);
        }
        if self.is_keyed {
            types.extend([ChunkType::AUTH, ChunkType::ASCONF, ChunkType::ASCONF_ACK]);
            parameters.extend(our_vector());
        }
        Parameter::SupportedExtensions(Items::from_slice(&types)).encode(&mut parameters);
        if self.endpoint.associations().next().is_some() {
            Parameter::StateCookie(b"cookie").encode(&mut parameters);
            let init = init(&parameters);
            let init_ack = InitAck {
                initiate_tag: init.initiate_tag,
                a_rwnd: init.a_rwnd,
                outbound_streams: init.outbound_streams,
                inbound_streams: init.inbound_streams,
                initial_tsn: init.initial_tsn,
                parameters: init.parameters,
            };
            self.deliver(0, self.tag, &init_ack);
            self.settle();
            self.begin_to_sign();
            self.deliver(0, self.tag, &CookieAck);
        } else {
            self.deliver(0, VerificationTag(0), &init(&parameters));
            self.settle();
            self.begin_to_sign();
            self.echo_cookie();
        }
        self.settle();
        let established = self.endpoint.associations().next();
        let established = established.and_then(|id| self.endpoint.association(id));
        assert!(established.is_some_and(Association::is_established));
        assert!(established.is_some_and(|a| a.interleaves_messages() == interleaves));
    }

    fn begin_to_sign(&mut self) {
        self.seal = self.is_keyed.then(|| Seal::new(&our_vector(), &self.their_vector));
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.byte() % 16 {
            0..6 => self.push_chunk(script),
            6..9 => self.flush(script),
            9 => {
                let at = usize::from(script.byte());
                if let Some(byte) = self.cookie.get_mut(at) {
                    *byte ^= script.byte();
                }
                self.echo_cookie();
            }
            10 => self.deliver_bytes(script),
            11 => {
                let span = Duration::from_millis(1 << (script.byte() % 17));
                self.pass(span);
            }
            _ => self.act(script),
        }
    }

    /// Adds a chunk of any type; its TSN, if it has one, counts from those in use.
    fn push_chunk(&mut self, script: &mut Script<'_>) {
        let choice = script.byte();
        let ty = CHUNK_TYPES.get(usize::from(choice)).map_or(choice, |ty| ty.0);
        let flags = script.byte();
        let len = usize::from(script.byte());
        let mut value = script.bytes(len).to_vec();
        let base = match ChunkType(ty) {
            ChunkType::DATA
            | ChunkType::FORWARD_TSN
            | ChunkType::I_DATA
            | ChunkType::I_FORWARD_TSN => OUR_TSN,
            ChunkType::SACK | ChunkType::SHUTDOWN => self.their_tsn,
            _ => 0,
        };
        if ty != ChunkType::RE_CONFIG.0
            && let Some(tsn) = value.first_chunk_mut()
        {
            *tsn = base.wrapping_add_signed(i32::from_be_bytes(*tsn) >> 16).to_be_bytes();
        }
        let [len0, len1] = (4 + value.len() as u16).to_be_bytes();
        self.chunks.extend([ty, flags, len0, len1]);
        self.chunks.extend(value);
        self.chunks.resize(self.chunks.len().next_multiple_of(4), 0);
    }

    /// Sends the packet, with a tag and, if need be, a signature that mostly are right.
    fn flush(&mut self, script: &mut Script<'_>) {
        let from = script.byte();
        let tag = match from >> 4 {
            0 => VerificationTag(0),
            1 => OUR_TAG,
            _ => self.tag,
        };
        let chunks = std::mem::take(&mut self.chunks);
        if from >> 4 == 2 {
            self.deliver_plain(from & 3, tag, &Raw(&chunks));
        } else {
            self.deliver(from & 3, tag, &Raw(&chunks));
        }
    }

    fn echo_cookie(&mut self) {
        let cookie = self.cookie.clone();
        self.deliver(0, self.tag, &CookieEcho { cookie: &cookie });
    }

    /// Sends bytes that need not be a packet.
    fn deliver_bytes(&mut self, script: &mut Script<'_>) {
        let path = tuple(script.byte() & 3);
        let len = usize::from(script.byte());
        let bytes = script.bytes(len);
        self.endpoint.handle_datagram(self.now, Datagram { path, ecn: None, bytes });
    }

    /// What the endpoint's user may do.
    fn act(&mut self, script: &mut Script<'_>) {
        let Some(id) = self.endpoint.associations().next() else { return };
        let Some(association) = self.endpoint.association_mut(id) else { return };
        let (what, size) = (script.byte(), script.byte());
        match what % 8 {
            0..4 => {
                let payload = vec![size; usize::from(size) << (what >> 5)].into();
                let message = OutgoingMessage {
                    ordered: what & 8 == 0,
                    reliability: reliability(script.byte()),
                    level: Level::ALL[usize::from(what >> 6)],
                    ..OutgoingMessage::new(StreamId(u16::from(what >> 4)), payload)
                };
                // A full queue and a message of no bytes are refused, which is an answer.
                let _taken = association.send(self.now, message);
            }
            4 => {
                association.set_primary(PathId(u32::from(size % 4)));
                if size & 4 != 0 {
                    // Before the handshake is done it is refused.
                    let _begun = association.reset_streams(self.now, &[StreamId(0)]);
                }
            }
            5 => while association.receive().is_some() {},
            6 => association.shutdown(self.now),
            _ => association.abort("the user's wish"),
        }
    }

    /// Lets time pass; timers fire when they are due.
    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        for _ in 0..EVENTS_MAX {
            let Some(wakeup) = self.endpoint.poll_timeout().filter(|wakeup| wakeup.at <= end)
            else {
                self.now = end;
                return;
            };
            self.now = self.now.max(wakeup.at);
            self.endpoint.handle_timeout(self.now);
            self.settle();
        }
        panic!("timers fire without end");
    }

    /// Sends chunks, signed once it is known how.
    fn deliver(&mut self, path: u8, tag: VerificationTag, chunks: &impl EncodeChunk) {
        let Some(seal) = &self.seal else { return self.deliver_plain(path, tag, chunks) };
        let mut covered = Vec::new();
        chunks.encode(&mut covered);
        covered.resize(covered.len().next_multiple_of(4), 0);
        let signed = seal.sign(&covered);
        self.deliver_plain(path, tag, &Raw(&signed));
    }

    fn deliver_plain(
        &mut self,
        path: u8,
        verification_tag: VerificationTag,
        chunks: &impl EncodeChunk,
    ) {
        let (source_port, destination_port) = PORTS;
        let header = CommonHeader { source_port, destination_port, verification_tag };
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, header);
        writer.push(chunks);
        writer.finish(ChecksumField::Fill);
        let datagram = Datagram { path: tuple(path), ecn: None, bytes: &bytes };
        self.endpoint.handle_datagram(self.now, datagram);
    }

    /// Takes all that the endpoint sends, and reads it as its peer would.
    fn settle(&mut self) {
        let mut bytes = Vec::new();
        for _ in 0..EVENTS_MAX {
            bytes.clear();
            while self.endpoint.poll_event().is_some() {}
            if self.endpoint.poll_transmit(self.now, &mut bytes).is_none() {
                return;
            }
            assert!(bytes.len() <= config().paths.path_mtu, "{} bytes", bytes.len());
            let packet = Packet::decode(&bytes, ChecksumMode::Verify).expect("what is sent");
            for chunk in packet.chunks() {
                self.learn(&chunk.expect("what is sent can be read"));
            }
        }
        panic!("the endpoint sends without end");
    }

    fn learn(&mut self, chunk: &Chunk<'_>) {
        if let Chunk::Init(init) = chunk {
            (self.tag, self.their_tsn) = (init.initiate_tag, init.initial_tsn.0);
            self.their_vector = vector(&init.parameters);
        }
        if let Chunk::InitAck(init_ack) = chunk {
            (self.tag, self.their_tsn) = (init_ack.initiate_tag, init_ack.initial_tsn.0);
            self.their_vector = vector(&init_ack.parameters);
            let cookie = init_ack.parameters.iter().find_map(|parameter| {
                let Ok(Parameter::StateCookie(cookie)) = parameter else { return None };
                Some(cookie.to_vec())
            });
            self.cookie = cookie.expect("an INIT ACK has a cookie");
        }
        if let Chunk::Sack(sack) = chunk {
            self.acknowledged = Acknowledged::of(sack);
        }
        if let Chunk::Heartbeat(heartbeat) = chunk {
            self.heartbeats.push(heartbeat.info.to_vec());
        }
    }

    /// Shows that the peer is alive.
    fn answer_heartbeats(&mut self) {
        for info in std::mem::take(&mut self.heartbeats) {
            self.deliver(0, self.tag, &HeartbeatAck { info: &info });
        }
        self.settle();
    }

    /// What holds at any time.
    fn check(&self) {
        let limits = config();
        for id in self.endpoint.associations() {
            let Some(association) = self.endpoint.association(id) else { continue };
            let stats = association.stats();
            // Overhead included, three times the buffer; what closes a gap has as much again, and
            // so has the next TSN.
            assert!(stats.held <= 5 * limits.buffers.receive_buffer);
            assert!(stats.queued <= limits.buffers.send_buffer);
            assert!(stats.paths.len() <= limits.paths.paths_max);
        }
    }
}

/// An association shared key (RFC 4895 section 6.1).
struct Seal(Hmac<Sha256>);

impl Seal {
    fn new(ours: &[u8], theirs: &[u8]) -> Self {
        let is_ours_smaller = (ours.len(), ours) <= (theirs.len(), theirs);
        let (first, second) = if is_ours_smaller { (ours, theirs) } else { (theirs, ours) };
        let key = [SECRET, first, second].concat();
        Self(Hmac::new_from_slice(&key).expect("any length"))
    }

    /// Chunks behind an AUTH chunk that covers them, it included.
    fn sign(&self, chunks: &[u8]) -> Vec<u8> {
        let mut mac = self.0.clone();
        mac.update(&auth(&[0; 32]));
        mac.update(chunks);
        let hmac = mac.finalize().into_bytes();
        [&auth(&hmac), chunks].concat()
    }
}

fn auth(hmac: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let hmac_identifier = HmacIdentifier::SHA_256;
    Auth { shared_key_identifier: KEY, hmac_identifier, hmac }.encode(&mut bytes);
    bytes
}

/// What the peer announces of authentication.
fn our_vector() -> Vec<u8> {
    let mut bytes = Vec::new();
    let chunks = [ChunkType::ASCONF, ChunkType::ASCONF_ACK, ChunkType::DATA, ChunkType::SACK];
    Parameter::Random(&[9; 32]).encode(&mut bytes);
    Parameter::ChunkList(Items::from_slice(&chunks)).encode(&mut bytes);
    let algorithms = [HmacIdentifier::SHA_256, HmacIdentifier::SHA_1];
    Parameter::HmacAlgorithms(Items::from_slice(&algorithms)).encode(&mut bytes);
    // None of them is padded, other than by what follows.
    bytes
}

/// RANDOM, CHUNKS and HMAC-ALGO, in this order and without padding.
fn vector(parameters: &Parameters<'_>) -> Vec<u8> {
    let mut found = [const { Vec::new() }; 3];
    for parameter in parameters.iter().flatten() {
        let mut bytes = Vec::new();
        parameter.encode(&mut bytes);
        let [t0, t1, l0, l1, ..] = bytes[..] else { continue };
        let ty = u16::from_be_bytes([t0, t1]);
        bytes.truncate(u16::from_be_bytes([l0, l1]).into());
        if let Some(place) = [0x8002, 0x8003, 0x8004].iter().position(|known| *known == ty) {
            found[place] = bytes;
        }
    }
    found.concat()
}

fn authentication() -> Authentication {
    let keys = vec![SharedKey::new(KEY, SECRET)];
    Authentication::new(keys, Protection::Everything).expect("a sound key")
}

/// Small limits, so that a script can reach them.
fn config() -> AssociationConfig {
    AssociationConfig::media().with(|config| {
        config.buffers.send_buffer = 32 << 10;
        config.buffers.receive_buffer = 8 << 10;
        config.buffers.message_size_max = 4 << 10;
        config.paths.paths_max = 4;
        config.buffers.receive_order = ReceiveOrder::PRIORITY;
        config.extensions.message_interleaving = true;
    })
}

fn reliability(choice: u8) -> Reliability {
    match choice % 4 {
        0 => Reliability::Lifetime(Duration::from_millis(u64::from(choice))),
        1 => Reliability::MaxRetransmissions(u32::from(choice >> 4)),
        _ => Reliability::Reliable,
    }
}

/// Paths as the endpoint sees them.
fn tuple(path: u8) -> FourTuple {
    let address = |host: u8| ([10, 0, path, host], 9_899).into();
    FourTuple::new(address(2), address(1))
}

/// What our INIT or INIT ACK says.
fn init(parameters: &[u8]) -> Init<'_> {
    Init {
        initiate_tag: OUR_TAG,
        a_rwnd: 20_000,
        outbound_streams: 16,
        inbound_streams: 16,
        initial_tsn: Tsn(OUR_TSN),
        parameters: Parameters::from_bytes(parameters),
    }
}

//! A scripted peer: it faces one endpoint alone, with packets that a test builds by hand.

use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, AssociationStats, CloseReason, Endpoint,
    EndpointConfig, Event, IncomingMessage, OutgoingMessage,
};
use anabranch_wire::{
    Abort, Chunk, ChunkType, CookieEcho, Data, ErrorCause, ErrorCauses, GapAckBlock, Init, InitAck,
    Items, Level, Parameter, Parameters, Ppid, Sack, Ssn, StreamId, Tsn, VerificationTag,
};

use crate::harness::{PORTS, numbered};
use crate::packets::{Sent, packet};

/// Our tag and first TSN.
pub(crate) const TAG: VerificationTag = VerificationTag(0x0bad_cafe);
pub(crate) const FIRST_TSN: u32 = 1_000;

/// The receive window of most peers.
pub(crate) const WINDOW: u32 = 100_000;

/// Our tag after a restart.
pub(crate) const RESTART_TAG: VerificationTag = VerificationTag(0x0bad_0bad);

/// What a SACK says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) cumulative: u32,
    pub(crate) blocks: Vec<(u16, u16)>,
    pub(crate) duplicates: Vec<u32>,
    pub(crate) window: u32,
}

/// The scripted side of an association with the endpoint under test.
pub(crate) struct RawPeer {
    pub(crate) endpoint: Endpoint,
    pub(crate) now: Time,
    /// Where our packets come from, as the endpoint sees it.
    pub(crate) path: FourTuple,
    /// Our SCTP port and the endpoint's.
    pub(crate) ports: (u16, u16),
    /// The tag that the endpoint wants in our packets.
    pub(crate) tag: VerificationTag,
    /// The endpoint's first TSN.
    pub(crate) their_first_tsn: Tsn,
    sent: Vec<Sent>,
    events: Vec<(AssociationId, Event)>,
}

pub(crate) fn tuple(local: &str, remote: &str) -> FourTuple {
    FourTuple::new(local.parse().expect("an address"), remote.parse().expect("an address"))
}

/// An INIT as most tests send it.
pub(crate) fn init<'a>(tag: VerificationTag, parameters: &'a [u8]) -> Init<'a> {
    Init {
        initiate_tag: tag,
        a_rwnd: 100_000,
        outbound_streams: 8,
        inbound_streams: 8,
        initial_tsn: Tsn(FIRST_TSN),
        parameters: Parameters::from_bytes(parameters),
    }
}

/// An unfragmented message on stream 0.
pub(crate) fn data(tsn: u32, ssn: u16) -> Data<'static> {
    Data {
        tsn: Tsn(tsn),
        stream: StreamId(0),
        ssn: Ssn(ssn),
        ppid: Ppid(0),
        unordered: false,
        beginning: true,
        ending: true,
        immediate: false,
        level: Level::Urgent,
        payload: b"data",
    }
}

/// A SACK without gaps.
pub(crate) fn sack(cumulative: Tsn, a_rwnd: u32) -> Chunk<'static> {
    Chunk::Sack(Sack {
        cumulative_tsn_ack: cumulative,
        a_rwnd,
        gap_ack_blocks: Items::default(),
        duplicate_tsns: Items::default(),
        data_packets: 1,
    })
}

impl RawPeer {
    /// Faces an endpoint that nobody has spoken to.
    pub(crate) fn facing(config: EndpointConfig) -> Self {
        Self {
            endpoint: Endpoint::new(config, Rng::from_u64(1)),
            now: Time::ZERO,
            path: tuple("10.0.0.2:9899", "10.0.0.1:9899"),
            ports: PORTS,
            tag: VerificationTag(0),
            their_first_tsn: Tsn(0),
            sent: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Faces an endpoint that listens.
    pub(crate) fn facing_listener(association: AssociationConfig) -> Self {
        Self::facing(EndpointConfig { accept: true, association, ..EndpointConfig::default() })
    }

    /// Has called a listening endpoint; partial reliability is agreed on.
    pub(crate) fn connected(association: AssociationConfig) -> Self {
        Self::connected_with_window(association, 100_000)
    }

    /// The same, with a receive window of our own choice.
    pub(crate) fn connected_with_window(association: AssociationConfig, a_rwnd: u32) -> Self {
        let mut peer = Self::facing_listener(association);
        let mut parameters = Vec::new();
        Parameter::ForwardTsnSupported.encode(&mut parameters);
        peer.call_with(Init { a_rwnd, ..init(TAG, &parameters) });
        assert_eq!(peer.take_types(), [[ChunkType::COOKIE_ACK]]);
        peer
    }

    /// Sends INIT with these parameters, and echoes the cookie.
    pub(crate) fn call(&mut self, parameters: &[u8]) {
        self.call_with(init(TAG, parameters));
    }

    /// Sends this INIT, and echoes the cookie.
    pub(crate) fn call_with(&mut self, init: Init<'_>) {
        let cookie = self.fetch_cookie_with(init);
        self.deliver(&[Chunk::CookieEcho(CookieEcho { cookie: &cookie })]);
    }

    /// Sends INIT and returns the cookie of the INIT ACK; its tag is used from then on.
    pub(crate) fn fetch_cookie(&mut self, tag: VerificationTag, parameters: &[u8]) -> Vec<u8> {
        self.fetch_cookie_with(init(tag, parameters))
    }

    /// The cookie of the answer to this INIT.
    pub(crate) fn fetch_cookie_with(&mut self, init: Init<'_>) -> Vec<u8> {
        self.deliver_as(self.path, VerificationTag(0), &[Chunk::Init(init)]);
        let sent = self.take();
        let [reply] = &sent[..] else { panic!("one answer to INIT, not {sent:?}") };
        assert_eq!(reply.tag(), init.initiate_tag);
        let [Chunk::InitAck(init_ack)] = reply.chunks()[..] else {
            panic!("an INIT ACK, not {:?}", reply.chunks())
        };
        self.tag = init_ack.initiate_tag;
        self.their_first_tsn = init_ack.initial_tsn;
        cookie_of(&init_ack).expect("an INIT ACK has a cookie")
    }

    /// Sends the INIT of a caller that restarted, with a tag of its own; returns the tag and the
    /// cookie of the INIT ACK, and uses neither.
    pub(crate) fn fetch_restart_cookie(&mut self) -> (VerificationTag, Vec<u8>) {
        let (tag, first_tsn) = (self.tag, self.their_first_tsn);
        self.take();
        let cookie = self.fetch_cookie(RESTART_TAG, &[]);
        self.their_first_tsn = first_tsn;
        (std::mem::replace(&mut self.tag, tag), cookie)
    }

    /// Lets the endpoint call us over `paths`; returns the INIT that it sends.
    pub(crate) fn let_it_call(&mut self, paths: &[FourTuple], config: AssociationConfig) -> Sent {
        let ports = (self.ports.1, self.ports.0);
        let called = self.endpoint.connect(self.now, paths, ports, config);
        called.expect("nothing stands against it");
        self.drain();
        let sent = self.take();
        let [first] = &sent[..] else { panic!("one INIT, not {sent:?}") };
        let [Chunk::Init(init)] = first.chunks()[..] else { panic!("an INIT, not {first:?}") };
        self.tag = init.initiate_tag;
        self.their_first_tsn = init.initial_tsn;
        first.clone()
    }

    /// Answers an INIT with these parameters, the cookie aside.
    pub(crate) fn answer_init(&mut self, parameters: &[u8]) {
        let mut with_cookie = Vec::new();
        Parameter::StateCookie(b"cookie").encode(&mut with_cookie);
        with_cookie.extend_from_slice(parameters);
        let init = init(TAG, &with_cookie);
        self.deliver(&[Chunk::InitAck(init_ack(init))]);
    }

    /// Delivers a packet with the right tag over the usual path.
    pub(crate) fn deliver(&mut self, chunks: &[Chunk<'_>]) {
        self.deliver_as(self.path, self.tag, chunks);
    }

    pub(crate) fn deliver_as(
        &mut self,
        path: FourTuple,
        tag: VerificationTag,
        chunks: &[Chunk<'_>],
    ) {
        self.deliver_bytes(path, &packet(self.ports, tag, chunks));
    }

    pub(crate) fn deliver_bytes(&mut self, path: FourTuple, bytes: &[u8]) {
        self.handle_bytes(path, bytes);
        self.drain();
    }

    /// Hands bytes over without asking for what is to be sent.
    pub(crate) fn handle_bytes(&mut self, path: FourTuple, bytes: &[u8]) {
        self.endpoint.handle_datagram(self.now, Datagram { path, ecn: None, bytes });
    }

    /// Hands a packet with the right tag over without asking for what is to be sent.
    pub(crate) fn handle(&mut self, chunks: &[Chunk<'_>]) {
        self.handle_bytes(self.path, &packet(self.ports, self.tag, chunks));
    }

    /// Lets time pass; timers fire when they are due.
    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        for _ in 0..100_000 {
            let Some(due) = self.endpoint.poll_timeout().filter(|wakeup| wakeup.at <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(due.at);
            self.endpoint.handle_timeout(self.now);
            self.drain();
        }
        panic!("the endpoint does not come to rest");
    }

    /// Hands a message to the association.
    pub(crate) fn send(&mut self, message: OutgoingMessage) {
        self.act(|association, now| association.send(now, message)).expect("taken");
    }

    /// Hands a message to the association if it takes any.
    pub(crate) fn send_if_possible(&mut self) {
        let message = numbered(0, 0, 700);
        self.act(|association, now| association.send(now, message)).ok();
    }

    /// Acknowledges all that was sent up to the `count`-th chunk, with blocks of chunk numbers
    /// counted from one, as TSNs are.
    pub(crate) fn acknowledge(&mut self, count: u32, blocks: &[(u32, u32)], a_rwnd: u32) {
        self.acknowledge_with(count, blocks, &[], a_rwnd);
    }

    /// The same, with duplicates, as chunk numbers too.
    pub(crate) fn acknowledge_with(
        &mut self,
        count: u32,
        blocks: &[(u32, u32)],
        duplicates: &[u32],
        a_rwnd: u32,
    ) {
        let duplicates: Vec<_> = duplicates.iter().map(|number| self.tsn_of(*number)).collect();
        let offset = |number: u32| (number - count) as u16;
        let blocks: Vec<_> = blocks
            .iter()
            .map(|&(start, end)| GapAckBlock { start: offset(start), end: offset(end) })
            .collect();
        self.deliver(&[Chunk::Sack(Sack {
            cumulative_tsn_ack: self.tsn_of(count),
            a_rwnd,
            gap_ack_blocks: Items::from_slice(&blocks),
            duplicate_tsns: Items::from_slice(&duplicates),
            data_packets: 1,
        })]);
    }

    /// A peer that the endpoint knows to be `rtt` away, all its chunks acknowledged and counted
    /// anew.
    pub(crate) fn at_distance(association: AssociationConfig, rtt: Duration) -> Self {
        let mut peer = Self::connected(association);
        for number in 1..=20 {
            peer.send(numbered(0, 0, 100));
            peer.run_for(rtt);
            peer.acknowledge(number, &[], WINDOW);
        }
        peer.their_first_tsn = peer.tsn_of(21);
        peer.take();
        peer
    }

    /// The TSN of the endpoint's `count`-th chunk.
    pub(crate) fn tsn_of(&self, count: u32) -> Tsn {
        Tsn(self.their_first_tsn.0.wrapping_add(count).wrapping_sub(1))
    }

    /// The numbers of the chunks that the endpoint sent since the last call, packet by packet,
    /// counted from one.
    pub(crate) fn take_numbers(&mut self) -> Vec<Vec<u32>> {
        let first = self.their_first_tsn.0;
        let number = |data: &Data<'_>| data.tsn.0.wrapping_sub(first).wrapping_add(1);
        let sent = self.take();
        let packets = sent.iter().map(|sent| sent.data().iter().map(number).collect());
        packets.filter(|numbers: &Vec<u32>| !numbers.is_empty()).collect()
    }

    /// Acts on the association, and sends what comes of it.
    pub(crate) fn act<T>(&mut self, action: impl FnOnce(&mut Association, Time) -> T) -> T {
        let id = self.id().expect("an association");
        let association = self.endpoint.association_mut(id).expect("alive");
        let result = action(association, self.now);
        self.drain();
        result
    }

    fn drain(&mut self) {
        let mut bytes = Vec::new();
        while let Some(transmit) = self.endpoint.poll_transmit(self.now, &mut bytes) {
            let bytes = std::mem::take(&mut bytes);
            assert!(self.sent.len() < 100_000, "the endpoint does not come to rest");
            for bytes in bytes.chunks(transmit.segment_size.unwrap_or(bytes.len())) {
                let bytes = bytes.to_vec();
                self.sent.push(Sent { at: self.now, path: transmit.path, bytes });
            }
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.events.push(event);
        }
    }

    /// What the endpoint sent since the last call.
    pub(crate) fn take(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.sent)
    }

    /// The chunks of what the endpoint sent since the last call.
    pub(crate) fn take_types(&mut self) -> Vec<Vec<ChunkType>> {
        self.take().iter().map(Sent::types).collect()
    }

    /// The last SACK among what the endpoint sent since the last call.
    pub(crate) fn take_sack(&mut self) -> Option<Report> {
        let sent = self.take();
        let sack = sent.iter().rev().find_map(Sent::sack)?;
        let blocks = sack.gap_ack_blocks.iter().map(|block| (block.start, block.end)).collect();
        let duplicates = sack.duplicate_tsns.iter().map(|tsn| tsn.0).collect();
        let (cumulative, window) = (sack.cumulative_tsn_ack.0, sack.a_rwnd);
        Some(Report { cumulative, blocks, duplicates, window })
    }

    pub(crate) fn id(&self) -> Option<AssociationId> {
        self.endpoint.associations().next()
    }

    pub(crate) fn association(&self) -> Option<&Association> {
        self.endpoint.association(self.id()?)
    }

    pub(crate) fn is_established(&self) -> bool {
        self.association().is_some_and(Association::is_established)
    }

    pub(crate) fn stats(&self) -> AssociationStats {
        self.association().expect("alive").stats()
    }

    /// Events since the start.
    pub(crate) fn events(&self) -> Vec<&Event> {
        self.events.iter().map(|(_, event)| event).collect()
    }

    pub(crate) fn close_reason(&self) -> Option<CloseReason> {
        self.events.iter().find_map(|(_, event)| {
            let Event::Closed { reason, .. } = event else { return None };
            Some(reason.clone())
        })
    }

    /// Reads all messages that are ready.
    pub(crate) fn read(&mut self) -> Vec<IncomingMessage> {
        self.act(|association, _| std::iter::from_fn(|| association.receive()).collect())
    }
}

pub(crate) const fn init_ack(init: Init<'_>) -> InitAck<'_> {
    InitAck {
        initiate_tag: init.initiate_tag,
        a_rwnd: init.a_rwnd,
        outbound_streams: init.outbound_streams,
        inbound_streams: init.inbound_streams,
        initial_tsn: init.initial_tsn,
        parameters: init.parameters,
    }
}

/// The State Cookie of an INIT ACK.
pub(crate) fn cookie_of(init_ack: &InitAck<'_>) -> Option<Vec<u8>> {
    init_ack.parameters.iter().find_map(|parameter| {
        let Ok(Parameter::StateCookie(cookie)) = parameter else { return None };
        Some(cookie.to_vec())
    })
}

/// An error cause as bytes.
pub(crate) fn cause(cause: ErrorCause<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    cause.encode(&mut bytes);
    bytes
}

/// The causes of an ABORT or ERROR chunk.
pub(crate) fn causes_of<'a>(chunk: &Chunk<'a>) -> Vec<ErrorCause<'a>> {
    let causes: ErrorCauses<'a> = if let Chunk::Abort(Abort { causes, .. }) = chunk {
        *causes
    } else if let Chunk::Error(error) = chunk {
        error.causes
    } else {
        panic!("ABORT or ERROR, not {chunk:?}")
    };
    causes.iter().map(|cause| cause.expect("what is sent can be read")).collect()
}

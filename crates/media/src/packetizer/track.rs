//! The packets of one PID on their way into pieces.

use anabranch_sansio::Time;
use bytes::Bytes;

use crate::codec::{Classifier, Codec, Verdict};
use crate::piece::{Header, MAX_HEADER, MAX_ITEMS, RunBuilder};
use crate::ts::{NULL_PACKET, PACKET_LEN, Packet, PesHeader, Pid};
use crate::{Class, PerClass, Piece, Track};

use super::{HOLD, Notice, Output};

/// What kind of packets a track has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Tables,
    Padding,
    Unlisted,
    Stream(Codec),
}

impl Flow {
    /// What all of its units are, if that does not depend on their bytes.
    const fn verdict(self) -> Option<Verdict> {
        match self {
            Self::Tables => Some(Verdict::base(Class::Tables)),
            Self::Padding => Some(Verdict::base(Class::Padding)),
            Self::Unlisted => Some(Verdict::base(Class::Data)),
            Self::Stream(_) => None,
        }
    }

    const fn classifier(self) -> Option<Classifier> {
        match self {
            Self::Stream(codec) => Some(Classifier::new(codec)),
            Self::Tables | Self::Padding | Self::Unlisted => None,
        }
    }
}

#[derive(Debug)]
pub(super) struct TrackState {
    pid: Pid,
    flow: Flow,
    classifier: Option<Classifier>,
    /// What the current unit is, once that is known.
    verdict: Option<Verdict>,
    /// What the unit is from the next packet on, if another layer begins in this one.
    next_layer: Option<Verdict>,
    random_access: bool,
    /// Something of the current access unit was taken.
    is_begun: bool,
    frame: u64,
    index: u64,
    /// Bytes of the current PES packet that are still to come, if its length is known.
    remaining: Option<usize>,
    sequences: PerClass<u64>,
    open: Option<OpenPiece>,
    /// Bytes of the last piece's payload: the next one is likely to have as many.
    last_len: usize,
    counter: Option<u8>,
    noticed: Option<Notice>,
}

impl TrackState {
    pub(super) fn new(pid: Pid, flow: Flow) -> Self {
        Self {
            pid,
            flow,
            classifier: flow.classifier(),
            verdict: flow.verdict(),
            next_layer: None,
            random_access: false,
            is_begun: false,
            frame: 0,
            index: 0,
            remaining: None,
            sequences: PerClass::default(),
            open: None,
            last_len: 0,
            counter: None,
            noticed: None,
        }
    }

    /// The tables say what the track is. What is under way stays what it was.
    pub(super) fn set_flow(&mut self, flow: Flow) {
        if flow == self.flow {
            return;
        }
        self.verdict = self.verdict.or_else(|| Some(self.fallback()));
        self.flow = flow;
        self.classifier = flow.classifier();
    }

    /// Whether it tells what the others are.
    pub(super) fn is_of_tables(&self) -> bool {
        self.flow == Flow::Tables
    }

    /// True if packets are missing in front of this one.
    pub(super) fn is_continuity_error(&mut self, packet: &Packet) -> bool {
        if self.flow == Flow::Padding || packet.transport_error() || !packet.has_payload() {
            return false;
        }
        let counter = packet.continuity_counter();
        let Some(last) = self.counter.replace(counter) else { return false };
        // ISO/IEC 13818-1 section 2.4.3.3: a packet may be sent twice.
        let expected = counter == last || counter == (last + 1) % 16;
        !expected && !packet.discontinuity()
    }

    /// What a user should know about the track and was not told yet.
    pub(super) fn notice(&mut self, packet: &Packet, tables_are_complete: bool) -> Option<Notice> {
        let track = self.track();
        let notice = match self.flow {
            Flow::Tables | Flow::Padding => return None,
            _ if packet.transport_error() => return None,
            _ if packet.is_scrambled() => Notice::Scrambled { track },
            Flow::Stream(codec @ Codec::Other { .. }) => Notice::Unclassified { track, codec },
            Flow::Stream(codec) => Notice::Track { track, codec },
            Flow::Unlisted if tables_are_complete => Notice::Unlisted { track },
            Flow::Unlisted => return None,
        };
        (self.noticed.replace(notice) != Some(notice)).then_some(notice)
    }

    /// Takes a packet; makes pieces of what need not wait any longer.
    pub(super) fn handle_packet(
        &mut self,
        position: u64,
        at: Time,
        packet: &Packet,
        out: &mut Output<'_>,
    ) {
        if packet.payload_unit_start() && !packet.transport_error() {
            self.begin_unit(packet, out);
        }
        let nulls = self.flow == Flow::Padding && *packet.bytes() == NULL_PACKET;
        let limits = self.limits(out);
        let has_room = |open: &OpenPiece| open.has_room_for(position, at, nulls, limits);
        if self.open.as_ref().is_some_and(|open| !has_room(open)) {
            self.flush(false, out);
        }
        if let Some(layer) = self.next_layer.take() {
            self.begin_layer(layer, out);
        }
        if !packet.transport_error() {
            self.classify(packet);
        }
        self.is_begun = true;
        let len = self.last_len;
        let open = self.open.get_or_insert_with(|| OpenPiece::new(at, nulls, len));
        open.push(position, at, packet);
        let is_full = open.is_full(limits);
        if self.ends_unit(packet.payload().len()) {
            self.flush(true, out);
        } else if is_full {
            self.flush(false, out);
        }
    }

    /// When the open piece must leave.
    pub(super) fn held_until(&self) -> Option<Time> {
        self.open.as_ref().map(|open| open.since + HOLD)
    }

    /// Makes a piece of what is held.
    pub(super) fn flush(&mut self, last: bool, out: &mut Output<'_>) {
        let Some(open) = self.open.take() else { return };
        let verdict = self.verdict.unwrap_or_else(|| self.fallback());
        // All of a unit shares its class.
        self.verdict = Some(verdict);
        let sequence = self.sequences.of_mut(verdict.class);
        let header = Header {
            presentation: None,
            session: out.session,
            track: Track(self.pid.as_u16()),
            layer: verdict.layer,
            class: verdict.class,
            frame: self.frame,
            index: self.index,
            sequence: *sequence,
            last,
            nulls: open.nulls,
            runs: open.runs.finish(),
        };
        *sequence += 1;
        self.index += 1;
        self.last_len = open.payload.len();
        out.push(Piece { header, payload: Bytes::from(open.payload) });
    }

    fn begin_unit(&mut self, packet: &Packet, out: &mut Output<'_>) {
        self.flush(true, out);
        self.frame += u64::from(self.is_begun);
        self.index = 0;
        self.next_layer = None;
        out.stats.units += 1;
        self.random_access = packet.random_access();
        self.remaining = match self.flow {
            Flow::Stream(_) => PesHeader::parse(packet.payload()).and_then(|pes| pes.packet_len),
            Flow::Tables | Flow::Padding | Flow::Unlisted => None,
        };
        self.verdict = self.flow.verdict();
        if let Some(classifier) = &mut self.classifier {
            classifier.start_unit();
        }
    }

    /// The layers of one picture are units of their own: losing one is not losing the picture.
    fn begin_layer(&mut self, layer: Verdict, out: &mut Output<'_>) {
        if Some(layer) == self.verdict {
            return;
        }
        self.flush(true, out);
        self.index = 0;
        self.verdict = Some(layer);
    }

    fn classify(&mut self, packet: &Packet) {
        let Some(classifier) = &mut self.classifier else { return };
        if packet.is_scrambled() {
            self.verdict = self.verdict.or(Some(Verdict::base(Class::Data)));
            return;
        }
        let mut media = packet.payload();
        if packet.payload_unit_start() {
            let header_len = PesHeader::parse(media).map_or(0, |pes| pes.header_len);
            media = media.get(header_len..).unwrap_or_default();
        }
        if self.verdict.is_none() {
            self.verdict = classifier.feed(media);
        }
        self.next_layer = classifier.next_layer(media);
    }

    fn fallback(&self) -> Verdict {
        let classifier = self.classifier.as_ref();
        classifier.map_or(Verdict::base(Class::Data), |c| c.fallback(self.random_access))
    }

    /// Counts down the current PES packet; true when it is complete.
    fn ends_unit(&mut self, payload_len: usize) -> bool {
        let Some(remaining) = self.remaining else { return false };
        let remaining = remaining.saturating_sub(payload_len);
        self.remaining = (remaining > 0).then_some(remaining);
        remaining == 0
    }

    /// What the open piece may take. Whatever its class turns out to be, its number is no larger.
    fn limits(&self, out: &Output<'_>) -> Limits {
        let fixed = Header::fixed_len(self.frame, self.index, self.sequences.total());
        Limits { runs: MAX_HEADER - fixed, media: out.piece_len_max - fixed }
    }

    const fn track(&self) -> Track {
        Track(self.pid.as_u16())
    }
}

/// Bytes that a piece may have behind the fixed part of its header: for the runs alone, and in all.
#[derive(Debug, Clone, Copy)]
struct Limits {
    runs: usize,
    media: usize,
}

/// A piece that still takes packets.
#[derive(Debug)]
struct OpenPiece {
    since: Time,
    nulls: bool,
    items: u64,
    runs: RunBuilder,
    payload: Vec<u8>,
}

impl OpenPiece {
    /// A piece whose payload is likely to have so many bytes.
    fn new(since: Time, nulls: bool, len: usize) -> Self {
        let payload = Vec::with_capacity(len);
        Self { since, nulls, items: 0, runs: RunBuilder::default(), payload }
    }

    fn push(&mut self, position: u64, at: Time, packet: &Packet) {
        self.items += 1;
        self.runs.push(position, at);
        if !self.nulls {
            self.payload.extend_from_slice(packet.bytes());
        }
    }

    fn has_room_for(&self, position: u64, at: Time, nulls: bool, limits: Limits) -> bool {
        let packet = if nulls { 0 } else { PACKET_LEN };
        let fits = |runs| runs <= limits.runs && runs + self.payload.len() + packet <= limits.media;
        // What the runs take is worked out only where it decides.
        nulls == self.nulls
            && self.items < MAX_ITEMS
            && (fits(self.runs.encoded_len_max()) || fits(self.runs.encoded_len_with(position, at)))
    }

    /// Whether no further packet fits, whenever it comes.
    fn is_full(&self, limits: Limits) -> bool {
        let is_over = |runs| runs + self.payload.len() + PACKET_LEN > limits.media;
        !self.nulls && is_over(self.runs.encoded_len_max()) && is_over(self.runs.encoded_len())
    }
}

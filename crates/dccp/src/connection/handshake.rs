//! How a connection begins: RFC 4340 section 8.1.

use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

use super::transmit::Reply;
use super::{Connection, Flow, Role, State};
use crate::config::{Ccid, Config};
use crate::encapsulation::Encapsulation;
use crate::event::{CloseReason, Event};
use crate::feature::{Feature, Owner};
use crate::wire::{Packet, PacketOption, ResetCode, SequenceNumber, ServiceCode};

/// RFC 4340 section 8.1.1: "The first retransmission should occur after approximately one second,
/// backing off to not less than one packet every 64 seconds".
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
const INTERVAL_MAX: Duration = Duration::from_secs(64);

/// RFC 4340 section 8.1.5: "a roughly 200-millisecond timer, set every time a packet is transmitted
/// in PARTOPEN."
const PART_OPEN_INTERVAL: Duration = Duration::from_millis(200);

/// What a server's cookies are allowed to take: what fits into one Response besides its options.
const COOKIES_LEN_MAX: usize = 3 * 255;

/// The state REQUEST.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) must_send: bool,
    sent_at: Time,
    timer: Time,
    interval: Duration,
    give_up_at: Time,
}

/// The state PARTOPEN.
#[derive(Debug)]
pub(super) struct PartOpen {
    pub(super) must_send: bool,
    timer: Time,
    interval: Duration,
    give_up_at: Time,
    /// The server's Init Cookies, which go back with every packet.
    pub(super) cookies: Vec<Vec<u8>>,
}

impl Request {
    pub(super) fn poll_timeout(&self) -> Wakeup {
        Wakeup { at: self.timer.min(self.give_up_at), why: "Request retransmission" }
    }

    pub(super) fn on_sent(&mut self, now: Time) {
        self.must_send = false;
        self.sent_at = now;
    }
}

impl PartOpen {
    pub(super) fn poll_timeout(&self) -> Wakeup {
        Wakeup { at: self.timer.min(self.give_up_at), why: "PARTOPEN" }
    }

    pub(super) fn on_sent(&mut self, now: Time) {
        self.must_send = false;
        self.timer = now + self.interval;
    }

    /// Bytes that the cookies take in a packet.
    pub(super) fn cookies_len(&self) -> usize {
        self.cookies.iter().map(|cookie| cookie.len() + 2).sum::<usize>().next_multiple_of(4)
    }
}

impl Connection {
    /// A client that asks for a connection.
    pub(crate) fn client(
        now: Time,
        config: Config,
        flow: Flow,
        encapsulation: Encapsulation,
        service_code: ServiceCode,
        first: SequenceNumber,
    ) -> Self {
        let request = Request {
            must_send: true,
            sent_at: now,
            timer: now + REQUEST_INTERVAL,
            interval: REQUEST_INTERVAL,
            give_up_at: now + config.connect_timeout,
        };
        let state = (Role::Client, State::Request(request));
        let mut client = Self::new(now, config, flow, encapsulation, state, service_code, first);
        client.want_ccids();
        client.want_what_ccids_need();
        client
    }

    /// A server to which this Request has come. It may be closed at once.
    pub(crate) fn server(
        now: Time,
        config: Config,
        flow: Flow,
        encapsulation: Encapsulation,
        service_code: ServiceCode,
        first: SequenceNumber,
        request: &Packet<'_>,
    ) -> Self {
        // RFC 4340 section 8.1.3: "It MAY also leave the RESPOND state for CLOSED after a timeout
        // of not less than 4MSL (8 minutes)".
        let until = now + config.segment_lifetime * 4;
        let state = (Role::Server, State::Respond { until, must_send: false });
        let mut server = Self::new(now, config, flow, encapsulation, state, service_code, first);
        let first = server.numbers.place(request);
        server.numbers.begin(now, first);
        server.on_packet(now, request, false);
        if !server.is_closed() {
            server.want_ccids();
            server.install_ccids(now);
        }
        server
    }

    /// Which values of the features we accept, and which we ask for.
    pub(super) fn set_up_features(&mut self) {
        const EITHER: [u8; 2] = [0, 1];
        let Config { checksum_coverage, minimum_checksum_coverage, .. } = self.config;
        let (features, config) = (&mut self.features, &self.config);
        features.accept(Owner::Local, Feature::Ccid, &Ccid::numbers(&config.send_ccids));
        features.accept(Owner::Remote, Feature::Ccid, &Ccid::numbers(&config.receive_ccids));
        for owner in [Owner::Local, Owner::Remote] {
            features.accept(owner, Feature::SendAckVector, &EITHER);
            features.accept(owner, Feature::SendNdpCount, &EITHER);
            features.accept(owner, Feature::CheckDataChecksum, &EITHER);
            features.accept(owner, Feature::SendLossEventRate, &EITHER);
        }
        // We read ECN marks; of a peer that does not, we hear so.
        features.accept(Owner::Remote, Feature::EcnIncapable, &EITHER);
        let accepted: Vec<u8> = (minimum_checksum_coverage.clamp(1, 15)..=15).chain([0]).collect();
        let accepted = if minimum_checksum_coverage == 0 { &[0][..] } else { &accepted };
        features.accept(Owner::Local, Feature::MinimumChecksumCoverage, accepted);
        let any: Vec<u8> = (0..=15).collect();
        features.accept(Owner::Remote, Feature::MinimumChecksumCoverage, &any);
        if checksum_coverage > 0 {
            let wanted: Vec<u8> = (1..=checksum_coverage.min(15)).rev().chain([0]).collect();
            features.want(Owner::Remote, Feature::MinimumChecksumCoverage, &wanted);
        }
        if config.short_sequence_numbers {
            features.want(Owner::Local, Feature::AllowShortSeqnos, &[1, 0]);
            features.accept(Owner::Remote, Feature::AllowShortSeqnos, &[1, 0]);
        }
        if config.ndp_count {
            features.want(Owner::Remote, Feature::SendNdpCount, &[1, 0]);
        }
        if config.data_checksum {
            features.want(Owner::Remote, Feature::CheckDataChecksum, &[1, 0]);
        }
    }

    fn want_ccids(&mut self) {
        let (send, receive) = (&self.config.send_ccids, &self.config.receive_ccids);
        self.features.want(Owner::Local, Feature::Ccid, &Ccid::numbers(send));
        self.features.want(Owner::Remote, Feature::Ccid, &Ccid::numbers(receive));
    }

    pub(super) fn want_what_ccids_need(&mut self) {
        match self.send_ccid {
            // RFC 4341 section 4: "the sender MUST send a "Change R(Send Ack Vector, 1)" option to
            // the receiver as part of connection establishment."
            Ccid::TcpLike => self.features.want(Owner::Remote, Feature::SendAckVector, &[1]),
            // Not every receiver sends Loss Intervals: Linux's does not.
            Ccid::Tfrc => self.features.want(Owner::Remote, Feature::SendLossEventRate, &[1, 0]),
        }
        // RFC 4342 section 6.1: "DCCP's NDP Count option can help the receiver determine whether a
        // particular packet contained data".
        if self.receive_ccid == Ccid::Tfrc {
            self.features.want(Owner::Remote, Feature::SendNdpCount, &[1, 0]);
        }
    }

    /// REQUEST is over: the Response has come.
    pub(super) fn enter_part_open(&mut self, now: Time, response: &Packet<'_>) {
        let State::Request(request) = &self.state else { return };
        let rtt = now - request.sent_at;
        let is_last =
            response.kind.acknowledgement_number() == Some(self.numbers.greatest_sent.number());
        // RFC 4340 section 8.1.4: "the client MUST echo the same Init Cookie options, in the same
        // order, in each succeeding DCCP packet until one of those packets is acknowledged".
        let mut len = 0;
        let mut cookies = Vec::new();
        for entry in response.options.iter().flatten() {
            if let Ok(PacketOption::InitCookie(cookie)) = entry.decode() {
                len += cookie.len() + 2;
                cookies.push(cookie.to_vec());
            }
        }
        if len > COOKIES_LEN_MAX {
            cookies.clear();
        }
        self.state = State::PartOpen(PartOpen {
            must_send: true,
            timer: now + PART_OPEN_INTERVAL,
            interval: PART_OPEN_INTERVAL,
            give_up_at: now + self.config.segment_lifetime * 4,
            cookies,
        });
        if is_last {
            self.on_handshake_rtt(now, rtt);
        }
        self.events.push_back(Event::Connected);
    }

    pub(super) fn on_handshake_rtt(&mut self, now: Time, rtt: Duration) {
        self.handshake_rtt = Some(rtt);
        self.sender.on_rtt(now, rtt);
    }

    pub(super) fn handle_handshake_timeout(&mut self, now: Time) {
        match &mut self.state {
            State::Request(request) => {
                if request.give_up_at <= now {
                    // RFC 4340 section 8.1.1: "When it does, it SHOULD send a DCCP-Reset packet to
                    // the server with Reset Code 2, "Aborted" [...] the DCCP-Reset's
                    // Acknowledgement Number MUST be set to zero."
                    self.reset(now, ResetCode::ABORTED, [0; 3], CloseReason::TimedOut);
                } else if request.timer <= now {
                    request.interval = (request.interval * 2).min(INTERVAL_MAX);
                    request.timer = now + request.interval;
                    request.must_send = true;
                }
            }
            State::PartOpen(part_open) => {
                if part_open.give_up_at <= now {
                    // RFC 4340 section 8.1.5: "If the client remains in PARTOPEN for more than 4MSL
                    // (8 minutes), it SHOULD reset the connection with Reset Code 2, "Aborted"."
                    self.reset(now, ResetCode::ABORTED, [0; 3], CloseReason::TimedOut);
                } else if part_open.timer <= now {
                    part_open.interval = (part_open.interval * 2).min(INTERVAL_MAX);
                    part_open.timer = now + part_open.interval;
                    part_open.must_send = true;
                }
            }
            State::Respond { until, .. } => {
                if *until <= now {
                    self.reset(now, ResetCode::ABORTED, [0; 3], CloseReason::TimedOut);
                }
            }
            State::Open
            | State::CloseReq(_)
            | State::Closing(_)
            | State::TimeWait { .. }
            | State::Closed => {}
        }
    }

    /// REQUEST, and something else than an answer to it came: the peer has an old connection.
    pub(super) fn refuse_in_request(&mut self, now: Time, packet: &Packet<'_>) {
        self.count_invalid(now, packet);
        // RFC 4340 section 8.5, step 4: "Only Response and Reset are valid in REQUEST state.
        // Generate Reset(Packet Error)".
        let code = ResetCode::PACKET_ERROR;
        let details = [packet.kind.packet_type().code(), 0, 0];
        // RFC 4340 section 7.5.4 counts REQUEST among the states that "might not have enough
        // information to generate a proper DCCP-Reset on the first try": its numbers are those of
        // section 8.3.1.
        let acknowledged = packet.kind.acknowledgement_number();
        let sequence_number = acknowledged.map_or_else(Default::default, |number| number.plus(1));
        let acknowledgement = packet.sequence_number;
        self.reply(Reply::Foreign { sequence_number, acknowledgement, code, details });
    }
}

//! Packets that arrive: which connection they belong to, or what answers them.
//! RFC 4340 section 8.5, steps 2 and 3.

use anabranch_sansio::Time;

use super::cookie::has_cookie;
use super::{Endpoint, Listener};
use crate::connection::{Connection, Flow, initial_number};
use crate::seq::Seq;
use crate::wire::{Kind, Options, Packet, PacketType, ResetCode, SequenceNumber, ServiceCode};

impl Endpoint {
    pub(super) fn on_packet(
        &mut self,
        now: Time,
        flow: Flow,
        packet: &Packet<'_>,
        is_marked: bool,
    ) {
        let id = self.by_flow.get(&flow).copied();
        if let Some(id) = id
            && let Some(entry) = self.entries.get_mut(&id)
        {
            // "If no socket, or S.state == TIMEWAIT, Generate Reset(No Connection) unless P.type ==
            // Reset".
            if entry.connection.is_closed() {
                return self.refuse(now, flow, packet, ResetCode::NO_CONNECTION);
            }
            entry.connection.on_packet(now, packet, is_marked);
            entry.connection.trace_changes(now);
            self.last_touched = Some(id);
            return self.touch(id);
        }
        if let Kind::Request { service_code } = packet.kind {
            self.on_request(now, flow, packet, service_code);
        } else if self.config.init_cookies && has_cookie(packet) {
            self.on_cookie(now, flow, packet, is_marked);
        } else {
            self.stats.unknown += 1;
            self.refuse(now, flow, packet, ResetCode::NO_CONNECTION);
        }
    }

    /// RFC 4340 section 8.1.3.
    fn on_request(
        &mut self,
        now: Time,
        flow: Flow,
        packet: &Packet<'_>,
        service_code: ServiceCode,
    ) {
        let is_full = self.entries.len() >= self.config.connections_max;
        let refusal = match self.listeners.get(&packet.destination_port) {
            None => Some(ResetCode::CONNECTION_REFUSED),
            Some(listener) if !listener.offers(service_code) => Some(ResetCode::BAD_SERVICE_CODE),
            Some(_) if is_full => Some(ResetCode::TOO_BUSY),
            Some(_) => None,
        };
        if let Some(code) = refusal {
            self.stats.refused += 1;
            return self.refuse(now, flow, packet, code);
        }
        // What is not answered costs next to nothing.
        if self.config.init_cookies && !self.responses.has_room(now) {
            self.stats.replies_suppressed += 1;
            return;
        }
        let first = initial_number(&mut self.rng);
        let Some(listener) = self.listeners.get(&packet.destination_port) else { return };
        let config = listener.config.clone();
        let encapsulation = self.config.encapsulation;
        let server =
            Connection::server(now, config, flow, encapsulation, service_code, first, packet);
        if self.config.init_cookies {
            self.respond_with_cookie(now, flow, (server, first), packet);
        } else {
            self.last_touched = Some(self.insert(server));
        }
    }

    /// RFC 4340 section 8.1.4: "The Init Cookie option lets a DCCP server avoid having to hold any
    /// state until the three-way connection setup handshake has completed".
    fn respond_with_cookie(
        &mut self,
        now: Time,
        flow: Flow,
        (mut server, first): (Connection, SequenceNumber),
        request: &Packet<'_>,
    ) {
        let Some(cookies) = self.cookies.seal(now, flow, first, request) else {
            self.stats.refused += 1;
            return self.refuse(now, flow, request, ResetCode::TOO_BUSY);
        };
        server.set_cookies(cookies);
        let mut response = Vec::new();
        if server.poll_transmit(now, &mut response) && self.responses.push(now, flow.path, response)
        {
            self.stats.cookies_sent += 1;
        }
    }

    /// A client brings its cookie back.
    fn on_cookie(&mut self, now: Time, flow: Flow, packet: &Packet<'_>, is_marked: bool) {
        let listener = self.listeners.get(&packet.destination_port);
        let remembered = self.cookies.open(now, flow, packet);
        let (Some(listener), Some(remembered)) = (listener, remembered) else {
            self.stats.cookies_refused += 1;
            return self.refuse(now, flow, packet, ResetCode::BAD_INIT_COOKIE);
        };
        if self.entries.len() >= self.config.connections_max {
            self.stats.refused += 1;
            return self.refuse(now, flow, packet, ResetCode::TOO_BUSY);
        }
        let config = listener.config.clone();
        let encapsulation = self.config.encapsulation;
        let (service_code, first) = (remembered.service_code, remembered.first);
        let request = remembered.request(flow);
        // As it was when the Request came, and when the Response went out.
        let at = remembered.at;
        let mut server =
            Connection::server(at, config, flow, encapsulation, service_code, first, &request);
        server.poll_transmit(at, &mut Vec::new());
        server.on_packet(now, packet, is_marked);
        // What does not complete the handshake leaves nothing behind.
        if server.is_connected() {
            self.stats.cookies_taken += 1;
            self.insert(server);
        }
    }

    /// Answers a packet that belongs to no connection.
    ///
    /// RFC 4340 section 8.3.1: "1. If P.ackno exists, then set R.seqno := P.ackno + 1. Otherwise,
    /// set R.seqno := 0. 2. Set R.ackno := P.seqno. 3. If the packet used short sequence numbers
    /// (P.X == 0), then set the upper 24 bits of R.seqno and R.ackno to 0."
    fn refuse(&mut self, now: Time, flow: Flow, packet: &Packet<'_>, code: ResetCode) {
        if packet.kind.packet_type() == PacketType::Reset {
            return;
        }
        if !self.resets.has_room(now) {
            self.stats.replies_suppressed += 1;
            return;
        }
        let next = packet.kind.acknowledgement_number().map(|number| number.plus(1));
        let sequence_number = next.unwrap_or_default();
        let short = |number: SequenceNumber| {
            if packet.is_short { Seq::short_of(number) } else { number }
        };
        let acknowledgement_number = short(packet.sequence_number);
        let reset = Packet {
            source_port: packet.destination_port,
            destination_port: packet.source_port,
            ccval: 0,
            checksum_coverage: 0,
            sequence_number: short(sequence_number),
            is_short: false,
            kind: Kind::Reset { acknowledgement_number, code, details: [0; 3] },
            options: Options::default(),
            data: &[],
        };
        let mut bytes = Vec::new();
        reset.encode(self.config.encapsulation.protection(flow.path), &mut bytes);
        if self.resets.push(now, flow.path, bytes) {
            self.stats.resets_sent += 1;
        }
    }
}

impl Listener {
    /// RFC 4340 section 8.1.2: "If the DCCP-Request's Service Code doesn't equal any of the
    /// server's Service Codes for the given port, the server MUST reject the request", and "Servers
    /// MUST reject any DCCP-Request with this Service Code value", which is the invalid one.
    fn offers(&self, service_code: ServiceCode) -> bool {
        service_code != ServiceCode::INVALID && self.service_codes.contains(&service_code)
    }
}

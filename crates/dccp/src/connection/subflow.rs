//! [`Subflow`]: what a connection says and hears as one of the paths of a multipath connection
//! (RFC 9897).

use std::collections::VecDeque;

use anabranch_sansio::Time;
use bytes::Bytes;

use super::{Connection, State};
use crate::error::SendError;
use crate::event::CloseReason;
use crate::feature::Owner;
use crate::wire::{
    FeatureNumber, FeatureOption, FeatureOptionKind, Kind, MultipathOption, OptionType, OptionsBuf,
    Packet, PacketOption, PacketType, ResetCode, SequenceNumber, ServiceCode,
};

/// Packets whose options wait to be looked at.
const HEARD_MAX: usize = 64;

/// Packets' worth of options that wait to be sent; more than there are kinds to be confirmed.
const CONTROL_MAX: usize = 32;

/// RFC 9897 section 3.1: "the leftmost four bits [...] specify the compatible version of the
/// MP-DCCP implementation and MUST be set to 0 following this specification."
const VERSION: u8 = 0;

/// What MP_SEQ and its padding take beside data.
pub(super) const NUMBER_LEN: usize = 12;

/// The multipath options of a connection, which are understood a level above.
#[derive(Debug, Default)]
pub(crate) struct Subflow {
    /// What goes with the Request or the Response, and with a client's packets until it is heard.
    greeting: Vec<Vec<u8>>,
    /// What goes with CloseReq and Close, or with the last Reset.
    farewell: Option<Vec<u8>>,
    /// What goes with the next packets.
    control: VecDeque<Vec<Vec<u8>>>,
    /// The numbers of datagrams that wait to be sent, in their order.
    numbers: VecDeque<SequenceNumber>,
    heard: VecDeque<Heard>,
    arrived: VecDeque<(SequenceNumber, Bytes)>,
    arrived_len: usize,
}

/// What a packet brought.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) ty: PacketType,
    /// Whether it names a version of Multipath Capable that is ours.
    pub(crate) is_capable: bool,
    /// Options without type and length.
    options: Vec<Vec<u8>>,
}

impl Heard {
    pub(crate) fn options(&self) -> impl Iterator<Item = MultipathOption<'_>> {
        self.options.iter().filter_map(|data| MultipathOption::of_data(data))
    }
}

impl Subflow {
    /// What is said in the handshake.
    pub(crate) fn greet(&mut self, options: &[MultipathOption<'_>]) {
        self.greeting = options.iter().copied().map(MultipathOption::to_data).collect();
    }

    /// What is said at the end.
    pub(crate) fn bid_farewell(&mut self, option: &MultipathOption<'_>) {
        self.farewell = Some(option.to_data());
    }

    /// Has the next packet carry these. False: too many wait.
    pub(crate) fn say(&mut self, options: &[MultipathOption<'_>]) -> bool {
        let has_room = self.control.len() < CONTROL_MAX;
        if has_room {
            self.control.push_back(options.iter().copied().map(MultipathOption::to_data).collect());
        }
        has_room
    }

    pub(crate) fn next_heard(&mut self) -> Option<Heard> {
        self.heard.pop_front()
    }

    /// The next datagram with its number among all of the multipath connection.
    pub(crate) fn next_arrived(&mut self) -> Option<(SequenceNumber, Bytes)> {
        let (number, data) = self.arrived.pop_front()?;
        self.arrived_len -= data.len() + size_of::<Bytes>();
        Some((number, data))
    }

    pub(super) fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// False if there is no room.
    fn push(&mut self, number: SequenceNumber, data: &[u8], limit: usize) -> bool {
        let len = data.len() + size_of::<Bytes>();
        let fits = self.arrived.is_empty() || self.arrived_len + len <= limit;
        if fits {
            self.arrived_len += len;
            self.arrived.push_back((number, Bytes::copy_from_slice(data)));
        }
        fits
    }
}

impl Connection {
    pub(crate) fn subflow(&self) -> Option<&Subflow> {
        self.subflow.as_deref()
    }

    pub(crate) fn subflow_mut(&mut self) -> Option<&mut Subflow> {
        self.subflow.as_deref_mut()
    }

    /// Goes on as a connection of its own: RFC 9897 section 3.6. `denies`: the peer asked for more.
    ///
    /// RFC 9897 section 3.1: "If no agreement is found, the Server MUST reply with an empty Confirm
    /// L option with feature number 10 and no values."
    pub(crate) fn fall_back(&mut self, denies: bool) {
        self.subflow = None;
        if denies {
            self.features.deny(Owner::Local, FeatureNumber::MULTIPATH_CAPABLE);
        }
    }

    pub(crate) const fn service_code(&self) -> ServiceCode {
        self.service_code
    }

    /// Whether both ends know that the handshake is over.
    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// Takes a datagram with its number among all of the multipath connection.
    pub(crate) fn send_numbered(
        &mut self,
        number: SequenceNumber,
        data: Bytes,
    ) -> Result<(), SendError> {
        self.send(data)?;
        if let Some(subflow) = &mut self.subflow {
            subflow.numbers.push_back(number);
        }
        Ok(())
    }

    /// Gives back the datagram that has waited longest to be sent, with its number.
    pub(crate) fn take_back(&mut self) -> Option<(SequenceNumber, Bytes)> {
        let number = self.subflow.as_mut()?.numbers.pop_front()?;
        Some((number, self.drop_oldest()?))
    }

    /// Ends it at once with this code.
    pub(crate) fn reset_as(&mut self, now: Time, code: ResetCode) {
        if !self.is_closed() {
            self.reset(now, code, [0; 3], CloseReason::Aborted);
        }
    }

    /// Asks the peer for a sign of life.
    pub(crate) fn probe(&mut self) {
        let acknowledgement = self.numbers.greatest_received();
        self.reply(super::transmit::Reply::Sync { acknowledgement });
    }

    /// The multipath options of a packet that is not an acknowledgement.
    pub(super) fn multipath_options(&self, kind: Kind, options: &mut OptionsBuf) {
        let Some(subflow) = &self.subflow else { return };
        let farewell = subflow.farewell.as_ref().filter(|_| match kind {
            Kind::CloseReq { .. } | Kind::Close { .. } => true,
            Kind::Reset { code, .. } => code == ResetCode::ABRUPT_MULTIPATH_TERMINATION,
            Kind::Request { .. }
            | Kind::Response { .. }
            | Kind::Data
            | Kind::Ack { .. }
            | Kind::DataAck { .. }
            | Kind::Sync { .. }
            | Kind::SyncAck { .. } => false,
        });
        farewell.into_iter().for_each(|data| push(data, options));
        // RFC 9897 section 3.1: "Clients MUST include a Change R option during the initial
        // handshake request to supply a list of supported MP-DCCP protocol versions", and "Servers
        // MUST include a Confirm L option in the subsequent response to agree on an MP-DCCP version
        // to be used from the Client list, followed by its own supported version(s)".
        let (kind, values) = match kind {
            Kind::Request { .. } => (FeatureOptionKind::ChangeR, &[VERSION][..]),
            Kind::Response { .. } => (FeatureOptionKind::ConfirmL, &[VERSION; 2][..]),
            Kind::Data
            | Kind::Ack { .. }
            | Kind::DataAck { .. }
            | Kind::CloseReq { .. }
            | Kind::Close { .. }
            | Kind::Reset { .. }
            | Kind::Sync { .. }
            | Kind::SyncAck { .. } => return,
        };
        let feature = FeatureNumber::MULTIPATH_CAPABLE;
        options.push(&PacketOption::Feature(FeatureOption { kind, feature, values }));
        subflow.greeting.iter().for_each(|data| push(data, options));
    }

    /// The multipath options of an acknowledgement.
    pub(super) fn multipath_acknowledgement(&mut self, options: &mut OptionsBuf) {
        let is_part_open = matches!(self.state, State::PartOpen(_));
        let Some(subflow) = &mut self.subflow else { return };
        if is_part_open {
            subflow.greeting.iter().for_each(|data| push(data, options));
        }
        let control = subflow.control.pop_front();
        control.iter().flatten().for_each(|data| push(data, options));
    }

    /// RFC 9897 section 3.2.5: MP_SEQ "MUST be sent with all DCCP-Data and DCCP-DataACK packets."
    pub(super) fn number_option(&mut self, options: &mut OptionsBuf) {
        let number = self.subflow.as_mut().and_then(|subflow| subflow.numbers.pop_front());
        if let Some(number) = number {
            options.push(&PacketOption::Multipath(MultipathOption::Seq(number)));
        }
    }

    /// Keeps what a packet says of the multipath connection.
    pub(super) fn hear(&mut self, packet: &Packet<'_>) {
        let Some(subflow) = &mut self.subflow else { return };
        let mut heard =
            Heard { ty: packet.kind.packet_type(), is_capable: false, options: Vec::new() };
        for entry in packet.options.iter().flatten() {
            if entry.ty == OptionType::MULTIPATH {
                heard.options.push(entry.data.to_vec());
            } else if let Ok(PacketOption::Feature(feature)) = entry.decode()
                && feature.feature == FeatureNumber::MULTIPATH_CAPABLE
            {
                heard.is_capable |= names_our_version(&feature);
            }
        }
        let is_number = |data: &Vec<u8>| {
            matches!(MultipathOption::of_data(data), Some(MultipathOption::Seq(_)))
        };
        let says_more = heard.options.iter().any(|data| !is_number(data));
        let is_handshake = matches!(heard.ty, PacketType::Request | PacketType::Response);
        let has_room = subflow.heard.len() < HEARD_MAX;
        if has_room && (says_more || is_handshake || heard.ty == PacketType::Ack) {
            subflow.heard.push_back(heard);
        }
    }

    /// Takes a datagram of the multipath connection. `None`: it has no number.
    pub(super) fn take_numbered(&mut self, packet: &Packet<'_>) -> Option<bool> {
        let limit = self.config.receive_buffer;
        let subflow = self.subflow.as_mut()?;
        let number = packet.options.iter().flatten().find_map(|entry| match entry.decode() {
            Ok(PacketOption::Multipath(MultipathOption::Seq(number))) => Some(number),
            _ => None,
        })?;
        Some(subflow.push(number, packet.data, limit))
    }
}

/// The four bits behind the version "MUST be ignored by the receiver": RFC 9897 section 3.1.
fn names_our_version(feature: &FeatureOption<'_>) -> bool {
    let versions = match feature.kind {
        FeatureOptionKind::ChangeR => feature.values,
        // What was agreed on stands first; the server's preferences follow.
        FeatureOptionKind::ConfirmL => feature.values.get(..1).unwrap_or_default(),
        FeatureOptionKind::ChangeL | FeatureOptionKind::ConfirmR => &[],
    };
    versions.iter().any(|value| value >> 4 == VERSION)
}

fn push(data: &[u8], options: &mut OptionsBuf) {
    if let Some(option) = MultipathOption::of_data(data) {
        options.push(&PacketOption::Multipath(option));
    }
}

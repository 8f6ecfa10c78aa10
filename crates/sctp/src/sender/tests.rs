//! The sender by itself: no peer, no association around it.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_sansio::{FourTuple, Rng, Time, Wakeup};
use anabranch_wire::{
    ChecksumField, ChecksumMode, Chunk, CommonHeader, GapAckBlock, Items, Packet, PacketWriter,
    Sack, StreamId, Tsn, VerificationTag,
};
use bytes::Bytes;

use super::{Context, DataSender, Peer, Phase, Room};
use crate::config::AssociationConfig;
use crate::earliest::Earliest;
use crate::event::Event;
use crate::extensions::SupportedExtensions;
use crate::journal::Journal;
use crate::path::Origin;
use crate::path_choice::PathSchedulerKind;
use crate::path_name::{PathSlot, PathState};
use crate::send::{
    LossDetection, OutgoingMessage, PathPreference, Reliability, Retransmission, SackError,
    SendFailure,
};

const FIRST_TSN: u32 = 100;
const RTO: Duration = Duration::from_secs(1);
const HEADER: CommonHeader =
    CommonHeader { source_port: 1, destination_port: 2, verification_tag: VerificationTag(3) };

/// A sender and what is around it.
struct Lab {
    sender: DataSender,
    config: AssociationConfig,
    journal: Journal,
    now: Time,
    phase: Phase,
}

/// What a packet brings, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Brought {
    /// A DATA chunk: its TSN, and whether it asks for a SACK at once.
    Data(u32, bool),
    /// A FORWARD TSN up to here.
    Forward(u32),
}

impl Lab {
    /// A sender with so many active paths, to a peer with room for 100 kB.
    fn new(paths: u8, config: AssociationConfig) -> Self {
        let address = |net, host| SocketAddr::from(([10, 0, net, host], 9));
        let path = |net| (FourTuple::new(address(net, 1), address(net, 2)), Origin::User);
        let rng = &mut Rng::from_u64(1);
        let shared = SupportedExtensions { forward_tsn: true, ..SupportedExtensions::default() };
        let mut sender = DataSender::new(&config, path(0), Tsn(FIRST_TSN), shared, rng);
        for net in 1..paths {
            let slot = sender.add_path(path(net), &config, rng).expect("room for a path");
            sender.paths.at_mut(slot).state = PathState::Active;
        }
        sender.take_limits(config.pmdcs(), 100_000, 16, shared);
        let journal = Journal::new(0);
        Self { sender, config, journal, now: Time::ZERO, phase: Phase::Open }
    }

    fn context(&mut self) -> (&mut DataSender, Context<'_>) {
        let Self { sender, config, journal, now, phase } = self;
        (sender, Context { now: *now, config, phase: *phase, signature_len: 0, journal })
    }

    fn next_timer(&self, may_send: bool) -> Option<Wakeup> {
        let mut earliest = Earliest::default();
        self.sender.offer_timers(may_send, self.config.timers.slack, &mut earliest);
        earliest.wakeup()
    }

    /// Hands over messages of one full packet each.
    fn send(&mut self, count: usize, reliability: Reliability) {
        (0..count).for_each(|_| self.send_bytes(self.config.pmdcs() - 16, reliability));
    }

    fn send_bytes(&mut self, len: usize, reliability: Reliability) {
        let message = OutgoingMessage::new(StreamId(0), Bytes::from(vec![7; len]));
        let (sender, context) = self.context();
        sender.send(&context, OutgoingMessage { reliability, ..message }).expect("taken");
    }

    /// What the next packet for a path brings.
    fn packet(&mut self, path: u8) -> Vec<Brought> {
        let size_max = self.config.packet_size_max();
        self.packet_within(path, Room { size_max, leads: true })
    }

    fn packet_within(&mut self, path: u8, room: Room) -> Vec<Brought> {
        let size_max = room.size_max;
        let mut buf = Vec::new();
        let mut writer = PacketWriter::new(&mut buf, HEADER);
        let (sender, context) = &mut self.context();
        sender.expire_messages(context);
        sender.settle_abandoned(context);
        sender.write_forward_tsn(context, PathSlot(path), size_max, &mut writer);
        sender.write_data(context, PathSlot(path), room, &mut writer);
        sender.end_transmission(context, PathSlot(path));
        writer.finish(ChecksumField::Zero);
        let Ok(packet) = Packet::decode(&buf, ChecksumMode::Ignore) else { return Vec::new() };
        let read = packet.chunks().map(|chunk| match chunk {
            Ok(Chunk::Data(data)) => Brought::Data(data.tsn.0, data.immediate),
            Ok(Chunk::ForwardTsn(forward)) => Brought::Forward(forward.new_cumulative_tsn.0),
            other => panic!("{other:?} is no matter of the sender's"),
        });
        read.collect()
    }

    /// The TSNs that go out on a path until nothing more may.
    fn drain(&mut self, path: u8) -> Vec<u32> {
        let packets = std::iter::from_fn(|| Some(self.packet(path)).filter(|p| !p.is_empty()));
        let brought: Vec<_> = packets.flatten().collect();
        let tsn = |brought: &Brought| match *brought {
            Brought::Data(tsn, _) => Some(tsn),
            Brought::Forward(_) => None,
        };
        brought.iter().filter_map(tsn).collect()
    }

    /// The peer acknowledges up to a TSN, and blocks of offsets behind it.
    fn sack(&mut self, tsn: u32, blocks: &[(u16, u16)], a_rwnd: u32) -> Result<(), SackError> {
        let blocks: Vec<_> =
            blocks.iter().map(|&(start, end)| GapAckBlock { start, end }).collect();
        let sack = Sack {
            cumulative_tsn_ack: Tsn(tsn),
            a_rwnd,
            gap_ack_blocks: Items::from_slice(&blocks),
            duplicate_tsns: Items::default(),
            data_packets: 1,
        };
        let (sender, context) = &mut self.context();
        sender.on_sack(context, PathSlot(0), &sack)?;
        sender.after_input(context);
        sender.open_burst(context);
        Ok(())
    }

    /// Time passes until T3-rtx of a path expires.
    fn time_out(&mut self, path: u8) -> Peer {
        self.now = self.sender.paths.at(PathSlot(path)).t3_rtx.expect("T3-rtx runs");
        let (sender, context) = &mut self.context();
        let peer = sender.on_t3_rtx(context, PathSlot(path));
        sender.after_input(context);
        sender.open_burst(context);
        peer
    }

    /// The first chunk is acknowledged after a round trip of 40 ms, as many others were.
    fn measure(&mut self) {
        self.send(1, Reliability::Reliable);
        assert_eq!(self.drain(0), [FIRST_TSN]);
        self.now += Duration::from_millis(40);
        self.sack(FIRST_TSN, &[], 100_000).expect("true");
        let rtt = &mut self.sender.paths.at_mut(PathSlot(0)).rtt;
        (0..20).for_each(|_| rtt.on_sample(Duration::from_millis(40)));
    }

    fn flight(&self, path: u8) -> usize {
        self.sender.outstanding().flight(PathSlot(path))
    }

    fn window(&self, path: u8) -> usize {
        self.sender.paths.at(PathSlot(path)).congestion.window()
    }
}

fn one_path() -> Lab {
    Lab::new(1, AssociationConfig::default())
}

#[test]
fn a_sack_frees_room_and_opens_the_window() {
    let mut lab = one_path();
    lab.send(20, Reliability::Reliable);
    assert_eq!(lab.drain(0), [100, 101, 102, 103], "cwnd is 4,404 bytes: one packet beyond");
    let (before, in_flight) = (lab.window(0), lab.flight(0));
    lab.now += Duration::from_millis(50);
    lab.sack(101, &[], 100_000).unwrap();
    assert_eq!(lab.flight(0), in_flight / 2);
    assert!(lab.window(0) > before, "slow start");
    assert_eq!(lab.drain(0), [104, 105, 106]);
    assert!(!lab.sender.is_drained());
}

#[test]
fn a_sack_of_what_was_never_sent_changes_nothing() {
    let mut lab = one_path();
    lab.send(2, Reliability::Reliable);
    lab.drain(0);
    let refused = lab.sack(102, &[], 100_000);
    assert_eq!(refused, Err(SackError::AcksUnsentTsn { acked: 102, highest: 101 }));
    assert_eq!(lab.sender.outstanding().len(), 2);
}

#[test]
fn three_misses_send_a_chunk_again_at_once_whatever_the_window_says() {
    let mut lab = one_path();
    lab.send(20, Reliability::Reliable);
    lab.drain(0);
    for last in 2..=4 {
        lab.sack(99, &[(2, last)], 100_000).unwrap();
    }
    assert!(lab.flight(0) < lab.window(0) || lab.sender.may_carry_data(lab.now, PathSlot(0)));
    assert_eq!(lab.packet(0)[0], Brought::Data(100, false));
    assert_eq!(lab.sender.paths.at(PathSlot(0)).stats.chunks_lost, 1);
    assert_eq!(lab.journal.stats.fast_recoveries, 1);
}

#[test]
fn t3_rtx_marks_all_in_flight_on_its_path_and_backs_off() {
    let mut lab = one_path();
    lab.send(4, Reliability::Reliable);
    lab.drain(0);
    assert_eq!(lab.time_out(0), Peer::Reachable);
    assert_eq!((lab.now, lab.flight(0)), (Time::ZERO + RTO, 0));
    assert_eq!(lab.drain(0), [100], "a window of one packet");
    assert_eq!(lab.time_out(0), Peer::Reachable);
    assert_eq!(lab.now, Time::ZERO + RTO + 2 * RTO);
}

#[test]
fn a_path_that_times_out_hands_its_data_over_to_another() {
    let mut lab = Lab::new(2, AssociationConfig::default());
    lab.send(3, Reliability::Reliable);
    assert_eq!(lab.drain(0), [100, 101, 102]);
    assert_eq!(lab.time_out(0), Peer::Reachable);
    let [failed, heir] = [0, 1].map(|slot| lab.sender.paths.at(PathSlot(slot)).id);
    let (from, to) = (PathState::Active, PathState::PotentiallyFailed);
    let told = [
        Event::PathStateChanged { path: failed, from, to },
        Event::DataPathChanged { from: failed, to: heir },
    ];
    assert_eq!(lab.journal.events, told);
    assert_eq!((lab.drain(0), lab.drain(1)), (vec![], vec![100, 101, 102]));
    lab.sack(102, &[], 100_000).unwrap();
    assert!(lab.sender.is_drained());
    assert_eq!(lab.sender.paths.at(PathSlot(1)).t3_rtx, None);
}

#[test]
fn a_path_that_is_closed_hands_its_data_over_and_its_window_stays() {
    let mut lab = Lab::new(2, AssociationConfig::default());
    lab.send(3, Reliability::Reliable);
    lab.drain(0);
    let window = lab.window(0);
    let (sender, context) = &mut lab.context();
    sender.fail_path(context, PathSlot(0));
    sender.after_input(context);
    assert_eq!((lab.window(0), lab.flight(0)), (window, 0));
    assert_eq!(lab.sender.paths.at(PathSlot(0)).state, PathState::Inactive);
    assert_eq!(lab.drain(1), [100, 101, 102]);
}

#[test]
fn a_peer_that_never_answers_is_given_up_and_one_that_does_is_not() {
    let limit = 3;
    let config = AssociationConfig::default();
    let config = config.with(|config| config.recovery.association_max_retrans = limit);
    let mut lab = Lab::new(1, config);
    lab.send(1, Reliability::Reliable);
    lab.drain(0);
    let time_out = |lab: &mut Lab| {
        let peer = lab.time_out(0);
        lab.drain(0);
        peer
    };
    assert!((0..limit).all(|_| time_out(&mut lab) == Peer::Reachable));
    lab.sack(100, &[], 100_000).unwrap();
    lab.send(1, Reliability::Reliable);
    lab.drain(0);
    assert!((0..limit).all(|_| time_out(&mut lab) == Peer::Reachable));
    assert_eq!(time_out(&mut lab), Peer::Unreachable);
}

#[test]
fn what_outlives_its_lifetime_becomes_a_forward_tsn_until_the_peer_confirms_it() {
    let mut lab = one_path();
    lab.send(1, Reliability::Lifetime(Duration::from_millis(100)));
    lab.send(1, Reliability::Reliable);
    assert_eq!(lab.drain(0), [100, 101]);
    let at = Time::from_millis(100);
    assert_eq!(lab.next_timer(true), Some(Wakeup { at, why: "message lifetime" }));
    lab.now = Time::from_millis(100);
    assert_eq!(lab.packet(0), [Brought::Forward(100)]);
    assert_eq!(lab.packet(0), [], "once in a round trip");
    lab.now += RTO;
    assert_eq!(lab.packet(0), [Brought::Forward(100)], "the first one may be lost");
    lab.sack(101, &[], 100_000).unwrap();
    lab.now += RTO;
    assert_eq!(lab.packet(0), []);
    assert!(lab.sender.is_drained());
}

#[test]
fn with_slack_nobody_is_woken_for_the_end_of_each_lifetime() {
    let mut lab = one_path();
    lab.config.timers.slack = Duration::from_millis(4);
    lab.send(1, Reliability::Lifetime(Duration::from_millis(100)));
    lab.drain(0);
    lab.now = Time::from_millis(2);
    lab.send(1, Reliability::Lifetime(Duration::from_millis(100)));
    lab.drain(0);
    let late = Wakeup { at: Time::from_millis(104), why: "message lifetime" };
    assert_eq!(lab.next_timer(true), Some(late));
    lab.now = late.at;
    assert_eq!(lab.packet(0), [Brought::Forward(101)], "both at once");
}

#[test]
fn a_withdrawn_stream_keeps_its_reliable_messages_only() {
    let mut lab = one_path();
    lab.send(1, Reliability::Reliable);
    lab.send(1, Reliability::MaxRetransmissions(5));
    lab.send(1, Reliability::Reliable);
    let (sender, context) = &mut lab.context();
    sender.withdraw(context, StreamId(0));
    assert_eq!(lab.drain(0), [100, 101]);
    assert_eq!(lab.sender.queue().totals().abandoned_unsent, 1);
}

#[test]
fn a_closed_window_is_probed_after_an_rto_and_an_answered_probe_is_no_error() {
    let mut lab = one_path();
    lab.send(3, Reliability::Reliable);
    assert_eq!(lab.packet(0), [Brought::Data(100, false)]);
    lab.sack(100, &[], 0).unwrap();
    assert_eq!(lab.drain(0), [0; 0]);
    assert_eq!(lab.time_out(0), Peer::Reachable);
    assert_eq!(lab.drain(0), [101], "the probe");
    lab.sack(100, &[], 0).unwrap();
    assert_eq!(lab.time_out(0), Peer::Reachable);
    let path = lab.sender.paths.at(PathSlot(0));
    assert_eq!((path.error_count, path.state), (0, PathState::Active));
    // A window opens: what it had no room for goes out without waiting for the timer.
    assert_eq!(lab.drain(0), [101]);
    lab.sack(100, &[], 100_000).unwrap();
    assert_eq!(lab.drain(0), [101, 102]);
}

#[test]
fn a_burst_is_bounded_until_the_next_arrival() {
    let config = AssociationConfig::default().with(|config| config.window.max_burst = Some(2));
    let mut lab = Lab::new(1, config);
    lab.send(4, Reliability::Reliable);
    assert_eq!(lab.drain(0), [100, 101]);
    let (sender, context) = lab.context();
    sender.open_burst(&context);
    assert_eq!(lab.drain(0), [102, 103]);
}

#[test]
fn a_chunk_that_fits_no_packet_any_more_goes_out_alone_and_first_in_its_transmission() {
    let mut lab = one_path();
    lab.send(2, Reliability::Reliable);
    assert_eq!(lab.drain(0), [100, 101]);
    lab.config.paths.path_mtu = 700;
    lab.sender.set_pmdcs(lab.config.pmdcs());
    assert_eq!(lab.time_out(0), Peer::Reachable);
    let size_max = lab.config.packet_size_max();
    let behind_another = Room { size_max, leads: false };
    assert_eq!(lab.packet_within(0, behind_another), []);
    assert_eq!(lab.packet(0), [Brought::Data(100, true)]);
    lab.sack(100, &[], 100_000).unwrap();
    assert_eq!(lab.packet(0), [Brought::Data(101, true)]);
}

#[test]
fn behind_others_of_its_size_a_packet_is_filled_by_a_short_fragment_too() {
    for (leads, chunks) in [(true, 1), (false, 2)] {
        let mut lab = one_path();
        let whole = lab.config.pmdcs() - 16;
        lab.send_bytes(whole - 60, Reliability::Reliable);
        lab.send_bytes(10 * whole, Reliability::Reliable);
        let size_max = lab.config.packet_size_max();
        let brought = lab.packet_within(0, Room { size_max, leads });
        assert_eq!(brought.len(), chunks, "the first of its train: {leads}");
    }
}

#[test]
fn in_the_handshake_no_timer_of_data_runs() {
    let mut lab = one_path();
    lab.phase = Phase::Handshake;
    lab.send(1, Reliability::Reliable);
    assert_eq!(lab.drain(0), [100], "with the COOKIE ECHO");
    assert_eq!(lab.sender.paths.at(PathSlot(0)).t3_rtx, None);
    lab.sender.take_back_data();
    assert_eq!(lab.drain(0), [100], "and with the next one");
    lab.phase = Phase::Open;
    let (sender, context) = lab.context();
    sender.settle_timers(&context);
    assert_eq!(lab.sender.paths.at(PathSlot(0)).t3_rtx, Some(Time::ZERO + RTO));
}

#[test]
fn the_last_chunk_before_a_shutdown_asks_for_its_sack_at_once() {
    let mut lab = one_path();
    lab.send(2, Reliability::Reliable);
    lab.phase = Phase::Draining;
    assert_eq!(lab.packet(0), [Brought::Data(100, false)]);
    assert_eq!(lab.packet(0), [Brought::Data(101, true)]);
}

#[test]
fn a_silent_path_is_asked_by_heartbeat_while_another_one_carries_what_is_overdue() {
    let config = AssociationConfig::media().with(|config| {
        config.paths.path_scheduler = PathSchedulerKind::EarliestDelivery;
    });
    let mut lab = Lab::new(2, config);
    lab.measure();
    lab.sender.paths.at_mut(PathSlot(1)).rtt.on_sample(Duration::from_millis(40));
    lab.send(2, Reliability::Reliable);
    assert_eq!(lab.drain(0), [101, 102]);
    let Wakeup { at, why } = lab.next_timer(true).expect("a probe is due");
    assert_eq!(why, "loss probe");
    lab.now = at;
    let (sender, context) = &mut lab.context();
    let patience = sender.on_loss_timer(context, PathSlot(0));
    assert_eq!(patience, Some(lab.sender.paths.at(PathSlot(0)).rtt.patience()));
    assert_eq!((lab.drain(0), lab.drain(1)), (vec![], vec![101, 102]));
    let (sender, context) = &mut lab.context();
    assert_eq!(sender.on_probe_unanswered(context, PathSlot(0)), Some(Peer::Reachable));
    assert_eq!(sender.on_probe_unanswered(context, PathSlot(1)), None, "not asked");
}

#[test]
fn regression_what_was_repeated_went_once_more_to_the_silent_path_itself() {
    let mut lab = Lab::new(2, AssociationConfig::media());
    lab.measure();
    lab.sender.paths.at_mut(PathSlot(1)).rtt.on_sample(Duration::from_millis(40));
    lab.send(2, Reliability::Lifetime(Duration::from_millis(150)));
    assert_eq!(lab.drain(0), [101, 102]);
    lab.now = lab.next_timer(true).expect("a probe is due").at;
    let (sender, context) = &mut lab.context();
    sender.on_loss_timer(context, PathSlot(0)).expect("asked by a HEARTBEAT");
    assert_eq!((lab.drain(1), lab.drain(0)), (vec![101, 102], vec![]));
    // What is found lost by what arrived over the other path, too.
    let lost = |timed_out| {
        let preference = PathPreference::Any;
        let last_path = PathSlot(0);
        Retransmission { sequence: 103, size: 1_000, last_path, timed_out, preference }
    };
    for timed_out in [false, true] {
        let (sender, context) = &mut lab.context();
        let outlooks = sender.take_outlooks(context);
        let path = sender.retransmission_path(context.config, &lost(timed_out), &outlooks);
        assert_eq!(path, Some(PathSlot(1)), "timed out: {timed_out}");
    }
}

#[test]
fn new_data_takes_a_path_that_answers_while_others_are_asked_whether_they_live() {
    let mut lab = Lab::new(3, AssociationConfig::media());
    lab.measure();
    lab.send(2, Reliability::Reliable);
    assert_eq!(lab.drain(0), [101, 102]);
    lab.now = lab.next_timer(true).expect("a probe is due").at;
    let (sender, context) = &mut lab.context();
    sender.on_loss_timer(context, PathSlot(0)).expect("asked by a HEARTBEAT");
    assert_eq!((lab.drain(1), lab.drain(2)), (vec![101, 102], vec![]));
    lab.send(1, Reliability::Reliable);
    assert_eq!((lab.drain(0), lab.drain(1)), (vec![], vec![103]));
    lab.sender.outstanding.probe_by_heartbeat(PathSlot(1));
    lab.send(1, Reliability::Reliable);
    assert_eq!((lab.drain(0), lab.drain(1), lab.drain(2)), (vec![], vec![], vec![104]));
    let (sender, context) = &mut lab.context();
    sender.on_heartbeat_answered(context, PathSlot(0));
    lab.send(1, Reliability::Reliable);
    assert_eq!((lab.drain(0), lab.drain(2)), (vec![105], vec![]), "the path in use lives");
}

#[test]
fn a_silent_path_without_another_is_probed_by_the_last_chunk_again() {
    let config = AssociationConfig::default();
    let config = config.with(|config| config.recovery.loss_detection = LossDetection::InTime);
    let mut lab = Lab::new(1, config);
    lab.measure();
    lab.send(3, Reliability::Reliable);
    assert_eq!(lab.drain(0), [101, 102, 103]);
    lab.now = lab.next_timer(true).expect("a probe is due").at;
    let (sender, context) = &mut lab.context();
    assert_eq!(sender.on_loss_timer(context, PathSlot(0)), None);
    assert_eq!(lab.packet(0), [Brought::Data(103, true)]);
    assert_eq!(lab.packet(0), [], "one packet");
}

#[test]
fn the_end_reports_every_message_that_has_a_context() {
    let mut lab = one_path();
    for context in 0..3 {
        let message = OutgoingMessage::new(StreamId(0), Bytes::from(vec![7; 1_300]));
        let message = OutgoingMessage { context: Some(context), ..message };
        let (sender, context) = lab.context();
        sender.send(&context, message).unwrap();
    }
    lab.packet(0);
    lab.sender.end(&mut lab.journal);
    let why = SendFailure::Closed;
    let failed = [(0, true), (1, false), (2, false)].map(|(context, was_sent)| Event::SendFailed {
        context,
        stream: StreamId(0),
        was_sent,
        why,
    });
    assert_eq!(lab.journal.events, failed);
    assert_eq!(lab.next_timer(false), None);
}

#[test]
fn regression_a_peer_that_restarted_without_i_data_made_the_bytes_sent_fall() {
    let mut lab = Lab::new(1, AssociationConfig::media());
    let without = lab.sender.extensions();
    lab.sender.outstanding.set_extensions(SupportedExtensions { i_data: true, ..without });
    lab.send(20, Reliability::Reliable);
    let follow = |lab: &mut Lab| {
        lab.now += Duration::from_millis(500);
        let (sender, context) = &mut lab.context();
        sender.follow_rate(context);
    };
    let size_max = lab.config.packet_size_max();
    for _ in 0..2 {
        let mut buf = Vec::new();
        let mut writer = PacketWriter::new(&mut buf, HEADER);
        let (sender, context) = &mut lab.context();
        let room = Room { size_max, leads: true };
        sender.write_data(context, PathSlot(0), room, &mut writer);
        follow(&mut lab);
    }
    let Lab { sender, config, journal, .. } = &mut lab;
    sender.restart(config, journal, Tsn(1), without, &mut Rng::from_u64(1));
    follow(&mut lab);
    assert_eq!(lab.sender.rate(), None, "nothing is known of it");
}

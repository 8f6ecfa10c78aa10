use super::*;
use crate::wire::{Options, SequenceNumber};

const NOW: Time = Time::ZERO;
const RTT: Duration = Duration::from_millis(100);

/// Two ends that pass options to each other by packets.
struct Duo {
    ends: [Negotiation; 2],
    /// The next number of each end.
    next: [Seq; 2],
}

/// A packet with its number, and the number of the other end that it acknowledges.
struct Sent {
    from: usize,
    seq: Seq,
    acknowledgement: Seq,
    options: OptionsBuf,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

impl Duo {
    fn new() -> Self {
        let first = Seq::first(SequenceNumber::new(100));
        let ends = [Negotiation::new(false), Negotiation::new(true)];
        Self { ends, next: [first, first] }
    }

    fn send(&mut self, from: usize) -> Sent {
        let (seq, mut options) = (self.next[from], OptionsBuf::new());
        self.ends[from].write(NOW, seq, true, false, &mut options);
        self.next[from] = seq + 1;
        Sent { from, seq, acknowledgement: self.next[1 - from] - 1, options }
    }

    fn receive(&mut self, sent: &Sent) -> Result<(), FeatureFault> {
        receive(&mut self.ends[1 - sent.from], sent.seq, sent.acknowledgement, &sent.options)
    }

    fn values(&self, owner: usize, feature: Feature) -> [u64; 2] {
        let seen = |end: usize| if end == owner { Owner::Local } else { Owner::Remote };
        [CLIENT, SERVER].map(|end| self.ends[end].value(seen(end), feature))
    }

    /// Packets to and fro.
    fn settle(&mut self) {
        for _ in 0..3 {
            for from in [CLIENT, SERVER] {
                let sent = self.send(from);
                self.receive(&sent).unwrap();
            }
        }
    }
}

fn receive(
    end: &mut Negotiation,
    seq: Seq,
    acknowledgement: Seq,
    options: &OptionsBuf,
) -> Result<(), FeatureFault> {
    for entry in options.as_options().iter() {
        let entry = entry.unwrap();
        let PacketOption::Feature(option) = entry.decode().unwrap() else { continue };
        end.on_option(seq, Some(acknowledgement), &option, entry.is_mandatory)?;
    }
    end.on_packet(seq);
    Ok(())
}

fn bytes(options: Options<'_>) -> Vec<u8> {
    options.as_bytes().to_vec()
}

/// One option of the peer, as bytes that begin with its type.
fn option(
    bytes: &[u8],
    seq: u64,
    end: &mut Negotiation,
    is_mandatory: bool,
) -> Result<(), FeatureFault> {
    let mut options = OptionsBuf::new();
    let kind = match bytes[0] {
        32 => FeatureOptionKind::ChangeL,
        33 => FeatureOptionKind::ConfirmL,
        34 => FeatureOptionKind::ChangeR,
        _ => FeatureOptionKind::ConfirmR,
    };
    let feature = FeatureOption { kind, feature: FeatureNumber(bytes[2]), values: &bytes[3..] };
    let feature = PacketOption::Feature(feature);
    let fits = if is_mandatory { options.push_mandatory(&feature) } else { options.push(&feature) };
    assert!(fits);
    let seq = Seq::first(SequenceNumber::new(seq));
    receive(end, seq, Seq::first(SequenceNumber::new(1_000)), &options)
}

fn written(end: &mut Negotiation) -> Vec<u8> {
    let mut options = OptionsBuf::new();
    end.write(NOW, Seq::first(SequenceNumber::new(500)), true, false, &mut options);
    bytes(options.as_options())
}

#[test]
fn the_servers_preference_decides() {
    // RFC 4340 section 6.5, the first example.
    let mut duo = Duo::new();
    duo.ends[CLIENT].want(Owner::Remote, Feature::Ccid, &[3, 2, 1]);
    duo.ends[SERVER].accept(Owner::Local, Feature::Ccid, &[1, 3, 2]);
    let change = duo.send(CLIENT);
    assert_eq!(bytes(change.options.as_options())[..6], [34, 6, 1, 3, 2, 1]);
    duo.receive(&change).unwrap();
    let confirm = duo.send(SERVER);
    assert_eq!(bytes(confirm.options.as_options())[..7], [33, 7, 1, 1, 1, 3, 2]);
    // The end that confirms changes at once, the one that asks waits for it.
    assert_eq!(duo.values(SERVER, Feature::Ccid), [2, 1]);
    duo.receive(&confirm).unwrap();
    assert_eq!(duo.values(SERVER, Feature::Ccid), [1, 1]);
    assert!(!duo.ends[CLIENT].must_send() && !duo.ends[SERVER].must_send());
}

#[test]
fn a_lost_change_is_sent_again_with_the_same_contents() {
    let mut duo = Duo::new();
    duo.ends[SERVER].want(Owner::Local, Feature::Ccid, &[3, 2]);
    duo.ends[CLIENT].accept(Owner::Remote, Feature::Ccid, &[2, 3]);
    let lost = duo.send(SERVER);
    assert!(!duo.ends[SERVER].must_send());
    let at = duo.ends[SERVER].poll_timeout().unwrap().at;
    duo.ends[SERVER].handle_timeout(at, RTT);
    assert!(duo.ends[SERVER].must_send());
    let again = duo.send(SERVER);
    assert_eq!(bytes(again.options.as_options()), bytes(lost.options.as_options()));
    duo.receive(&again).unwrap();
    let confirm = duo.send(CLIENT);
    duo.receive(&confirm).unwrap();
    assert_eq!(duo.values(SERVER, Feature::Ccid), [3, 3]);
}

#[test]
fn retransmissions_back_off_to_64_seconds() {
    let mut end = Negotiation::new(false);
    end.want(Owner::Local, Feature::SendNdpCount, &[1, 0]);
    let mut now = NOW;
    let mut gaps = Vec::new();
    for _ in 0..11 {
        let mut options = OptionsBuf::new();
        end.write(now, Seq::first(SequenceNumber::new(1)), true, false, &mut options);
        let at = end.poll_timeout().unwrap().at;
        gaps.push((at - now).as_millis());
        now = at;
        end.handle_timeout(now, RTT);
    }
    assert_eq!(gaps[..3], [200, 400, 800]);
    assert_eq!(gaps[9..], [64_000, 64_000]);
}

/// Found by fuzzing: an end that did not run for a while measures such round trips.
#[test]
fn a_round_trip_above_64_seconds_is_waited_for() {
    let rtt = Duration::from_secs(90);
    let mut end = Negotiation::new(false);
    end.want(Owner::Remote, Feature::SendNdpCount, &[1, 0]);
    written(&mut end);
    let at = end.poll_timeout().unwrap().at;
    end.handle_timeout(at, rtt);
    let mut options = OptionsBuf::new();
    end.write(at, Seq::first(SequenceNumber::new(1)), true, false, &mut options);
    assert_eq!(end.poll_timeout().unwrap().at, at + rtt);
}

#[test]
fn an_answer_ends_the_backoff_for_what_is_changed_next() {
    let mut duo = Duo::new();
    duo.ends[CLIENT].set(Feature::AckRatio, 3);
    let (mut now, mut intervals) = (NOW, Vec::new());
    for value in [3, 4] {
        duo.ends[CLIENT].set(Feature::AckRatio, value);
        for _ in 0..3 {
            let seq = duo.next[CLIENT];
            duo.next[CLIENT] = seq + 1;
            duo.ends[CLIENT].write(now, seq, true, false, &mut OptionsBuf::new());
            let at = duo.ends[CLIENT].poll_timeout().unwrap().at;
            intervals.push((at - now).as_millis());
            now = at;
            duo.ends[CLIENT].handle_timeout(now, RTT);
        }
        let sent = duo.send(CLIENT);
        duo.receive(&sent).unwrap();
        let answer = duo.send(SERVER);
        duo.receive(&answer).unwrap();
        assert_eq!(duo.values(CLIENT, Feature::AckRatio), [value, value]);
    }
    assert_eq!(intervals, [200, 400, 800, 200, 400, 800]);
}

#[test]
fn an_answer_that_comes_after_the_timer_leaves_nothing_to_send() {
    let mut duo = Duo::new();
    duo.ends[CLIENT].want(Owner::Remote, Feature::SendNdpCount, &[1, 0]);
    duo.ends[SERVER].accept(Owner::Local, Feature::SendNdpCount, &[0, 1]);
    let change = duo.send(CLIENT);
    duo.receive(&change).unwrap();
    let confirm = duo.send(SERVER);
    let at = duo.ends[CLIENT].poll_timeout().unwrap().at;
    duo.ends[CLIENT].handle_timeout(at, RTT);
    duo.receive(&confirm).unwrap();
    duo.send(CLIENT);
    assert!(!duo.ends[CLIENT].must_send());
}

#[test]
fn both_may_ask_at_once() {
    // RFC 4340 section 6.5, the last example.
    let mut duo = Duo::new();
    duo.ends[CLIENT].want(Owner::Remote, Feature::Ccid, &[4, 3, 1]);
    duo.ends[SERVER].want(Owner::Local, Feature::Ccid, &[3, 4, 1]);
    let crossing = [duo.send(CLIENT), duo.send(SERVER)];
    for sent in &crossing {
        duo.receive(sent).unwrap();
    }
    duo.settle();
    assert_eq!(duo.values(SERVER, Feature::Ccid), [3, 3]);
}

#[test]
fn without_a_shared_value_the_old_one_stays() {
    let mut duo = Duo::new();
    duo.ends[CLIENT].want(Owner::Remote, Feature::SendNdpCount, &[1]);
    duo.settle();
    assert_eq!(duo.values(SERVER, Feature::SendNdpCount), [0, 0]);
}

#[test]
fn a_mandatory_change_without_a_shared_value_ends_the_connection() {
    let mut duo = Duo::new();
    duo.ends[CLIENT].want(Owner::Remote, Feature::Ccid, &[3]);
    let change = duo.send(CLIENT);
    assert_eq!(bytes(change.options.as_options())[..6], [1, 34, 4, 1, 3, 0]);
    assert_eq!(duo.receive(&change), Err(FeatureFault::MandatoryError));
}

#[test]
fn a_value_that_is_its_owners_alone_is_taken_over() {
    let mut duo = Duo::new();
    duo.ends[CLIENT].set(Feature::SequenceWindow, 1_024);
    let change = duo.send(CLIENT);
    assert_eq!(bytes(change.options.as_options())[..9], [32, 9, 3, 0, 0, 0, 0, 4, 0]);
    duo.receive(&change).unwrap();
    let confirm = duo.send(SERVER);
    assert_eq!(bytes(confirm.options.as_options())[..9], [35, 9, 3, 0, 0, 0, 0, 4, 0]);
    duo.receive(&confirm).unwrap();
    assert_eq!(duo.values(CLIENT, Feature::SequenceWindow), [1_024, 1_024]);
    assert_eq!(duo.values(SERVER, Feature::SequenceWindow), [100, 100]);
}

#[test]
fn a_packet_is_due_only_while_there_is_something_new_to_say() {
    let mut end = Negotiation::new(false);
    assert!(!end.must_send());
    end.set(Feature::AckRatio, 3);
    assert!(end.must_send());
    written(&mut end);
    assert!(!end.must_send(), "it is under way");
    end.set(Feature::AckRatio, 4);
    assert!(end.must_send(), "it is another one");
    written(&mut end);
    assert!(!end.must_send());
    // The peer asks for what was to be asked for: to confirm it is all that is left.
    let number = Feature::SendNdpCount.number().0;
    end.want(Owner::Remote, Feature::SendNdpCount, &[1, 0]);
    option(&[32, 0, number, 1], 10, &mut end, false).unwrap();
    assert!(end.must_send());
    assert_eq!(written(&mut end)[..3], [35, 6, number]);
    assert!(!end.must_send());
}

#[test]
fn a_confirm_of_what_is_no_longer_wanted_is_ignored() {
    let mut duo = Duo::new();
    duo.ends[CLIENT].set(Feature::AckRatio, 4);
    let first = duo.send(CLIENT);
    duo.receive(&first).unwrap();
    let stale = duo.send(SERVER);
    duo.ends[CLIENT].set(Feature::AckRatio, 8);
    // Unstable: nothing is heard until the new Change has gone out.
    duo.receive(&stale).unwrap();
    assert_eq!(duo.ends[CLIENT].value(Owner::Local, Feature::AckRatio), 2);
    let second = duo.send(CLIENT);
    // What the peer says now may answer the first Change still.
    duo.ends[CLIENT]
        .on_option(
            duo.next[SERVER],
            Some(first.seq),
            &FeatureOption {
                kind: FeatureOptionKind::ConfirmR,
                feature: FeatureNumber::ACK_RATIO,
                values: &[0, 4],
            },
            false,
        )
        .unwrap();
    assert_eq!(duo.ends[CLIENT].value(Owner::Local, Feature::AckRatio), 2);
    duo.receive(&second).unwrap();
    duo.settle();
    assert_eq!(duo.values(CLIENT, Feature::AckRatio), [8, 8]);
}

#[test]
fn reordered_changes_are_ignored() {
    let mut end = Negotiation::new(true);
    option(&[32, 5, 5, 0, 7], 10, &mut end, false).unwrap();
    option(&[32, 5, 5, 0, 9], 9, &mut end, false).unwrap();
    assert_eq!(end.value(Owner::Remote, Feature::AckRatio), 7);
}

#[test]
fn several_options_of_one_packet_all_count() {
    let mut end = Negotiation::new(true);
    let mut options = OptionsBuf::new();
    for values in [[0, 7], [0, 9]] {
        options.push(&PacketOption::Feature(FeatureOption {
            kind: FeatureOptionKind::ChangeL,
            feature: FeatureNumber::ACK_RATIO,
            values: &values,
        }));
    }
    let seq = Seq::first(SequenceNumber::new(10));
    receive(&mut end, seq, seq, &options).unwrap();
    assert_eq!(end.value(Owner::Remote, Feature::AckRatio), 9);
    assert_eq!(written(&mut end), [35, 5, 5, 0, 9, 0, 0, 0], "one answer for the last of them");
}

#[test]
fn unknown_features_and_invalid_values_get_an_empty_confirm() {
    let cases: [(&[u8], [u8; 3]); 7] = [
        (&[32, 4, 126, 1], [35, 3, 126]),
        (&[34, 4, 126, 1], [33, 3, 126]),
        (&[32, 3, 1], [35, 3, 1]),
        (&[32, 9, 3, 0, 0, 0, 0, 0, 31], [35, 3, 3]),
        (&[32, 9, 3, 0x40, 0, 0, 0, 0, 0], [35, 3, 3]),
        (&[32, 5, 5, 0, 0], [35, 3, 5]),
        (&[34, 5, 5, 0, 4], [33, 3, 5]),
    ];
    for (bytes, answer) in cases {
        let mut end = Negotiation::new(true);
        option(bytes, 10, &mut end, false).unwrap();
        assert_eq!(written(&mut end)[..3], answer, "{bytes:?}");
        let mut end = Negotiation::new(true);
        let fault = option(bytes, 10, &mut end, true);
        assert_eq!(fault, Err(FeatureFault::MandatoryError), "{bytes:?}");
    }
}

#[test]
fn an_empty_confirm_leaves_the_value_and_ends_the_negotiation() {
    let mut end = Negotiation::new(false);
    end.want(Owner::Remote, Feature::SendNdpCount, &[1, 0]);
    written(&mut end);
    option(&[33, 3, 7], 10, &mut end, false).unwrap();
    assert!(end.is_settled(Owner::Remote, Feature::SendNdpCount));
    assert_eq!(end.value(Owner::Remote, Feature::SendNdpCount), 0);
    // A feature that all must understand is another matter.
    let mut end = Negotiation::new(false);
    end.want(Owner::Remote, Feature::Ccid, &[3, 2]);
    written(&mut end);
    assert_eq!(option(&[33, 3, 1], 10, &mut end, false), Err(FeatureFault::OptionError));
}

/// Found by fuzzing: whoever wants a value by its own count wanted it again with every packet, and
/// two ends without a delay between them came to no rest.
#[test]
fn a_feature_that_the_peer_does_not_know_is_asked_for_once() {
    let mut end = Negotiation::new(false);
    end.set(Feature::AckRatio, 1);
    assert_eq!(written(&mut end), [32, 5, 5, 0, 1, 0, 0, 0]);
    option(&[35, 3, 5], 10, &mut end, false).unwrap();
    end.set(Feature::AckRatio, 1);
    end.set(Feature::AckRatio, 4);
    assert!(!end.must_send());
    assert_eq!(end.value(Owner::Local, Feature::AckRatio), 2);
}

#[test]
fn a_confirm_of_the_wrong_value_ends_the_connection() {
    for bytes in [[33, 6, 1, 2, 3, 2], [33, 6, 1, 9, 3, 2]] {
        let mut end = Negotiation::new(false);
        end.want(Owner::Remote, Feature::Ccid, &[3, 2]);
        written(&mut end);
        assert_eq!(
            option(&bytes, 10, &mut end, false),
            Err(FeatureFault::OptionError),
            "{bytes:?}"
        );
    }
}

#[test]
fn a_confirm_that_nobody_asked_for_is_ignored() {
    let mut end = Negotiation::new(false);
    option(&[33, 6, 1, 3, 3, 2], 10, &mut end, false).unwrap();
    option(&[33, 4, 126, 3], 11, &mut end, false).unwrap();
    assert_eq!(end.value(Owner::Remote, Feature::Ccid), 2);
    assert!(!end.must_send());
}

#[test]
fn features_of_ccid_3_are_unknown_under_another_one() {
    let mut end = Negotiation::new(true);
    option(&[34, 4, 192, 1], 10, &mut end, false).unwrap();
    assert_eq!(written(&mut end)[..3], [33, 3, 192]);
    end.accept(Owner::Remote, Feature::Ccid, &[3]);
    end.accept(Owner::Local, Feature::SendLossEventRate, &[0, 1]);
    option(&[32, 4, 1, 3], 11, &mut end, false).unwrap();
    option(&[34, 4, 192, 1], 12, &mut end, false).unwrap();
    assert!(end.is_on(Owner::Local, Feature::SendLossEventRate));
}

#[test]
fn no_more_confirms_wait_than_their_limit() {
    let mut end = Negotiation::new(true);
    for n in 0..200 {
        option(&[32, 4, 20 + (n % 100) as u8, 1], 10 + n, &mut end, false).unwrap();
    }
    assert_eq!(end.confirms.len(), CONFIRMS_MAX);
}

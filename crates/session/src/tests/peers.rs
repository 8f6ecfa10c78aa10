//! Who is served, who is not, and what is said about it.

use std::net::IpAddr;
use std::time::Duration;

use anabranch_keys::{Identity, TlsKeys, Trust};
use anabranch_netsim::{CLIENT, SERVER, Side, Verdict};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit};
use anabranch_sctp::{
    AssociationConfig, AssociationId, Encryption, Endpoint, EndpointConfig, OutgoingMessage,
};
use anabranch_wire::StreamId;
use bytes::Bytes;

use super::harness::{Caller, STREAM, Setup, Studio, link};
use crate::message::{Greeting, Message};
use crate::treatment::Preset;
use crate::{
    CONTROL_LEN_MAX, Disconnect, Event, GREETING_TIMEOUT, NEWCOMERS_MAX, PROTOCOL_VERSION,
    Receiver, ReceiverConfig, Refusal, RefusalCode, Role, SCTP_PORT, SessionConfig, Source,
    SourceFormat,
};

fn setup() -> Setup {
    Setup::new(&[link(10, 20, 0.0)], Preset::Layered, 200)
}

/// Calls, and returns why the caller was refused, which the listener says, too.
fn refusal(studio: Studio, caller: Side) -> Refusal {
    refusal_of(studio, caller, true)
}

/// The same. `listener_knows`: whether it was the listener who refused, or was told.
fn refusal_of(mut studio: Studio, caller: Side, listener_knows: bool) -> Refusal {
    studio.call();
    studio.run_for(Duration::from_secs(1));
    let refused = studio
        .events(caller)
        .into_iter()
        .find_map(|event| if let Event::Refused(refusal) = event { Some(refusal) } else { None });
    let turned_away = Event::TurnedAway {
        remote: match caller {
            Side::Client => studio.paths[0].local,
            Side::Server => studio.paths[0].remote,
        },
        refusal: refused.clone().expect("the caller was refused"),
    };
    let listener = if caller == Side::Client { Side::Server } else { Side::Client };
    assert_eq!(studio.events(listener).contains(&turned_away), listener_knows);
    assert!(!studio.sender().has_peer() && !studio.receiver().has_peer());
    refused.expect("checked above")
}

#[test]
fn regression_a_call_gave_up_and_paused_when_four_answers_were_lost_in_a_row() {
    let mut studio = Setup::new(&[link(20, 25, 0.0)], Preset::Live, 200).build();
    studio.pair.sim.drop_next(SERVER, 10);
    studio.call();
    studio.run_for(Duration::from_millis(1_600));
    assert!(studio.sender().is_connected() && studio.receiver().is_connected());
}

#[test]
fn a_listener_refuses_a_caller_with_another_streamid_in_words() {
    for (caller, side) in [(Caller::Sender, Side::Client), (Caller::Receiver, Side::Server)] {
        let mut setup = Setup { caller, ..setup() };
        setup.sender.stream_id = Some("camera 1".to_owned());
        setup.receiver.stream_id = Some("camera 2".to_owned());
        let refusal = refusal(setup.build(), side);
        assert_eq!(refusal.code, RefusalCode::StreamId);
        assert_eq!(refusal.text, "there is no stream of that streamid here");
        assert!(!refusal.may_pass());
    }
}

/// Encryption by a key of one's own and this passphrase.
fn encryption(passphrase: Option<&str>) -> Option<Encryption> {
    let keys = TlsKeys::new(&Identity::generate().unwrap(), Trust::Anyone).unwrap();
    let keys = match passphrase {
        Some(passphrase) => keys.with_passphrase(passphrase),
        None => keys,
    };
    Some(keys.required())
}

#[test]
fn who_has_another_passphrase_or_no_encryption_is_refused_in_words() {
    let one = || encryption(Some("the one secret"));
    // A listener that does not encrypt keeps nothing of a call when it is refused by the caller.
    for (ours, theirs, words) in [
        (one(), encryption(Some("another secret")), "passphrases of both ends differ"),
        (one(), encryption(None), "one end has a passphrase"),
        (one(), None, "one end encrypts"),
        (None, one(), "one end encrypts"),
    ] {
        for (caller, side) in [(Caller::Sender, Side::Client), (Caller::Receiver, Side::Server)] {
            let mut setup = Setup { caller, ..setup() };
            let (sender, receiver) = (&mut setup.sender, &mut setup.receiver);
            let (calls, listens) = match caller {
                Caller::Sender => (sender, receiver),
                Caller::Receiver => (receiver, sender),
            };
            calls.sctp.association.extensions.encryption = ours.clone();
            listens.sctp.association.extensions.encryption = theirs.clone();
            let refusal = refusal_of(setup.build(), side, theirs.is_some());
            assert_eq!(refusal.code, RefusalCode::Key);
            assert!(refusal.text.contains(words) && !refusal.may_pass(), "{refusal}");
        }
    }
}

#[test]
fn regression_keys_that_came_too_late_counted_as_a_refusal_and_nobody_called_again() {
    for (caller, side) in [(Caller::Sender, Side::Client), (Caller::Receiver, Side::Server)] {
        for silenced in [CLIENT, SERVER] {
            let mut setup = Setup { caller, ..setup() };
            for end in [&mut setup.sender, &mut setup.receiver] {
                let time_limit = Duration::from_secs(2);
                let encryption = encryption(None).map(|e| Encryption { time_limit, ..e });
                end.sctp.association.extensions.encryption = encryption;
            }
            let mut studio = setup.build();
            // Its acknowledgements arrive, and not what TLS says in its handshake.
            studio.pair.sim.set_filter(move |_, host, packet| {
                match host == silenced && packet.bytes.len() > 500 {
                    true => Verdict::Drop,
                    false => Verdict::Pass,
                }
            });
            studio.call();
            studio.run_for(Duration::from_secs(4));
            let is_lost = |event: &Event| {
                matches!(event, Event::Disconnected(Disconnect::Lost { reason })
                    if reason.contains("keys in time"))
            };
            let events = studio.events(side);
            assert!(events.iter().any(is_lost), "without {silenced:?}: {events:?}");
            studio.pair.sim.clear_filter();
            studio.connect();
        }
    }
}

#[test]
fn an_encrypted_session_knows_the_peers_key() {
    let mut setup = Setup { caller: Caller::Sender, ..setup() };
    setup.sender.sctp.association.extensions.encryption = encryption(None);
    setup.receiver.sctp.association.extensions.encryption = encryption(None);
    let mut studio = setup.build();
    studio.call();
    studio.run_for(Duration::from_secs(1));
    let peer_key = |event: Event| {
        if let Event::Connected(agreement) = event { agreement.peer_key } else { None }
    };
    assert!(studio.events(Side::Client).into_iter().find_map(peer_key).is_some());
}

#[test]
fn a_caller_without_a_streamid_is_told_to_give_one() {
    let mut setup = setup();
    setup.receiver.stream_id = Some("camera 2".to_owned());
    let refusal = refusal(setup.build(), Side::Client);
    assert!(refusal.text.contains("give streamid= in the URL"), "{refusal}");
}

#[test]
fn a_listener_without_a_streamid_takes_any() {
    let mut setup = setup();
    setup.sender.stream_id = Some("camera 1".to_owned());
    let mut studio = setup.build();
    studio.connect();
    let agreed = studio.events(Side::Server).into_iter().find_map(|event| {
        if let Event::Connected(agreement) = event { agreement.stream_id } else { None }
    });
    assert_eq!(agreed.as_deref(), Some("camera 1"));
}

#[test]
fn two_senders_are_told_that_one_must_receive() {
    let refusal = raw_hello(|hello| hello.role = Role::Receiver);
    assert_eq!(refusal.code, RefusalCode::Role);
    assert!(refusal.text.contains("both ends want to receive"), "{refusal}");
}

#[test]
fn another_version_is_told_so() {
    let refusal = raw_hello(|hello| hello.version = PROTOCOL_VERSION + 1);
    assert_eq!(refusal.code, RefusalCode::Version);
    assert!(refusal.text.contains("version 2 here and 3 there"), "{refusal}");
}

/// Says hello to a listening receiver as no sender of ours would; returns its refusal.
fn raw_hello(change: impl Fn(&mut Greeting)) -> Refusal {
    let mut hello = hello();
    change(&mut hello);
    let mut listening = Listening::new();
    let caller = listening.call();
    listening.say(caller, &Message::Hello(hello).encode());
    match listening.answer(caller) {
        Some(Message::Refuse(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_peer_that_speaks_something_else_is_disconnected_with_a_reason() {
    let end = b"{\"type\":\"end\",\"items\":1}";
    for words in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 2_000], end] {
        let mut listening = Listening::new();
        let caller = listening.call();
        listening.say(caller, words);
        let reason = listening.close_reason(caller).expect("disconnected");
        assert!(reason.contains("a session begins with a hello"), "{reason}");
    }
}

#[test]
fn a_caller_that_says_nothing_is_put_off_in_time() {
    let mut listening = Listening::new();
    let caller = listening.call();
    listening.run_for(GREETING_TIMEOUT - Duration::from_millis(100));
    assert_eq!(listening.close_reason(caller), None);
    listening.run_for(Duration::from_millis(200));
    let reason = listening.close_reason(caller).expect("disconnected");
    assert!(reason.contains("no hello came"), "{reason}");
}

#[test]
fn a_session_that_breaks_the_protocol_later_ends_with_a_reason() {
    let mut listening = Listening::new();
    let caller = listening.call();
    listening.say(caller, &Message::Hello(hello()).encode());
    assert!(matches!(listening.answer(caller), Some(Message::Accept(_))));
    listening.say(caller, &[b' '; CONTROL_LEN_MAX + 1]);
    let reason = listening.close_reason(caller).expect("disconnected");
    assert!(reason.contains("a control message has 16385 bytes"), "{reason}");
    assert!(!listening.receiver.has_peer());
}

#[test]
fn a_second_caller_is_refused_while_the_first_is_heard() {
    let mut listening = Listening::new();
    let first = listening.call();
    listening.say(first, &Message::Hello(hello()).encode());
    assert!(matches!(listening.answer(first), Some(Message::Accept(_))));
    listening.run_for(Duration::from_secs(5));
    let second = listening.call();
    listening.say(second, &Message::Hello(hello()).encode());
    let Some(Message::Refuse(refusal)) = listening.answer(second) else { panic!("not refused") };
    assert_eq!(refusal.code, RefusalCode::Busy);
    assert!(refusal.may_pass());
    assert!(listening.receiver.is_connected());
}

#[test]
fn callers_that_never_say_anything_are_bounded() {
    let mut listening = Listening::new();
    let callers: Vec<usize> = (0..=NEWCOMERS_MAX).map(|_| listening.call()).collect();
    let reason = listening.close_reason(callers[NEWCOMERS_MAX]).expect("one too many");
    assert!(reason.contains("too many callers at once"), "{reason}");
    assert_eq!(listening.close_reason(callers[NEWCOMERS_MAX - 1]), None);
}

fn without_media(mut events: Vec<Event>) -> Vec<Event> {
    events.retain(|event| *event != Event::MediaDue);
    events
}

fn hello() -> Greeting {
    let source = Source { session: 1, position: 0, complete: false, format: SourceFormat::MpegTs };
    Greeting {
        version: PROTOCOL_VERSION,
        program: "test".to_owned(),
        role: Role::Sender,
        stream_id: None,
        latency_ms: 100,
        source: Some(source),
        confirms: false,
    }
}

/// A listening receiver, and SCTP endpoints without sessions that call it.
struct Listening {
    receiver: Receiver,
    callers: Vec<(Endpoint, AssociationId)>,
    now: Time,
}

impl Listening {
    fn new() -> Self {
        let session = SessionConfig::new(true, Duration::from_millis(200));
        let receiver = Receiver::new(ReceiverConfig::new(session), Rng::from_u64(4));
        Self { receiver, callers: Vec::new(), now: Time::ZERO }
    }

    /// Connects one more caller; returns its number.
    fn call(&mut self) -> usize {
        let number = self.callers.len();
        let mut endpoint = Endpoint::new(EndpointConfig::default(), Rng::from_u64(number as u64));
        let local = ([10, 0, 1, number as u8], 9).into();
        let path = FourTuple::new(local, ([10, 0, 0, 2], 9).into());
        let ports = (SCTP_PORT, SCTP_PORT);
        let config = AssociationConfig::media();
        let id = endpoint.connect(self.now, &[path], ports, config).expect("a call");
        self.callers.push((endpoint, id));
        self.run_for(Duration::from_millis(10));
        number
    }

    fn say(&mut self, caller: usize, words: &[u8]) {
        let message = OutgoingMessage::new(StreamId(0), Bytes::copy_from_slice(words));
        let (endpoint, id) = &mut self.callers[caller];
        let association = endpoint.association_mut(*id).expect("connected");
        association.send(self.now, message).expect("room");
        self.run_for(Duration::from_millis(10));
    }

    /// Carries datagrams to and fro, a millisecond at a time.
    fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        let mut buf = Vec::new();
        while self.now < end {
            self.now += Duration::from_millis(1);
            for (endpoint, _) in &mut self.callers {
                endpoint.handle_timeout(self.now);
                while let Some(transmit) = endpoint.poll_transmit(self.now, &mut buf) {
                    carry(&mut self.receiver, self.now, transmit, &buf);
                    buf.clear();
                }
            }
            self.receiver.handle_timeout(self.now);
            while let Some(transmit) = self.receiver.poll_transmit(self.now, &mut buf) {
                let IpAddr::V4(to) = transmit.path.remote.ip() else { panic!("IPv4 only") };
                let (endpoint, _) = &mut self.callers[usize::from(to.octets()[3])];
                carry(endpoint, self.now, transmit, &buf);
                buf.clear();
            }
        }
    }

    fn answer(&mut self, caller: usize) -> Option<Message> {
        let (endpoint, id) = &mut self.callers[caller];
        let message = endpoint.association_mut(*id)?.receive()?;
        Message::decode(&message.payload).ok()
    }

    fn close_reason(&mut self, caller: usize) -> Option<String> {
        let (endpoint, _) = &mut self.callers[caller];
        std::iter::from_fn(|| endpoint.poll_event()).find_map(|(_, event)| {
            let anabranch_sctp::Event::Closed { reason, .. } = event else { return None };
            Some(reason.to_string())
        })
    }
}

fn carry(to: &mut impl Machine, now: Time, transmit: Transmit, bytes: &[u8]) {
    for bytes in bytes.chunks(transmit.segment_size.unwrap_or(usize::MAX)) {
        to.handle_datagram(now, Datagram { path: transmit.path.reversed(), ecn: None, bytes });
    }
}

#[test]
fn a_sender_that_restarts_takes_its_own_place_once_the_old_one_is_silent() {
    let mut studio = setup().build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_millis(1_000));
    studio.lose_packets_to_old_ports();
    studio.run_for(Duration::from_millis(50));
    studio.replace_sender(7);
    studio.run_for(Duration::from_millis(2_500));
    let before = studio.out.len();
    studio.connect();
    studio.start_stream();
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    studio.finish();
    assert!(before > 0 && studio.out[before..] == *STREAM, "what came before is kept");
    assert_eq!(studio.receiver().stats().playout.sessions, 2);
    let events = studio.events(Side::Server);
    let lost = Event::Disconnected(Disconnect::Lost {
        reason: "it was silent, and another peer called".to_owned(),
    });
    assert!(events.contains(&lost), "{:?}", without_media(events));
}

#[test]
fn a_sender_that_restarts_on_its_old_ports_is_noticed_at_once() {
    let mut studio = setup().build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_millis(1_000));
    studio.replace_sender(7);
    studio.connect();
    studio.start_stream();
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    let before = studio.receiver().stats().playout;
    studio.finish();
    assert_eq!(before.sessions, 2);
    assert!(studio.out.ends_with(STREAM), "the stream came whole again");
}

#[test]
fn a_receiver_keeps_what_it_has_when_the_sender_is_gone_and_says_why() {
    let mut studio = setup().build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_millis(1_000));
    studio.pair.cut(0);
    studio.run_until(Duration::from_secs(30), |studio| !studio.receiver().has_peer());
    studio.run_until(Duration::from_secs(1), |studio| studio.receiver().is_drained());
    assert!(STREAM.starts_with(&studio.out) && studio.out.len() > 20_000, "{}", studio.out.len());
    let last = studio.events(Side::Server).pop();
    let Some(Event::Disconnected(Disconnect::Lost { reason })) = last else { panic!("{last:?}") };
    assert_eq!(reason, "the peer stopped answering on every path");
}

#[test]
fn a_sender_that_calls_again_goes_on_where_it_is() {
    let mut studio = setup().build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_millis(600));
    studio.act_sender(|sender, now| sender.leave(now, "the user pressed a key"));
    studio.run_for(Duration::from_millis(100));
    studio.connect();
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    studio.finish();
    let playout = studio.receiver().stats().playout;
    assert_eq!(playout.sessions, 1, "one source");
    let packets = STREAM.len() as u64 / 188;
    assert_eq!(playout.released_items + playout.skipped_items, packets);
    assert!(playout.skipped_items > 0, "nobody was there for a while");
    let unsent: u64 = studio.sender().stats().classes.iter().map(|class| class.unsent).sum();
    assert!(unsent > 0);
    let events = studio.events(Side::Server);
    let reason = "the peer left: the user pressed a key".to_owned();
    assert!(events.contains(&Event::Disconnected(Disconnect::Lost { reason })));
}

#[test]
fn nobody_at_the_other_end_is_said_in_words() {
    let mut studio = setup().build();
    studio.pair.cut(0);
    studio.call();
    studio.run_until(Duration::from_secs(30), |studio| !studio.sender().has_peer());
    let last = studio.events(Side::Client).pop();
    let Some(Event::Disconnected(Disconnect::Lost { reason })) = last else { panic!("{last:?}") };
    assert!(reason.starts_with("nobody answers there"), "{reason}");
    assert!(studio.pair.now().as_secs_f64() < 8.0, "{}", studio.pair.now());
}

#[test]
fn random_bytes_on_the_port_do_no_harm() {
    let mut studio = setup().build();
    studio.connect();
    studio.start_stream();
    let mut rng = Rng::from_u64(3);
    while !studio.stream_is_pushed() {
        studio.step();
        let mut bytes = vec![0; rng.range(0..1_500) as usize];
        rng.fill(&mut bytes);
        studio.inject(&bytes);
    }
    studio.finish();
    assert!(studio.out == STREAM);
    assert!(studio.receiver().stats().strangers.malformed > 1_000);
}

//! A session over DCCP: what can be given up is sent once, and the rest until it arrives.

use std::time::Duration;

use anabranch_netsim::{LinkConfig, Side};
use anabranch_sansio::Rng;
use anabranch_transport::{Connections, PathState};

use super::harness::{Caller, STREAM, Setup, Stream, Studio, link, wide};
use crate::treatment::{MediaClass, Preset};
use crate::{Disconnect, Event, RefusalCode, Sender, SenderConfig};

fn setup(links: &[LinkConfig], preset: Preset, connections: usize) -> Setup {
    Setup::over_dccp(links, preset, Connections::Fixed(connections))
}

#[test]
fn a_stream_arrives_bit_for_bit_where_nothing_is_lost() {
    for caller in [Caller::Sender, Caller::Receiver] {
        let setup = setup(&[link(10, 20, 0.0)], Preset::Layered, 4);
        let mut studio = Setup { caller, ..setup }.build();
        studio.transfer();
        assert!(studio.out == STREAM, "{caller:?}: {} of {}", studio.out.len(), STREAM.len());
        for side in [Side::Client, Side::Server] {
            let last = studio.events(side).pop();
            assert_eq!(last, Some(Event::Disconnected(Disconnect::Ended)), "{side:?}");
        }
    }
}

#[test]
fn a_listener_takes_callers_over_sctp_and_dccp_at_one_port() {
    for over_dccp in [true, false] {
        let mut setup = setup(&[link(10, 20, 0.0)], Preset::Reliable, 2);
        setup.sender.dccp = setup.sender.dccp.filter(|_| over_dccp);
        let mut studio = setup.build();
        studio.transfer();
        assert!(studio.out == STREAM, "{over_dccp}: {} of {}", studio.out.len(), STREAM.len());
    }
}

#[test]
fn a_caller_over_dccp_is_refused_in_words_at_both_ends_by_a_listener_over_sctp_alone() {
    let mut setup = setup(&[link(10, 20, 0.0)], Preset::Reliable, 2);
    setup.receiver.dccp = None;
    let mut studio = setup.build();
    studio.call();
    studio.run_for(Duration::from_secs(1));
    let caller = studio.events(Side::Client);
    let refused = caller.iter().find_map(|event| {
        let Event::Refused(refusal) = event else { return None };
        Some(refusal)
    });
    let refusal = refused.expect("a refusal");
    assert_eq!(refusal.code, RefusalCode::Protocol);
    assert!(refusal.text.contains("let it listen with encryption=off"), "{refusal}");
    let listener = studio.events(Side::Server);
    let [Event::TurnedAway { refusal, .. }] = &listener[..] else { panic!("{listener:?}") };
    assert!(refusal.text.contains("it calls over DCCP"), "{refusal}");
}

#[test]
fn what_is_reliable_is_repeated_until_it_arrives() {
    for caller in [Caller::Sender, Caller::Receiver] {
        let links = [link(10, 20, 0.05), link(5, 40, 0.05)];
        let setup = setup(&links, Preset::Reliable, 2);
        let mut studio = Setup { caller, ..setup }.build();
        studio.transfer();
        assert!(studio.out == STREAM, "{caller:?}: {} of {}", studio.out.len(), STREAM.len());
        let again = MediaClass::ALL
            .map(|class| studio.sender().stats().class(class).stream.chunks_retransmitted);
        assert!(again.iter().sum::<u64>() > 0, "the paths lost nothing");
    }
}

#[test]
fn a_sender_that_restarts_on_its_old_ports_takes_its_own_place() {
    let setup = setup(&[link(10, 20, 0.0)], Preset::Reliable, 2);
    let session = setup.sender.clone();
    let mut studio = setup.build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_secs(1));
    let treatments = Preset::Reliable.table();
    let config = SenderConfig { treatments, ..SenderConfig::mpeg_ts(session) };
    studio.replace_sender_by(Sender::new(config, Rng::from_u64(7)));
    studio.connect();
    studio.start_stream();
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    studio.finish();
    assert!(studio.out.ends_with(STREAM), "the stream came whole again");
}

#[test]
fn what_is_lost_at_the_very_end_is_said_to_be_missing() {
    let setup = setup(&[wide(0.0)], Preset::Layered, 1);
    let mut studio = Setup { stream: Stream::broadcast(2), ..setup }.build();
    studio.connect();
    studio.start_stream();
    // All is on its way, and the last of it is lost; what must arrive is repeated.
    studio.run_until(Duration::from_secs(10), Studio::stream_is_pushed);
    studio.pair.cut(0);
    studio.run_for(Duration::from_millis(20));
    studio.pair.restore(0);
    studio.finish();
    let playout = studio.receiver().stats().playout;
    let packets = studio.sender().stats().packetizer.packets;
    assert!(playout.skipped_items > 0, "{playout:?}");
    assert_eq!(playout.released_items + playout.skipped_items, packets);
    assert_eq!(studio.events(Side::Server).pop(), Some(Event::Disconnected(Disconnect::Ended)));
}

#[test]
fn a_goodbye_is_no_fault_of_a_path() {
    for caller in [Caller::Sender, Caller::Receiver] {
        let setup = setup(&[wide(0.0), wide(0.0)], Preset::Layered, 2);
        let mut studio = Setup { caller, stream: Stream::broadcast(1), ..setup }.build();
        studio.transfer();
        let [sent, got] =
            [studio.sender().stats().connection, studio.receiver().stats().connection];
        for paths in [sent, got].map(|stats| stats.expect("there was one").paths) {
            assert_eq!(paths.len(), 2, "{caller:?}");
            for path in paths {
                let found = (path.state, path.chunks_lost);
                assert_eq!(found, (PathState::Active, 0), "{caller:?}: {path:?}");
            }
        }
    }
}

#[test]
fn nobody_at_the_other_end_is_said_in_words() {
    let mut studio = setup(&[link(10, 20, 0.0)], Preset::Layered, 4).build();
    studio.pair.cut(0);
    studio.call();
    studio.run_until(Duration::from_secs(30), |studio| !studio.sender().has_peer());
    let last = studio.events(Side::Client).pop();
    let Some(Event::Disconnected(Disconnect::Lost { reason })) = last else { panic!("{last:?}") };
    assert!(reason.starts_with("nobody answers there"), "{reason}");
}

#[test]
fn the_reason_for_leaving_reaches_the_other_end() {
    let mut studio = setup(&[link(10, 20, 0.0)], Preset::Layered, 4).build();
    studio.connect();
    studio.act_receiver(|receiver, now| receiver.leave(now, "there is no space left"));
    studio.run_for(Duration::from_secs(2));
    let last = studio.events(Side::Client).pop();
    let reason = "the peer left: there is no space left".to_owned();
    assert_eq!(last, Some(Event::Disconnected(Disconnect::Lost { reason })));
}

#[test]
fn a_peer_that_is_gone_is_noticed() {
    let mut studio = setup(&[link(10, 20, 0.0)], Preset::Layered, 4).build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_secs(1));
    studio.pair.cut(0);
    studio.run_until(Duration::from_secs(15), |studio| !studio.sender().has_peer());
    let last = studio.events(Side::Client).pop();
    let Some(Event::Disconnected(Disconnect::Lost { reason })) = last else { panic!("{last:?}") };
    assert_eq!(reason, "the peer stopped answering on every path");
}

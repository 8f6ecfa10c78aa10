//! Receivers that lie about what they got, to get more.

use std::time::Duration;

use anabranch_dccp::wire::{
    AckRuns, AckState, Ccid3Option, ElapsedTime, LossInterval, LossIntervals, OptionsBuf, Packet,
    PacketOption, Protection,
};
use anabranch_dccp::{Ccid, Config};
use anabranch_netsim::{CLIENT, SERVER, Verdict};
use bytes::Bytes;

use crate::harness::{Duo, link, one_way};

/// What the application sends, in bytes per second, and in each datagram.
const OFFERED: usize = 200_000;
const LEN: usize = 1_000;

/// What of a lossy link's data arrives, in bytes per second, and the rate that the sender has in
/// the end, where the server says so of its losses.
fn greedy(ccid: Ccid, lie: impl Fn(&mut OptionsBuf) + Send + 'static) -> (f64, f64) {
    let config = Config::with_ccid(ccid);
    let mut duo = Duo::new(1, one_way(link(50.0, 100, 0.05)), &config);
    duo.connect(&config);
    duo.pair.sim.set_filter(move |_, host, sent| {
        let bytes = std::mem::take(&mut sent.bytes);
        let protection = Protection::header(sent.path);
        let mut packet = Packet::decode(protection, &bytes).expect("a packet");
        let mut options = OptionsBuf::new();
        lie(&mut options);
        if host == SERVER && !options.is_empty() {
            packet.options = options.as_options();
        }
        packet.encode(protection, &mut sent.bytes);
        Verdict::Pass
    });
    let before = duo.count;
    for _ in 0..2_000 {
        for _ in 0..OFFERED / LEN / 100 {
            // What does not fit is left out.
            let _ = duo.act(CLIENT, |client, _| client.send(Bytes::from_static(&[0x5a; LEN])));
        }
        duo.run_for(Duration::from_millis(10));
        duo.received[0].clear();
    }
    let rate = duo.stats(CLIENT).congestion.rate;
    ((duo.count - before) as f64 / 20.0, rate)
}

#[test]
fn a_receiver_that_conceals_its_losses_from_tfrc_gets_what_the_application_sends() {
    let (honest, _) = greedy(Ccid::Tfrc, |_| {});
    let all = |options: &mut OptionsBuf| {
        let (mut buf, mut rate, mut list) = (Vec::new(), Vec::new(), Vec::new());
        let none = LossInterval { lossless_length: 1, loss_length: 0, data_length: 1 };
        let none = LossIntervals::new(0, [none], &mut buf);
        options.push(&PacketOption::ElapsedTime(ElapsedTime(u32::MAX)));
        options.push(&Ccid3Option::ReceiveRate(u32::MAX).encode(&mut rate));
        options.push(&Ccid3Option::LossIntervals(none).encode(&mut list));
    };
    let (gained, rate) = greedy(Ccid::Tfrc, all);
    // RFC 8311 section 3 has done away with the nonce by which a sender could tell. What bounds
    // the rate is what is sent (RFC 5348 section 10; `RateControl::plausible`).
    assert!(honest < 0.6 * OFFERED as f64, "{honest}");
    assert!((0.9..1.0).contains(&(gained / OFFERED as f64)), "{gained}");
    // Of the round trip it is believed an eighth, in which four packets may go at the beginning.
    assert!(rate < 16.0 * OFFERED as f64, "{rate}");
}

#[test]
fn a_receiver_that_conceals_its_losses_from_a_window_gets_what_the_application_sends() {
    let (honest, _) = greedy(Ccid::TcpLike, |_| {});
    let all = |options: &mut OptionsBuf| {
        let mut runs = AckRuns::default();
        runs.push(AckState::Received, 60);
        runs.vectors().for_each(|vector| _ = options.push(&PacketOption::AckVector(vector)));
    };
    let (gained, _) = greedy(Ccid::TcpLike, all);
    assert!(honest < 0.6 * OFFERED as f64, "{honest}");
    assert!((0.9..1.0).contains(&(gained / OFFERED as f64)), "{gained}");
}

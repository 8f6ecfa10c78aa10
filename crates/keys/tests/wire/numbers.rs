//! Record numbers beyond the 16 bits that go over the wire.

use std::sync::Arc;
use std::time::Duration;

use anabranch_keys::Suite;
use anabranch_sctp::{Epoch, RecordKeys};
use anabranch_wire::{Chunk, CommonHeader, Packet, VerificationTag};

use crate::pump::{CALLER, LISTENER, Wire, message};

#[test]
fn an_association_goes_on_when_record_numbers_need_more_than_sixteen_bits() {
    let mut wire = Wire::encrypted();
    wire.remembers = false;
    wire.connect();
    let mut count = 0;
    for _ in 0..70_000 {
        while wire.try_send(CALLER, message(1, &[7; 1_200])).is_err() {
            wire.run(Duration::from_millis(10));
            count += wire.received(LISTENER).len();
        }
    }
    for _ in 0..100 {
        wire.run(Duration::from_millis(20));
        count += wire.received(LISTENER).len();
    }
    assert_eq!(count, 70_000);
    let stats = wire.stats(LISTENER);
    assert!(stats.opened > 1 << 16, "{stats:?}");
    assert_eq!((stats.forged, stats.replayed), (0, 0), "{stats:?}");
    wire.assert_works();
}

#[test]
fn up_to_65_535_records_may_be_lost_in_a_row() {
    let cipher = Suite::Aes128Gcm.cipher(&[7; 16], &[8; 16]).unwrap();
    let keys = RecordKeys { cipher: Arc::new(cipher), iv: [9; 12] };
    let header =
        CommonHeader { source_port: 1, destination_port: 2, verification_tag: VerificationTag(3) };
    for expected in [0, 1, 70_000, 1 << 40] {
        for lost in [0, 1, 32_767, 32_768, 32_769, 40_000, 65_535] {
            let number = expected + lost;
            let sealed = keys.seal_chunk(Epoch::FIRST, number, b"abcd").unwrap();
            let packet = Packet::from_parts(header, &sealed);
            let Some(Ok(Chunk::Dtls(chunk))) = packet.chunks().next() else { panic!() };
            let opened = keys.open_chunk(Epoch::FIRST, expected, &chunk);
            assert_eq!(opened, Some((number, b"abcd".to_vec())), "{lost} lost");
        }
    }
}

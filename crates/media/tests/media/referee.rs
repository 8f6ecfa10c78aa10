//! Our parser against that of others, over the committed streams.

use anabranch_media::ts::{PesHeader, Reader};
use mpeg2ts_reader::{packet, pes};

use crate::world::{H264_AAC, TWO_PROGRAMS, fixture, packets};

#[test]
fn packet_headers_agree_with_mpeg2ts_reader() {
    for name in [H264_AAC, TWO_PROGRAMS] {
        let mut references = 0;
        for ours in packets(Reader::new(), &fixture(name)) {
            let theirs = packet::Packet::new(ours.bytes());
            assert_eq!(ours.pid().as_u16(), u16::from(theirs.pid()));
            assert_eq!(ours.payload_unit_start(), theirs.payload_unit_start_indicator());
            assert_eq!(ours.continuity_counter(), theirs.continuity_counter().count());
            assert_eq!(ours.payload(), theirs.payload().unwrap_or_default());
            let field = theirs.adaptation_field();
            let pcr = field.as_ref().and_then(|field| field.pcr().ok()).map(u64::from);
            assert_eq!(ours.pcr().map(|pcr| pcr.ticks()), pcr);
            let random_access = field.is_some_and(|field| field.random_access_indicator());
            assert_eq!(ours.random_access(), random_access);
            references += u32::from(pcr.is_some());
        }
        assert!(references > 20, "{name} has {references} clock references");
    }
}

#[test]
fn pes_headers_agree_with_mpeg2ts_reader() {
    let mut with_times = 0;
    for packet in packets(Reader::new(), &fixture(H264_AAC)) {
        if !packet.payload_unit_start() || packet.pid().is_reserved_for_tables() {
            continue;
        }
        let Some(ours) = PesHeader::parse(packet.payload()) else { continue };
        let theirs = pes::PesHeader::from_bytes(packet.payload()).unwrap();
        let pes::PesContents::Parsed(Some(contents)) = theirs.contents() else { continue };
        let (pts, dts) = match contents.pts_dts() {
            Ok(pes::PtsDts::PtsOnly(Ok(pts))) => (Some(pts.value()), None),
            Ok(pes::PtsDts::Both { pts: Ok(pts), dts: Ok(dts) }) => {
                (Some(pts.value()), Some(dts.value()))
            }
            other => panic!("{other:?}"),
        };
        assert_eq!((ours.pts, ours.dts), (pts, dts));
        assert_eq!(contents.payload(), &packet.payload()[ours.header_len..]);
        with_times += 1;
    }
    assert!(with_times > 80, "{with_times}");
}

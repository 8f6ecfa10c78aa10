//! Checks of `anabranch-dccp`: whatever decodes, encodes to bytes that decode to the same.

use anabranch_dccp::wire::{Ccid3Option, Options, OptionsBuf, Packet, PacketOption, Protection};

/// Checks `bytes` as a packet from the network, in UDP and straight on IP.
pub fn packet(bytes: &[u8]) {
    let header =
        Protection::Header { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
    for protection in [Protection::Udp, header] {
        match Packet::decode(protection, bytes) {
            Ok(packet) => {
                let mut again = Vec::new();
                packet.encode(protection, &mut again);
                assert_eq!(Packet::decode(protection, &again), Ok(packet));
                options(packet.options);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Each option that is understood is written as an option that is understood the same.
fn options(options: Options<'_>) {
    for entry in options.iter().map_while(Result::ok) {
        match entry.decode() {
            Ok(option) => {
                walk(&option);
                let mut written = OptionsBuf::new();
                assert!(written.push(&option), "it stood in a packet: {option:?}");
                let read = written.as_options().iter().next();
                let read = read.and_then(Result::ok).and_then(|entry| entry.decode().ok());
                assert_eq!(read, Some(option));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Reads what an option holds.
fn walk(option: &PacketOption<'_>) {
    if let PacketOption::AckVector(vector) = option {
        assert!(vector.runs().all(|run| (1..=64).contains(&run.len)));
    }
    if let PacketOption::DataDropped(dropped) = option {
        assert!(dropped.runs().all(|run| (1..=128).contains(&run.len)));
    }
    if let PacketOption::Ccid { ty, data } = option
        && let Ok(Ccid3Option::LossIntervals(intervals)) = Ccid3Option::decode(*ty, data)
    {
        assert!(intervals.iter().count() <= 28);
        assert!(intervals.iter().all(|interval| interval.sequence_length() < 1 << 25));
    }
}

//! Whole connections, read by tshark.

use std::time::Duration;

use anabranch_dccp::{Ccid, Config, Encapsulation, EndpointConfig};
use anabranch_netsim::{CLIENT, Hostility, Probability, SERVER};
use bytes::Bytes;

use crate::harness::{BOTH, Duo, endpoint_config, examined, link};

#[test]
fn tshark_finds_no_fault_in_a_connection_of_either_ccid() {
    for (name, ccid, encapsulation) in [
        ("dccp-ccid2", Ccid::TcpLike, Encapsulation::Ip),
        ("dccp-ccid3", Ccid::Tfrc, Encapsulation::Ip),
        ("dccp-ccid2-udp", Ccid::TcpLike, Encapsulation::Udp),
        ("dccp-ccid3-udp", Ccid::Tfrc, Encapsulation::Udp),
    ] {
        let config = Config {
            short_sequence_numbers: true,
            ndp_count: true,
            data_checksum: true,
            checksum_coverage: 2,
            minimum_checksum_coverage: 1,
            ..Config::with_ccid(ccid)
        };
        let cookies = EndpointConfig { init_cookies: true, encapsulation, ..endpoint_config() };
        let mut duo = Duo::with(3, link(10.0, 20, 0.05), &cookies, &config);
        let capture = duo.capture(name);
        duo.connect(&config);
        let often = Probability::new(0.05).unwrap();
        duo.pair.harass(0, Hostility { duplicate: often, reorder: often, ..Hostility::default() });
        for n in 0..200_usize {
            for host in BOTH {
                let data = Bytes::from(vec![n as u8; 1_000 + n % 3]);
                duo.act(host, |end, _| end.send(data)).unwrap();
            }
        }
        duo.run_for(Duration::from_secs(30));
        duo.act(SERVER, |server, now| server.close(now));
        duo.run_for(Duration::from_secs(30));
        assert!(duo.closed(CLIENT).is_some(), "{:?}", duo.stats(CLIENT));
        let found = examined(name, capture, encapsulation);
        assert_eq!(found.faults, [], "{name}");
        assert!(found.packets > 450, "{found:?}");
        // Mandatory where there is no choice, Change, Confirm, Init Cookie, NDP Count, Elapsed
        // Time, Data Checksum.
        let mut expected = vec![32, 33, 34, 35, 36, 37, 43, 44];
        expected.extend(if ccid == Ccid::Tfrc { vec![1, 192, 193, 194] } else { vec![38] });
        let kinds: Vec<_> = found.chunks.keys().copied().filter(|kind| *kind > 0).collect();
        assert_eq!(
            kinds,
            {
                expected.sort_unstable();
                expected
            },
            "{name}: {found:?}"
        );
    }
}

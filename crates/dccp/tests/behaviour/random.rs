//! Random operations over a hostile network, with invariants after each step.
//!
//! `ANABRANCH_SEEDS=0..100000` runs those seeds instead of the usual few hundred.

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use anabranch_dccp::tfrc::PacketSize;
use anabranch_dccp::{Ccid, Config, Connection, Endpoint, EndpointConfig};
use anabranch_netsim::{CLIENT, HostId, Hostility, Probability, SERVER};
use anabranch_sansio::Rng;
use bytes::Bytes;

use crate::harness::{BOTH, Duo, endpoint_config, link};

const OPERATIONS: u32 = 60;

/// How long a connection may take to end: twice 4MSL, and TIMEWAIT.
const END_MAX: Duration = Duration::from_secs(2 * 480 + 240);

struct Run {
    duo: Duo,
    rng: Rng,
    /// The numbers of the datagrams that the client and the server sent.
    sent: [BTreeSet<u32>; 2],
    /// Those that arrived from the client and from the server.
    arrived: [BTreeSet<u32>; 2],
    /// How many of them were looked at.
    checked: [usize; 2],
    next: u32,
    is_partial: bool,
}

#[test]
fn random_operations_keep_every_promise() {
    for seed in seeds() {
        let caught = std::panic::catch_unwind(|| Run::new(seed).run());
        if let Err(panic) = caught {
            eprintln!("seed {seed} failed: run again with ANABRANCH_SEEDS={seed}..{}", seed + 1);
            std::panic::resume_unwind(panic);
        }
    }
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("ANABRANCH_SEEDS") else { return 0..200 };
    let (start, end) = text.split_once("..").expect("ANABRANCH_SEEDS is START..END");
    start.parse().expect("a number")..end.parse().expect("a number")
}

fn random_config(rng: &mut Rng) -> Config {
    let ccids = |rng: &mut Rng| match rng.range(0..4) {
        0 => vec![Ccid::TcpLike],
        1 => vec![Ccid::Tfrc],
        2 => vec![Ccid::TcpLike, Ccid::Tfrc],
        _ => vec![Ccid::Tfrc, Ccid::TcpLike],
    };
    let (send_ccids, receive_ccids) = (ccids(rng), ccids(rng));
    Config {
        send_ccids,
        receive_ccids,
        short_sequence_numbers: rng.chance(0.3),
        ndp_count: rng.chance(0.3),
        checksum_coverage: if rng.chance(0.3) { 1 + rng.range(0..15) as u8 } else { 0 },
        minimum_checksum_coverage: rng.range(0..4) as u8,
        data_checksum: rng.chance(0.3),
        send_buffer: 1 << (12 + rng.range(0..8)),
        receive_buffer: 1 << (12 + rng.range(0..8)),
        packet_size: [PacketSize::Mean, PacketSize::Actual, PacketSize::Maximum]
            [rng.range(0..3) as usize],
        oscillation_reduction: rng.chance(0.5),
        connect_timeout: Duration::from_secs(60),
        ..Config::default()
    }
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::from_u64(seed);
        let mbps = 0.1 + 40.0 * rng.unit() * rng.unit();
        let link = link(mbps, 1 + rng.range(0..200), 0.2 * rng.unit() * rng.unit());
        let (client, mut server) = (random_config(&mut rng), random_config(&mut rng));
        // They can agree on a CCID.
        server.send_ccids = vec![Ccid::TcpLike, Ccid::Tfrc];
        server.receive_ccids = vec![Ccid::Tfrc, Ccid::TcpLike];
        let init_cookies = rng.chance(0.5);
        let endpoint = EndpointConfig { init_cookies, ..endpoint_config() };
        let is_partial = client.checksum_coverage > 0 || server.checksum_coverage > 0;
        let mut duo = Duo::with(seed, link, &endpoint, &server);
        duo.begin(&client);
        let (sent, arrived) = (Default::default(), Default::default());
        Self { duo, rng, sent, arrived, checked: [0; 2], next: 0, is_partial }
    }

    fn run(mut self) {
        for _ in 0..OPERATIONS {
            self.operate();
            self.check();
        }
        self.end();
    }

    fn operate(&mut self) {
        let host = BOTH[self.rng.range(0..2) as usize];
        match self.rng.range(0..100) {
            0..40 => self.send_some(host),
            40..75 => {
                let millis = self.rng.range(0..500);
                self.duo.run_for(Duration::from_millis(millis));
            }
            75..80 => {
                let seconds = self.rng.range(0..20);
                self.duo.run_for(Duration::from_secs(seconds));
            }
            80..85 => self.harass(),
            85..90 => self.duo.pair.sim.drop_next(host, 1 + self.rng.next_u32() % 150),
            90..92 => self.duo.pair.cut(0),
            92..96 => self.duo.pair.restore(0),
            96..98 => {
                let is_slow = self.rng.chance(0.5);
                self.act(host, |end| end.set_slow(is_slow));
            }
            98 => self.act(host, Connection::stop_listening),
            _ => self.duo.server_reads = !self.duo.server_reads,
        }
    }

    /// On the connection, if there is one still.
    fn act(&mut self, host: HostId, action: impl FnOnce(&mut Connection)) {
        let id = if host == CLIENT { self.duo.client } else { self.duo.server };
        let Some(id) = id else { return };
        let act = |endpoint: &mut Endpoint, _| {
            if let Some(connection) = endpoint.connection_mut(id) {
                action(connection);
            }
        };
        self.duo.pair.sim.act(host, act).expect("machines that behave");
    }

    fn send_some(&mut self, host: HostId) {
        let len = 4 + self.rng.range(0..1_400) as usize;
        let count = self.rng.range(1..40) as u32;
        let (first, mut taken) = (self.next, 0);
        self.next += count;
        self.act(host, |end| {
            taken =
                (first..first + count).take_while(|n| end.send(numbered(*n, len)).is_ok()).count();
        });
        self.sent[usize::from(host == SERVER)].extend(first..first + taken as u32);
    }

    fn harass(&mut self) {
        let mut probability = || Probability::new(0.2 * self.rng.unit()).expect("a probability");
        // What is not covered by a checksum may arrive damaged.
        let corrupt = if self.is_partial { Probability::NEVER } else { probability() };
        let hostility = Hostility {
            duplicate: probability(),
            reorder: probability(),
            hold_max: Duration::from_millis(30),
            corrupt,
        };
        self.duo.harass(hostility);
    }

    /// What arrived was sent, is whole, and arrived once.
    fn check(&mut self) {
        for from in [0, 1] {
            for data in &self.duo.received[from][self.checked[from]..] {
                let number = data.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
                let number = number.expect("a number");
                assert_eq!(*data, numbered(number, data.len()), "datagram {number} is another one");
                assert!(self.sent[from].contains(&number), "datagram {number} was never sent");
                assert!(self.arrived[from].insert(number), "datagram {number} arrived twice");
            }
            self.checked[from] = self.duo.received[from].len();
        }
    }

    /// However it went, both ends come to an end, and nothing is left of the connection.
    fn end(mut self) {
        self.duo.pair.restore(0);
        self.duo.harass(Hostility::default());
        self.duo.server_reads = true;
        let host = BOTH[self.rng.range(0..2) as usize];
        let now = self.duo.pair.now();
        self.act(host, |end| end.close(now));
        // Who sends much at a packet in 64 seconds takes long to get there.
        self.duo.run_for(Duration::from_secs(60));
        for host in BOTH {
            let now = self.duo.pair.now();
            self.act(host, |end| end.abort(now));
        }
        self.duo.run_for(END_MAX);
        // What nobody looked at since the server began to read again.
        for host in BOTH {
            self.act(host, |end| while end.receive().is_some() {});
        }
        self.duo.run_for(Duration::from_secs(1));
        for host in BOTH {
            let left = self.duo.pair.sim.machine(host).connections().count();
            assert_eq!(left, 0, "{} still has a connection", self.duo.pair.sim.name(host));
        }
    }
}

fn numbered(number: u32, len: usize) -> Bytes {
    let mut data = number.to_be_bytes().to_vec();
    data.resize(len.max(4), number as u8);
    data.into()
}

//! Checks of multipath connections of `anabranch-dccp`: whatever is lost or altered on the way, and
//! whatever their users do, both ends come to rest, and what arrives comes in order.

use std::time::Duration;

use anabranch_dccp::wire::ServiceCode;
use anabranch_dccp::{
    Ccid, Config, EndpointConfig, Multipath, MultipathConfig, MultipathId, SubflowId,
};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};

const PORTS: (u16, u16) = (1_000, 2_000);
const SERVICE: ServiceCode = ServiceCode(0x616e_6162);

/// Packets and timers that one step of the script may cause.
const EVENTS_MAX: u32 = 20_000;

/// Packets that one step of the script alters: whoever turns each Reset into data and each
/// acknowledgement into a Close has two ends answer each other for as long as it goes on.
const ALTERED_MAX: u32 = 1_000;

const BUFFER: usize = 20_000;
const SUBFLOWS_MAX: usize = 4;

/// Plays `bytes` as a script of data, losses, alterations, pauses and acts against two ends with
/// three paths between them, of which one is there from the start. The first byte says which CCID.
pub fn multipath(bytes: &[u8]) {
    let Some((start, script)) = bytes.split_first() else { return };
    let mut play = Play::new(*start);
    for step in script.chunks(3) {
        let byte = |at| step.get(at).copied().unwrap_or(0);
        play.step(byte(0), byte(1), byte(2));
        play.settle();
    }
}

/// A caller and a listener.
struct Play {
    ends: [Multipath; 2],
    now: Time,
    /// Packets of each end that are lost next.
    to_lose: [u8; 2],
    /// Which byte of the next packets is altered, and how.
    alters: Option<(u8, u8)>,
    to_alter: u32,
    was_altered: bool,
    next: u64,
    /// The last one that was read.
    last: Option<u64>,
}

fn path(n: u8) -> FourTuple {
    FourTuple::new(([10, 0, n, 1], 6_511).into(), ([10, 0, n, 2], 6_511).into())
}

impl Play {
    fn new(start: u8) -> Self {
        let ccid = if start & 1 == 0 { Ccid::TcpLike } else { Ccid::Tfrc };
        let config = MultipathConfig {
            connection: Config::with_ccid(ccid),
            subflows_max: SUBFLOWS_MAX,
            send_buffer: BUFFER,
            receive_buffer: BUFFER,
            ..MultipathConfig::default()
        };
        let end =
            |seed| Multipath::new(EndpointConfig::default(), config.clone(), Rng::from_u64(seed));
        let mut ends = [end(1), end(2)];
        ends[1].listen(PORTS.1, vec![SERVICE]);
        let begun = ends[0].connect(Time::ZERO, &[path(0)], PORTS, SERVICE);
        assert!(begun.is_ok(), "nothing stands against it");
        let mut play = Self {
            ends,
            now: Time::ZERO,
            to_lose: [0; 2],
            alters: None,
            to_alter: 0,
            was_altered: false,
            next: 0,
            last: None,
        };
        play.settle();
        play
    }

    fn id(&self, end: usize) -> Option<MultipathId> {
        self.ends[end].connections().next()
    }

    fn step(&mut self, choice: u8, first: u8, second: u8) {
        let end = usize::from(first & 1);
        let now = self.now;
        match choice {
            0 => self.now += Duration::from_millis(u64::from(first) + 256 * u64::from(second)),
            1 => self.to_lose[end] = second,
            2 => (self.alters, self.to_alter) = (Some((first, second.max(1))), ALTERED_MAX),
            3 => self.alters = None,
            _ => {
                let Some(id) = self.id(end) else { return };
                let it = &mut self.ends[end];
                let subflow = SubflowId(u32::from(second >> 4));
                match choice {
                    4 => _ = it.add_path(now, id, path(second % 3)),
                    5 => _ = it.announce(now, id, [10, 0, second, 9].into(), None),
                    6 => _ = it.withdraw(now, id, second),
                    7 => _ = it.set_priority(now, id, subflow, second & 15),
                    8 => it.close(now, id),
                    9 => it.abort(now, id),
                    _ => self.send(),
                }
            }
        }
    }

    fn send(&mut self) {
        let Some(id) = self.id(0) else { return };
        let data = self.next.to_be_bytes().to_vec().into();
        // What is too much is refused.
        self.next += u64::from(self.ends[0].send(self.now, id, data).is_ok());
    }

    /// Takes all that both have to send, loses and alters what the script says, and lets timers
    /// expire.
    fn settle(&mut self) {
        for _ in 0..EVENTS_MAX {
            let mut count = 0;
            for end in [0, 1] {
                let mut bytes = Vec::new();
                while let Some(sent) = self.ends[end].poll_transmit(self.now, &mut bytes) {
                    count += 1;
                    let packet = std::mem::take(&mut bytes);
                    self.carry(1 - end, sent.path.reversed(), packet);
                }
                while let Some((id, _)) = self.ends[end].poll_event() {
                    self.read(end, id);
                }
                if self.ends[end].poll_timeout().is_some_and(|at| at.at <= self.now) {
                    count += 1;
                    self.ends[end].handle_timeout(self.now);
                }
                for id in self.ends[end].connections().collect::<Vec<_>>() {
                    assert!(self.ends[end].subflows(id).count() <= SUBFLOWS_MAX);
                }
            }
            if count == 0 {
                return;
            }
        }
        panic!("both ends do not come to rest");
    }

    fn carry(&mut self, to: usize, path: FourTuple, mut packet: Vec<u8>) {
        if self.to_lose[1 - to] > 0 {
            self.to_lose[1 - to] -= 1;
            return;
        }
        if let Some((at, with)) = self.alters.filter(|_| self.to_alter > 0)
            && let Some(byte) = packet.get_mut(usize::from(at))
        {
            *byte ^= with;
            self.to_alter -= 1;
            self.was_altered = true;
        }
        self.ends[to].handle_datagram(self.now, Datagram { path, ecn: None, bytes: &packet });
    }

    /// What was sent comes in its order, and once.
    fn read(&mut self, end: usize, id: MultipathId) {
        while let Some(data) = self.ends[end].receive(id) {
            let number = data.first_chunk::<8>().map(|number| u64::from_be_bytes(*number));
            if self.was_altered {
                continue;
            }
            assert!(number > self.last, "{number:?} behind {:?}", self.last);
            assert!(number < Some(self.next), "{number:?} was never sent");
            self.last = number;
        }
    }
}

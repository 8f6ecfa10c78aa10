//! Both ends in one thread, packets handed over in memory.

use std::io;
use std::time::Duration;

use anabranch_peers::{Memory, Message, Treatment};

use crate::entrants::Entrant;
use crate::{Outcome, Workload, cpu};

/// Virtual time without a message after which a stack counts as stuck: several backed-off
/// retransmissions fit.
const PATIENCE: Duration = Duration::from_secs(600);

/// Sends the workload from one end to the other; returns the CPU time of both.
pub(crate) fn measure(entrant: Entrant, workload: &Workload, seed: u64) -> io::Result<Outcome> {
    let config = &workload.config;
    let mut memory =
        Memory::new((entrant.peer)(config, 2 * seed), (entrant.peer)(config, 2 * seed + 1));
    memory.connect();
    memory.lose(workload.loss, seed);
    let message = Message::new(0, vec![0x5a; workload.message]);
    let start = cpu::of_thread();
    let (mut sent, mut received, mut last_arrival) = (0, 0, memory.now());
    while received < workload.messages {
        while sent < workload.messages && sent - received < workload.ahead {
            let result = memory.a.send(memory.now(), &message, Treatment::default());
            result.map_err(|error| io::Error::other(format!("{}: {error}", entrant.name)))?;
            sent += 1;
        }
        let over = !memory.step() && !memory.jump();
        if over || memory.now() - last_arrival > PATIENCE {
            let stalled = format!("{}: stalled after {received} messages", entrant.name);
            return Err(io::Error::other(stalled));
        }
        while let Some(message) = memory.b.receive() {
            if message.bytes.len() != workload.message {
                return Err(io::Error::other(format!("{}: a broken message", entrant.name)));
            }
            received += 1;
            last_arrival = memory.now();
        }
    }
    let counters = memory.counters();
    Ok(Outcome {
        cpu: cpu::of_thread() - start,
        packets_in_flight: Some(counters.waiting as f64 / counters.batches as f64),
    })
}

//! DCCP: one connection, several over one path, or one over several paths.

mod bundle;
mod multipath;
mod plain;

use anabranch_dccp::CloseReason;
use anabranch_sansio::{FourTuple, Rng};

use super::Transport;
use crate::scenario::options::{DccpOptions, Shape};
use bundle::BundleTransport;
use multipath::MultipathTransport;
use plain::PlainTransport;

/// DCCP's own ports, inside UDP too.
const PORTS: (u16, u16) = (5_000, 5_001);

/// One end of what the options ask for; `paths` as it sees them.
pub(in crate::scenario) fn dccp(
    options: &DccpOptions,
    paths: &[FourTuple],
    accept: bool,
    rng: Rng,
) -> Box<dyn Transport + Send> {
    let mut paths = paths.iter().copied();
    match options.shape {
        Shape::Plain => Box::new(PlainTransport::new(options, paths.next(), accept, rng)),
        Shape::Bundle { connections, group, start_gap, reordering } => {
            let config = options.bundle(connections, (start_gap, reordering));
            Box::new(BundleTransport::new(options, (config, group), paths.next(), accept, rng))
        }
        Shape::Multipath { reordering } => {
            let config = options.multipath(reordering);
            Box::new(MultipathTransport::new(options, config, paths.collect(), accept, rng))
        }
    }
}

fn ended(reason: CloseReason) -> String {
    match reason {
        CloseReason::TimedOut => "the other end did not answer".to_owned(),
        CloseReason::Reset(code) => format!("the other end reset the connection: {code}"),
        CloseReason::Broken(code) => format!("the other end broke a rule: {code}"),
        CloseReason::Finished | CloseReason::Aborted | _ => "the connection was closed".to_owned(),
    }
}

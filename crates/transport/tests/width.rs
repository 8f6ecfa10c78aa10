//! How many DCCP connections a path has where that is chosen as they go.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::time::Duration;

use anabranch_netsim::{LinkConfig, Loss, Pair, Side};
use anabranch_sansio::Machine as _;
use anabranch_transport::{
    Connections, DccpConfig, DccpTransport, Outgoing, PayloadId, Reliability, StreamId,
    Transport as _,
};

/// Connections that the client has opened after half a minute, in which it sent little, over a
/// path that loses one in fifty.
fn opened(leaves_out: bool) -> usize {
    let (delay, loss) = (Duration::from_millis(25), Loss::uniform(0.02));
    let link = LinkConfig { delay, loss, ..LinkConfig::default() };
    let mut pair = Pair::new(1, &[link.into()], |side, _, rng| {
        let (listen, connections) = (side == Side::Server, Connections::Auto);
        DccpTransport::new(DccpConfig { listen, connections, ..DccpConfig::default() }, rng)
    });
    pair.client_mut().set_tracing(true);
    let path = pair.paths()[0].addresses;
    let id = pair.act_client(|client, now| client.connect(now, &[path])).unwrap().unwrap();
    for _ in 0..750 {
        pair.run_for(Duration::from_millis(40)).unwrap();
        let send = |client: &mut DccpTransport, now| {
            let connection = client.connection_mut(id).unwrap();
            let reliability = Reliability::Lifetime(Duration::from_millis(300));
            let message = Outgoing::new(StreamId(1), PayloadId(0), vec![7; 1_000].into());
            connection.send(now, Outgoing { reliability, ..message }).unwrap();
            if leaves_out {
                connection.note_left_out(now);
            }
        };
        pair.act_client(send).unwrap();
    }
    let client = pair.client_mut();
    let records = std::iter::from_fn(|| client.poll_trace());
    let began = records.filter(|record| record.name == "dccp:connection_addresses_updated");
    began.map(|record| format!("{:?}", record.fields)).collect::<BTreeSet<_>>().len()
}

#[test]
fn regression_a_session_that_leaves_pictures_out_stayed_at_one_connection() {
    assert_eq!(opened(false), 1, "what is sent is all that there is");
    let opened = opened(true);
    assert!(opened >= 4, "{opened} connections");
}

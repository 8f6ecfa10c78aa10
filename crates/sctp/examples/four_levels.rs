//! Messages of four levels, sent all at once and read slowly: what matters most is read first, and
//! what matters least still comes half a second later at most.
//!
//! Run it with `cargo run -p anabranch-sctp --example four_levels`.

#![expect(clippy::print_stdout, reason = "a program says what it read")]

use std::error::Error;
use std::time::Duration;

use anabranch_netsim::{LinkConfig, Pair, Side};
use anabranch_sctp::{
    AssociationConfig, Bytes, Endpoint, EndpointConfig, FourTuple, Level, OutgoingMessage, Rate,
    ReceiveOrder, StreamId,
};

fn main() -> Result<(), Box<dyn Error>> {
    let association = AssociationConfig::media()
        .with(|config| config.buffers.receive_order = ReceiveOrder::PRIORITY);
    let listener =
        EndpointConfig { accept: true, association: association.clone(), ..Default::default() };
    let link = LinkConfig { rate: Some(Rate::mbps(20)), ..LinkConfig::default() };
    let mut pair = Pair::new(1, &[link.into()], |side, _, rng| match side {
        Side::Client => Endpoint::new(EndpointConfig::default(), rng),
        Side::Server => Endpoint::new(listener.clone(), rng),
    });
    let paths: Vec<FourTuple> = pair.paths().iter().map(|path| path.addresses).collect();
    let sender =
        pair.act_client(|endpoint, now| endpoint.connect(now, &paths, (5000, 5000), association))??;
    pair.run_for(Duration::from_secs(1))?;

    // Each level on a stream of its own: within a stream, messages stay in order.
    for level in [Level::Low, Level::Normal, Level::High, Level::Urgent].repeat(4) {
        let stream = StreamId(level.index() as u16);
        let message =
            OutgoingMessage { level, ..OutgoingMessage::new(stream, Bytes::from(vec![0; 1_000])) };
        let taken = pair.act_client(|endpoint, now| {
            endpoint.association_mut(sender).map(|association| association.send(now, message))
        })?;
        taken.ok_or("the association is gone")??;
    }
    pair.run_for(Duration::from_millis(50))?;

    let begin = pair.now();
    let receiver = pair.server().associations().next().ok_or("nobody called")?;
    while let Some(message) = pair.act_server(|endpoint, _| {
        endpoint.association_mut(receiver).and_then(|association| association.receive())
    })? {
        let after = pair.now().saturating_since(begin).as_millis();
        println!("after {after:>4} ms: {:?}", message.level);
        pair.run_for(Duration::from_millis(50))?;
    }
    let levels = pair.server().association(receiver).map(|it| it.stats().levels);
    for (level, stats) in Level::ALL.iter().zip(levels.unwrap_or_default()) {
        let half = stats.delay_p50.as_millis();
        println!("{level:?}: {} read, half of them within {half} ms", stats.read);
    }
    Ok(())
}

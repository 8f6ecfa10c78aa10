//! Messages of four levels, sent all at once and read slowly: what matters most is read first, and
//! what matters least still comes half a second later at most.
//!
//! Run it with `cargo run -p anabranch-sctp --example four_levels`.

#![expect(clippy::print_stdout, reason = "a program says what it read")]

use std::error::Error;
use std::time::Duration;

use anabranch_netsim::{LinkConfig, Pair, Side};
use anabranch_sctp::{
    Association, AssociationConfig, Bytes, Endpoint, EndpointConfig, FourTuple, Level,
    OutgoingMessage, Rate, ReceiveOrder, StreamId,
};

const BETWEEN_READS: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    let mut pair = connect()?;
    for level in [Level::Low, Level::Normal, Level::High, Level::Urgent].repeat(4) {
        // Each level on a stream of its own: within a stream, messages stay in order.
        let stream = StreamId(level.index() as u16);
        let message =
            OutgoingMessage { level, ..OutgoingMessage::new(stream, Bytes::from(vec![0; 1_000])) };
        pair.act_client(|sender, now| only(sender)?.send(now, message).ok())?.ok_or("full")?;
    }
    pair.run_for(BETWEEN_READS)?;

    let begin = pair.now();
    while let Some(message) = pair.act_server(|receiver, _| only(receiver)?.receive())? {
        let after = pair.now().saturating_since(begin).as_millis();
        println!("after {after:>3} ms: {:?}", message.level);
        pair.run_for(BETWEEN_READS)?;
    }
    let levels = only(pair.server_mut()).ok_or("gone")?.stats().levels;
    for (level, stats) in Level::ALL.iter().zip(levels) {
        let half = stats.delay_p50.as_millis();
        println!("{level:?}: {} read, half of them within {half} ms", stats.read);
    }
    Ok(())
}

/// Two ends of one association over a link of 20 Mbit/s, of which the server reads by level.
fn connect() -> Result<Pair<Endpoint>, Box<dyn Error>> {
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
    pair.act_client(|endpoint, now| endpoint.connect(now, &paths, (5000, 5000), association))??;
    pair.run_for(Duration::from_secs(1))?;
    Ok(pair)
}

fn only(endpoint: &mut Endpoint) -> Option<&mut Association> {
    let id = endpoint.associations().next()?;
    endpoint.association_mut(id)
}

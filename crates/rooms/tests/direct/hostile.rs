//! Who is no agent of a pair gets nothing through the room to one.

use crate::harness::{SECOND, World, behind, usual_nat};

/// The ports of a packet between two agents, and nothing behind them.
fn packet(len: usize) -> Vec<u8> {
    let mut bytes = vec![0x13, 0x8d, 0x13, 0x8d];
    bytes.resize(len, 0xff);
    bytes
}

#[test]
fn packets_of_strangers_are_not_passed_on() {
    let homes = [behind(usual_nat(), &[10]), behind(usual_nat(), &[15]), behind(usual_nat(), &[9])];
    let mut world = World::new(1, &homes);
    world.enter(0, "Alice");
    world.enter(1, "Bob");
    world.run_for(2 * SECOND);
    let received = |world: &mut World| {
        let stats = world.stats(1);
        stats.network.paths.iter().map(|path| path.bytes_received).sum::<u64>()
    };
    let before = received(&mut world);
    for len in [4, 12, 1_200] {
        for _ in 0..50 {
            world.forge(
                "198.18.2.1:4000".parse().unwrap(),
                "203.0.113.1:9000".parse().unwrap(),
                packet(len),
            );
        }
    }
    world.run_for(SECOND / 2);
    let passed = received(&mut world) - before;
    assert!(passed < 5_000, "{passed}");
}

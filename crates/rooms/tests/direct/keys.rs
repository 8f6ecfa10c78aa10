//! Who could listen to two agents: nobody, if they got each other's keys.

use std::sync::Arc;

use anabranch_keys::{Identity, PublicKey, TlsKeys, Trust};
use anabranch_rooms::protocol::Kind;
use anabranch_rooms::{PeerKeys, Sealed};
use anabranch_transport::Encryption;

use crate::harness::{Keys, SECOND, World, behind, usual_nat};

const LISTENED_TO: &str = "room: Encrypted on its way. Who runs this room could listen.";

/// Makes associations with whoever has this key, whatever the room says.
#[derive(Debug)]
struct Only {
    own: Identity,
    believed: Option<PublicKey>,
}

impl PeerKeys for Only {
    fn of_peer(&self, key: &[u8]) -> Option<Sealed> {
        let said = PublicKey::from_bytes(key)?;
        let encryption = encryption(&self.own, Trust::Only(vec![self.believed.unwrap_or(said)]));
        let mut both = [self.own.public_key().to_string(), said.to_string()];
        both.sort();
        Some(Sealed { encryption, code: both.concat() })
    }
}

fn encryption(identity: &Identity, trust: Trust) -> Encryption {
    TlsKeys::new(identity, trust).expect("keys").required()
}

/// Two in a room that tells the second one that the first had the key `lie`.
fn two(seed: u64, lie: Option<PublicKey>) -> World {
    let agent = |believed| {
        let own = Identity::generate().expect("an identity");
        let to_room = encryption(&own, Trust::Anyone);
        let peer_keys: Arc<dyn PeerKeys> = Arc::new(Only { own, believed });
        (to_room, peer_keys)
    };
    let room = encryption(&Identity::generate().expect("an identity"), Trust::Anyone);
    let keys = Keys { room, agents: vec![agent(None), agent(lie)] };
    let homes = [behind(usual_nat(), &[10]), behind(usual_nat(), &[15])];
    let mut world = World::with_keys(seed, &homes, Some(keys));
    let numbers = [world.enter(0, "Alice"), world.enter(1, "Bob")];
    world.turn_on(0, 1_000);
    world.turn_on(1, 1_000);
    world.run_for(3 * SECOND);
    let since = world.now();
    world.run_for(2 * SECOND);
    for (to, from) in [(1, numbers[0]), (0, numbers[1])] {
        for kind in [Kind::Voice, Kind::Picture] {
            let came = world.frames(to, kind.of(from), since).len();
            assert!(came >= 45, "{kind:?} of {from:?}: {came}");
        }
    }
    world
}

#[test]
fn both_pages_say_that_nobody_can_listen_and_show_the_same_code() {
    let mut world = two(1, None);
    assert!(world.stats(0).is_direct && world.stats(1).is_direct);
    let told = [world.listeners(0), world.listeners(1)];
    assert!(told[0].starts_with("nobody: ") && told[0] == told[1], "{told:?}");
    world.agent(1, |agent, now| agent.leave(now));
    world.run_for(SECOND);
    assert_eq!(world.listeners(0), LISTENED_TO);
}

#[test]
fn a_room_that_lies_about_a_key_joins_nobody_and_carries_the_media_itself() {
    let lie = Identity::generate().expect("an identity").public_key();
    let mut world = two(2, Some(lie));
    assert!(!world.stats(0).is_direct && !world.stats(1).is_direct);
    assert_eq!([world.listeners(0), world.listeners(1)], [LISTENED_TO; 2]);
}

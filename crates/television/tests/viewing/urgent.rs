//! Urgent messages.

use anabranch_television::ViewerEvent;
use anabranch_television::protocol::UrgentLevel;

use crate::broadcast::THREE_MBPS;
use crate::harness::{MILLISECOND, SECOND, Studio, link};

fn urgent_ids(studio: &Studio) -> Vec<u32> {
    let id = |event: &ViewerEvent| {
        let ViewerEvent::Urgent(urgent) = event else { return None };
        Some(urgent.id)
    };
    studio.told().filter_map(id).collect()
}

/// Of each message that holds: how many were told, and how many have shown it.
fn told_and_seen(studio: &Studio) -> Vec<(u32, usize, usize)> {
    let messages = studio.server().television().urgent_messages();
    messages.map(|message| (message.urgent.id, message.told, message.seen)).collect()
}

#[test]
fn an_urgent_message_overtakes_the_channel_and_is_acknowledged() {
    // The channel takes all that the network carries.
    let mut studio = Studio::new(1, link(3, 25, 0.02));
    let channel = studio.add(1, THREE_MBPS);
    studio.run_for(2 * SECOND);
    studio.zap(channel, 4 * SECOND).expect("a picture");
    studio.run_for(5 * SECOND);
    let id = studio.television(|it| it.urgent(UrgentLevel::Alarm, "Leave the house.", None));
    assert!(studio.run_until(300 * MILLISECOND, |studio| urgent_ids(studio) == [id]));
    assert_eq!(told_and_seen(&studio), [(id, 1, 0)]);
    studio.viewer(|viewer, _| viewer.seen(id));
    studio.run_for(SECOND);
    assert_eq!(told_and_seen(&studio), [(id, 1, 1)]);
    studio.television(|television| television.end_urgent(id));
    assert_eq!(told_and_seen(&studio), []);
    studio.run_for(SECOND);
    assert!(studio.told().any(|event| *event == ViewerEvent::Over { id }));
}

#[test]
fn a_message_for_one_channel_is_for_who_watches_it_once() {
    let mut studio = Studio::new(2, link(20, 25, 0.0));
    let [first, second] = [1, 2].map(|number| studio.add(number, THREE_MBPS));
    studio.run_for(2 * SECOND);
    studio.zap(first, SECOND).expect("a picture");
    let notice = UrgentLevel::Notice;
    let id = studio.television(|it| it.urgent(notice, "No pictures at noon.", Some(second)));
    studio.run_for(SECOND);
    assert!(urgent_ids(&studio).is_empty());
    assert_eq!(told_and_seen(&studio), [(id, 0, 0)]);
    for channel in [second, first, second] {
        studio.zap(channel, SECOND).expect("a picture");
    }
    assert_eq!(urgent_ids(&studio), [id]);
}

#[test]
fn who_comes_later_is_told_what_still_holds() {
    let mut studio = Studio::new(3, link(20, 25, 0.0));
    let [over, holds] = ["over", "holds"]
        .map(|text| studio.television(|it| it.urgent(UrgentLevel::Notice, text, None)));
    studio.television(|television| television.end_urgent(over));
    studio.run_for(SECOND);
    assert_eq!(urgent_ids(&studio), [holds]);
}

//! Who is let in, and who is sent away.

use anabranch_netsim::LinkConfig;
use anabranch_sansio::Time;
use anabranch_television::channel::{ChannelId, Label};
use anabranch_television::{AccessPolicy, Admission, NativeEvent, Permission, ViewerEvent};

use crate::broadcast::THREE_MBPS;
use crate::harness::{SECOND, Studio, link};

/// Knows one token, which is good for channel 2 and for ten seconds.
#[derive(Debug)]
struct Porter;

impl AccessPolicy for Porter {
    fn admit(&mut self, now: Time, token: Option<&str>) -> Result<Admission, String> {
        match token {
            None => Ok(Admission::default()),
            Some("two") => Ok(Admission {
                name: Some("somebody".to_owned()),
                channels: Permission::Numbers([2].into()),
                until: Some(now + 10 * SECOND),
            }),
            Some(_) => Err("this token was not made by us".to_owned()),
        }
    }
}

fn studio(token: Option<&str>) -> Studio {
    let good: LinkConfig = link(20, 25, 0.0);
    let mut studio = Studio::with_gate(1, good, token, || Box::new(Porter));
    studio.add(1, THREE_MBPS);
    let label = Label { number: 2, name: "Secret".to_owned(), group: None, open: false };
    studio.television(|television| television.add_channel(label));
    studio
}

fn goodbyes(studio: &Studio) -> Vec<&str> {
    fn said(event: &ViewerEvent) -> Option<&str> {
        let ViewerEvent::Bye(text) = event else { return None };
        Some(text)
    }
    studio.told().filter_map(said).collect()
}

fn is_closed(studio: &Studio) -> bool {
    studio.events.iter().any(|(_, event)| matches!(event, NativeEvent::Closed(_)))
}

#[test]
fn a_channel_that_is_not_open_needs_a_token() {
    for (token, seen) in [(None, 1), (Some("two"), 2)] {
        let mut studio = studio(token);
        studio.run_for(SECOND);
        let listed = studio.told().find_map(|event| {
            let ViewerEvent::Welcome { channels, .. } = event else { return None };
            Some(channels.len())
        });
        assert_eq!(listed, Some(seen));
        studio.viewer(|viewer, now| viewer.tune(now, ChannelId(2)));
        studio.run_for(SECOND);
        let refused = studio.told().any(|event| matches!(event, ViewerEvent::Error(_)));
        assert_eq!(refused, token.is_none());
    }
}

#[test]
fn a_channel_that_is_not_open_shows_not_even_a_still() {
    for (token, shows) in [(None, false), (Some("two"), true)] {
        let mut studio = studio(token);
        studio.broadcast(|broadcast, television| {
            broadcast.begin(television, ChannelId(2), THREE_MBPS);
        });
        studio.run_for(SECOND);
        studio.viewer(|viewer, _| viewer.ask_still(ChannelId(2)));
        studio.run_for(4 * SECOND);
        let still = studio.told().find_map(|event| {
            let ViewerEvent::Still { bytes, .. } = event else { return None };
            Some(!bytes.is_empty())
        });
        assert_eq!(still, Some(shows));
    }
}

#[test]
fn a_wrong_token_is_refused_in_words() {
    let mut studio = studio(Some("three"));
    studio.run_for(2 * SECOND);
    assert_eq!(goodbyes(&studio), ["this token was not made by us"]);
    assert!(is_closed(&studio));
    assert_eq!(studio.server().television().viewers().count(), 0);
}

#[test]
fn a_permission_ends_when_it_says_and_open_channels_stay() {
    let mut studio = studio(Some("two"));
    studio.run_for(SECOND);
    studio.viewer(|viewer, now| viewer.tune(now, ChannelId(2)));
    studio.run_for(8 * SECOND);
    let ended = |studio: &Studio| {
        studio.told().any(|event| {
            let ViewerEvent::OffAir { channel, text } = event else { return false };
            *channel == ChannelId(2) && text == "the permission to watch this channel has ended"
        })
    };
    assert!(!ended(&studio));
    studio.run_for(2 * SECOND);
    assert!(ended(&studio));
    let guided = studio.told().any(|event| {
        let ViewerEvent::Guidance(text) = event else { return false };
        text == "This token has ended; channels that need one are no longer there."
    });
    assert!(guided);
    let watched = |studio: &Studio| studio.server().television().viewers().next()?.channel;
    assert_eq!(watched(&studio), None);
    let listed = studio.told().filter_map(|event| {
        let ViewerEvent::Channels(channels) = event else { return None };
        Some(channels.iter().map(|entry| entry.id).collect::<Vec<_>>())
    });
    assert_eq!(listed.last(), Some(vec![ChannelId(1)]));
    studio.viewer(|viewer, now| viewer.tune(now, ChannelId(2)));
    studio.run_for(SECOND);
    assert!(studio.told().any(|event| matches!(event, ViewerEvent::Error(_))));
    studio.viewer(|viewer, now| viewer.tune(now, ChannelId(1)));
    studio.run_for(SECOND);
    assert_eq!(watched(&studio), Some(ChannelId(1)));
    assert!(!is_closed(&studio));
}

#[test]
fn a_viewer_may_ask_for_much_as_soon_as_it_is_there() {
    let mut studio = studio(None);
    studio.run_for(SECOND);
    for _ in 0..60 {
        studio.viewer(|viewer, now| viewer.tune(now, ChannelId(1)));
    }
    studio.run_for(2 * SECOND);
    assert_eq!(goodbyes(&studio), [""; 0]);
    assert!(!is_closed(&studio));
}

#[test]
fn a_flood_of_requests_ends_the_session() {
    let mut studio = studio(None);
    studio.run_for(SECOND);
    for _ in 0..500 {
        studio.viewer(|viewer, now| viewer.tune(now, ChannelId(1)));
    }
    studio.run_for(2 * SECOND);
    assert_eq!(goodbyes(&studio), ["too many requests: at most 50 a second"]);
    assert!(is_closed(&studio));
}

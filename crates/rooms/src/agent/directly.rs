//! How an agent comes to talk to the only other member of its room, and stops.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use anabranch_call::{LogKind, LogLine, PathUse};
use anabranch_sansio::{FourTuple, Time};
use anabranch_transport::{PathPreference, PathReport};

use super::direct::{Direct, News, Setup};
use super::private::{Addressed, FromPeer};
use super::visit::ForAgent;
use super::{Agent, AgentEvent, Said};
use crate::protocol::{Forwarded, FromMember, Introduction, Listeners};

impl Agent {
    /// Does what the room says to the agent.
    pub(super) fn heed(&mut self, now: Time, words: ForAgent) {
        match words {
            ForAgent::Entered => self.say_candidates(),
            ForAgent::Introduced(introduction) => self.begin_direct(now, &introduction),
            ForAgent::Parted => self.part_direct(now),
            ForAgent::Bye(text) => self.tell(AgentEvent::Bye(text)),
        }
        self.turn(now);
    }

    /// Tells the room where another agent may find this one, if it would know that other one.
    pub(super) fn say_candidates(&mut self) {
        if self.config.encryption.is_some() && self.config.peer_keys.is_none() {
            return;
        }
        let addresses: BTreeSet<SocketAddr> =
            self.ways_to_room().iter().map(|path| path.local).collect();
        let message = FromMember::Candidates { addresses: addresses.into_iter().collect() };
        if let Some(visit) = &mut self.visit {
            visit.say(message.encode(), None);
        }
    }

    /// From each of our addresses to the room.
    fn ways_to_room(&self) -> Vec<FourTuple> {
        let connection = self.visit.as_ref().and_then(|visit| self.transport.connection(visit.id));
        let paths = connection.map(|connection| connection.stats().paths).unwrap_or_default();
        paths.into_iter().map(|path| path.tuple).collect()
    }

    fn begin_direct(&mut self, now: Time, introduction: &Introduction) {
        if let Some(direct) = &mut self.direct
            && direct.is_with(introduction.member)
        {
            return direct.learn(now, &introduction.addresses);
        }
        self.direct = None;
        let sealed = match (&self.config.peer_keys, &self.config.encryption) {
            (Some(keys), Some(_)) => {
                let key = introduction.key.as_deref().and_then(from_hexadecimal);
                let Some(sealed) = key.and_then(|key| keys.of_peer(&key)) else { return };
                Some(sealed)
            }
            (None, Some(_)) => return,
            (_, None) => None,
        };
        let setup = Setup {
            sealed,
            segments_max: self.config.segments_max,
            by_room: self.ways_to_room(),
            paths: self.paths.of_same_names(),
            rng: self.rng.fork(),
        };
        // Without it media goes through the room.
        self.direct = Direct::begin(now, introduction, setup).ok();
        let is_traced = self.records.is_on();
        self.direct.iter_mut().for_each(|direct| direct.set_tracing(is_traced));
    }

    /// The two are not alone any more.
    fn part_direct(&mut self, now: Time) {
        let Some(direct) = &mut self.direct else { return };
        let was_open = direct.is_open();
        direct.part(now);
        if was_open {
            self.on_room_carries(now, "All media goes through the room again.");
        }
    }

    /// The visit is over.
    pub(super) fn end_direct(&mut self, now: Time) {
        if let Some(direct) = &mut self.direct {
            direct.end(now);
        }
    }

    /// Sends a piece of the page's media to whom it is for.
    pub(super) fn forward(&mut self, now: Time, piece: Forwarded) {
        let Self { visit, transport, direct, records, .. } = self;
        if let Some(direct) = direct
            && direct.takes(now, piece.class)
        {
            return direct.forward(now, piece, records);
        }
        let Some(visit) = visit else { return };
        if let Some(connection) = transport.connection_mut(visit.id) {
            visit.forwarding.forward(now, piece, connection, records);
        }
    }

    /// Takes what the page says, if it is for the other one of two alone; returns what is for the
    /// room.
    pub(super) fn say_directly(&mut self, now: Time, said: Said) -> Option<Said> {
        let Some(direct) = self.direct.as_mut().filter(|direct| direct.is_open()) else {
            return Some(said);
        };
        match direct.private.push(now, said) {
            Addressed::Room(said) => Some(said),
            Addressed::Taken => None,
            Addressed::Words(text) => {
                if let Some(visit) = &mut self.visit {
                    visit.tell_words(now, None, text);
                    self.is_readable = true;
                }
                None
            }
        }
    }

    /// The next thing that the other one says to the page.
    pub(super) fn receive_directly(&mut self, now: Time) -> Option<Said> {
        let direct = self.direct.as_mut()?;
        match direct.receive(now, &mut self.voices)? {
            FromPeer::Said(said) => Some(said),
            FromPeer::Words(text) => {
                let (member, visit) = (direct.member(), self.visit.as_mut()?);
                visit.tell_words(now, Some(member), text);
                visit.take_own_words()
            }
        }
    }

    /// The association was lost, and perhaps what was written last with it.
    fn on_words_lost(&mut self, now: Time) {
        if self.direct.as_ref().is_some_and(|direct| direct.private.may_lack_words(now)) {
            let text = "What you wrote last may not have arrived: write it again.";
            self.log_use(now, text);
        }
    }

    /// Takes what happened between the two.
    pub(super) fn turn_direct(&mut self, now: Time) {
        let Some(direct) = &mut self.direct else { return };
        direct.turn(now, &self.voices);
        while let Some(news) = self.direct.as_mut().and_then(Direct::poll_news) {
            match news {
                News::Opened => self.on_opened(now),
                News::Readable => self.is_readable = true,
                News::Log(line) => self.tell(AgentEvent::Log(line)),
                News::Lost => {
                    self.on_words_lost(now);
                    if let Some(visit) = &mut self.visit {
                        visit.forwarding.break_off();
                        visit.want_key();
                    }
                    self.on_room_carries(now, "The other one is not reached directly any more.");
                }
            }
        }
        if self.direct.as_ref().is_some_and(Direct::is_over) {
            self.direct = None;
        }
    }

    fn on_opened(&mut self, now: Time) {
        let Some(direct) = &mut self.direct else { return };
        let Some(visit) = &mut self.visit else { return };
        direct.rate = visit.rate();
        direct.forwarding.voice_twice = visit.forwarding.voice_twice;
        visit.want_key();
        if let Some(code) = &direct.code {
            let text = format!(
                "Nobody else can listen, if the other one reads this here, too: {code}. Voice, \
                 pictures, texts and files are encrypted from your machine to the other one; the \
                 room knows who is there, and what files are called."
            );
            visit.tell_listeners(Some(Listeners { is: "nobody".to_owned(), text }));
        }
        self.is_readable = true;
        self.log_use(now, "Voice and pictures go to the other one without the room.");
    }

    fn on_room_carries(&mut self, now: Time, text: &str) {
        if let Some(visit) = &mut self.visit {
            visit.tell_listeners(None);
            visit.follow_direct_rate(None);
            self.is_readable = true;
        }
        self.log_use(now, text);
    }

    fn log_use(&mut self, now: Time, text: &str) {
        let (kind, text) = (LogKind::PathUse, text.to_owned());
        self.tell(AgentEvent::Log(LogLine { at: now, kind, path: None, text }));
    }

    /// The other agent learns how we use one of its paths, and where none from our address is in
    /// use any more, the room as well.
    pub(super) fn say_use_directly(&mut self, now: Time, path: &PathReport, wanted: PathUse) {
        let Some(direct) = &mut self.direct else { return };
        let (local, remote) = (path.tuple.local.to_string(), path.tuple.remote.to_string());
        let over = match wanted {
            PathUse::Use | PathUse::Spare => PathPreference::Prefer(path.id),
            PathUse::Never => PathPreference::Any,
        };
        // Without room for it the path is spared by this end alone.
        let _said = direct.private.say(&FromMember::Path { r#use: wanted, local, remote }, over);
        let stats = direct.stats().unwrap_or_default();
        let mut beside = stats.paths.iter().filter(|other| other.tuple.local == path.tuple.local);
        let is_in_use = beside.any(|other| direct.paths.note(other.id).ours == PathUse::Use);
        if wanted == PathUse::Use || !is_in_use {
            self.use_way_to_room(now, path.tuple.local, wanted);
        }
    }

    fn use_way_to_room(&mut self, now: Time, local: SocketAddr, wanted: PathUse) {
        let Self { visit, transport, paths, .. } = self;
        let Some(visit) = visit else { return };
        let Some(connection) = transport.connection_mut(visit.id) else { return };
        let reports = connection.stats().paths;
        let Some(report) = reports.iter().find(|path| path.tuple.local == local) else { return };
        if paths.set_use(now, report.id, wanted, connection).is_ok() {
            let (local, remote) = (local.to_string(), report.tuple.remote.to_string());
            let message = FromMember::Path { r#use: wanted, local, remote };
            visit.say(message.encode(), (wanted != PathUse::Never).then_some(report.id));
        }
    }

    /// A tenth of a second is over.
    pub(super) fn tick_direct(&mut self, now: Time) {
        let (Some(direct), Some(visit)) = (&mut self.direct, &mut self.visit) else { return };
        if direct.tick(now, &self.voices) {
            visit.want_key();
        }
        visit.follow_direct_rate(direct.carries_pictures().then(|| direct.rate.rate()));
    }
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(
        digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_digits_and_nothing_else() {
        assert_eq!(from_hexadecimal("00ffA5"), Some(vec![0, 255, 0xa5]));
        for text in ["0", "0g", "\u{661}0", "ü"] {
            assert_eq!(from_hexadecimal(text), None, "{text}");
        }
    }
}

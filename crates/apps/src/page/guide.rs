//! [`Guide`]: the channels that pages choose from, and what is urgent.

use std::collections::VecDeque;

use anabranch_television::protocol::{ChannelEntry, Urgent};

use super::protocol::{ProgramMessage, Tuned};

/// Urgent messages that hold at once: as many as a server keeps.
const URGENT_MAX: usize = 16;

/// What a page must know that comes later. A hello does not void it.
#[derive(Debug, Default)]
pub(super) struct Guide {
    channels: Option<String>,
    tuned: Option<String>,
    urgent: VecDeque<Urgent>,
}

impl Guide {
    /// What to tell the pages of this list.
    pub(super) fn set_channels(&mut self, channels: Vec<ChannelEntry>) -> String {
        self.channels.insert(ProgramMessage::Channels { channels }.to_json()).clone()
    }

    /// What to tell the pages of this.
    pub(super) fn set_tuned(&mut self, tuned: Tuned) -> String {
        self.tuned.insert(ProgramMessage::Tuned(tuned).to_json()).clone()
    }

    /// What to tell the pages of this message: where there is no room for it, the oldest goes.
    pub(super) fn add_urgent(&mut self, urgent: Urgent) -> Vec<String> {
        let mut texts = Vec::new();
        self.urgent.retain(|known| known.id != urgent.id);
        if self.urgent.len() == URGENT_MAX {
            let oldest = self.urgent.pop_front();
            texts.extend(oldest.map(|oldest| ProgramMessage::Over { id: oldest.id }.to_json()));
        }
        self.urgent.push_back(urgent.clone());
        texts.push(ProgramMessage::Urgent(urgent).to_json());
        texts
    }

    /// What to tell the pages of the end of this message, or of all.
    pub(super) fn end_urgent(&mut self, id: Option<u32>) -> Vec<String> {
        let is_over = |urgent: &Urgent| id.is_none_or(|id| urgent.id == id);
        let over = self.urgent.iter().filter(|urgent| is_over(urgent));
        let texts = over.map(|urgent| ProgramMessage::Over { id: urgent.id }.to_json()).collect();
        self.urgent.retain(|urgent| !is_over(urgent));
        texts
    }

    /// The list for a page that comes now.
    pub(super) fn channels_text(&self) -> Option<String> {
        self.channels.clone()
    }

    /// All else for it.
    pub(super) fn texts(&self) -> Vec<String> {
        let urgent = self.urgent.iter().map(|it| ProgramMessage::Urgent(it.clone()).to_json());
        self.tuned.clone().into_iter().chain(urgent).collect()
    }
}

#[cfg(test)]
mod tests {
    use anabranch_television::protocol::UrgentLevel;

    use super::*;

    fn urgent(id: u32) -> Urgent {
        Urgent { id, level: UrgentLevel::Alarm, text: "Leave the house.".into() }
    }

    #[test]
    fn urgent_messages_are_bounded_and_the_oldest_goes() {
        let mut guide = Guide::default();
        for id in 0..URGENT_MAX as u32 {
            assert_eq!(guide.add_urgent(urgent(id)).len(), 1);
        }
        assert_eq!(guide.add_urgent(urgent(1)).len(), 1, "it is known already");
        let texts = guide.add_urgent(urgent(99));
        assert_eq!(texts[0], r#"{"type":"over","id":0}"#);
        assert_eq!(guide.texts().len(), URGENT_MAX);
    }

    #[test]
    fn what_is_over_is_told_once() {
        let mut guide = Guide::default();
        for id in [1, 2, 3] {
            guide.add_urgent(urgent(id));
        }
        assert_eq!(guide.end_urgent(Some(2)), [r#"{"type":"over","id":2}"#]);
        assert_eq!(guide.end_urgent(Some(2)), [""; 0]);
        assert_eq!(guide.end_urgent(None).len(), 2);
        assert_eq!(guide.texts(), [""; 0]);
    }
}

//! [`Tab`]: what waits for the one page that has the call.

use anabranch_call::{PictureKind, Playback, Played};
use bytes::Bytes;
use tokio::sync::mpsc;

use super::Waiting;

/// Messages that wait for a page. A page that leaves so many waiting, five seconds of voice and
/// pictures, gets no picture before the next key picture that fits.
const WAITING_MAX: usize = 512;

/// Of these places, pictures leave so many free, for voice and words.
const FREE_MIN: usize = 128;

/// The one page that has the call.
#[derive(Debug)]
pub(super) struct Tab {
    sender: mpsc::Sender<Waiting>,
    /// Only a key picture helps: one before it was left out, or none came yet.
    lacks_key: bool,
    /// Whether it was told how things stand; before that it gets nothing.
    is_greeted: bool,
}

impl Tab {
    pub(super) fn new() -> (Self, mpsc::Receiver<Waiting>) {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        (Self { sender, lacks_key: true, is_greeted: false }, receiver)
    }

    /// Whether nobody reads any more.
    pub(super) fn is_gone(&self) -> bool {
        self.sender.is_closed()
    }

    /// Tells how things stand, once.
    pub(super) fn greet<'a>(&mut self, texts: impl IntoIterator<Item = &'a String>) {
        if self.is_greeted {
            return;
        }
        self.is_greeted = true;
        texts.into_iter().for_each(|text| self.send(text.clone()));
    }

    /// What a page does not read is gone: numbers and states come again.
    pub(super) fn send(&mut self, text: String) {
        if self.is_greeted {
            let _full = self.sender.try_send(Waiting::Text(text));
        }
    }

    /// Hands on a block of a file, which leaves room for all else.
    pub(super) fn bring(&self, message: impl FnOnce() -> Bytes) {
        if self.is_greeted && self.sender.capacity() > FREE_MIN {
            let _full = self.sender.try_send(Waiting::Media(message()));
        }
    }

    /// Hands something on to be played; false if the page needs a key picture now.
    pub(super) fn play(&mut self, playback: &Playback, message: impl FnOnce() -> Bytes) -> bool {
        if !self.is_greeted {
            return true;
        }
        let Played::Picture { kind, .. } = &playback.what else {
            let _full = self.sender.try_send(Waiting::Media(message()));
            return true;
        };
        if self.lacks_key && *kind != PictureKind::Key {
            return false;
        }
        let has_room = self.sender.capacity() > FREE_MIN;
        let is_taken = has_room && self.sender.try_send(Waiting::Media(message())).is_ok();
        self.lacks_key = !is_taken && kind.is_reference();
        !self.lacks_key
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Time;

    use super::*;

    fn picture(kind: PictureKind) -> Playback {
        let bytes = Bytes::from_static(&[1]);
        let what = Played::Picture { kind, discontinuity: false, bytes };
        Playback { play_at: Time::ZERO, captured_us: 0, frame: 0, what }
    }

    #[test]
    fn a_page_is_greeted_before_it_gets_anything_else() {
        let (mut tab, mut receiver) = Tab::new();
        tab.send("too early".to_owned());
        assert!(tab.play(&picture(PictureKind::Reference), Bytes::new), "it asks for no key yet");
        tab.greet(&["hello".to_owned()]);
        tab.greet(&["once is enough".to_owned()]);
        tab.send("then this".to_owned());
        for expected in ["hello", "then this"] {
            let Ok(Waiting::Text(text)) = receiver.try_recv() else { panic!("{expected}") };
            assert_eq!(text, expected);
        }
        assert!(receiver.try_recv().is_err());
    }

    #[test]
    fn a_page_that_does_not_read_gets_no_picture_before_the_next_key_and_bounded_words() {
        let (mut tab, mut receiver) = Tab::new();
        let media = || Bytes::from_static(&[0]);
        tab.greet([]);
        assert!(!tab.play(&picture(PictureKind::Reference), media), "it begins with a key picture");
        assert!(tab.play(&picture(PictureKind::Key), media));
        while tab.play(&picture(PictureKind::Reference), media) {}
        assert_eq!(tab.sender.capacity(), FREE_MIN);
        (0..1_000).for_each(|_| tab.send("x".to_owned()));
        assert_eq!(tab.sender.capacity(), 0);
        while receiver.try_recv().is_ok() {}
        (0..1_000).for_each(|_| tab.bring(media));
        assert_eq!(tab.sender.capacity(), FREE_MIN, "files leave the same room");
        while receiver.try_recv().is_ok() {}
        assert!(!tab.play(&picture(PictureKind::Reference), media));
        assert!(tab.play(&picture(PictureKind::Key), media));
        assert!(!tab.is_gone());
        drop(receiver);
        assert!(tab.is_gone());
    }
}

//! [`Tape`]: what a page hears and sees of the others, written into a folder beside it.

use std::path::PathBuf;

use anabranch_driver::Clock;
use anabranch_rooms::protocol::{FromMember, MemberNumber};
use anabranch_rooms::{Listener, Said};
use anabranch_sansio::Time;
use anabranch_session::treatment::MediaClass;

use super::page::RoomPage;
use super::recordings::Recordings;
use super::{Brought, until_due};
use crate::service::ServiceError;

/// Hears what the room says to a page, and records what is played out of it.
pub(super) struct Tape {
    /// Of the visit that goes on.
    listener: Option<Listener>,
    recordings: Recordings,
    clock: Clock,
}

impl Tape {
    /// Makes the folder.
    pub(super) fn create(folder: PathBuf, clock: Clock) -> Result<Self, ServiceError> {
        Ok(Self { listener: None, recordings: Recordings::create(folder)?, clock })
    }

    /// The next thing that the page brings, or for which the recording asks the room; records
    /// meanwhile. May be given up at any time.
    pub(super) async fn brought(
        &mut self,
        page: &mut RoomPage,
    ) -> Result<Option<Brought>, ServiceError> {
        loop {
            let now = self.clock.now();
            if let Some(member) = self.play(now)? {
                return Ok(Some(Brought::Said(key_wanted(member))));
            }
            let due = self.listener.as_ref().and_then(|listener| listener.playback_timeout(now));
            tokio::select! {
                brought = page.brought() => {
                    self.follow(brought.as_ref())?;
                    return Ok(brought);
                }
                () = until_due(self.clock, now, due) => {}
            }
        }
    }

    /// The room said something to the page.
    pub(super) fn hear(&mut self, said: Said) -> Result<(), ServiceError> {
        let Some(listener) = &mut self.listener else { return Ok(()) };
        listener.handle(self.clock.now(), said);
        while let Some(event) = listener.poll_event() {
            self.recordings.note(&event)?;
        }
        Ok(())
    }

    /// The visit is over: all of it is on the disk.
    pub(super) fn stop(&mut self) -> Result<(), ServiceError> {
        self.listener = None;
        self.recordings.finish()
    }

    /// Visits begin and end as the page comes and goes.
    fn follow(&mut self, brought: Option<&Brought>) -> Result<(), ServiceError> {
        let is_opened = matches!(brought, Some(Brought::Opened));
        if is_opened || matches!(brought, Some(Brought::Closed { .. })) {
            self.stop()?;
            self.listener = is_opened.then(Listener::new);
        }
        Ok(())
    }

    /// Records what is due. Returns a member whose pictures cannot be decoded.
    fn play(&mut self, now: Time) -> Result<Option<MemberNumber>, ServiceError> {
        let Some(listener) = &mut self.listener else { return Ok(None) };
        while let Some((member, playback)) = listener.poll_playback(now) {
            self.recordings.take(member, &playback)?;
        }
        Ok(listener.poll_key_wanted(now))
    }
}

fn key_wanted(member: MemberNumber) -> Said {
    let stream = MediaClass::Control.stream().0;
    Said { stream, is_text: true, payload: FromMember::WantKey { member }.encode() }
}

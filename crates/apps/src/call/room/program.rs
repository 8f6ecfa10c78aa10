//! [`Program`]: a member without a page. Its camera and its microphone are files or programs, and
//! what it hears and sees of the others is written into a folder.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use anabranch_call::Device;
use anabranch_driver::Clock;
use anabranch_rooms::protocol::MemberEntry;
use anabranch_rooms::{ListenerEvent, Participant, Said};
use anabranch_sansio::Time;

use super::super::media::{Captured, DeviceSource, Devices, VoiceTurns};
use super::recordings::Recordings;
use super::{Brought, until_due};
use crate::input::InputOptions;
use crate::net::unpredictable_rng;
use crate::service::{ServiceError, Severity, sanitized};

/// How long a room is not heard before it is called anew (docs/meet.md, agents).
const SILENCE_MAX: Duration = Duration::from_secs(9);

/// How long a connection that was lost is tried again: as long as the room keeps the member.
const RETURN_WITHIN: Duration = Duration::from_secs(30);

/// How often it is.
const RETURN_EVERY: Duration = Duration::from_secs(1);

/// A member without a page, and what it has in the place of one.
#[derive(Debug)]
pub struct ProgramOptions {
    /// What it calls itself.
    pub name: String,
    /// Instead of a camera.
    pub camera: Option<DeviceSource>,
    /// Instead of a microphone.
    pub microphone: Option<DeviceSource>,
    /// How their files are read.
    pub input_options: InputOptions,
    /// The folder that gets a folder for each of the others, with what is played out of it.
    pub record: Option<PathBuf>,
}

/// Where it stands.
#[derive(Debug)]
enum Stand {
    /// Outside, and calls at this time.
    Outside(Time),
    /// It has called.
    Called,
    /// The room has said goodbye, so.
    Over(String),
}

/// A member without a page.
pub(super) struct Program {
    participant: Participant,
    devices: Devices,
    recordings: Option<Recordings>,
    clock: Clock,
    voice_turns: VoiceTurns,
    stand: Stand,
    /// Since when the connection is lost.
    lost: Option<Time>,
    lines: VecDeque<(Severity, String)>,
}

impl Program {
    /// Opens its files.
    pub(super) async fn open(options: ProgramOptions, clock: Clock) -> Result<Self, ServiceError> {
        let ProgramOptions { name, camera, microphone, input_options, record } = options;
        for source in [&camera, &microphone].into_iter().flatten() {
            source.check(input_options, clock).await?;
        }
        let recordings = record.map(Recordings::create).transpose()?;
        let session = unpredictable_rng()?.next_u32() as u16;
        Ok(Self {
            participant: Participant::new(name, session),
            devices: Devices::open(camera, microphone, input_options, clock),
            recordings,
            clock,
            voice_turns: VoiceTurns::default(),
            stand: Stand::Outside(clock.now()),
            lost: None,
            lines: VecDeque::new(),
        })
    }

    /// The next thing for the room or for whoever started the program. May be given up at any time.
    pub(super) async fn brought(&mut self) -> Result<Brought, ServiceError> {
        loop {
            let now = self.clock.now();
            self.play(now)?;
            if let Some(brought) = self.next(now) {
                return Ok(brought);
            }
            let due = self.participant.playback_timeout(now);
            tokio::select! {
                Some(captured) = self.devices.captured.recv() => self.on_captured(captured),
                () = until_due(self.clock, now, due) => {}
            }
        }
    }

    /// The room said something.
    pub(super) fn hand_on(&mut self, said: Said) -> Result<(), ServiceError> {
        self.participant.handle(self.clock.now(), said);
        while let Some(event) = self.participant.poll_event() {
            self.on_event(event)?;
        }
        Ok(())
    }

    /// The connection is gone. It is tried again where it had been there.
    ///
    /// # Errors
    /// The visit is over: says why.
    pub(super) fn end(&mut self, why: &str) -> Result<(), ServiceError> {
        let now = self.clock.now();
        let lost = *self.lost.get_or_insert(now);
        let may_return = self.participant.was_inside() && now - lost < RETURN_WITHIN;
        let why = match &self.stand {
            Stand::Over(why) => why,
            Stand::Outside(_) | Stand::Called if !may_return => why,
            Stand::Outside(_) | Stand::Called => {
                self.stand = Stand::Outside(now + RETURN_EVERY);
                return Ok(());
            }
        };
        Err(ServiceError::Lost { reason: why.trim_end_matches('.').to_owned() })
    }

    /// What was recorded is on the disk.
    pub(super) fn finish(&mut self) -> Result<(), ServiceError> {
        self.recordings.as_mut().map_or(Ok(()), Recordings::finish)
    }

    fn next(&mut self, now: Time) -> Option<Brought> {
        if let Some((severity, text)) = self.lines.pop_front() {
            return Some(Brought::Line { severity, text });
        }
        match self.stand {
            Stand::Outside(at) if at <= now => {
                self.stand = Stand::Called;
                self.participant.enter(now);
                Some(Brought::Opened)
            }
            Stand::Called if self.is_silent(now) => {
                self.lost.get_or_insert(now);
                self.stand = Stand::Outside(now);
                Some(Brought::Closed { again: true })
            }
            Stand::Called => self.participant.poll_said().map(Brought::Said),
            Stand::Outside(_) | Stand::Over(_) => None,
        }
    }

    fn is_silent(&self, now: Time) -> bool {
        self.participant.is_inside() && now - self.participant.heard() > SILENCE_MAX
    }

    fn play(&mut self, now: Time) -> Result<(), ServiceError> {
        while let Some((member, playback)) = self.participant.poll_playback(now) {
            if let Some(recordings) = &mut self.recordings {
                recordings.take(member, &playback)?;
            }
        }
        Ok(())
    }

    fn on_captured(&mut self, captured: Captured) {
        match captured {
            Captured::Note(text) => self.say(Severity::Warning, text),
            Captured::Video(video) => self.participant.set_media(|media| {
                (media.video, media.camera) = (Some(video), Device::On);
            }),
            Captured::Voice(voice) => self.participant.set_media(|media| {
                (media.voice, media.microphone) = (Some(voice), Device::On);
            }),
            Captured::Picture(picture) => self.participant.push_picture(picture),
            Captured::Frame(bytes) => {
                let at = self.voice_turns.next(self.clock.now());
                self.participant.push_voice(at, bytes);
            }
        }
    }

    fn on_event(&mut self, event: ListenerEvent) -> Result<(), ServiceError> {
        if let Some(recordings) = &mut self.recordings {
            recordings.note(&event)?;
        }
        match event {
            ListenerEvent::Entered { title, members } => {
                self.lost = None;
                self.say(Severity::Info, entered(&title, &members));
            }
            ListenerEvent::Joined { name } => self.say(Severity::Info, format!("{name} came.")),
            ListenerEvent::Member(_) => {}
            ListenerEvent::Left { text, .. } | ListenerEvent::Listeners(text) => {
                self.say(Severity::Info, text);
            }
            ListenerEvent::Text { name, text } => {
                self.say(Severity::Info, format!("{name}: {text}"));
            }
            ListenerEvent::Bye { text, .. } => self.stand = Stand::Over(sanitized(&text)),
        }
        Ok(())
    }

    fn say(&mut self, severity: Severity, text: impl AsRef<str>) {
        self.lines.push_back((severity, sanitized(text.as_ref())));
    }
}

/// Who is there already, in a sentence.
fn entered(title: &str, members: &[MemberEntry]) -> String {
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    match names.as_slice() {
        [] => format!("In the room \"{title}\"; nobody else is there yet."),
        [one] => format!("In the room \"{title}\" with {one}."),
        [some @ .., last] => {
            format!("In the room \"{title}\" with {} and {last}.", some.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_call::Media;
    use anabranch_rooms::protocol::{MemberNumber, Role};

    use super::*;

    #[test]
    fn who_is_there_is_told_in_a_sentence() {
        let member = |number, name: &str| MemberEntry {
            number: MemberNumber(number),
            name: name.to_owned(),
            role: Role::Attendee,
            media: Media::default(),
            away: false,
        };
        let all = [member(1, "Ann"), member(2, "Bob"), member(3, "Eve")];
        assert_eq!(entered("Tea", &[]), "In the room \"Tea\"; nobody else is there yet.");
        assert_eq!(entered("Tea", &all[..1]), "In the room \"Tea\" with Ann.");
        assert_eq!(entered("Tea", &all), "In the room \"Tea\" with Ann, Bob and Eve.");
    }
}

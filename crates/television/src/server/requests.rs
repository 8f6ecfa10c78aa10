//! What viewers ask for.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_transport::Incoming;

use super::channel_sender::ChannelSender;
use super::session::Phase;
use super::{Television, ViewerId};
use crate::channel::ChannelId;
use crate::protocol::{
    FromServer, FromViewer, PPID_TEXT, PROTOCOL_VERSION, Slot, StreamRole, TEXT_CHARS_MAX,
};

impl Television {
    /// Takes what a viewer said.
    pub fn handle_message(&mut self, now: Time, id: ViewerId, message: &Incoming) {
        let Some(session) = self.viewers.get_mut(&id) else { return };
        if matches!(session.phase, Phase::Leaving { .. }) {
            return;
        }
        if !session.may_ask(now) {
            return self.dismiss(now, id, "too many requests: at most 50 a second".to_owned());
        }
        let Some(role) = StreamRole::of(message.stream).filter(|_| message.payload_id == PPID_TEXT)
        else {
            return self.dismiss(now, id, format!("no text on stream {}", message.stream.0));
        };
        match FromViewer::decode(&message.payload) {
            Ok(request) => self.handle_request(now, id, role, request),
            Err(text) => self.dismiss(now, id, text),
        }
    }

    fn handle_request(&mut self, now: Time, id: ViewerId, role: StreamRole, request: FromViewer) {
        match (role, request) {
            (StreamRole::Control, FromViewer::Hello { protocol, program, token, latency_ms }) => {
                if protocol != PROTOCOL_VERSION {
                    let text = format!(
                        "protocol version {protocol} is not spoken here, but {PROTOCOL_VERSION}"
                    );
                    return self.dismiss(now, id, text);
                }
                self.greet(now, id, program, token.as_deref(), latency_ms);
            }
            (_, FromViewer::Unknown) => {}
            (_, _) if !self.is_greeted(id) => {
                self.dismiss(now, id, "the first message must be a hello".to_owned());
            }
            (StreamRole::Control, FromViewer::Latency { latency_ms }) => {
                let budget = self.budget(latency_ms);
                self.with_session(id, |session| session.budget = budget);
            }
            (StreamRole::Control, FromViewer::Report(report)) => {
                self.with_session(id, |session| session.report = report);
            }
            (StreamRole::Urgent, FromViewer::Seen { id: urgent }) => {
                if self.board.holds(urgent) {
                    self.with_session(id, |session| _ = session.seen.insert(urgent));
                }
            }
            (StreamRole::Data(slot), FromViewer::Tune { channel }) => {
                self.tune(now, id, slot, channel);
            }
            (StreamRole::Data(_), FromViewer::Stop) => self.stop(id),
            (StreamRole::Still, FromViewer::Still { channel }) => self.send_still(now, id, channel),
            (_, request) => {
                let text = format!("a request on the wrong stream: {request:?}");
                self.dismiss(now, id, text);
            }
        }
    }

    fn is_greeted(&self, id: ViewerId) -> bool {
        self.viewers.get(&id).is_some_and(|session| session.admission().is_some())
    }

    fn budget(&self, latency_ms: u32) -> Duration {
        let (least, most) = self.config.budget;
        Duration::from_millis(latency_ms.into()).clamp(least, most)
    }

    /// Lets a viewer in, or says why not.
    fn greet(
        &mut self,
        now: Time,
        id: ViewerId,
        program: String,
        token: Option<&str>,
        latency_ms: u32,
    ) {
        if self.is_greeted(id) {
            return self.dismiss(now, id, "a second hello makes no sense".to_owned());
        }
        let admission = match self.access.admit(now, token) {
            Ok(admission) => admission,
            Err(text) => return self.dismiss(now, id, text),
        };
        let budget = self.budget(latency_ms);
        self.with_session(id, |session| {
            session.phase = Phase::Watching(admission);
            session.program = program.chars().take(TEXT_CHARS_MAX).collect();
            session.budget = budget;
        });
        let welcome = FromServer::Welcome {
            protocol: PROTOCOL_VERSION,
            program: concat!("anabranch ", env!("CARGO_PKG_VERSION")).to_owned(),
            latency_ms: u32::try_from(budget.as_millis()).unwrap_or(u32::MAX),
            now_us: now.as_micros(),
            channels: self.channels_for(id),
        };
        self.with_session(id, |session| session.say(StreamRole::Control, &welcome));
        self.catch_up_on_urgent(id);
    }

    /// Sends a channel on a slot from its last key frame on, and nothing else any more.
    fn tune(&mut self, now: Time, id: ViewerId, slot: Slot, channel_id: ChannelId) {
        self.stop(id);
        let answer = match self.channels.get(&channel_id) {
            Some(channel) if self.may_watch(id, channel_id) => {
                let sender = ChannelSender::new(now, slot, channel_id, channel);
                let answer = match channel.obstacle() {
                    Some(text) => FromServer::OffAir { channel: channel_id, text: text.to_owned() },
                    None => FromServer::Description(Box::new(channel.description())),
                };
                self.watching.insert((channel_id, id));
                self.with_session(id, |session| {
                    session.sender = Some(sender);
                    session.zaps += 1;
                });
                answer
            }
            Some(_) => FromServer::Error { text: "this channel needs a token for it".to_owned() },
            None => FromServer::Error { text: format!("there is no channel {}", channel_id.0) },
        };
        self.with_session(id, |session| session.say(StreamRole::Data(slot), &answer));
        self.catch_up_on_urgent(id);
    }
}

//! [`Station`]: the television server with the sources of its channels.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anabranch_driver::Handle;
use anabranch_media::codec::Codec;
use anabranch_rtc::AcceptError;
use anabranch_sansio::Time;
use anabranch_television::channel::{ChannelId, Label};
use anabranch_television::protocol::{Programme, TEXT_CHARS_MAX};
use anabranch_television::{Server, Television, address_group};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::access::Access;
use super::config::{CHANNELS_MAX, ChannelAccess, ChannelConfig, Wrong};
use super::relay::{Obstacle, Relay};
use super::source::{self, Listener, SourceEvent};
use crate::input::{InputOptions, Readers};
use crate::service::{LevelSnapshot, sanitized};
use crate::site::Sessions;

/// Lines that wait to be told; more are dropped.
pub(super) const NEWS_MAX: usize = 1_024;

/// What viewers hear of a source that is lost: why may name commands, files and addresses, which
/// are the operator's.
const OFF_AIR: &str = "trying again";

/// Why a browser's offer is not answered.
#[derive(Debug, Error)]
pub(super) enum OfferRefusal {
    #[error(transparent)]
    Offer(#[from] AcceptError),
    #[error("{limit} viewers watch from your address, which is the limit")]
    AddressGroup { limit: usize },
}

/// What runs: the machine, and a task for each channel.
#[derive(Debug)]
pub(super) struct Station {
    server: Handle<Server>,
    access: Arc<Access>,
    /// Who holds this may do something with the server, and not the other way round.
    channels: Mutex<BTreeMap<ChannelId, OnAir>>,
    sessions: Sessions,
    /// What other servers know this one by.
    name: Arc<str>,
    news: mpsc::Sender<String>,
    readers: Readers,
}

/// A channel and the task that reads its source.
#[derive(Debug)]
struct OnAir {
    config: ChannelConfig,
    relay: Arc<Relay>,
    condition: Arc<Condition>,
    task: JoinHandle<()>,
}

/// How a channel's source is, for whoever runs the server.
#[derive(Debug, Default)]
struct Condition {
    /// Why it is off air.
    trouble: Mutex<Option<String>>,
    /// What waited and waits of it at its receiver, by level.
    levels: Mutex<Vec<LevelSnapshot>>,
}

impl Condition {
    fn set_trouble(&self, reason: Option<String>) {
        *lock(&self.trouble) = reason;
    }

    fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    fn set_levels(&self, levels: Vec<LevelSnapshot>) {
        *lock(&self.levels) = levels;
    }

    fn levels(&self) -> Vec<LevelSnapshot> {
        lock(&self.levels).clone()
    }
}

impl Drop for OnAir {
    fn drop(&mut self) {
        self.task.abort();
        self.relay.end();
    }
}

impl Station {
    pub(super) fn new(
        server: Handle<Server>,
        access: Arc<Access>,
        name: String,
        news: mpsc::Sender<String>,
        readers: Readers,
    ) -> Self {
        let (channels, sessions) = (Mutex::default(), Sessions::default());
        Self { server, access, channels, sessions, name: name.into(), news, readers }
    }

    /// Who may watch what is not open to all.
    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    /// Adds a channel and begins to read its source.
    pub(super) fn add(&self, config: ChannelConfig) {
        self.insert(&mut lock(&self.channels), config);
    }

    fn insert(&self, channels: &mut BTreeMap<ChannelId, OnAir>, config: ChannelConfig) {
        let label = Label {
            number: config.number,
            name: config.name.clone(),
            group: config.group.clone(),
            open: config.access == ChannelAccess::Open,
        };
        let id = self.act(|television, _| {
            let id = television.add_channel(label);
            television.set_programme(id, config.programme.clone());
            television.set_through(id, vec![self.name.to_string()]);
            id
        });
        let relay = Arc::new(Relay::default());
        let condition = Arc::new(Condition::default());
        let task = self.read(id, &config, relay.clone(), condition.clone());
        channels.insert(id, OnAir { config, relay, condition, task });
    }

    /// Adds a channel beside those that there are, once it was checked against them. Answers with
    /// its number.
    pub(super) fn add_another(
        &self,
        check: impl FnOnce(&BTreeMap<u32, String>) -> Result<ChannelConfig, Wrong>,
    ) -> Result<u32, Wrong> {
        // Nobody takes its number between the check and the end.
        let mut channels = lock(&self.channels);
        let configs = channels.values().map(|channel| &channel.config);
        let taken = configs.map(|config| (config.number, config.name.clone())).collect();
        let config = check(&taken)?;
        if channels.len() >= CHANNELS_MAX {
            return Err(("name", format!("there are {CHANNELS_MAX} channels already")));
        }
        if config.access == ChannelAccess::Token && !self.access.has_key() {
            let what = "this server has no key for tokens: start it with --access-key FILE";
            return Err(("access", what.to_owned()));
        }
        if config.reads_stdin() {
            return Err(("source", "standard input stands in channels.toml only".to_owned()));
        }
        let number = config.number;
        self.insert(&mut channels, config);
        Ok(number)
    }

    /// The channel of this number.
    pub(super) fn id_of(&self, number: u32) -> Option<ChannelId> {
        let channels = lock(&self.channels);
        let found = channels.iter().find(|(_, channel)| channel.config.number == number);
        found.map(|(id, _)| *id)
    }

    /// Removes a channel. False if there is none of this number.
    pub(super) fn remove(&self, number: u32) -> bool {
        let Some(id) = self.id_of(number) else { return false };
        let removed = lock(&self.channels).remove(&id);
        self.act(|television, _| television.remove_channel(id));
        removed.is_some()
    }

    /// Reads a channel's source anew. False if there is none of this number.
    pub(super) fn restart(&self, number: u32) -> bool {
        let Some(id) = self.id_of(number) else { return false };
        let mut channels = lock(&self.channels);
        let Some(channel) = channels.get_mut(&id) else { return false };
        channel.task.abort();
        self.act(|television, _| television.lose(id, OFF_AIR.to_owned()));
        channel.condition.set_trouble(Some("it is begun anew".to_owned()));
        let (relay, condition) = (channel.relay.clone(), channel.condition.clone());
        channel.task = self.read(id, &channel.config, relay, condition);
        true
    }

    /// Each channel as it was configured, by number, with its transport stream.
    pub(super) fn relays(&self) -> Vec<(ChannelConfig, Arc<Relay>)> {
        let channels = lock(&self.channels);
        let channels = channels.values();
        let mut relays: Vec<_> =
            channels.map(|channel| (channel.config.clone(), channel.relay.clone())).collect();
        relays.sort_by_key(|(config, _)| config.number);
        relays
    }

    /// Why channels are off air, by number.
    pub(super) fn troubles(&self) -> BTreeMap<u32, String> {
        let channels = lock(&self.channels);
        let troubles = channels.values().map(|it| (it.config.number, it.condition.trouble()));
        troubles.filter_map(|(number, reason)| Some((number, reason?))).collect()
    }

    /// What waited and waits to be read of channels' sources, by number and level.
    pub(super) fn levels(&self) -> BTreeMap<u32, Vec<LevelSnapshot>> {
        let channels = lock(&self.channels);
        channels.values().map(|it| (it.config.number, it.condition.levels())).collect()
    }

    /// Answers a browser's offer: with the name of its session, and the answer.
    pub(super) fn accept(
        &self,
        offer: &str,
        from: IpAddr,
    ) -> Result<(String, String), OfferRefusal> {
        let (id, answer) = self.server.with(|server, now| {
            if server.is_full_for(from) {
                let limit = server.television().viewers_per_address_max();
                return Err(OfferRefusal::AddressGroup { limit });
            }
            Ok(server.accept(now, offer, address_group(from))?)
        })?;
        Ok((self.sessions.name(id), answer))
    }

    /// Ends a browser's session. False if there is none of this name.
    pub(super) fn hang_up(&self, name: &str) -> bool {
        let Some(id) = self.sessions.take(name) else { return false };
        self.server.with(|server, now| server.hang_up(now, id));
        true
    }

    /// Does something with channels and viewers.
    pub(super) fn act<T>(&self, act: impl FnOnce(&mut Television, Time) -> T) -> T {
        self.server.with(|server, now| server.act(|television| act(television, now)))
    }

    /// Looks at the server.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Server, Time) -> T) -> T {
        self.server.with(|server, now| look(server, now))
    }

    pub(super) const fn handle(&self) -> &Handle<Server> {
        &self.server
    }

    /// Stops reading sources, and sends all viewers away.
    pub(super) fn end(&self) {
        lock(&self.channels).clear();
        self.act(|television, now| {
            let viewers: Vec<_> = television.viewers().map(|viewer| viewer.id).collect();
            for viewer in viewers {
                television.dismiss(now, viewer, "the server ends".to_owned());
            }
        });
    }

    fn read(
        &self,
        id: ChannelId,
        config: &ChannelConfig,
        relay: Arc<Relay>,
        condition: Arc<Condition>,
    ) -> JoinHandle<()> {
        let tuner = Tuner {
            id,
            number: config.number,
            name: config.name.clone(),
            server: self.server.clone(),
            own: self.name.clone(),
            has_programme: config.programme != Programme::default(),
            relay,
            condition,
            news: self.news.clone(),
            last_words: String::new(),
        };
        let clock = self.server.clock();
        let options = InputOptions {
            program: config.program,
            readers: self.readers,
            ..InputOptions::default()
        };
        source::spawn(config.source.clone(), options, clock, self.name.clone(), tuner)
    }
}

/// Hands on what a source reports.
struct Tuner {
    id: ChannelId,
    number: u32,
    name: String,
    server: Handle<Server>,
    /// This server, among those that media passes.
    own: Arc<str>,
    /// What is on is said by whoever runs the server.
    has_programme: bool,
    relay: Arc<Relay>,
    condition: Arc<Condition>,
    news: mpsc::Sender<String>,
    last_words: String,
}

impl Tuner {
    fn act(&self, act: impl FnOnce(&mut Television)) {
        self.server.with(|server, _| server.act(act));
    }

    /// Says something once. Where nobody listens fast enough, it is dropped.
    fn say(&mut self, words: String) {
        let words = sanitized(&words);
        if words != self.last_words {
            _ = self.news.try_send(format!("{} {}: {words}", self.number, self.name));
            self.last_words = words;
        }
    }
}

impl Listener for Tuner {
    fn tell(&mut self, event: SourceEvent) {
        let id = self.id;
        match event {
            SourceEvent::Unit(unit) => self.act(|television| television.push(id, &unit)),
            SourceEvent::Begin { video, audio } => {
                let codecs =
                    [video.as_ref().map(|it| &it.codec), audio.as_ref().map(|it| &it.codec)];
                let codecs: Vec<_> = codecs.into_iter().flatten().map(String::as_str).collect();
                let words = format!("on air ({})", codecs.join(", "));
                self.condition.set_trouble(None);
                self.act(|television| television.begin(id, video, audio));
                self.say(words);
            }
            SourceEvent::NotDecodable(codecs) => {
                let text = format!(
                    "it is sent as {}, which browsers do not decode; players take it from \
                     /ch/{}.ts",
                    list(&codecs),
                    self.number
                );
                self.condition.set_trouble(None);
                self.act(|television| television.cannot_be_played(id, text.clone()));
                self.say(format!("{text}; a command in channels.toml can convert it"));
            }
            SourceEvent::Lost(reason) => {
                let reason = sanitized(&reason);
                self.relay.stop(Obstacle::OffAir(OFF_AIR));
                self.act(|television| television.lose(id, OFF_AIR.to_owned()));
                self.condition.set_trouble(Some(shown(&reason)));
                self.condition.set_levels(Vec::new());
                self.say(format!("off air: {reason}"));
            }
            SourceEvent::Packets(packets) => self.relay.push(&packets),
            SourceEvent::Entry(number) => self.relay.set_entry(number),
            SourceEvent::NewStream => self.relay.begin(),
            SourceEvent::NoStream => self.relay.stop(Obstacle::NoStream),
            SourceEvent::Programme(programme) => {
                if !self.has_programme {
                    self.act(|television| television.set_programme(id, programme));
                }
            }
            SourceEvent::Through(mut servers) => {
                servers.push(self.own.to_string());
                self.act(|television| television.set_through(id, servers));
            }
            SourceEvent::Note(text) => self.say(text),
            SourceEvent::Levels(levels) => self.condition.set_levels(levels),
        }
    }
}

/// As long as what is shown may be.
fn shown(reason: &str) -> String {
    reason.chars().take(TEXT_CHARS_MAX).collect()
}

fn list(codecs: &[Codec]) -> String {
    let names: Vec<_> = codecs.iter().map(Codec::to_string).collect();
    names.join(" and ")
}

/// What is kept stays sound even if someone panicked while holding it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use anabranch_driver::{Driver, SocketSet};
    use anabranch_sansio::Rng;
    use anabranch_television::protocol::Programme;
    use anabranch_television::{OpenToAll, ServerConfig, TelevisionConfig};

    use super::super::source::Source;
    use super::*;
    use crate::input::Input;

    fn station() -> Station {
        let mut sockets = SocketSet::new();
        sockets.bind(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let television = Television::new(TelevisionConfig::default(), Box::new(OpenToAll));
        let server = Server::new(television, ServerConfig::default(), Rng::from_u64(1)).unwrap();
        let server = Driver::spawn(server, sockets).unwrap();
        let (news, _unread) = mpsc::channel(NEWS_MAX);
        Station::new(server, Arc::default(), "here".to_owned(), news, Readers::Within)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn why_a_channel_fails_is_for_the_operator_and_no_secret_for_anybody() {
        let station = station();
        let command = "echo 'rtsp://me:secret@camera/1: 401' >&2; exit 1".to_owned();
        station.add(ChannelConfig { source: Source::Command(command), ..nowhere(1) });
        station.add(nowhere(2));
        let is_lost = |station: &Station| station.troubles().len() == 2;
        while !is_lost(&station) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let troubles = station.troubles();
        assert!(troubles[&1].contains("it said: rtsp://***@camera/1: 401"), "{troubles:?}");
        assert!(troubles[&2].contains("cannot read /nowhere.ts"), "{troubles:?}");
        for number in [1, 2] {
            let id = station.id_of(number).unwrap();
            let obstacle = |server: &Server| {
                server.television().channel(id).unwrap().obstacle().map(str::to_owned)
            };
            let heard = station.look(|server, _| obstacle(server));
            assert_eq!(heard.as_deref(), Some("trying again"));
        }
        station.end();
    }

    fn nowhere(number: u32) -> ChannelConfig {
        ChannelConfig {
            number,
            name: "Nowhere".to_owned(),
            group: None,
            source: Source::Input(Input::File("/nowhere.ts".into())),
            program: None,
            programme: Programme::default(),
            access: ChannelAccess::Open,
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn two_that_add_at_once_never_get_the_same_number() {
        const ADDERS: u32 = 16;
        let station = Arc::new(station());
        let adders = (0..ADDERS).map(|_| {
            let station = station.clone();
            tokio::task::spawn_blocking(move || {
                station.add_another(|taken| {
                    let number = taken.last_key_value().map_or(1, |(number, _)| number + 1);
                    // Others get their chance to look, too.
                    std::thread::yield_now();
                    Ok(nowhere(number))
                })
            })
        });
        for adder in adders.collect::<Vec<_>>() {
            adder.await.unwrap().unwrap();
        }
        let numbers = station.relays().into_iter().map(|(config, _)| config.number);
        assert!(numbers.eq(1..=ADDERS));
        station.end();
    }
}

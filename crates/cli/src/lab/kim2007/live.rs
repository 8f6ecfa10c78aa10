//! Figure 12 once more, for real: `serve`, a native viewer, and the live emulator between them.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use anabranch_apps::serve::{ChannelsFile, ServeOptions, Serving};
use anabranch_apps::service::StopHandle;
use anabranch_apps::url::EncryptionSwitch;
use anabranch_driver::emulator::{EmulatedLink, Emulator, EmulatorConfig};
use anabranch_driver::{Driver, Handle, SocketSet};
use anabranch_lab::kim2007::{LINK_RATE, LiveSwitch, Scenario, Values};
use anabranch_media::Class;
use anabranch_netsim::{LinkConfig, QueueLimit};
use anabranch_sansio::{FourTuple, Rng};
use anabranch_television::channel::ChannelId;
use anabranch_television::protocol::ChannelEntry;
use anabranch_television::{NativeEvent, NativeViewer, Viewer, ViewerEvent};
use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::failure::Failure;

/// What the viewer's buffers leave, as in the simulated cells.
const BUDGET: Duration = Duration::from_millis(500);
/// Who sees nothing by then has gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// A key is pressed at any moment of the second that follows on this.
const WATCHED: Duration = Duration::from_secs(1);
/// How long a link's queue is, in packets: as in the simulated cells.
const QUEUE: u32 = 1_000;

/// All delays of the figure at once, each over a link and with a viewer of its own; `keys` keys are
/// pressed at each.
pub(super) async fn run(keys: NonZeroU64) -> Result<Vec<LiveSwitch>, Failure> {
    let serving = Serving::start(options()).await.map_err(Failure::failed)?;
    let server = serving.native_address().ok_or_else(|| Failure::failed("no address to call"))?;
    let (stop_handle, stop) = StopHandle::new();
    let serving = tokio::spawn(async move { serving.run(stop, &mut |_| {}).await });
    let progress = progress(keys)?;
    let mut viewers = JoinSet::new();
    for delay_ms in Values::default().points(Scenario::Switching) {
        viewers.spawn(over_link(server, *delay_ms, keys, progress.clone()));
    }
    let mut switches = Vec::new();
    while let Some(of_link) = viewers.join_next().await {
        switches.extend(of_link.map_err(Failure::failed)??);
    }
    progress.finish_and_clear();
    stop_handle.stop();
    serving.await.map_err(Failure::failed)?;
    switches.sort_by_key(|switch| (switch.delay_ms, switch.key));
    Ok(switches)
}

fn options() -> ServeOptions {
    let anywhere = Some((Ipv4Addr::LOCALHOST, 0).into());
    ServeOptions {
        file: ChannelsFile::demo(),
        encryption: Some(EncryptionSwitch::Off),
        http: anywhere,
        udp: anywhere,
        ..ServeOptions::default()
    }
}

/// Hidden where stderr is no terminal.
fn progress(keys: NonZeroU64) -> Result<ProgressBar, Failure> {
    let total = keys.get() * Values::default().points(Scenario::Switching).len() as u64;
    let style = ProgressStyle::with_template("{pos} of {len} keys {wide_bar} {eta} left");
    Ok(ProgressBar::new(total).with_style(style.map_err(Failure::failed)?))
}

async fn over_link(
    server: SocketAddr,
    delay_ms: u32,
    keys: NonZeroU64,
    progress: ProgressBar,
) -> Result<Vec<LiveSwitch>, Failure> {
    let emulator = emulator(server, delay_ms)?;
    let entrance = emulator.stats()[0].listen;
    let mut rng = Rng::from_u64(delay_ms.into());
    let mut sofa = Sofa::sit(entrance, rng.fork())?;
    let mut channels = sofa.channels().await?.into_iter().map(|entry| entry.id).cycle();
    let mut next = || channels.next().ok_or_else(|| Failure::failed("there are no channels"));
    sofa.switch(next()?).await?;
    let mut switches = Vec::new();
    for key in 1..=keys.get() {
        sofa.watch(WATCHED + Duration::from_millis(rng.range(0..1_000))).await?;
        let (answer, picture) = sofa.switch(next()?).await?;
        let [answer_s, picture_s] = [answer, picture].map(|after| after.as_secs_f64());
        switches.push(LiveSwitch { delay_ms, key, answer_s, picture_s });
        progress.inc(1);
    }
    Ok(switches)
}

fn emulator(target: SocketAddr, delay_ms: u32) -> Result<Emulator, Failure> {
    let link = LinkConfig {
        rate: Some(LINK_RATE),
        delay: Duration::from_millis(delay_ms.into()),
        queue: QueueLimit::Packets(QUEUE),
        ..LinkConfig::default()
    };
    let link = EmulatedLink {
        name: format!("{delay_ms} ms"),
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        target,
        up: link.clone(),
        down: link,
    };
    let config = EmulatorConfig { links: vec![link], seed: delay_ms.into() };
    Emulator::spawn(config).map_err(Failure::failed)
}

/// Where somebody watches.
struct Sofa(Handle<NativeViewer>);

impl Sofa {
    fn sit(server: SocketAddr, rng: Rng) -> Result<Self, Failure> {
        let mut sockets = SocketSet::new();
        let local =
            sockets.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).map_err(Failure::failed)?;
        let viewer = Viewer::new("anabranch lab".to_owned(), None, BUDGET);
        let machine = NativeViewer::new(viewer, None, rng);
        let handle = Driver::spawn(machine, sockets).map_err(Failure::failed)?;
        let path = FourTuple::new(local, server);
        let called = handle.with(|viewer, now| viewer.connect(now, &[path]));
        called.map_err(Failure::failed)?;
        Ok(Self(handle))
    }

    /// All that are on air, as soon as they all are.
    async fn channels(&mut self) -> Result<Vec<ChannelEntry>, Failure> {
        loop {
            let (ViewerEvent::Welcome { channels: listed, .. } | ViewerEvent::Channels(listed)) =
                self.event().await?
            else {
                continue;
            };
            if listed.iter().all(|channel| channel.on_air) {
                return Ok(listed);
            }
        }
    }

    /// Presses a key. Returns after what time the first message of the channel was there, which
    /// describes it, and after what time its first picture.
    async fn switch(&mut self, channel: ChannelId) -> Result<(Duration, Duration), Failure> {
        let pressed = Instant::now();
        self.0.with(|viewer, now| viewer.act(now, |viewer| viewer.tune(now, channel)));
        let mut answer = None;
        loop {
            let event = self.event().await?;
            if let ViewerEvent::Description(description) = &event
                && description.channel == channel
            {
                answer = Some(pressed.elapsed());
            }
            if let (ViewerEvent::Unit(unit), Some(answer)) = (event, answer)
                && unit.unit.class == Class::KeyFrame
            {
                return Ok((answer, pressed.elapsed()));
            }
        }
    }

    async fn watch(&mut self, span: Duration) -> Result<(), Failure> {
        let end = sleep(span);
        tokio::pin!(end);
        loop {
            tokio::select! {
                () = &mut end => return Ok(()),
                event = self.event() => drop(event?),
            }
        }
    }

    async fn event(&mut self) -> Result<ViewerEvent, Failure> {
        let event = timeout(PATIENCE, self.0.next_event()).await;
        match event.map_err(|_| Failure::failed("the server says nothing"))? {
            Some(NativeEvent::Session(event)) => Ok(event),
            Some(NativeEvent::Closed(reason)) => Err(Failure::failed(reason.to_string())),
            None => Err(Failure::failed("the viewer's driver ended")),
        }
    }
}

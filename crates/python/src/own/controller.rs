//! Congestion controllers that are written in Python.

use std::sync::Arc;

use anabranch_sctp::{
    Ack as Acknowledged, CongestionController, ControllerFactory, ControllerMetrics,
    FreshPath as Path, LostChunk as Lost, Rate, Rng, SentData as Sent, Time,
};
use pyo3::call::PyCallArgs;
use pyo3::intern;
use pyo3::prelude::*;

use super::Place;

/// What a window can be, in bytes, and a rate, in bits per second.
const WINDOW_MAX: f64 = (1_u64 << 40) as f64;
const RATE_MAX: f64 = 1e15;

/// Asks a class for a controller for each path.
#[derive(Debug)]
pub(super) struct Factory {
    class: Py<PyAny>,
    place: Arc<Place>,
}

impl Factory {
    pub(super) const fn new(class: Py<PyAny>, place: Arc<Place>) -> Self {
        Self { class, place }
    }
}

impl ControllerFactory for Factory {
    fn build(&self, path: &Path, _rng: &mut Rng) -> Box<dyn CongestionController> {
        let mut controller = Controller {
            object: None,
            methods: Methods::default(),
            place: Arc::clone(&self.place),
            window: path.pmdcs,
            pacing_rate: None,
        };
        Python::attach(|py| match self.class.bind(py).call1((FreshPath::of(path),)) {
            Ok(object) => controller.take(py, &object),
            Err(error) => self.place.raised(py, "", error),
        });
        Box::new(controller)
    }
}

/// An object of Python's, with what it said last.
#[derive(Debug)]
struct Controller {
    /// None if it could not be made.
    object: Option<Py<PyAny>>,
    methods: Methods,
    place: Arc<Place>,
    window: usize,
    pacing_rate: Option<Rate>,
}

/// What it can be told of.
#[derive(Debug, Clone, Copy)]
enum Call {
    Ack,
    Sent,
    Loss,
    Timeout,
    ChunkLost,
    UndoLoss,
    Idle,
    Mtu,
}

impl Call {
    /// The methods' names, in the order of the calls.
    const NAMES: [&str; 8] = [
        "on_ack",
        "on_sent",
        "on_loss",
        "on_timeout",
        "on_chunk_lost",
        "undo_loss",
        "on_idle",
        "on_mtu",
    ];
}

/// Those of its methods that there are, in the order of the calls.
type Methods = [Option<Py<PyAny>>; Call::NAMES.len()];

impl Controller {
    fn take(&mut self, py: Python<'_>, object: &Bound<'_, PyAny>) {
        self.methods = Call::NAMES.map(|name| object.getattr(name).ok().map(Bound::unbind));
        self.object = Some(object.clone().unbind());
        if self.methods[Call::Ack as usize].is_none() {
            self.place.nonsense(" has no method on_ack(ack): give it one");
        }
        self.read(py, None);
    }

    /// Tells it of something, and asks what follows.
    fn call<A>(&mut self, call: Call, now: Option<Time>, told: A)
    where
        A: for<'py> PyCallArgs<'py>,
    {
        if self.place.is_over() || self.methods[call as usize].is_none() {
            return;
        }
        Python::attach(|py| {
            let method = self.methods[call as usize].as_ref();
            match method.map(|method| method.bind(py).call1(told)) {
                Some(Ok(_)) => self.read(py, Some((call, now))),
                Some(Err(error)) => {
                    self.place.raised(py, &format!(".{}", said(call, now)), error);
                }
                None => {}
            }
        });
    }

    /// Asks for window and rate, after this call or after it was made.
    fn read(&mut self, py: Python<'_>, after: Option<(Call, Option<Time>)>) {
        let Some(object) = &self.object else { return };
        let object = object.bind(py);
        let when = || match after {
            Some((call, now)) => format!("after {}", said(call, now)),
            None => "when it was made".to_owned(),
        };
        match object.getattr(intern!(py, "window")) {
            Ok(window) => match number(&window, 1.0, WINDOW_MAX) {
                Some(bytes) => self.window = bytes as usize,
                None => self.place.nonsense(format_args!(
                    ".window is {} {}: give 1 to {WINDOW_MAX} bytes",
                    shown(&window),
                    when()
                )),
            },
            Err(error) => self.place.raised(py, &format!(".window {}", when()), error),
        }
        let rate = object.getattr_opt(intern!(py, "pacing_rate"));
        match rate {
            Ok(None) => self.pacing_rate = None,
            Ok(Some(rate)) if rate.is_none() => self.pacing_rate = None,
            Ok(Some(rate)) => match number(&rate, 1.0, RATE_MAX) {
                Some(bps) => self.pacing_rate = Some(Rate::bps(bps as u64)),
                None => self.place.nonsense(format_args!(
                    ".pacing_rate is {} {}: give bits per second from 1 to {RATE_MAX}, or None",
                    shown(&rate),
                    when()
                )),
            },
            Err(error) => self.place.raised(py, &format!(".pacing_rate {}", when()), error),
        }
    }
}

/// A number from `least` to `most`, if it is one.
fn number(value: &Bound<'_, PyAny>, least: f64, most: f64) -> Option<f64> {
    // A number that is none fails both comparisons.
    value.extract::<f64>().ok().filter(|number| (least..=most).contains(number))
}

/// As a person would write it in Python.
pub(super) fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "something without a repr".to_owned(), |text| text.to_string())
}

/// `on_ack at 1.250000 s`.
fn said(call: Call, now: Option<Time>) -> String {
    format!("{}{}", Call::NAMES[call as usize], now.map(at).unwrap_or_default())
}

pub(super) fn at(now: Time) -> String {
    format!(" at {:.6} s", now.as_secs_f64())
}

impl CongestionController for Controller {
    fn window(&self) -> usize {
        self.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.call(Call::Sent, Some(sent.now), (SentData::of(sent),));
    }

    fn on_ack(&mut self, ack: &Acknowledged) {
        self.call(Call::Ack, Some(ack.now), (Ack::of(ack),));
    }

    fn on_loss(&mut self, now: Time) {
        self.call(Call::Loss, Some(now), (now.as_secs_f64(),));
    }

    fn on_timeout(&mut self, now: Time) {
        self.call(Call::Timeout, Some(now), (now.as_secs_f64(),));
    }

    fn on_chunk_lost(&mut self, now: Time, lost: &Lost) {
        self.call(Call::ChunkLost, Some(now), (now.as_secs_f64(), LostChunk::of(lost)));
    }

    fn undo_loss(&mut self, now: Time) {
        self.call(Call::UndoLoss, Some(now), (now.as_secs_f64(),));
    }

    fn on_idle(&mut self, periods: u32) {
        self.call(Call::Idle, None, (periods,));
    }

    fn on_mtu(&mut self, pmdcs: usize) {
        self.call(Call::Mtu, None, (pmdcs,));
    }

    fn metrics(&self) -> ControllerMetrics {
        ControllerMetrics { window: self.window, ssthresh: None, slow_start: false }
    }
}

/// What is known of a path before anything was sent there.
#[pyclass(frozen, get_all, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct FreshPath {
    /// Bytes of the longest DATA chunk, header included.
    pmdcs: usize,
    /// How fast it may begin, in bits per second, where the flow says so.
    start_rate_bps: Option<u64>,
}

/// What one SACK said about one path.
#[pyclass(frozen, get_all, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct Ack {
    /// When it arrived, in seconds of the simulation.
    now_s: f64,
    /// Bytes acknowledged for the first time.
    acked: usize,
    /// Bytes in flight on the path before it.
    flight_before: usize,
    /// Bytes still in flight on the path.
    flight: usize,
    /// Whether the oldest data in flight on the path was acknowledged.
    advanced: bool,
    /// Whether the path is in Fast Recovery.
    in_recovery: bool,
    /// The round-trip time in seconds, if there was a sample.
    rtt_s: Option<f64>,
    /// Bytes acknowledged on the path so far.
    delivered: u64,
    /// The delivery rate in bits per second, if there was a sample.
    rate_bps: Option<u64>,
    /// Whether the application limited what was in flight when the sample was sent.
    app_limited: bool,
}

/// A chunk of data that goes out.
#[pyclass(frozen, get_all, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct SentData {
    /// When, in seconds of the simulation.
    now_s: f64,
    /// Its bytes.
    bytes: usize,
    /// Bytes in flight on the path before it.
    flight: usize,
    /// Whether the application had nothing more to send at some time of the round trip.
    app_limited: bool,
}

/// A chunk that was declared lost.
#[pyclass(frozen, get_all, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct LostChunk {
    /// Its bytes.
    bytes: usize,
    /// Bytes in flight on the path right after it was sent, itself included.
    in_flight: usize,
    /// Bytes declared lost on the path since it was sent, itself included.
    lost_since_sent: u64,
    /// Bytes acknowledged on the path so far.
    delivered: u64,
    /// Whether the application limited what was in flight when it was sent.
    app_limited: bool,
}

impl FreshPath {
    fn of(path: &Path) -> Self {
        Self { pmdcs: path.pmdcs, start_rate_bps: path.start_rate.map(Rate::as_bps) }
    }
}

impl Ack {
    fn of(ack: &Acknowledged) -> Self {
        let rate = ack.sample.and_then(|sample| sample.rate());
        Self {
            now_s: ack.now.as_secs_f64(),
            acked: ack.acked,
            flight_before: ack.flight_before,
            flight: ack.flight,
            advanced: ack.advanced,
            in_recovery: ack.in_recovery,
            rtt_s: ack.rtt.map(|rtt| rtt.as_secs_f64()),
            delivered: ack.delivered,
            rate_bps: rate.map(Rate::as_bps),
            app_limited: ack.sample.is_some_and(|sample| sample.is_app_limited),
        }
    }
}

impl SentData {
    fn of(sent: &Sent) -> Self {
        let Sent { now, bytes, flight, is_app_limited } = *sent;
        Self { now_s: now.as_secs_f64(), bytes, flight, app_limited: is_app_limited }
    }
}

impl LostChunk {
    const fn of(lost: &Lost) -> Self {
        Self {
            bytes: lost.size,
            in_flight: lost.in_flight,
            lost_since_sent: lost.lost_since_sent,
            delivered: lost.delivered,
            app_limited: lost.is_app_limited,
        }
    }
}

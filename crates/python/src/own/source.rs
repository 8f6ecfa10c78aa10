//! Sources that are written in Python: iterables of messages.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use anabranch_lab::scenario::{MessageSource, SourceFactory, SourceMessage};
use pyo3::prelude::*;

use super::Place;
use super::controller::shown;

/// No run is longer, in seconds: what is ready later is not sent.
const READY_MAX: f64 = 1e6;
/// Messages of one source, and those that may be ready at one moment. One that yields more lets no
/// time pass between them.
const MESSAGES_MAX: u64 = 100_000_000;
const AT_ONCE_MAX: u64 = 1 << 16;

/// Asks a function for a source for each run.
#[derive(Debug)]
pub(super) struct Factory {
    function: Py<PyAny>,
    place: Arc<Place>,
}

impl Factory {
    pub(super) const fn new(function: Py<PyAny>, place: Arc<Place>) -> Self {
        Self { function, place }
    }
}

impl SourceFactory for Factory {
    fn build(&self, seed: u64, sizes: RangeInclusive<usize>) -> Box<dyn MessageSource> {
        let made = Python::attach(|py| {
            let made = self.function.bind(py).call1((seed,)).and_then(|made| made.try_iter());
            let made = made.map(|made| made.into_any().unbind());
            made.map_err(|error| self.place.raised(py, "", error))
        });
        let place = Arc::clone(&self.place);
        let (iterator, last) = (made.ok(), Duration::ZERO);
        Box::new(Source { iterator, place, sizes, last, count: 0, at_once: 0 })
    }
}

/// An iterator of Python's.
#[derive(Debug)]
struct Source {
    /// None once it has ended.
    iterator: Option<Py<PyAny>>,
    place: Arc<Place>,
    sizes: RangeInclusive<usize>,
    /// When the message ahead was ready.
    last: Duration,
    /// Messages so far, and those that were ready at that time.
    count: u64,
    at_once: u64,
}

impl MessageSource for Source {
    fn next_message(&mut self) -> Option<SourceMessage> {
        if self.place.is_over() {
            return None;
        }
        let message = Python::attach(|py| self.take(py));
        if message.is_none() {
            self.iterator = None;
        }
        message
    }
}

impl Source {
    fn take(&mut self, py: Python<'_>) -> Option<SourceMessage> {
        let mut iterator = self.iterator.as_ref()?.bind(py).try_iter().ok()?;
        let item = match iterator.next()? {
            Ok(item) => item,
            Err(error) => {
                self.place.raised(py, &format!(", message {}", self.count), error);
                return None;
            }
        };
        let message = self.read(&item);
        if let Err(words) = &message {
            let (number, item) = (self.count, shown(&item));
            self.place.nonsense(format_args!(": message {number} is {item}: {words}"));
        }
        let message = message.ok()?;
        self.at_once = if message.ready == self.last { self.at_once + 1 } else { 1 };
        self.last = message.ready;
        self.count += 1;
        Some(message)
    }

    fn read(&self, item: &Bound<'_, PyAny>) -> Result<SourceMessage, String> {
        if self.count == MESSAGES_MAX {
            return Err(format!("that is more than {MESSAGES_MAX}: send fewer"));
        }
        let pair = item.extract::<(f64, f64)>();
        let (ready, size) =
            pair.map_err(|_| "give a pair, seconds from the start and bytes".to_owned())?;
        if !(0.0..=READY_MAX).contains(&ready) {
            return Err(format!("give 0 to {READY_MAX} seconds from the start"));
        }
        let ready = Duration::from_secs_f64(ready);
        if ready < self.last {
            let last = self.last.as_secs_f64();
            return Err(format!("the one ahead was ready at {last} s: give them in order"));
        }
        if ready == self.last && self.at_once == AT_ONCE_MAX {
            return Err(format!("{AT_ONCE_MAX} are ready at this time already: let time pass"));
        }
        let (least, most) = (*self.sizes.start(), *self.sizes.end());
        if !(least as f64..=most as f64).contains(&size) || size.fract() != 0.0 {
            return Err(format!("give {least} to {most} bytes"));
        }
        Ok(SourceMessage { ready, size: size as usize })
    }
}

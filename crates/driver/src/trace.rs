//! [`Trace`]: what a machine did and why, as a qlog file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anabranch_netsim::QlogFile;
use anabranch_sansio::{Machine, TraceRecord};

/// How many batches wait for the disk at most; what comes on top is missing in the file.
const BATCHES_MAX: usize = 256;

/// Records that are handed to the thread at once: to wake it for each would cost a driver more than
/// all that is recorded.
const BATCH: usize = 1_024;

/// Records that are older are handed on at the driver's next turn, and written out.
const IDLE: Duration = Duration::from_millis(100);

/// A record under way of what machines do: [`SocketSet::record`](crate::SocketSet::record) gives it
/// to a driver. Clones record to the same file.
///
/// The file is qlog (draft-ietf-quic-qlog-main-schema) as JSON text sequences (RFC 7464): one
/// object that describes it, then one for each record; `docs/trace.md` lists them. A thread of its
/// own writes it: a disk that is slow or full does not hold up the driver.
#[derive(Debug, Clone)]
pub struct Trace {
    shared: Arc<Shared>,
    /// Which of several machines this is, in the file.
    label: Arc<str>,
}

/// What a trace recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traced {
    /// Records in the file.
    pub written: u64,
    /// Records that are missing there, because it was not written as fast as they came.
    pub missed: u64,
}

#[derive(Debug)]
struct Shared {
    inlet: Mutex<Inlet>,
    missed: AtomicU64,
    error: Arc<OnceLock<String>>,
}

#[derive(Debug)]
struct Inlet {
    /// `None` once the trace is finished.
    batches: Option<SyncSender<Batch>>,
    thread: Option<JoinHandle<io::Result<u64>>>,
}

/// What one machine did in some turns.
type Batch = (Arc<str>, Vec<TraceRecord>);

/// What a driver has not handed to the thread yet.
#[derive(Debug)]
pub(crate) struct Inbox {
    trace: Trace,
    records: Vec<TraceRecord>,
}

impl Inbox {
    pub(crate) const fn new(trace: Trace) -> Self {
        Self { trace, records: Vec::new() }
    }

    /// Takes what a machine has recorded since the last time.
    pub(crate) fn take(&mut self, machine: &mut impl Machine) {
        self.records.extend(std::iter::from_fn(|| machine.poll_trace()));
        let (Some(oldest), Some(newest)) = (self.records.first(), self.records.last()) else {
            return;
        };
        if self.records.len() >= BATCH || newest.at - oldest.at >= IDLE {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        let next = Vec::with_capacity(BATCH);
        self.trace.put(std::mem::replace(&mut self.records, next));
    }
}

/// What a driver saw last is in the file, too.
impl Drop for Inbox {
    fn drop(&mut self) {
        self.hand_on();
    }
}

impl Trace {
    /// Begins a file, replacing one that is there, and the thread that writes it. The file says
    /// that it is of `title`, as `anabranch send`, and that the machine's time began at `began`, as
    /// RFC 3339 has it.
    ///
    /// # Errors
    /// The file cannot be written, or the system gives no thread.
    pub fn create(path: &Path, title: &str, began: &str) -> io::Result<Self> {
        Self::to(File::create(path)?, title, began)
    }

    /// As [`create`](Self::create), to any writer.
    ///
    /// # Errors
    /// The writer's, or the system gives no thread.
    pub fn to(out: impl Write + Send + 'static, title: &str, began: &str) -> io::Result<Self> {
        let mut file = QlogFile::new(BufWriter::new(out), title, Some(began))?;
        file.flush()?;
        let (batches, queue) = mpsc::sync_channel(BATCHES_MAX);
        let error = Arc::new(OnceLock::new());
        let failed = Arc::clone(&error);
        let thread = thread::Builder::new().name("trace".to_owned()).spawn(move || {
            let written = write_all(&mut file, &queue);
            if let Err(error) = &written {
                // Nobody else sets it.
                _ = failed.set(error.to_string());
            }
            written
        })?;
        let inlet = Mutex::new(Inlet { batches: Some(batches), thread: Some(thread) });
        let shared = Shared { inlet, missed: AtomicU64::new(0), error };
        Ok(Self { shared: Arc::new(shared), label: Arc::default() })
    }

    /// The same trace for one of several machines, which the file tells apart by their labels.
    #[must_use]
    pub fn labelled(&self, label: impl Into<Arc<str>>) -> Self {
        Self { shared: Arc::clone(&self.shared), label: label.into() }
    }

    /// Why the file ends early, once it does; from then on nothing is recorded.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.shared.error.get().map(String::as_str)
    }

    /// Hands records to the thread.
    fn put(&self, records: Vec<TraceRecord>) {
        if records.is_empty() || self.error().is_some() {
            return;
        }
        let inlet = self.shared.inlet.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(batches) = &inlet.batches else { return };
        if let Err(TrySendError::Full((_, records))) =
            batches.try_send((Arc::clone(&self.label), records))
        {
            self.shared.missed.fetch_add(records.len() as u64, Ordering::Relaxed);
        }
    }

    /// Ends the trace for all its clones. Waits until the file is written.
    ///
    /// # Errors
    /// The first error of the writer: the file ends early. Or it was finished already.
    pub fn finish(self) -> io::Result<Traced> {
        let mut inlet = self.shared.inlet.lock().unwrap_or_else(PoisonError::into_inner);
        drop(inlet.batches.take());
        let thread = inlet.thread.take();
        drop(inlet);
        let thread = thread.ok_or_else(|| io::Error::other("finished already"))?;
        let written = thread.join().map_err(|_| io::Error::other("its thread panicked"))??;
        Ok(Traced { written, missed: self.shared.missed.load(Ordering::Relaxed) })
    }
}

/// Returns the number of records that were written.
fn write_all(file: &mut QlogFile<impl Write>, queue: &Receiver<Batch>) -> io::Result<u64> {
    let mut written = 0;
    loop {
        let mut next = queue.recv_timeout(IDLE);
        if next == Err(RecvTimeoutError::Timeout) {
            file.flush()?;
            next = queue.recv().map_err(RecvTimeoutError::from);
        }
        let Ok((label, records)) = next else {
            file.flush()?;
            return Ok(written);
        };
        for record in &records {
            file.record(&label, record)?;
            written += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use anabranch_sansio::{Datagram, Time, Transmit, Wakeup};

    use super::*;

    /// Has something to say, and does nothing.
    struct Talker(VecDeque<TraceRecord>);

    impl Machine for Talker {
        type Event = ();

        fn handle_datagram(&mut self, _now: Time, _datagram: Datagram<'_>) {}

        fn handle_timeout(&mut self, _now: Time) {}

        fn poll_transmit(&mut self, _now: Time, _buf: &mut Vec<u8>) -> Option<Transmit> {
            None
        }

        fn poll_timeout(&self) -> Option<Wakeup> {
            None
        }

        fn poll_event(&mut self) -> Option<()> {
            None
        }

        fn poll_trace(&mut self) -> Option<TraceRecord> {
            self.0.pop_front()
        }
    }

    fn talker(records: u64) -> Talker {
        Talker(
            (0..records).map(|n| TraceRecord::new(Time::ZERO, "test:event").with("n", n)).collect(),
        )
    }

    /// A file that others read once it is written.
    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Takes its head, and nothing more.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_several_machines_do_is_in_one_file_behind_its_head() {
        let page = Page::default();
        let trace = Trace::to(page.clone(), "a test", "2026-01-01T00:00:00Z").unwrap();
        let inbox = |label| Inbox::new(trace.labelled(label));
        inbox("sender").take(&mut talker(2));
        inbox("receiver").take(&mut talker(1));
        assert_eq!(trace.finish().unwrap(), Traced { written: 3, missed: 0 });
        let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = text.split('\x1e').skip(1).collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].contains("urn:ietf:params:qlog:file:sequential"), "{text}");
        assert!(lines[2].contains("sender") && lines[3].contains("receiver"), "{text}");
    }

    #[test]
    fn a_disk_that_fills_ends_the_file_and_nothing_else() {
        let trace = Trace::to(Full(1), "a test", "2026-01-01T00:00:00Z").unwrap();
        let mut inbox = Inbox::new(trace.clone());
        while trace.error().is_none() {
            inbox.take(&mut talker(BATCH as u64));
        }
        inbox.take(&mut talker(1));
        let error = trace.finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}

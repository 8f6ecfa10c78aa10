//! [`Capture`]: what a driver sends and receives, as a pcapng file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use anabranch_netsim::{Carrier, Note, Packet, PacketFile};
use anabranch_sansio::Datagram;

/// How many bytes of datagrams wait for the disk at most; what comes on top is missing in the
/// file. It bridges seconds of a fast stream, while the system writes its own buffers out.
pub const CAPTURE_QUEUE_BYTES_MAX: usize = 64 << 20;

/// What an entry of the queue takes beside its datagram.
const OVERHEAD: usize = size_of::<Entry>();

/// After so long without a datagram, all that was recorded is written out.
const IDLE: Duration = Duration::from_millis(100);

/// A capture under way: [`SocketSet::record`](crate::SocketSet::record) gives it to a driver.
/// Clones record to the same file, so that it can hold what several drivers see.
///
/// Each datagram becomes an IP packet with the addresses, the ports and the ECN codepoint that it
/// had; the other fields of the headers are made up. A batch in one system call is recorded as the
/// datagrams it holds: those that were received, and those that the kernel took for sending. There
/// is an interface for each local address.
///
/// A thread of its own writes the file: a disk that is slow or full does not hold up the driver.
#[derive(Debug, Clone)]
pub struct Capture {
    shared: Arc<Shared>,
    /// Put in front of the interfaces' names.
    label: Arc<str>,
}

/// What a capture recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Captured {
    /// Packets in the file.
    pub written: u64,
    /// Packets that are missing there, because it was not written as fast as they came.
    pub missed: u64,
}

impl Capture {
    /// Begins a file, replacing one that is there, and the thread that writes it. The file says
    /// that `application` wrote it.
    ///
    /// # Errors
    /// The file cannot be written, or the system gives no thread.
    pub fn create(path: &Path, application: &str) -> io::Result<Self> {
        Self::to(File::create(path)?, application)
    }

    /// As [`create`](Self::create), to any writer.
    ///
    /// # Errors
    /// The writer's, or the system gives no thread.
    pub fn to(out: impl Write + Send + 'static, application: &str) -> io::Result<Self> {
        let mut file = PacketFile::new(BufWriter::new(out), application, "")?;
        file.flush()?;
        let (entries, queue) = mpsc::channel();
        let progress = Arc::new(Progress::default());
        let start = Instant::now();
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        // A clock before 1970 is as wrong as one that stands there.
        let start_since_1970 = since_1970.unwrap_or_default();
        let recorder =
            Recorder { file, interfaces: BTreeMap::new(), progress: Arc::clone(&progress) };
        let thread = thread::Builder::new()
            .name("capture".to_owned())
            .spawn(move || recorder.run(&queue))?;
        let inlet = Inlet { entries: Some(entries), missed: BTreeMap::new(), thread: Some(thread) };
        let shared = Shared { start, start_since_1970, inlet: Mutex::new(inlet), progress };
        Ok(Self { shared: Arc::new(shared), label: Arc::default() })
    }

    /// The same capture for one of several drivers: `label` and a space stand in front of the names
    /// of its interfaces.
    #[must_use]
    pub fn labelled(&self, label: impl Into<Arc<str>>) -> Self {
        Self { shared: Arc::clone(&self.shared), label: label.into() }
    }

    /// Why the file ends early, once it does; from then on nothing is recorded.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.shared.progress.error.get().map(String::as_str)
    }

    /// Ends the capture for all its clones. Waits until the file is written.
    ///
    /// # Errors
    /// The first error of the writer: the file ends early. Or it was finished already.
    pub fn finish(self) -> io::Result<Captured> {
        let mut inlet = self.shared.inlet();
        let missed = inlet.missed.values().sum();
        let end = Entry::End { at: self.shared.now(), missed: inlet.missed.clone() };
        if let Some(entries) = inlet.entries.take() {
            // Fails if the thread has ended for an error, which it returns.
            _ = entries.send(end);
        }
        let thread = inlet.thread.take();
        drop(inlet);
        let thread = thread.ok_or_else(|| io::Error::other("finished already"))?;
        let written = thread.join().map_err(|_| io::Error::other("its thread panicked"))??;
        Ok(Captured { written, missed })
    }

    pub(crate) fn received<'a>(&self, datagrams: impl Iterator<Item = Datagram<'a>>) {
        self.record(Note::Received, datagrams);
    }

    pub(crate) fn sent<'a>(&self, datagrams: impl Iterator<Item = Datagram<'a>>) {
        self.record(Note::Sent, datagrams);
    }

    fn record<'a>(&self, note: Note<'static>, datagrams: impl Iterator<Item = Datagram<'a>>) {
        if self.error().is_some() {
            return;
        }
        // The time is read with the lock held, so that it never goes back in the file.
        let mut inlet = self.shared.inlet();
        let at = self.shared.now();
        for Datagram { path, ecn, bytes } in datagrams {
            let interface = Interface { label: Arc::clone(&self.label), local: path.local };
            let path = if note == Note::Received { path.reversed() } else { path };
            let packet = Packet { ecn, ..Packet::new(path, Carrier::Udp, bytes.to_vec()) };
            let entry = Entry::Packet { at, interface: interface.clone(), note, packet };
            if !self.shared.push(&inlet, entry) {
                *inlet.missed.entry(interface).or_default() += 1;
            }
        }
    }
}

/// What all clones of a capture have in common.
#[derive(Debug)]
struct Shared {
    start: Instant,
    /// What the clock on the wall said then: it may be set while the capture runs.
    start_since_1970: Duration,
    inlet: Mutex<Inlet>,
    progress: Arc<Progress>,
}

/// Where the datagrams go.
#[derive(Debug)]
struct Inlet {
    /// `None` once the capture is finished.
    entries: Option<Sender<Entry>>,
    /// What the queue had no room for.
    missed: BTreeMap<Interface, u64>,
    thread: Option<JoinHandle<io::Result<u64>>>,
}

/// What the thread and the drivers know of each other.
#[derive(Debug, Default)]
struct Progress {
    /// Bytes in the queue.
    waiting: AtomicUsize,
    error: OnceLock<String>,
}

/// An interface of the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Interface {
    label: Arc<str>,
    local: SocketAddr,
}

impl Interface {
    fn name(&self) -> String {
        format!("{} {}", self.label, self.local).trim_start().to_owned()
    }
}

#[derive(Debug, PartialEq)]
enum Entry {
    Packet { at: Duration, interface: Interface, note: Note<'static>, packet: Packet },
    End { at: Duration, missed: BTreeMap<Interface, u64> },
}

impl Entry {
    fn bytes(&self) -> usize {
        match self {
            Self::Packet { packet, .. } => OVERHEAD + packet.bytes.len(),
            Self::End { .. } => 0,
        }
    }
}

impl Shared {
    fn inlet(&self) -> MutexGuard<'_, Inlet> {
        self.inlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.start_since_1970 + self.start.elapsed()
    }

    /// False if there is no room. What comes after the capture's end does not matter any more.
    fn push(&self, inlet: &Inlet, entry: Entry) -> bool {
        let Some(entries) = &inlet.entries else { return true };
        let bytes = entry.bytes();
        let waiting = &self.progress.waiting;
        // It grows only with the lock held.
        if waiting.load(Ordering::Relaxed) + bytes > CAPTURE_QUEUE_BYTES_MAX {
            return false;
        }
        waiting.fetch_add(bytes, Ordering::Relaxed);
        // Fails if the thread has ended for an error, which `finish` returns.
        _ = entries.send(entry);
        true
    }
}

/// What runs on the thread.
struct Recorder<W: Write> {
    file: PacketFile<W>,
    /// Their numbers in the file, and the packets on each.
    interfaces: BTreeMap<Interface, (u32, u64)>,
    progress: Arc<Progress>,
}

impl<W: Write> Recorder<W> {
    /// Returns the number of packets that were written.
    fn run(mut self, queue: &Receiver<Entry>) -> io::Result<u64> {
        let written = self.write_all(queue);
        if let Err(error) = &written {
            // Nobody else sets it.
            _ = self.progress.error.set(error.to_string());
        }
        written?;
        Ok(self.interfaces.values().map(|(_, packets)| packets).sum())
    }

    fn write_all(&mut self, queue: &Receiver<Entry>) -> io::Result<()> {
        loop {
            let mut next = queue.recv_timeout(IDLE);
            if next == Err(RecvTimeoutError::Timeout) {
                self.file.flush()?;
                next = queue.recv().map_err(RecvTimeoutError::from);
            }
            let Ok(entry) = next else { return self.file.flush() };
            self.progress.waiting.fetch_sub(entry.bytes(), Ordering::Relaxed);
            self.write(entry)?;
        }
    }

    fn write(&mut self, entry: Entry) -> io::Result<()> {
        match entry {
            Entry::Packet { at, interface, note, packet } => {
                let number = self.number(&interface)?;
                self.file.packet(number, at, note, &packet)?;
                if let Some((_, packets)) = self.interfaces.get_mut(&interface) {
                    *packets += 1;
                }
            }
            Entry::End { at, missed } => {
                for interface in missed.keys() {
                    self.number(interface)?;
                }
                for (interface, (number, packets)) in &self.interfaces {
                    let missed = missed.get(interface).copied().unwrap_or_default();
                    self.file.statistics(*number, at, packets + missed, missed)?;
                }
            }
        }
        Ok(())
    }

    fn number(&mut self, interface: &Interface) -> io::Result<u32> {
        if let Some((number, _)) = self.interfaces.get(interface) {
            return Ok(*number);
        }
        let number = self.file.interface(&interface.name())?;
        self.interfaces.insert(interface.clone(), (number, 0));
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::SyncSender;

    use anabranch_sansio::FourTuple;

    use super::*;

    /// Hands on what is written, and waits for that to be taken.
    struct Slow(SyncSender<Vec<u8>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let gone = |_| io::Error::from(io::ErrorKind::StorageFull);
            self.0.send(bytes.to_vec()).map_err(gone)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn send(capture: &Capture, bytes: &[u8]) {
        let path = FourTuple::new(([127, 0, 0, 1], 1).into(), ([127, 0, 0, 1], 2).into());
        capture.sent([Datagram { path, ecn: None, bytes }].into_iter());
    }

    #[test]
    fn what_a_slow_disk_does_not_take_is_counted_and_holds_nobody_up() {
        const LEN: usize = 60_000;
        let (sink, taken) = mpsc::sync_channel(1);
        let capture = Capture::to(Slow(sink), "test").unwrap();
        let queued = CAPTURE_QUEUE_BYTES_MAX / (LEN + OVERHEAD);
        let all = queued as u64 + 100;
        // Nothing is taken meanwhile but what fits into the buffers on the way.
        (0..all).for_each(|_| send(&capture, &[7; LEN]));
        let reader = thread::spawn(move || taken.iter().flatten().collect::<Vec<u8>>());
        let Captured { written, missed } = capture.finish().unwrap();
        assert_eq!(written + missed, all);
        assert!(written >= queued as u64 && missed > 90, "{written} written, {missed} missed");
        assert!(reader.join().unwrap().len() > queued * LEN);
    }

    #[test]
    fn a_disk_that_fills_ends_the_file_and_nothing_else() {
        let (sink, taken) = mpsc::sync_channel(1);
        let capture = Capture::to(Slow(sink), "test").unwrap();
        assert_eq!(capture.error(), None);
        drop(taken);
        while capture.error().is_none() {
            send(&capture, &[7; 1_000]);
        }
        send(&capture, &[7; 1_000]);
        let error = capture.clone().finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(capture.finish().unwrap_err().to_string().contains("finished already"));
    }

    #[test]
    fn a_file_that_cannot_be_written_is_no_capture() {
        assert!(Capture::create(Path::new("/nowhere/file.pcapng"), "test").is_err());
        assert!(Capture::create(Path::new("/dev/full"), "test").is_err());
    }
}

//! Television viewers by the hundred, native and as browsers are, or people in a room: what they
//! experience, and what they cost the server.
//!
//!     anabranch serve --http 127.0.0.1:8080 --udp 127.0.0.1:9000 &
//!     cargo run --release -p anabranch-load -- --native 250 --browsers 250 --zaps 100 --pid $!
//!     cargo run --release -p anabranch-load -- --zaps 0 --apart --pid $!
//!
//!     anabranch meet --http 127.0.0.1:8080 --udp 127.0.0.1:9000 &
//!     cargo run --release -p anabranch-load -- --room LINK --people 16 --pid $!

mod browser;
mod crowd;
mod record;
mod report;
mod room;
mod seat;
mod server;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_keys::{Authority, Certificate, Identity, TlsKeys, Trust};
use anabranch_sansio::Rate;
use anabranch_sctp::Encryption;
use clap::Parser;

use crate::crowd::Crowd;
use crate::report::Report;
use crate::room::{Link, Meeting};
use crate::seat::Kind;
use crate::server::{Server, Usage, usage};

/// How long an urgent message is waited for.
const URGENT_MAX: Duration = Duration::from_secs(5);

/// Television viewers by the hundred: what they experience, and what they cost the server.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the server's page is: host and port.
    #[arg(long, default_value = "127.0.0.1:8080")]
    http: String,
    /// The server's UDP port for viewers.
    #[arg(long, default_value = "127.0.0.1:9000")]
    udp: SocketAddr,
    /// Viewers that speak SCTP over UDP.
    #[arg(long, default_value_t = 10)]
    native: usize,
    /// Viewers behind DTLS, as browsers are.
    #[arg(long, default_value_t = 10)]
    browsers: usize,
    /// Whether what native viewers get is encrypted, as the server has it.
    #[arg(long, value_enum, default_value_t)]
    encryption: Switch,
    /// Certificates of CAs in PEM: one of them must have issued the server's, for the host of
    /// --http.
    #[arg(long)]
    ca: Option<PathBuf>,
    /// The certificate of all native viewers, in PEM.
    #[arg(long, requires = "certificate_key")]
    certificate: Option<PathBuf>,
    /// The certificate's key.
    #[arg(long, requires = "certificate")]
    certificate_key: Option<PathBuf>,
    /// How long they watch.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Keys that they press in a second, all together.
    #[arg(long, default_value_t = 5.0)]
    zaps: f64,
    /// Let each kind watch by itself, one after the other, to tell what it costs the server.
    #[arg(long)]
    apart: bool,
    /// The server's process, to tell what it used.
    #[arg(long)]
    pid: Option<u32>,
    /// The operator's token: an urgent message is sent to all at the end.
    #[arg(long)]
    operator_token: Option<String>,
    /// The link of a room, whose people talk instead of viewers who watch.
    #[arg(long)]
    room: Option<Link>,
    /// People in the room.
    #[arg(long, default_value_t = 16)]
    people: usize,
    /// Bits of pictures that each of them sends in a second.
    #[arg(long, default_value_t = 1_000_000)]
    rate: u64,
    /// Which viewers press which keys.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures there, too.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// `--encryption`.
#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Switch {
    /// With a key of the crowd's own, towards whatever key the server has unless --ca is given.
    #[default]
    On,
    /// What viewers get is open to all.
    Off,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if standard error is gone too.
            writeln!(io::stderr(), "anabranch-load: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> io::Result<()> {
    let encryption = match arguments.encryption {
        Switch::On => Some(encryption(arguments)?),
        Switch::Off => None,
    };
    let mut server = Server { http: arguments.http.clone(), udp: arguments.udp, encryption };
    if let Some(link) = &arguments.room {
        server.http.clone_from(&link.http);
        return talk(&server, link, arguments).await;
    }
    let kinds = [(Kind::Native, arguments.native), (Kind::Browser, arguments.browsers)];
    let groups = if arguments.apart { kinds.chunks(1) } else { kinds.chunks(kinds.len()) };
    let span = Duration::from_secs(arguments.seconds);
    let mut report = Report::new(span);
    for group in groups.filter(|group| group.iter().any(|(_, count)| *count > 0)) {
        let mut crowd = Crowd::gather(&server, group, arguments.seed).await?;
        let usages = watch(&mut crowd, span, arguments).await?;
        report.add(&crowd.members, &usages);
        if let Some(token) = &arguments.operator_token {
            report.add_urgent(alarm(&mut crowd, &server, token).await?);
        }
        if !crowd.leave().await {
            writeln!(io::stderr(), "the server did not let all viewers go in friendship")?;
        }
    }
    if let Some(file) = &arguments.json {
        std::fs::write(file, serde_json::to_string_pretty(&report)?)?;
    }
    write!(io::stdout(), "{report}")
}

/// Has people talk in a room.
async fn talk(server: &Server, link: &Link, arguments: &Arguments) -> io::Result<()> {
    let rate = Rate::bps(arguments.rate);
    let meeting = Meeting::gather(server, link, arguments.people, rate).await?;
    let before = arguments.pid.map(usage).transpose()?;
    let talk = meeting.talk(Duration::from_secs(arguments.seconds)).await;
    let after = arguments.pid.map(usage).transpose()?;
    let usages: Vec<_> = before.into_iter().chain(after).collect();
    if let Some(file) = &arguments.json {
        std::fs::write(file, serde_json::to_string_pretty(&talk)?)?;
    }
    write!(io::stdout(), "{}", talk.with(&usages))
}

/// Keys for all native viewers.
fn encryption(arguments: &Arguments) -> io::Result<Encryption> {
    let failure = |error: anabranch_keys::KeyError| io::Error::other(error);
    let trust = match &arguments.ca {
        Some(file) => {
            let (host, _port) = arguments.http.rsplit_once(':').unwrap_or((&arguments.http, ""));
            let authority = Authority::of_host(&std::fs::read(file)?, host).map_err(failure)?;
            Trust::Certified(authority, Vec::new())
        }
        None => Trust::Anyone,
    };
    let identity = Identity::generate().map_err(failure)?;
    let keys = match (&arguments.certificate, &arguments.certificate_key) {
        (Some(chain), Some(key)) => {
            let certificate = Certificate::from_pem(&std::fs::read(chain)?, &std::fs::read(key)?);
            TlsKeys::with_certificate(&identity, trust, &certificate.map_err(failure)?)
        }
        (_, _) => TlsKeys::new(&identity, trust),
    };
    Ok(keys.map_err(failure)?.required())
}

/// Lets viewers watch; returns what the server used meanwhile, where its process is known.
async fn watch(crowd: &mut Crowd, span: Duration, arguments: &Arguments) -> io::Result<Vec<Usage>> {
    let Some(pid) = arguments.pid else {
        crowd.watch(span, arguments.zaps).await;
        return Ok(Vec::new());
    };
    let usages = Arc::new(Mutex::new(vec![usage(pid)?]));
    let look = tokio::spawn(look_after(pid, Arc::clone(&usages)));
    crowd.watch(span, arguments.zaps).await;
    look.abort();
    let mut usages = usages.lock().unwrap_or_else(PoisonError::into_inner).clone();
    usages.push(usage(pid)?);
    Ok(usages)
}

/// Looks at the server's process every second.
async fn look_after(pid: u32, usages: Arc<Mutex<Vec<Usage>>>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let Ok(usage) = usage(pid) else { return };
        usages.lock().unwrap_or_else(PoisonError::into_inner).push(usage);
    }
}

/// Tells all viewers something urgent; returns how long it took to the last of them.
async fn alarm(crowd: &mut Crowd, server: &Server, token: &str) -> io::Result<Duration> {
    let begin = crowd.now();
    server.post_urgent(token, "This is a test.").await?;
    while crowd.now() < begin + URGENT_MAX {
        crowd.watch(Duration::from_millis(10), 0.0).await;
        let times = crowd.members.iter().filter(|member| member.record().closed.is_none());
        let times = times.map(|member| member.record().urgent.filter(|at| *at >= begin));
        if let Some(last) = times.collect::<Option<Vec<_>>>() {
            return Ok(last.into_iter().max().map_or(Duration::ZERO, |last| last - begin));
        }
    }
    let text = format!("the urgent message was not at all viewers within {URGENT_MAX:?}");
    Err(io::Error::other(text))
}

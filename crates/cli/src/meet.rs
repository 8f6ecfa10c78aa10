//! `anabranch meet`: rooms where browsers call each other.

use std::net::SocketAddr;
use std::path::PathBuf;

use anabranch_apps::meet::{MeetOptions, Meeting, News, RoomsFile, Standing};
use anabranch_apps::site::{Advertised, http_address, https_address, udp_address};
use anabranch_sansio::Rate;
use clap::Args;

use crate::failure::Failure;
use crate::output;
use crate::serve::{advertised, operator_token, site_failure};
use crate::service_log::ServiceLog;
use crate::transfer::{RecordingArgs, StatsFile, stop_when_interrupted};

/// Opens rooms where browsers call each other
///
/// Prints a link for each room: whoever has it gets in, with camera and microphone, by any browser
/// with WebCodecs. Another one is for hosts, who may lock the room and remove others. Without a
/// file there is one room. Off this machine browsers give camera and microphone only to pages by
/// HTTPS.
///
/// Example:
///   anabranch meet rooms.toml --https :8443
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Meet {
    /// What rooms there are, in TOML; docs/meet.md describes it.
    rooms: Option<PathBuf>,
    /// Serves the page here. 8080 is a port of this machine only, as without this option; :8080
    /// is one of all its addresses; 0 is any free one.
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = http_address)]
    http: Option<SocketAddr>,
    /// Serves the page by HTTPS here, too. The certificate is one of anabranch's own, unless one is
    /// given.
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = https_address)]
    https: Option<SocketAddr>,
    /// The certificate for HTTPS, in PEM; it is read again when it is renewed.
    #[arg(long, value_name = "FILE")]
    tls_certificate: Option<PathBuf>,
    /// The certificate's key, in PEM.
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Media passes this UDP port. Without it: 9000 at all addresses.
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = udp_address)]
    udp: Option<SocketAddr>,
    /// Where browsers find that port, if the server cannot know: behind a NAT, in a container.
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = advertised)]
    advertise: Option<Advertised>,
    /// A name under which browsers may ask for the page, beside all addresses. May be given several
    /// times.
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// A file with the token that opens the operator's interface, /api and /metrics. Without it,
    /// one is made and printed.
    #[arg(long, value_name = "FILE")]
    operator_token: Option<PathBuf>,
    /// Writes how things stand, once a second, as JSON lines; - is stdout. docs/stats.md says what
    /// the fields mean.
    #[arg(long, value_name = "FILE")]
    stats: Option<String>,
    #[command(flatten)]
    recording: RecordingArgs,
    /// Says nothing but what is wrong, and the links.
    #[arg(short, long)]
    quiet: bool,
}

impl Meet {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let file = match &self.rooms {
            Some(path) => RoomsFile::read(path).map_err(Failure::usage)?,
            None => RoomsFile::one_room(),
        };
        let stats = self.stats.as_deref().map(StatsFile::open).transpose()?;
        let files = self.recording.open()?;
        let mut log = ServiceLog::new(stats, files, self.quiet);
        let options = MeetOptions {
            file,
            program: concat!("anabranch ", env!("CARGO_PKG_VERSION")).to_owned(),
            http: self.http,
            udp: self.udp,
            advertise: self.advertise,
            names: self.name,
            https: self.https,
            tls_certificate: self.tls_certificate,
            tls_key: self.tls_key,
            operator_token: self.operator_token.as_deref().map(operator_token).transpose()?,
            recording: log.recording(),
        };
        let is_token_known = options.operator_token.is_some();
        // Who has read a link may interrupt.
        let stop = stop_when_interrupted();
        let meeting = Meeting::start(options).await.map_err(site_failure)?;
        let pages = meeting.invitations().map(|it| format!("{}: {}", it.title, it.link));
        let agents = meeting
            .invitations()
            .map(|it| format!("{}, by anabranch call: {}", it.title, it.agent_link));
        for link in pages.chain(agents) {
            if self.stats.as_deref() == Some("-") {
                log.link(&link);
            } else {
                output::print(&format!("{link}\n"))?;
            }
        }
        for invitation in meeting.invitations() {
            log.line(&format!("{}, for its hosts: {}", invitation.title, invitation.host_link));
        }
        log.line(&format!("operator's interface: {}", meeting.operator_url()));
        if !is_token_known {
            log.line(&format!("operator's token: {}", meeting.operator_token()));
        }
        if let Some(https) = meeting.https() {
            log.line(&format!("certificate by HTTPS: SHA-256 {}", https.fingerprint));
        }
        if meeting.lacks_https() {
            log.warn(
                "other machines: browsers give camera and microphone only to pages by HTTPS: add \
                 --https :8443",
            );
        }
        let mut tell = |news: News<'_>| match news {
            News::Line(text) => log.line(text),
            News::Second(standing) => log.second(standing, &describe(standing)),
        };
        meeting.run(stop, &mut tell).await;
        log.end_recording();
        Ok(())
    }
}

fn describe(standing: &Standing) -> String {
    let seconds = standing.at_ms / 1_000;
    format!(
        "{}:{:02}  {} of {} rooms used  {} people ({} away)  {}",
        seconds / 60,
        seconds % 60,
        standing.used,
        standing.rooms,
        standing.members,
        standing.away,
        Rate::bps(standing.sent_bps),
    )
}

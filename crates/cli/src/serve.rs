//! `anabranch serve`: channels for viewers in browsers and at home.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anabranch_apps::input::Readers;
use anabranch_apps::serve::{ChannelsFile, News, ServeError, ServeOptions, Serving, Standing};
use anabranch_apps::site::{Advertised, SiteError, http_address, https_address, udp_address};
use anabranch_apps::url::EncryptionSwitch;
use anabranch_sansio::Rate;
use clap::Args;

use crate::failure::Failure;
use crate::output;
use crate::service_log::ServiceLog;
use crate::transfer::{RecordingArgs, StatsFile, stop_when_interrupted};

/// Nobody guesses so many letters and digits.
const TOKEN_LEN_MIN: usize = 16;

/// Serves channels to viewers
///
/// Any browser shows them, at the address that is printed on a line of its own, and changes the
/// channel within a round trip. Without a file there are three channels that come with anabranch.
///
/// Example:
///   anabranch serve channels.toml
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Serve {
    /// What there is to watch, in TOML; docs/serve.md describes it.
    channels: Option<PathBuf>,
    /// Serves the page here. 8080 is a port of this machine only, as without this option; :8080
    /// is one of all its addresses; 0 is any free one.
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = http_address)]
    http: Option<SocketAddr>,
    /// Serves the page by HTTPS here, too: browsers play only what comes so, or from their own
    /// machine. The certificate is one of anabranch's own, unless one is given.
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = https_address)]
    https: Option<SocketAddr>,
    /// The certificate for HTTPS, in PEM; it is read again when it is renewed.
    #[arg(long, value_name = "FILE")]
    tls_certificate: Option<PathBuf>,
    /// The certificate's key, in PEM.
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Adds the channels of a playlist in M3U.
    #[arg(long, value_name = "FILE")]
    import: Option<PathBuf>,
    /// Serves viewers at this UDP port. Without it: 9000 at all addresses.
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = udp_address)]
    udp: Option<SocketAddr>,
    /// Where viewers find that port, if the server cannot know: behind a NAT, in a container.
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
    /// The file with the key for the tokens of viewers; it is made if it is not there. Without it,
    /// access.key beside the channels' file, if a channel needs it.
    #[arg(long, value_name = "FILE")]
    access_key: Option<PathBuf>,
    /// Whether what native viewers get is encrypted: on or off. It is, without this option.
    #[arg(long, value_name = "SWITCH", value_parser = str::parse::<EncryptionSwitch>)]
    encryption: Option<EncryptionSwitch>,
    /// Writes how things stand, once a second, as JSON lines; - is stdout. docs/stats.md says what
    /// the fields mean.
    #[arg(long, value_name = "FILE")]
    stats: Option<String>,
    #[command(flatten)]
    recording: RecordingArgs,
    /// Says nothing but what is wrong.
    #[arg(short, long)]
    quiet: bool,
}

impl Serve {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let (file, untaken) = self.channels()?;
        let stats = self.stats.as_deref().map(StatsFile::open).transpose()?;
        let files = self.recording.open()?;
        let mut log = ServiceLog::new(stats, files, self.quiet);
        let options = ServeOptions {
            file,
            http: self.http,
            udp: self.udp,
            advertise: self.advertise,
            names: self.name,
            operator_token: self.operator_token.as_deref().map(operator_token).transpose()?,
            access_key: self.access_key,
            https: self.https,
            tls_certificate: self.tls_certificate,
            tls_key: self.tls_key,
            encryption: self.encryption,
            recording: log.recording(),
            readers: Readers::Apart,
        };
        let is_token_known = options.operator_token.is_some();
        // Who has read the address may interrupt.
        let stop = stop_when_interrupted();
        let serving = Serving::start(options).await.map_err(failure)?;
        let page = format!("{}\n", serving.page_url());
        if self.stats.as_deref() == Some("-") {
            io::stderr().lock().write_all(page.as_bytes())?;
        } else {
            output::print(&page)?;
        }
        untaken.iter().for_each(|line| log.line(line));
        if let Some(https) = serving.https() {
            let line = format!("by HTTPS: {} (SHA-256 {})", https.url, https.fingerprint);
            log.line(&line);
        }
        log.line(&format!("native viewers: {}", serving.native_url()));
        if !serving.is_encrypted() {
            log.line("encryption off: who sees packets of native viewers can read and alter them");
        }
        if is_token_known {
            log.line(&format!("operator's page: {}operator", serving.page_url()));
        } else {
            log.line(&format!("operator's page: {}", serving.operator_url()));
            log.line(&format!("operator's token: {}", serving.operator_token()));
        }
        let mut tell = |news: News<'_>| match news {
            News::Line(text) => log.line(text),
            News::Second(standing) => log.second(standing, &describe(standing)),
        };
        serving.run(stop, &mut tell).await;
        log.end_recording();
        Ok(())
    }
}

impl Serve {
    /// What there is to watch, and what of a playlist could not be taken.
    fn channels(&self) -> Result<(ChannelsFile, Vec<String>), Failure> {
        let mut file = match (&self.channels, &self.import) {
            (Some(path), _) => ChannelsFile::read(path).map_err(Failure::usage)?,
            (None, Some(_)) => ChannelsFile::default(),
            (None, None) => ChannelsFile::demo(),
        };
        let untaken = match &self.import {
            Some(playlist) => file.import(playlist).map_err(Failure::usage)?,
            None => Vec::new(),
        };
        Ok((file, untaken))
    }
}

/// The operator's token, in a file.
pub(crate) fn operator_token(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file);
    let text =
        text.map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    let token = text.trim();
    if token.len() < TOKEN_LEN_MIN || token.contains(|c: char| !c.is_ascii_graphic()) {
        return Err(Failure::usage(format!(
            "{} has no token: write at least {TOKEN_LEN_MIN} letters and digits on one line, as \
             openssl rand -hex 16 makes them",
            file.display()
        )));
    }
    Ok(token.to_owned())
}

/// An address that is told to those who are served.
pub(crate) fn advertised(text: &str) -> Result<Advertised, String> {
    text.parse().map_err(|error: SiteError| error.to_string())
}

fn failure(error: ServeError) -> Failure {
    match error {
        ServeError::Site(error) => site_failure(error),
        ServeError::Key(_) | ServeError::HalfCertificate | ServeError::CredentialsInTheOpen => {
            Failure::usage(error)
        }
        _ => Failure::failed(error),
    }
}

/// Whether what keeps a server of pages from beginning is for the user to put right.
pub(crate) fn site_failure(error: SiteError) -> Failure {
    if matches!(
        error,
        SiteError::Address { .. }
            | SiteError::Advertised { .. }
            | SiteError::Udp { .. }
            | SiteError::Http { .. }
            | SiteError::HttpInUse { .. }
            | SiteError::Tls(_)
            | SiteError::HalfTls
            | SiteError::Security(_)
    ) {
        return Failure::usage(error);
    }
    Failure::failed(error)
}

fn describe(standing: &Standing) -> String {
    let seconds = standing.at_ms / 1_000;
    let viewers = standing.native_viewers + standing.browser_viewers;
    format!(
        "{}:{:02}  {} of {} channels on air  {viewers} viewers ({} in browsers)  {}",
        seconds / 60,
        seconds % 60,
        standing.on_air,
        standing.channels,
        standing.browser_viewers,
        Rate::bps(standing.sent_bps),
    )
}

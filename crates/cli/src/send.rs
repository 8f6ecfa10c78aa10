//! `anabranch send`: a file, a pipe or a UDP stream to a receiver.

use std::path::Path;

use anabranch_apps::input::{Input, InputError, InputOptions, Pace, Readers};
use anabranch_apps::send::{SendOptions, send};
use anabranch_apps::service::ServiceError;
use anabranch_apps::url::SessionUrl;
use anabranch_media::ts::PaceError;
use anabranch_netsim::settings::Speed;
use anabranch_sansio::Rate;
use anabranch_session::treatment::{Preset, TreatmentTable};
use clap::Args;

use crate::failure::Failure;
use crate::transfer::{Paths, Telling, failure, stop_when_interrupted};
use crate::values;

/// Sends media to a receiver, over all the paths given
///
/// A transport stream (MPEG-TS) from a file, a pipe or UDP, a file of MP4, Matroska, MP3 or AAC,
/// which becomes one, or a clip of anabranch's own. Files are sent in real time. Ends when all is
/// delivered or given up.
///
/// Example:
///   anabranch send in.ts 'anabranch://host:9000?latency=200&path=192.0.2.5,198.51.100.7'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Send {
    /// A file, - for stdin, or udp://HOST:PORT as ffmpeg and OBS send to; udp://:PORT for any
    /// address.
    input: Input,
    /// anabranch://HOST:PORT to call a receiver, anabranch://:PORT to be called. Options:
    /// latency, path, peer, bond, streamid, key, allow, ca, certificate, certificate_key,
    /// passphrase, encryption, program, mode. anabranch+dccp://... goes over DCCP, with the option
    /// connections and encryption=off.
    url: SessionUrl,
    /// auto: a path over every interface that reaches the receiver, as interfaces come and go,
    /// instead of path= in the URL.
    #[arg(long, value_name = "auto")]
    paths: Option<Paths>,
    /// How media is treated: reliable, layered (without this option), live, or a TOML file with
    /// a table for each class; see anabranch treatments.
    #[arg(long, value_name = "PRESET|FILE", alias = "treatments")]
    treatment: Option<String>,
    /// As fast as the network takes it, which needs the treatment reliable.
    #[arg(long, conflicts_with_all = ["paced", "bitrate"])]
    fast: bool,
    /// Gives packets from stdin the times of their own clock (PCR), as those of a file have; else
    /// they leave as they come.
    #[arg(long, conflicts_with = "bitrate")]
    paced: bool,
    /// Sends at this rate, for streams without a clock: 500k, 5M.
    #[arg(long, value_name = "RATE", value_parser = bitrate)]
    bitrate: Option<Rate>,
    /// Begins the file again when it ends.
    #[arg(long = "loop")]
    looped: bool,
    #[command(flatten)]
    telling: Telling,
}

impl Send {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let treatments = self.treatments()?;
        let pace = match (self.fast, self.paced, self.bitrate) {
            (true, _, _) => Pace::Fast,
            (_, true, _) => Pace::Clock,
            (_, _, Some(rate)) => Pace::Bitrate(rate),
            (false, false, None) => Pace::Auto,
        };
        let mut log = self.telling.log()?;
        let options = SendOptions {
            input: self.input,
            input_options: InputOptions {
                program: None,
                looped: self.looped,
                pace,
                readers: Readers::Apart,
            },
            url: self.url,
            over_all_interfaces: self.paths.is_some(),
            treatments,
            retries: self.telling.retries(),
            recording: log.recording(),
        };
        let sent = send(options, stop_when_interrupted(), &mut |update| log.tell(update)).await;
        log.end_recording();
        sent.map(|_| ()).map_err(|error| {
            let has_no_clock = matches!(
                error,
                ServiceError::Input(InputError::Pace { source: PaceError::NoClock { .. }, .. })
            );
            if has_no_clock {
                return Failure::usage(format!("{error}, or --bitrate 5M sends them at that rate"));
            }
            failure(error)
        })
    }

    fn treatments(&self) -> Result<TreatmentTable, Failure> {
        let Some(treatment) = &self.treatment else {
            let preset = if self.fast { Preset::Reliable } else { Preset::default() };
            return Ok(preset.table());
        };
        let unknown = match treatment.parse::<Preset>() {
            Ok(preset) => return Ok(preset.table()),
            Err(unknown) => unknown,
        };
        if !Path::new(treatment).exists() {
            return Err(Failure::usage(format!("{unknown}, or a TOML file")));
        }
        let wrong = |error: &dyn std::fmt::Display| Failure::usage(format!("{treatment}: {error}"));
        let text = std::fs::read_to_string(treatment).map_err(|error| wrong(&error))?;
        TreatmentTable::from_toml(&text).map_err(|error| wrong(&error))
    }
}

fn bitrate(text: &str) -> Result<Rate, String> {
    match values::speed(text).map_err(|error| error.to_string())? {
        Speed::Limited(rate) => Ok(rate),
        Speed::Unlimited | Speed::Trace(_) => {
            Err("a bit rate must be a number: 500k, 5M".to_owned())
        }
    }
}

//! `anabranch recv`: media from a sender into a file, a pipe or UDP.

use std::io::{self, Write as _};

use anabranch_apps::output::Output;
use anabranch_apps::page::PageTap;
use anabranch_apps::recv::{RecvOptions, Tap, recv};
use anabranch_apps::url::SessionUrl;
use clap::Args;

use crate::failure::Failure;
use crate::output;
use crate::transfer::{Telling, failure, stop_when_interrupted};

/// Receives media from a sender
///
/// Writes it in order and, to pipes and UDP, with the spacing it had at the sender. Ends when the
/// sender does; what arrived is kept in any case.
///
/// Example:
///   anabranch recv 'anabranch://:9000?mode=listener&latency=200' out.ts
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Recv {
    /// anabranch://:PORT to be called, anabranch://HOST:PORT to call a sender. Options: latency,
    /// path, peer, bond, streamid, key, allow, ca, certificate, certificate_key, passphrase,
    /// encryption, mode. anabranch+dccp://... goes over DCCP, with the option connections and
    /// encryption=off.
    url: SessionUrl,
    /// A file, - for stdout, or udp://HOST:PORT. May be left out with --page.
    #[arg(required_unless_present = "page")]
    output: Option<Output>,
    /// Shows what comes on a page of this machine, whose address is printed on a line of its own.
    #[arg(long)]
    page: bool,
    /// Serves the page at this port.
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "page")]
    page_port: u16,
    /// Waits for the next sender when one has ended.
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    telling: Telling,
}

impl Recv {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let media_to_stdout = self.output == Some(Output::Stdout);
        if media_to_stdout && self.telling.stats_go_to_stdout() {
            let reason = "media and measures cannot both go to stdout: give --stats a file";
            return Err(Failure::usage(reason));
        }
        let mut log = self.telling.log()?;
        let mut tap: Option<Box<dyn Tap>> = None;
        let mut page = None;
        if self.page {
            let (watcher, served) = PageTap::start(self.page_port).await.map_err(Failure::usage)?;
            let is_taken = media_to_stdout || self.telling.stats_go_to_stdout();
            announce(served.url(), is_taken)?;
            tap = Some(Box::new(watcher));
            page = Some(served);
        }
        let options = RecvOptions {
            url: self.url,
            output: self.output,
            keep: self.keep,
            retries: self.telling.retries(),
            tap,
            recording: log.recording(),
        };
        let received = recv(options, stop_when_interrupted(), &mut |update| log.tell(update)).await;
        log.end_recording();
        if let Some(page) = page {
            page.told().await;
        }
        received.map(|_| ()).map_err(failure)
    }
}

/// Prints where the page is; on stderr if stdout is for something else.
fn announce(url: &str, stdout_is_taken: bool) -> Result<(), Failure> {
    let line = format!("{url}\n");
    if stdout_is_taken {
        return Ok(io::stderr().lock().write_all(line.as_bytes())?);
    }
    Ok(output::print(&line)?)
}

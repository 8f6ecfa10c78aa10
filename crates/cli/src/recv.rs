//! `anabranch recv`: media from a sender into a file, a pipe or UDP.

use anabranch_apps::recv::{Output, RecvOptions, recv};
use anabranch_apps::url::SessionUrl;
use clap::Args;

use crate::failure::Failure;
use crate::transfer::{Telling, failure, stop_when_interrupted};

/// Receives media from a sender.
///
/// Writes it in order and, to pipes and UDP, with the spacing it had at the sender. Ends when the
/// sender does; what came is kept in any case.
///
/// anabranch recv 'anabranch://:9000?mode=listener&latency=200' out.ts
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Recv {
    /// anabranch://:PORT to be called, anabranch://HOST:PORT to call a sender. Options: latency,
    /// path, peer, streamid, mode.
    url: SessionUrl,
    /// A file, - for stdout, or udp://HOST:PORT.
    output: Output,
    /// Waits for the next sender when one has ended.
    #[arg(long)]
    keep: bool,
    #[command(flatten)]
    telling: Telling,
}

impl Recv {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        if self.output == Output::Stdout && self.telling.stats_go_to_stdout() {
            let reason = "media and measures cannot both go to stdout: give --stats a file";
            return Err(Failure::usage(reason));
        }
        let options = RecvOptions {
            url: self.url,
            output: Some(self.output),
            keep: self.keep,
            retries: self.telling.retries(),
            tap: None,
        };
        let mut log = self.telling.log()?;
        let received = recv(options, stop_when_interrupted(), &mut |update| log.tell(update)).await;
        received.map(|_| ()).map_err(failure)
    }
}

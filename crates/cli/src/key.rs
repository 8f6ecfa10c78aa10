//! `anabranch key`: who one is to others, and whom one remembers.

use anabranch_apps::keys::KeyFolder;
use clap::Args;

use crate::failure::Failure;
use crate::output;

/// Shows the key by which others know this machine
///
/// send and recv are encrypted, and prove to each other who they are by a key that is made at the
/// first start and kept. Who knows it beforehand gives it in the URL, ?key=KEY; who does not,
/// remembers it at the first contact, and refuses another one later.
///
/// Examples:
///   anabranch key
///   anabranch key --peers
///   anabranch key --forget receiver.example:9000
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
#[group(multiple = false)]
pub(crate) struct Key {
    /// Makes a new key: whoever remembers the old one refuses this machine from now on.
    #[arg(long)]
    new: bool,
    /// Prints the private key, too, to be kept or taken elsewhere: who has it is this machine.
    #[arg(long)]
    export: bool,
    /// Lists the peers whose keys are remembered.
    #[arg(long)]
    peers: bool,
    /// Forgets the key of a peer that was set up anew.
    #[arg(long, value_name = "HOST:PORT")]
    forget: Option<String>,
}

impl Key {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let folder = KeyFolder::of_user();
        if let Some(name) = &self.forget {
            if !folder.forget(name).map_err(Failure::usage)? {
                let text =
                    format!("no key of {name} is remembered: anabranch key --peers lists all");
                return Err(Failure::usage(text));
            }
            return Ok(output::print(&format!("the key of {name} is forgotten\n"))?);
        }
        if self.peers {
            let peers = folder.peers().map_err(Failure::usage)?;
            let lines: Vec<_> = peers.iter().map(|(name, key)| format!("{name} {key}\n")).collect();
            return Ok(output::print(&lines.concat())?);
        }
        let identity = if self.new { folder.renew_identity() } else { folder.identity() };
        let mut text = format!("{}\n", identity.map_err(Failure::usage)?.public_key());
        if self.export {
            text = std::fs::read_to_string(folder.identity_file()).map_err(Failure::usage)?;
        }
        Ok(output::print(&text)?)
    }
}

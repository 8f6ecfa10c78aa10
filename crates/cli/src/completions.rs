//! `anabranch completions`: what a shell needs to complete our arguments.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::{Arguments, output};

/// Prints a script by which a shell completes commands and options
///
/// Examples:
///   anabranch completions bash > ~/.local/share/bash-completion/completions/anabranch
///   anabranch completions zsh > ~/.zfunc/_anabranch
///   anabranch completions fish > ~/.config/fish/completions/anabranch.fish
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "anabranch", &mut script);
        Ok(output::print(&String::from_utf8_lossy(&script))?)
    }
}

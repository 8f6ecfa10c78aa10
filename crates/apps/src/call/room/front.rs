//! [`Front`]: who is in the room on this machine: somebody before a page, or the program itself.

use std::path::PathBuf;

use anabranch_driver::Clock;
use anabranch_rooms::Said;

use super::page::{AgentRequest, RoomPage, ToPage};
use super::program::{Program, ProgramOptions};
use super::tape::Tape;
use crate::service::{ServiceError, Severity};

/// Who is to be in the room.
#[derive(Debug)]
pub enum Visitor {
    /// Whoever opens this page.
    Page {
        /// The page.
        page: RoomPage,
        /// The folder that gets a folder for each of the others, with what is played out of it.
        record: Option<PathBuf>,
    },
    /// The program itself.
    Program(ProgramOptions),
}

/// What a visitor brings.
#[derive(Debug)]
pub(super) enum Brought {
    /// Somebody wants to enter.
    Opened,
    /// For the room.
    Said(Said),
    /// For the agent.
    Request(AgentRequest),
    /// For whoever started the program.
    Line { severity: Severity, text: String },
    /// The visitor is gone. It may be there again at once, as the same member.
    Closed {
        /// Whether it said so.
        again: bool,
    },
}

/// Who is in the room.
pub(super) enum Front {
    Page(RoomPage, Option<Box<Tape>>),
    Program(Box<Program>),
}

impl Front {
    pub(super) async fn open(visitor: Visitor, clock: Clock) -> Result<Self, ServiceError> {
        match visitor {
            Visitor::Page { page, record } => {
                let tape = record.map(|folder| Tape::create(folder, clock)).transpose()?;
                Ok(Self::Page(page, tape.map(Box::new)))
            }
            Visitor::Program(options) => {
                Ok(Self::Program(Box::new(Program::open(options, clock).await?)))
            }
        }
    }

    pub(super) const fn is_page(&self) -> bool {
        matches!(self, Self::Page(..))
    }

    /// The next thing that it brings; `None` if that was all. May be given up at any time.
    pub(super) async fn brought(&mut self) -> Result<Option<Brought>, ServiceError> {
        match self {
            Self::Page(page, None) => Ok(page.brought().await),
            Self::Page(page, Some(tape)) => tape.brought(page).await,
            Self::Program(program) => program.brought().await.map(Some),
        }
    }

    /// Hands on what the room says.
    pub(super) fn hand_on(&mut self, said: Said) -> Result<(), ServiceError> {
        match self {
            Self::Page(page, tape) => {
                page.hand_on(&said);
                tape.as_mut().map_or(Ok(()), |tape| tape.hear(said))
            }
            Self::Program(program) => program.hand_on(said),
        }
    }

    /// Shows something of the agent's own, where there is a page.
    pub(super) fn tell(&self, message: &ToPage) {
        match self {
            Self::Page(page, _) => page.tell(message),
            Self::Program(_) => {}
        }
    }

    /// The visit is over; `why` is a sentence. A page may begin another one.
    ///
    /// # Errors
    /// There is no other one, or what was recorded cannot be written.
    pub(super) fn end(&mut self, why: &str) -> Result<(), ServiceError> {
        match self {
            Self::Page(page, tape) => {
                page.end(why);
                tape.as_mut().map_or(Ok(()), |tape| tape.stop())
            }
            Self::Program(program) => program.end(why),
        }
    }

    /// All that it writes is written.
    pub(super) fn finish(&mut self) -> Result<(), ServiceError> {
        match self {
            Self::Page(_, tape) => tape.as_mut().map_or(Ok(()), |tape| tape.stop()),
            Self::Program(program) => program.finish(),
        }
    }
}

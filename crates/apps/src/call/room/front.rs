//! [`Front`]: who is in the room on this machine: somebody before a page, or the program itself.

use anabranch_driver::Clock;
use anabranch_rooms::Said;

use super::page::{AgentRequest, RoomPage, ToPage};
use super::program::{Program, ProgramOptions};
use crate::service::{ServiceError, Severity};

/// Who is to be in the room.
#[derive(Debug)]
pub enum Visitor {
    /// Whoever opens this page.
    Page(RoomPage),
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
    Page(RoomPage),
    Program(Box<Program>),
}

impl Front {
    pub(super) async fn open(visitor: Visitor, clock: Clock) -> Result<Self, ServiceError> {
        match visitor {
            Visitor::Page(page) => Ok(Self::Page(page)),
            Visitor::Program(options) => {
                Ok(Self::Program(Box::new(Program::open(options, clock).await?)))
            }
        }
    }

    pub(super) const fn is_page(&self) -> bool {
        matches!(self, Self::Page(_))
    }

    /// The next thing that it brings; `None` if that was all. May be given up at any time.
    pub(super) async fn brought(&mut self) -> Result<Option<Brought>, ServiceError> {
        match self {
            Self::Page(page) => Ok(page.brought().await),
            Self::Program(program) => program.brought().await.map(Some),
        }
    }

    /// Hands on what the room says.
    pub(super) fn hand_on(&mut self, said: Said) -> Result<(), ServiceError> {
        match self {
            Self::Page(page) => {
                page.hand_on(said);
                Ok(())
            }
            Self::Program(program) => program.hand_on(said),
        }
    }

    /// Shows something of the agent's own, where there is a page.
    pub(super) fn tell(&self, message: &ToPage) {
        match self {
            Self::Page(page) => page.tell(message),
            Self::Program(_) => {}
        }
    }

    /// The visit is over; `why` is a sentence. A page may begin another one.
    ///
    /// # Errors
    /// There is no other one.
    pub(super) fn end(&mut self, why: &str) -> Result<(), ServiceError> {
        match self {
            Self::Page(page) => {
                page.end(why);
                Ok(())
            }
            Self::Program(program) => program.end(why),
        }
    }

    /// All that it writes is written.
    pub(super) fn finish(&mut self) -> Result<(), ServiceError> {
        match self {
            Self::Page(_) => Ok(()),
            Self::Program(program) => program.finish(),
        }
    }
}

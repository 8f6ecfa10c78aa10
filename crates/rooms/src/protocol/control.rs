//! Control messages: one JSON object each, on data channel 0.

use std::net::SocketAddr;

use anabranch_call::exchange::{
    FileEntry, FileNumber, MemberNumber, TextLine, file_name, readable,
};
use anabranch_call::{Media, PathUse};
use anabranch_session::{CONTROL_LEN_MAX, printable};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Addresses under which an agent may be found.
pub const CANDIDATES_MAX: usize = 8;

/// Characters of a name.
const NAME_CHARS_MAX: usize = 60;

/// What a member says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromMember {
    /// Its first words.
    Hello {
        /// [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION).
        protocol: u32,
        /// Its program.
        program: String,
        /// What the person calls themselves.
        name: String,
        /// What it sends.
        #[serde(default)]
        media: Media,
        /// What a member was given who comes back after its connection was lost.
        #[serde(default)]
        resume: Option<String>,
    },
    /// It sends something else from now on, or is muted.
    Media {
        /// What it sends.
        media: Media,
        /// Frames of voice sent so far: those before it are on their way.
        #[serde(default)]
        voice_frames: u64,
    },
    /// The pictures of a member cannot be decoded.
    WantKey {
        /// Whose.
        member: MemberNumber,
    },
    /// Words for all.
    Text {
        /// The words.
        text: String,
    },
    /// It has a file for who wants it.
    OfferFile {
        /// What the file is called.
        name: String,
        /// Its bytes.
        size: u64,
        /// Their SHA-256, in hexadecimal digits.
        sha256: String,
    },
    /// A file of its own is not there any more.
    WithdrawFile {
        /// Which one.
        file: FileNumber,
    },
    /// Nobody else is to come in, or everybody with a link again. A host's.
    Lock {
        /// Which of the two.
        locked: bool,
    },
    /// Somebody has to leave. A host's.
    Remove {
        /// Who.
        member: MemberNumber,
    },
    /// How an agent wants the path with these addresses used, which hides behind a NAT: the one
    /// that this came over, then.
    Path {
        /// How.
        r#use: PathUse,
        /// The agent's address of it.
        local: String,
        /// The room's.
        remote: String,
    },
    /// Where another agent may find an agent, so that the two need no room between them.
    Candidates {
        /// Its own addresses; behind a NAT it has others, which the room sees.
        addresses: Vec<SocketAddr>,
    },
    /// It leaves.
    Bye,
    /// Something of a later version.
    #[serde(other)]
    Unknown,
}

/// What the room says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromRoom {
    /// The member is in.
    Welcome {
        /// [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION).
        protocol: u32,
        /// The room's program.
        program: String,
        /// Where it is.
        room: RoomEntry,
        /// Its number.
        you: MemberNumber,
        /// What it may do.
        role: Role,
        /// Whether nobody else comes in.
        locked: bool,
        /// What to say to come back as the same member.
        resume: String,
        /// The room's clock, in microseconds.
        now_us: u64,
        /// Who else is there.
        members: Vec<MemberEntry>,
        /// What was written lately.
        texts: Vec<TextLine>,
        /// What files there are.
        files: Vec<FileEntry>,
        /// Who could listen.
        listeners: Listeners,
    },
    /// Somebody is in.
    Joined {
        /// Who.
        member: MemberEntry,
    },
    /// Somebody's connection was lost; who it was may come back.
    Away {
        /// Who.
        member: MemberNumber,
    },
    /// Somebody is there again.
    Back {
        /// Who.
        member: MemberNumber,
    },
    /// Somebody is gone.
    Left {
        /// Who.
        member: MemberNumber,
        /// A sentence about it.
        text: String,
    },
    /// Somebody sends something else from now on.
    Media {
        /// Who.
        member: MemberNumber,
        /// What.
        media: Media,
        /// Frames of voice that it had sent by then.
        voice_frames: u64,
    },
    /// Somebody cannot decode the member's pictures: a key picture is wanted.
    WantKey,
    /// What the member's encoder is to make at most.
    Encode {
        /// Bits of pictures in a second; 0 while nobody sees them.
        video_bps: u64,
        /// Bits of voice in a second.
        voice_bps: u64,
        /// Why so much, in words.
        why: String,
    },
    /// Words for all.
    Text(TextLine),
    /// There is a file for who wants it; also to the member that has it.
    File(FileEntry),
    /// A member's file is not taken.
    FileRefused {
        /// What it is called.
        name: String,
        /// Why, for people.
        text: String,
    },
    /// A file is not there any more. Those of who left are neither, without a word.
    FileGone {
        /// Which one.
        file: FileNumber,
    },
    /// Nobody else comes in from now on, or everybody with a link again.
    Locked {
        /// Which of the two.
        locked: bool,
        /// A sentence about it.
        text: String,
    },
    /// Somebody wanted to come in, and the room is locked. For hosts.
    Knocked {
        /// What they call themselves.
        name: String,
    },
    /// To an agent: there is one other member, an agent too, and the two can talk to each other
    /// without the room.
    Direct(Introduction),
    /// To an agent: somebody else is there, or the other one is not any more. All media goes to the
    /// room again.
    DirectEnd,
    /// Who could listen from now on. An agent says so to its page.
    Listeners(Listeners),
    /// Nothing: where these cease the network is gone.
    Beat,
    /// The last words: the member is not let in, or has to leave.
    Bye {
        /// Why, for programs.
        reason: Reason,
        /// Why, for people.
        text: String,
    },
    /// Something of a later version.
    #[serde(other)]
    Unknown,
}

/// What a member may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Lock the room and remove others, too.
    Host,
    /// Be there.
    Attendee,
}

/// A room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomEntry {
    /// As in its link.
    pub name: String,
    /// As people read it.
    pub title: String,
}

/// A member as others see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemberEntry {
    /// Its number: its picture is track 2n, its voice 2n + 1.
    pub number: MemberNumber,
    /// What it calls itself.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// What it sends.
    pub media: Media,
    /// Whether its connection is lost at the moment.
    pub away: bool,
}

/// How an agent finds the only other member of its room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction {
    /// Who that is.
    pub member: MemberNumber,
    /// The public key that it has proved to have, in hexadecimal digits; none where agents and
    /// rooms talk in the open.
    pub key: Option<String>,
    /// Where it may be found: as the room sees it, and as it says itself.
    pub addresses: Vec<SocketAddr>,
    /// Whether this agent calls the other one, or is called.
    pub calls: bool,
}

/// Who could listen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listeners {
    /// `room`: who runs it; `nobody`: not even who runs it.
    pub is: String,
    /// For people.
    pub text: String,
}

/// Why a member is not let in, or has to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It speaks another version of the protocol.
    Version,
    /// The room is full.
    Full,
    /// The room is locked.
    Locked,
    /// A host, or who runs the room, removed it.
    Removed,
    /// It came back over another connection.
    Elsewhere,
    /// It broke the protocol, or said too much.
    Protocol,
    /// The room is closed.
    Closed,
    /// There is no such room, or the token opens another one.
    Token,
    /// A reason of a later version.
    #[serde(other)]
    Other,
}

/// A control message that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Too long.
    #[error("a control message has {len} bytes, at most {CONTROL_LEN_MAX} are allowed")]
    TooLong {
        /// Its length.
        len: usize,
    },
    /// Not one of ours.
    #[error("a control message is not what this version of the protocol says: {reason}")]
    Syntax {
        /// What the parser says.
        reason: String,
    },
}

impl FromMember {
    /// As it goes over the channel.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        encode(self)
    }

    /// Reads a member's message; its words are safe to show.
    ///
    /// # Errors
    /// It is too long, or nothing that a member says.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.len() > CONTROL_LEN_MAX {
            return Err(DecodeError::TooLong { len: bytes.len() });
        }
        let message = serde_json::from_slice::<Self>(bytes)
            .map_err(|error| DecodeError::Syntax { reason: printable(&error.to_string()) })?;
        Ok(message.made_printable())
    }

    fn made_printable(mut self) -> Self {
        match &mut self {
            Self::Hello { program, name, media, .. } => {
                *program = printable(program);
                *name = named(name);
                media.make_printable();
            }
            Self::Media { media, .. } => media.make_printable(),
            Self::Text { text } => *text = readable(text),
            Self::OfferFile { name, sha256, .. } => {
                *name = file_name(name);
                *sha256 = printable(sha256);
            }
            Self::Candidates { addresses } => addresses.truncate(CANDIDATES_MAX),
            Self::WantKey { .. }
            | Self::WithdrawFile { .. }
            | Self::Lock { .. }
            | Self::Remove { .. }
            | Self::Path { .. }
            | Self::Bye
            | Self::Unknown => {}
        }
        self
    }
}

impl FromRoom {
    /// As it goes over the channel.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        encode(self)
    }

    /// Reads a room's message.
    ///
    /// # Errors
    /// It is nothing that a room says.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        serde_json::from_slice(bytes)
            .map_err(|error| DecodeError::Syntax { reason: printable(&error.to_string()) })
    }
}

fn encode(message: &impl Serialize) -> Bytes {
    // Numbers, texts and lists, with texts as keys: nothing that JSON cannot hold.
    serde_json::to_vec(message).unwrap_or_default().into()
}

/// A name that can stand in a line.
fn named(text: &str) -> String {
    let name: String = printable(text).trim().chars().take(NAME_CHARS_MAX).collect();
    if name.is_empty() { "Somebody".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use anabranch_call::exchange::{FILE_NAME_CHARS_MAX, TEXT_CHARS_MAX};

    use super::*;

    fn hello(name: &str) -> FromMember {
        FromMember::Hello {
            protocol: 1,
            program: "a page".to_owned(),
            name: name.to_owned(),
            media: Media::default(),
            resume: None,
        }
    }

    #[test]
    fn what_members_and_rooms_say_survives_the_way() {
        let member = MemberNumber(3);
        let line = TextLine { name: "Bob".to_owned(), member, at_us: 5, text: "Hi".to_owned() };
        let (name, sha256) = ("a.pdf".to_owned(), "ab".repeat(32));
        let file = FileEntry { file: FileNumber(7), member, name, size: 5, sha256 };
        for message in [
            hello("Alice"),
            FromMember::Media { media: Media::default(), voice_frames: 7 },
            FromMember::WantKey { member },
            FromMember::Text { text: "Two\nlines".to_owned() },
            FromMember::OfferFile { name: "a.pdf".to_owned(), size: 5, sha256: "ab".to_owned() },
            FromMember::WithdrawFile { file: FileNumber(7) },
            FromMember::Lock { locked: true },
            FromMember::Remove { member },
            FromMember::Path {
                r#use: PathUse::Spare,
                local: "192.0.2.1:5".to_owned(),
                remote: "192.0.2.2:6".to_owned(),
            },
            FromMember::Candidates { addresses: vec!["192.0.2.1:5".parse().unwrap()] },
            FromMember::Bye,
        ] {
            assert_eq!(FromMember::decode(&message.encode()), Ok(message));
        }
        let addresses = vec!["192.0.2.1:5".parse().unwrap(), "[2001:db8::1]:6".parse().unwrap()];
        let introduction =
            Introduction { member, key: Some("ab".repeat(32)), addresses, calls: true };
        for message in [
            FromRoom::Away { member },
            FromRoom::Left { member, text: "Bob left.".to_owned() },
            FromRoom::Encode { video_bps: 1, voice_bps: 2, why: "why".to_owned() },
            FromRoom::Text(line),
            FromRoom::File(file),
            FromRoom::FileRefused { name: "a.pdf".to_owned(), text: "why".to_owned() },
            FromRoom::FileGone { file: FileNumber(7) },
            FromRoom::Locked { locked: false, text: "Bob unlocked the room.".to_owned() },
            FromRoom::Knocked { name: "Eve".to_owned() },
            FromRoom::Direct(introduction),
            FromRoom::DirectEnd,
            FromRoom::Listeners(Listeners { is: "nobody".to_owned(), text: "Nobody.".to_owned() }),
            FromRoom::Beat,
            FromRoom::Bye { reason: Reason::Full, text: "The room is full.".to_owned() },
        ] {
            assert_eq!(FromRoom::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn names_stand_in_a_line_and_texts_may_have_several() {
        let read = |message: &FromMember| FromMember::decode(&message.encode()).unwrap();
        assert_eq!(read(&hello(" Eve\x1b[2J\n ")), hello("Eve[2J"));
        assert_eq!(read(&hello("\u{7f}")), hello("Somebody"));
        assert_eq!(read(&hello(&"x".repeat(500))), hello(&"x".repeat(NAME_CHARS_MAX)));
        let text = FromMember::Text { text: format!("a\nb\x07{}", "x".repeat(5_000)) };
        let FromMember::Text { text } = read(&text) else { panic!() };
        assert!(text.starts_with("a\nbx") && text.chars().count() == TEXT_CHARS_MAX);
    }

    #[test]
    fn the_name_of_a_file_is_no_path() {
        let read = |name: &str| {
            let offer =
                FromMember::OfferFile { name: name.to_owned(), size: 1, sha256: String::new() };
            let FromMember::OfferFile { name, .. } = FromMember::decode(&offer.encode()).unwrap()
            else {
                panic!()
            };
            name
        };
        for (name, expected) in [
            ("notes.txt", "notes.txt"),
            ("../../etc/passwd", "_.._etc_passwd"),
            ("C:\\Users\\a.exe", "C__Users_a.exe"),
            (".bashrc", "bashrc"),
            ("a\u{202e}\nb", "ab"),
            ("", "file"),
            ("...", "file"),
        ] {
            assert_eq!(read(name), expected, "{name}");
        }
        assert_eq!(read(&"x".repeat(500)).len(), FILE_NAME_CHARS_MAX);
    }

    #[test]
    fn what_a_later_version_adds_is_overlooked_and_nonsense_is_an_error() {
        assert_eq!(FromMember::decode(br#"{"type": "wave"}"#), Ok(FromMember::Unknown));
        assert_eq!(FromRoom::decode(br#"{"type": "wave", "by": 1}"#), Ok(FromRoom::Unknown));
        let long = vec![b' '; CONTROL_LEN_MAX + 1];
        assert_eq!(FromMember::decode(&long), Err(DecodeError::TooLong { len: long.len() }));
        for bytes in [&b""[..], b"\xff", b"[]", b"{\"type\": \"hello\"}", &[b'['; 5_000]] {
            assert!(matches!(FromMember::decode(bytes), Err(DecodeError::Syntax { .. })));
        }
    }
}

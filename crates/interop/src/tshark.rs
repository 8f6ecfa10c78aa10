//! [`examine`]: what tshark says about a capture of SCTP over UDP, of TCP, or of DCCP.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::Command;

/// What is asked of each packet, by protocol.
struct Questions {
    name: &'static str,
    /// Which UDP port carries it, where tshark does not know.
    udp_port: Option<u16>,
    preferences: &'static [&'static str],
    fields: [&'static str; 7],
}

const SCTP: Questions = Questions {
    name: "SCTP",
    udp_port: None,
    preferences: &["sctp.checksum:CRC 32c"],
    fields: [
        "frame.number",
        "sctp.checksum.status",
        "sctp.checksum",
        "sctp.chunk_type",
        "_ws.malformed",
        "_ws.expert.severity",
        "_ws.expert.message",
    ],
};

/// Without remarks on what arrived late or twice, which is the network's doing.
const TCP: Questions = Questions {
    name: "TCP",
    udp_port: None,
    preferences: &["tcp.check_checksum:TRUE", "tcp.analyze_sequence_numbers:FALSE"],
    fields: [
        "frame.number",
        "tcp.checksum.status",
        "tcp.checksum",
        "tcp.option_kind",
        "_ws.malformed",
        "_ws.expert.severity",
        "_ws.expert.message",
    ],
};

const DCCP: Questions = Questions {
    name: "DCCP",
    udp_port: None,
    preferences: &[DCCP_CHECKED],
    fields: [
        "frame.number",
        "dccp.checksum.status",
        "dccp.checksum",
        "dccp.option_type",
        "_ws.malformed",
        "_ws.expert.severity",
        "_ws.expert.message",
    ],
};

const DCCP_CHECKED: &str = "dccp.check_checksum:TRUE";
const DCCP_UNCHECKED: &str = "dccp.check_checksum:FALSE";

/// The status of a right checksum, and of one that was not looked at.
const GOOD: &str = "1";
const UNCHECKED: &str = "2";

/// RFC 6773 section 3.3: "On transmission, the DCCP Checksum field SHOULD be set to zero."
const ZERO: &str = "0x0000";

/// A checksum that was left out, and the one type of chunk in packets that may do so: DTLS proves
/// those (RFC 9653).
const LEFT_OUT: &str = "0x00000000";
const SEALED: &str = "65";

/// Wireshark's PI_WARN: from here on a remark is a fault. Below are retransmissions and the like.
const WARNING: u32 = 0x0060_0000;

/// A warning that is no fault: Wireshark counts no further in one SACK.
const LONG_SACK: &str = "More than 100 TSNs were gap-acknowledged in this SACK.";

/// Nor is this one: who gives a connection up tells the other end.
const RESET: &str = "Connection reset (RST)";

/// What tshark found in a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examination {
    /// Packets in the capture.
    pub packets: usize,
    /// How often each chunk type occurs; in TCP and DCCP, each kind of option.
    pub chunks: BTreeMap<u8, usize>,
    /// What is wrong, packet by packet.
    pub faults: Vec<Fault>,
}

/// What is wrong with a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The packet's number in the capture, from 1 on.
    pub packet: usize,
    /// What tshark says about it.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {}: {}", self.packet, self.what)
    }
}

/// Why tshark did not examine a capture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TsharkError {
    /// It cannot be started.
    #[error("tshark cannot be started ({0}): ./test.sh installs it")]
    Missing(io::Error),
    /// It cannot read the file.
    #[error("tshark cannot read the capture: {0}")]
    Unreadable(String),
    /// It prints something else than it was asked for.
    #[error("tshark prints a line that was not asked for: {0:?}")]
    Output(String),
}

/// A fragment of IP's is judged with the last one, where tshark puts the packet together: Linux
/// forgets the AUTH chunk when it reckons how much fits into a packet.
const WHOLE: &str = "!(ip.flags.mf == 1 || ipv6.fraghdr.more == 1)";

/// What each frame is.
const ALL: &str = "frame";

/// IP's number for DCCP.
const DCCP_ON_IP: &str = "ip.proto == 33";

/// Reads a capture in which every packet is to be SCTP over UDP (RFC 6951), whole and with a right
/// checksum.
///
/// # Errors
///
/// tshark is missing, or does not read the file.
pub fn examine(capture: &Path) -> Result<Examination, TsharkError> {
    ask(capture, &SCTP, ALL)
}

/// As [`examine_dccp`], of packets that were made to be carried by UDP, which guards them, but were
/// captured without it: tshark does not know DCCP in UDP.
///
/// # Errors
///
/// As [`examine`].
pub fn examine_dccp_of_udp(capture: &Path) -> Result<Examination, TsharkError> {
    ask(capture, &Questions { preferences: &[DCCP_UNCHECKED], ..DCCP }, ALL)
}

/// Reads a capture in which every packet is to be SCTP over UDP or DCCP straight on IP, and
/// returns what was found of each.
///
/// # Errors
///
/// As [`examine`].
pub fn examine_sctp_and_dccp(capture: &Path) -> Result<[Examination; 2], TsharkError> {
    let sctp = ask(capture, &SCTP, &format!("!({DCCP_ON_IP})"))?;
    Ok([sctp, ask(capture, &DCCP, DCCP_ON_IP)?])
}

/// As [`examine`], with SCTP at another UDP port than RFC 6951 has for it.
///
/// # Errors
///
/// As [`examine`].
pub fn examine_at_port(capture: &Path, udp_port: u16) -> Result<Examination, TsharkError> {
    ask(capture, &Questions { udp_port: Some(udp_port), ..SCTP }, ALL)
}

/// Reads a capture in which every packet is to be TCP, whole and with a right checksum.
///
/// # Errors
///
/// As [`examine`].
pub fn examine_tcp(capture: &Path) -> Result<Examination, TsharkError> {
    ask(capture, &TCP, ALL)
}

/// Reads a capture in which every packet is to be DCCP straight on IP, whole and with a right
/// checksum.
///
/// # Errors
///
/// As [`examine`].
pub fn examine_dccp(capture: &Path) -> Result<Examination, TsharkError> {
    ask(capture, &DCCP, ALL)
}

/// `of`: the packets that are asked about, as a display filter.
fn ask(capture: &Path, questions: &Questions, of: &str) -> Result<Examination, TsharkError> {
    let mut command = Command::new("tshark");
    command.args([OsStr::new("-r"), capture.as_os_str()]);
    command.args(["-T", "fields", "-E", "separator=|"]);
    command.args(["-Y", &format!("{WHOLE} && {of}")]);
    if let Some(port) = questions.udp_port {
        command.args(["-d", &format!("udp.port=={port},sctp")]);
    }
    for preference in questions.preferences {
        command.args(["-o", preference]);
    }
    for field in questions.fields {
        command.args(["-e", field]);
    }
    let output = command.output().map_err(TsharkError::Missing)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(TsharkError::Unreadable(said));
    }
    let mut examination = Examination::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let read = examination.read(line, questions);
        read.ok_or_else(|| TsharkError::Output(line.to_owned()))?;
    }
    Ok(examination)
}

impl Examination {
    /// Takes in what tshark prints about one packet; `None` if that cannot be understood.
    fn read(&mut self, line: &str, questions: &Questions) -> Option<()> {
        let fields: Vec<&str> = line.splitn(questions.fields.len(), '|').collect();
        let [number, status, checksum, chunks, malformed, severities, remarks] = fields[..] else {
            return None;
        };
        let packet = number.parse().ok()?;
        self.packets += 1;
        for chunk in list(chunks) {
            *self.chunks.entry(chunk.parse().ok()?).or_default() += 1;
        }
        let severities: Option<Vec<u32>> = list(severities).map(|text| text.parse().ok()).collect();
        let mut fault = |what: &str| self.faults.push(Fault { packet, what: what.to_owned() });
        let is_left_out = (checksum, chunks) == (LEFT_OUT, SEALED);
        match status {
            "" => fault(&format!("it is not {}", questions.name)),
            GOOD => {}
            UNCHECKED if questions.preferences == [DCCP_UNCHECKED] && checksum == ZERO => {}
            _ if is_left_out => {}
            _ => fault("its checksum is wrong"),
        }
        if !malformed.is_empty() {
            fault("it is malformed");
        }
        let warnings = severities?.iter().filter(|severity| **severity >= WARNING).count();
        // Beside it may stand what the capture itself says of the packet.
        let is_no_fault = list(remarks).any(|remark| [LONG_SACK, RESET].contains(&remark));
        let is_harmless = is_left_out || (warnings == 1 && is_no_fault);
        if warnings > 0 && !is_harmless {
            fault(remarks);
        }
        Some(())
    }
}

/// The values of a field that may occur several times in a packet.
fn list(field: &str) -> impl Iterator<Item = &str> {
    field.split(',').filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(line: &str) -> Vec<String> {
        let mut examination = Examination::default();
        examination.read(line, &SCTP).unwrap();
        examination.faults.iter().map(Fault::to_string).collect()
    }

    #[test]
    fn a_good_packet_is_counted_with_its_chunks() {
        let mut examination = Examination::default();
        examination.read("1|1|0x5|3,0,0|||", &SCTP).unwrap();
        examination.read("2|1|0x5|0||4194304|Retransmitted TSN", &SCTP).unwrap();
        examination.read(&format!("3|1|0x5|3||6291456|{LONG_SACK}"), &SCTP).unwrap();
        let lost = format!("4|1|0x5|3||1048576,6291456|refused by a full queue,{LONG_SACK}");
        examination.read(&lost, &SCTP).unwrap();
        assert_eq!(examination.packets, 4);
        assert_eq!(examination.chunks, BTreeMap::from([(0, 3), (3, 3)]));
        assert_eq!(examination.faults, []);
    }

    #[test]
    fn every_fault_is_told() {
        assert_eq!(faults("7||||||"), ["packet 7: it is not SCTP"]);
        let mut of_tcp = Examination::default();
        of_tcp.read("7||||||", &TCP).unwrap();
        assert_eq!(of_tcp.faults[0].to_string(), "packet 7: it is not TCP");
        let bad = faults("8|0|0x5|0||8388608|Bad SCTP checksum.");
        assert_eq!(bad, ["packet 8: its checksum is wrong", "packet 8: Bad SCTP checksum."]);
        let short = faults("9|1|0x5|0|SCTP|8388608|Malformed Packet (Exception occurred)");
        assert_eq!(
            short,
            ["packet 9: it is malformed", "packet 9: Malformed Packet (Exception occurred)"]
        );
    }

    #[test]
    fn only_dccp_in_udp_leaves_its_own_checksum_out() {
        let in_udp = Questions { preferences: &[DCCP_UNCHECKED], ..DCCP };
        for (line, questions, faults) in [
            ("1|2|0x0000|44|||", &in_udp, 0),
            ("1|2|0x0005|44|||", &in_udp, 1),
            ("1|0|0x0000|44|||", &DCCP, 1),
        ] {
            let mut examination = Examination::default();
            examination.read(line, questions).unwrap();
            assert_eq!(examination.faults.len(), faults, "{line}");
        }
    }

    #[test]
    fn sealed_packets_alone_may_leave_the_checksum_out() {
        assert!(faults("1|0|0x00000000|65||8388608|Bad SCTP checksum.").is_empty());
        assert_eq!(faults("1|0|0x00000000|0||8388608|Bad SCTP checksum.").len(), 2);
        assert_eq!(faults("1|0|0x00000005|65||8388608|Bad SCTP checksum.").len(), 2);
    }

    #[test]
    fn what_is_no_answer_is_not_taken_for_one() {
        let mut examination = Examination::default();
        assert_eq!(examination.read("Running as user \"root\"", &SCTP), None);
        assert_eq!(examination.read("1|1|0x5|x|||", &SCTP), None);
        assert_eq!(examination.read("1|1|0x5|0||high|", &SCTP), None);
    }
}

//! What the paper leaves open, and what was chosen.

/// What is open, and the choice with its reason.
pub(super) const ASSUMPTIONS: [(&str, &str); 16] = [
    (
        "The network",
        "Wired paths are links of 100 Mbit/s. A wireless path is a Wi-Fi cell of its own, 802.11g \
         at 54 Mbit/s (cell=no: a link at 54 Mbit/s). Delays are not said: 1 ms one way.",
    ),
    (
        "Which handoff is which",
        "The text of section 4: 1 wired to wireless, 2 wireless to wired, 3 between wireless, 4 \
         between wired networks. The abstract has the last two the other way round.",
    ),
    (
        "Voice and video",
        "The throughputs of table 4 are taken for what cameras and microphones gave, both ways: \
         1237.42 KB/s of video, here 25 pictures a second of one size, and 117 KB/s of voice, here \
         50 frames a second, in messages of at most 1016 bytes.",
    ),
    (
        "How long PR-SCTP tries",
        "Not said. 3 s: longer than a first timeout, shorter than a conversation bears. lifetime=0 \
         and lifetime=500ms are varied.",
    ),
    (
        "What the monitor hears",
        "Section 2: data from an address. A socket shows no heartbeats, so that the other path is \
         heard only once SCTP sent data again there, after a timeout. by-state=yes takes the \
         path's state in SCTP instead, which heartbeats keep.",
    ),
    (
        "When a path is available",
        "When data came from it within the threshold: \u{201c}a certain period\u{201d} of section \
         2 is taken for the \u{201c}specified duration\u{201d} of the primary path.",
    ),
    (
        "The threshold of 30 s",
        "\u{201c}SCTP default setting\u{201d} is taken for SCTP's own failover without a monitor, \
         with path retransmissions of 5. The monitor with 30 s is run beside it.",
    ),
    (
        "The gap",
        "\u{201c}Between the last frame of original path and the first frame of new path\u{201d}: \
         from the last whole picture before the cut to the first whole one that was taken once its \
         sender had changed paths; the mean of both directions. Pictures that a timeout sends over \
         the other path before are none of the new path.",
    ),
    (
        "Handoff packets and control",
        "Who switches sends a reliable message on stream 9 and one on the new base; the other end \
         has a monitor of its own and waits for that. The base goes 0, 3, 6, 0, so that stream 9 \
         stays free.",
    ),
    (
        "The stack of 2010",
        "RFC 9260's congestion control; no potentially failed paths (RFC 7829 came later); \
         heartbeats every 30 s.",
    ),
    (
        "USHA",
        "Not run: it tunnels TCP. In its place a TCP that connects anew over the other path after \
         1.5 s of silence, in the same network with the same call, 256 KiB of send buffer. What \
         waits in the old connection is lost.",
    ),
    (
        "Loss",
        "Frames that never became whole, of both kinds, from the beginning of the call to 12 s \
         (9 s with the paper's monitor) after the cut. It follows the length of a call, which the \
         paper does not say.",
    ),
    (
        "Ours",
        "AssociationConfig::media() with both paths in use: pictures where they arrive first, \
         voice on two paths at once, both unordered, with lifetimes: the one-way delay and 150 ms, \
         twice that for pictures.",
    ),
    (
        "Ours by round trip",
        "A call of 2 Mbit/s and 40 kbit/s both ways, from wired to wireless. The path that carries \
         pictures is cut ten times, for 1.5 s, at any moment. Left on purpose, both ends are told \
         0.5 s before.",
    ),
    (
        "Live",
        "Two agents (anabranch call) in network namespaces, with the links of the simulated calls \
         emulated between them, and a film of the same rates, one picture in 25 a key picture. The \
         path over which the caller sends most is taken down behind the emulator, at the moments \
         of the simulated call of that seed, and no earlier than when both paths stand. Frames \
         count from 3 s after the call began to 1 s before its end; lost are those that were \
         concealed or never shown, late those that were played too late, the playout's wait \
         included. Both agents are asked their time, five times a second. On purpose, it is the \
         caller's page that leaves the path.",
    ),
    (
        "Late",
        "A frame is late when it is whole more than the one-way delay and 150 ms after it was \
         taken: too late for its place in what is heard and seen.",
    ),
];

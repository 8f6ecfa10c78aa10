//! What the paper leaves open, and what was chosen.

/// What is open, and the choice with its reason; of a film not what is about the paper's video.
pub(super) fn assumptions(is_film: bool) -> Vec<(&'static str, &'static str)> {
    let is_of_video = |what: &str| OF_VIDEO.contains(&what);
    let of_film = FILM.into_iter().filter(|_| is_film);
    of_film
        .chain(ASSUMPTIONS.into_iter().filter(|(what, _)| !is_film || !is_of_video(what)))
        .collect()
}

/// About the video that comes with this experiment, and what is seen of it.
const OF_VIDEO: [&str; 8] = [
    "Length",
    "Pictures",
    "Rates",
    "Congestion",
    "Spacing",
    "Packets",
    "Incomplete frames",
    "Repeated pictures",
];

/// About a film.
const FILM: [(&str, &str); 3] = [
    (
        "Layers",
        "The film's pictures are its frames, in the order of decoding. Those that others refer to, \
         or may, are the base layer, those that none refers to the enhancement: what is lost of \
         these costs one picture. Sound and data are left out.",
    ),
    (
        "Spacing",
        "A picture's packets are full ones and a rest. They are spread evenly from where the \
         picture begins in the film's own stream to where the next one does.",
    ),
    (
        "Missing pictures",
        "A picture of which any packet never came is missing. A late packet counts as there, as \
         in the paper. Whether a decoder had what the picture refers to is not asked.",
    ),
];

const ASSUMPTIONS: [(&str, &str); 21] = [
    (
        "Length",
        "2116 frames at 25 frames/s are 84.64 s. The paper's 88.64 s do not fit its own count.",
    ),
    (
        "Pictures",
        "The paper's encode is not published. Ours is a real JSVM encode of a procedural scene of \
         the same form: 1280x720, all intra, two quality layers, four slices each, four segments \
         of 529 frames. Base layer 28.17 dB, both 34.563 dB; the paper's has 34.4653 dB. PSNR-Y \
         is compared by what is missing from the whole video's.",
    ),
    (
        "Rates",
        "6.8 and 23.5 Mbit/s are taken as base layer and total, since the reference encoder \
         prints cumulative rates. As base and enhancement, 30.3 Mbit/s in all, the queue of a \
         link of 30 Mbit/s would never drain: the source \"literal\" has them so.",
    ),
    (
        "Congestion",
        "The paper shows its video's rate as a curve only. The source \"congested\" makes each \
         frame's slices larger or smaller by one factor, so that the rate exceeds 30 Mbit/s from \
         7 to 20 s and 45 Mbit/s from 12 to 14.5 s. Pictures and their errors stay. The source \
         \"plain\" leaves all sizes as encoded: no second exceeds 45 Mbit/s.",
    ),
    (
        "Spacing",
        "The packets of a frame are spread evenly over its 40 ms, base layer first. RTP's 5.2 ms \
         at 60 Mbit/s, which is the way and one packet's time, leave no room for a burst.",
    ),
    (
        "Packets",
        "At most 1448 bytes of video: with RTP's header the paper's 1460. Slices share no packet.",
    ),
    ("Queues", "Drop-tail with 50 packets, ns-2's default; RTP's 9.4 ms at 30 Mbit/s fit it."),
    (
        "Losses",
        "Each packet by itself with the given probability, on the way to the receiver only, from \
         20 s of the video on the first link, from 40 s on the second. Acknowledgements are not \
         lost.",
    ),
    (
        "SCTP's carrier",
        "Straight on IP, 48 bytes of headers on 1448 of video, as in the paper: no packet exceeds \
         the MTU of 1500 bytes. With UDP encapsulation every full packet would.",
    ),
    (
        "ns-2's defaults",
        "Receive window 65,536 bytes, initial window two packets, bursts of at most four packets, \
         SACKs delayed by 200 ms, retransmission timeout 3 s at first and 1 to 60 s later, \
         heartbeats every 30 s; no potentially failed paths, no splitting of the receive buffer. \
         The eleven run with them; ours runs with its own.",
    ),
    (
        "TCP",
        "ns-2's FullTCP: no selective acknowledgments, an acknowledgment for each segment, \
         Nagle's algorithm, a timeout of 0.2 s at least. Recovery is NewReno's; plain Reno's, \
         with which our delays at 1 % of loss are the paper's, stands under Sensitivity. Its \
         default segments of 536 bytes and window of 20 of them cannot have been the paper's, \
         whose delays they exceed by far: segments fill the MTU, and the window is that of SCTP. \
         A packet has arrived when its last byte can be read.",
    ),
    (
        "Thresholds of 1",
        "A path fails at the second error in a row. Lost data goes out on the other link, however \
         the loss was found, as ns-2 does by default.",
    ),
    (
        "CMT",
        "New data goes to the link whose window is used least; lost data to the one with the \
         largest slow-start threshold (RTX-SSTHRESH), one of the paper's two choices. Losses are \
         looked for per link (SFR), windows grow per link (CUC), and SACKs of reordered data are \
         delayed and count packets (DAC).",
    ),
    (
        "Unreliable",
        "The paper sets a reliability of 0 and says that at least one retransmission is made. \
         Both are run: Unreliable0 and Mixed0 send nothing again, Unreliable1 and Mixed1 once.",
    ),
    (
        "Start",
        "The video begins 1 s after the handshake did, so that no strategy is charged for it.",
    ),
    ("End", "What has not arrived 300 s after the last packet was handed over counts as lost."),
    (
        "Incomplete frames",
        "A frame of which any packet is missing is not decoded, since the reference decoder gives \
         no picture when a slice is missing; the picture before stays. With the enhancement \
         wholly absent the base layer is shown. A late packet counts as there, as in the paper.",
    ),
    (
        "Repeated pictures",
        "The trace knows the error of showing a picture 1, 2, 3, 4, 6, 8, 12, 16 or 25 frames \
         later. Between these the error's logarithm is interpolated; beyond 25 it stays; across \
         the start of a segment, where nothing resembles what was, the screen counts as black.",
    ),
    (
        "Mean delay",
        "Over all packets that arrived (\"per packet\"), and over the seconds of the video of \
         each second's mean (\"per second\"). Where the delay is uneven, both differ. Beside the \
         paper stands the first.",
    ),
    (
        "Interfaces",
        "A rate counts IP packets that the link carried, lost ones included. A discard is a \
         packet that the link lost or its queue had no room for, in the second when that \
         happened.",
    ),
    (
        "Ours",
        "What our sessions do by default on two links at a latency of 200 ms: each packet on the \
         link where it arrives first, losses found in time (RFC 8985), BBR's model with random \
         loss told from congestion, every packet delivered as it comes. The base layer lives 200 \
         ms, the enhancement 150 ms and goes out behind it.",
    ),
];

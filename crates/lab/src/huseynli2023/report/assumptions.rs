//! What the paper leaves open, and what was chosen.

/// What is open, and the choice with its reason.
pub(super) const ASSUMPTIONS: [(&str, &str); 15] = [
    (
        "Two readings of the source",
        "The text has an MPEG-2 stream of 4 Mbit/s with I, P and B frames and sound of 256 kbit/s. \
         The authors' published scripts have 9 Mbit/s at a constant rate, without sound, and each \
         chunk has a random level, a third each. Both are run; the statements are held against \
         the scripts', as the figures are theirs.",
    ),
    (
        "Two readings of the network",
        "In the scripts all links are wires. In the text hosts are mobile and use Wi-Fi: there the \
         receivers' links are one cell of 802.11g at 54 Mbit/s, shared by all seven.",
    ),
    (
        "Rates, delays, queues",
        "The scripts': 50 Mbit/s and 10 ms to and from the routers, 20 Mbit/s and 10 ms between \
         them, drop-tail queues. Their length is ns-2's default, 50 packets.",
    ),
    (
        "Time",
        "120 s, as in the text; the scripts run for 60. What still waits then is read for another \
         12 s.",
    ),
    (
        "The reading program",
        "The paper does not say what makes chunks wait. In the scripts the program takes all that \
         waits every 5, 25 or 500 ms. Here it takes its time for each chunk: exponential, 0.95 of \
         the time between two chunks on average. Then SCTP's chunks wait for 10 ms, as in the \
         paper. Readers of the flows in the background take no time.",
    ),
    (
        "Code points",
        "Table 2's: 00 for what is sent again, 01, 10 and 11 for I, P and B. The published code \
         has I 00, P 01, B 10 and 11 for what is sent again.",
    ),
    (
        "SCTP-PQ",
        "The paper's list gives an order, which our queue gives as well once messages are \
         unordered and nothing has a bound: what was sent again, I, P, B, each as it came. The \
         list puts what was sent again in front of all others of its kind, ours behind them; and \
         it takes O(n) to insert, which costs processor time and no simulated time: how many \
         chunks an insertion goes past is counted.",
    ),
    (
        "Buffer",
        "1 MiB, so that the window never holds the sender up; the paper names no size. With the 64 \
         KiB that ns-2 begins with, 9 Mbit/s do not fit into a round trip of 60 ms, and what is \
         waiting waits at the sender.",
    ),
    (
        "Overflow",
        "The paper drops the least important chunk of a full buffer; nothing in the published code \
         does. Here a sender keeps to the window that it is told, and nothing overflows.",
    ),
    ("Sound", "MPEG-1 layer II, a frame of 768 bytes every 24 ms, at the level of I."),
    (
        "Pictures",
        "12 s of 720x576 at 25 pictures a second in a loop, IBBP, 15 to a group, encoded by FFmpeg \
         at 4.05 Mbit/s: 15 % of it I, 34 % P and 51 % B. A picture's chunks are spread evenly \
         over its 40 ms.",
    ),
    (
        "Transport",
        "SCTP and SCTP-PQ begin as ns-2 does: an initial window of two packets, RTO of 3 s at \
         first and of 1 to 60 s later, SACKs delayed by 200 ms, bursts of four packets. \
         Anabranch has its defaults for media, a stream for each level, ordered, and 500 ms as the \
         bound. All are fully reliable, and run straight on IP.",
    ),
    (
        "Queue delay",
        "From the arrival of a chunk to its reading, the time behind a gap of its stream included.",
    ),
    (
        "IPDV",
        "RFC 3393 for each level: the absolute difference between the delays of a chunk and of the \
         one of its level that was sent before it, from the sending program to the reading one.",
    ),
    (
        "Jitter",
        "\u{201c}The change of a metric relative to several reference metrics (e.g., average \
         latency)\u{201d}: the distance of a chunk's delay from the mean of its level.",
    ),
];

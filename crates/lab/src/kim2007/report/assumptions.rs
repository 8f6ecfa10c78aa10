//! What the paper leaves open, and what was chosen.

/// What is open, and the choice with its reason.
pub(super) const ASSUMPTIONS: [(&str, &str); 17] = [
    (
        "Numbers",
        "The paper's text has none beside its axes. Each of its statements is held against our \
         values above, with the values that decide.",
    ),
    (
        "File",
        "2 MB are 2^21 bytes: 2048 messages of 1024 bytes, one every 8 ms at 1024 kbit/s, in \
         16.384 s. No transport reads its bytes; each message begins with its channel and number.",
    ),
    (
        "\u{201c}Bandwidth of 1024 kbps\u{201d}",
        "The rate at which the server sends, not the link's: the paper assumes a data rate greater \
         than the bit rate, so that \u{201c}a buffer is used to retransmit\u{201d}. On a link of \
         1024 kbit/s headers alone would be too much.",
    ),
    (
        "Server",
        "A simple one: it sends a message, waits while its transport's buffer is full, and sleeps \
         for 8 ms. What it waited is not made up for. \u{201c}A server that never waits\u{201d} \
         keeps to the clock instead.",
    ),
    (
        "Buffers",
        "Linux 2.6.16: a TCP socket begins with 16 kB to send and 87,380 bytes to receive; an SCTP \
         socket has 110,592 bytes to send, of which a message takes 1,450 with its descriptors, \
         and announces half of 110,592 bytes to receive.",
    ),
    (
        "Link",
        "100 Mbit/s, 10 ms one way, a queue of 1000 packets, MTU 1500. The paper names delays in \
         figure 12 alone, from 10 ms on.",
    ),
    (
        "Losses",
        "\u{201c}Different loss rates in the network\u{201d}: each packet by itself, in both \
         directions, from the first message on. Connections stand by then. With losses towards \
         the client only, TCP is the faster one in figure 8: see the losses in one direction.",
    ),
    (
        "TCP",
        "Linux 2.6.16: selective acknowledgments, initial window of three segments, Nagle's \
         algorithm, acknowledgments delayed by 40 ms, timeouts of 3 s at first and 0.2 s at least. \
         Its BIC is Reno below a window of 14 segments, more than its buffer holds. Ours has no \
         timestamps.",
    ),
    (
        "SCTP",
        "What RFC 2960 recommends, as Linux 2.6.16: timeouts of 3 s at first and 1 to 60 s later, \
         an initial window of two packets, SACKs delayed by 200 ms, bursts of four packets. \
         Straight on IP, ordered in each stream. Losses are found by three reports, as RFC 9260 \
         has it; RFC 2960 asked for one more.",
    ),
    (
        "PR-SCTP",
        "The same with a lifetime for each message by equation 1: R + 8 · 1024 / 1,024,000 s. R is \
         500 ms, what a viewer's buffer might leave; with R = 0 a message lives for 8 ms, less \
         than the round trip, and nothing is ever sent again. Ours gives a message up when its \
         time is over, the kernel of those days when it came to send it again.",
    ),
    ("UDP", "A message is a datagram: 1052 bytes with its headers. Nothing else is sent."),
    (
        "Ours",
        "Anabranch is the same stack with its defaults for media: losses found in time (RFC 8985), \
         the media controller, which distinguishes random loss from congestion. Reliable and \
         ordered as SCTP; Anabranch-PR has PR-SCTP's lifetimes and delivers each message as it \
         comes.",
    ),
    (
        "Completion",
        "From the first message ready at the server to the last one that arrives at the client's \
         application. What is lost for good delays nothing.",
    ),
    (
        "Delivery delay",
        "From a message ready at the server, before it may have to wait for its transport, to its \
         delivery. What a server that waits is late by is seen in the completion time instead.",
    ),
    (
        "Figure 10",
        "The list of tests says PR-SCTP, the figure and its text SCTP. Both are run. Messages go \
         around the streams in turn.",
    ),
    (
        "Figure 11",
        "Each test sends one file of 2 MB at 1024 kbit/s: three channels share it, a message each \
         in turn. With a file and a rate for each (\u{201c}three whole channels\u{201d}) TCP and \
         SCTP need more than 50 s at 10 %, beyond the figure's axis.",
    ),
    (
        "Figure 12",
        "From the key pressed to the first message of the new channel, whole, at the client's \
         application. TCP closes its connection and opens another one, whose request goes out \
         with the handshake's last packet; SCTP asks on the channel's own stream. The server \
         answers at once. Nothing is lost.",
    ),
];

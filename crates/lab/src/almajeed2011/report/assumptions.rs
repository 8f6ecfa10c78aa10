//! What the paper leaves open or contradicts itself on.

/// What is open, and the choice with its reason.
pub(super) const ASSUMPTIONS: [(&str, &str); 17] = [
    (
        "The video",
        "The paper sends the Paris clip, which has no licence that would let it be copied. Ours \
         is made from Big Buck Bunny (c) 2008 Blender Foundation, www.bigbuckbunny.org, CC BY \
         3.0: 1,065 pictures in CIF, 30 a second, a key picture every 15, QP 26, slices of at \
         most 888 bytes. It has 23.2 Mbit in 3,853 slices. The paper's rates times its durations \
         are 15.5 Mbit in tables 3 and 4 and 24 to 29 in table 7, and 4,739 slices of 900 bytes \
         would be 34. Sending times therefore compare less well than throughputs; losses are \
         compared as shares.",
    ),
    (
        "Its coding",
        "The paper has a structure of IPBB with the Baseline profile, which has no B slices. \
         Ours is IPPP. Key pictures but the first are no IDR pictures, so that what is missing of \
         one can be repeated from the picture before.",
    ),
    (
        "Quality",
        "What arrived is decoded by OpenH264. Slices of skipped macroblocks take the place of \
         missing ones, which is the paper's previous frame replacement. The errors of coding and \
         of losses are added as if independent: with the source at hand that was 0.02 to 0.06 dB \
         too low. SSIM is against the video as coded.",
    ),
    (
        "Jitter",
        "The paper's jitter in table 8 is its sending time in table 7 divided by its 4,739 \
         slices, with the exception of one connection over frames of 20 ms: the mean time between \
         arrivals. Ours stands beside it as that. The mean difference of delays is in \
         cells.csv.",
    ),
    (
        "Throughput",
        "The video's bits over the sending time, lost ones included: the paper's rates times its \
         durations are the same for every number of connections.",
    ),
    (
        "Streams of constant rate",
        "1,500 kbit/s in packets of 1,000 bytes with their IP headers. The paper also has 0.03 s \
         between them, which would be 267 kbit/s: run in Sensitivity.",
    ),
    (
        "Queues",
        "50 packets for each service flow, in the station and in the base station. The video and \
         its feedback are service flows of their own, as in the standard. In one queue with the \
         stream of constant rate, whose packets take each free place, hardly any feedback \
         arrives: run in Sensitivity.",
    ),
    (
        "Scheduling",
        "rtPS is polled in each frame and served first, nrtPS in every tenth and with what is \
         left; within a service shares are max-min fair. The paper does not say how its module \
         does it: in proportion, and one flow after the other, are in Sensitivity.",
    ),
    (
        "The radio's losses",
        "The two states change from one MAC PDU to the next, in each direction and for each \
         service flow by themselves. A packet that is cut into fragments is lost with any of \
         them. The paper does not say whether the downlink loses packets, nor whether its states \
         change by packets or in time: without, and in time, are in Sensitivity.",
    ),
    (
        "Transmit power, antennas, distance",
        "Not modelled: 16-QAM 1/2 throughout, and the losses of the two states are all there are.",
    ),
    (
        "Who sends what in the core network",
        "The stream to the first station and the transfer to the third come from node B; the \
         stream to the second one from the base station, as the paper has one stream from node B. \
         The uplink's other traffic ends at the base station. With what node B sends ending there, \
         too, and the stations' own from there: run in Sensitivity.",
    ),
    (
        "User to user",
        "The second cell has no other traffic, loses packets as the first one does, and its \
         uplink carries feedback alone. Without its losses: run in Sensitivity.",
    ),
    (
        "TFRC",
        "RFC 5348, where the paper has RFC 3448: the first rate is that of an initial window \
         instead of one packet a second, which is in Sensitivity. Feedback once a round trip, \
         giving way to delay (section 4.5).",
    ),
    (
        "TCP",
        "New Reno with selective acknowledgments, an initial window of 10 segments and at most \
         4 MiB under way. Two segments, and the 20 KiB that come near to 20 packets of ns-2's, \
         are in Sensitivity.",
    ),
    (
        "Two cells",
        "Ours alone. The second cell of a sender has the paper's three stations and their \
         traffic, all of which ends at its base station, and loses by itself. To the base station \
         both cells end at one receiver; to node C each base station has a wire to the first \
         router, and the bottleneck is shared; from user to user the receiver has one cell.",
    ),
    (
        "When it begins",
        "All other traffic has run for 20 s. The whole video is at hand then, and each \
         connection closes when it has sent its share.",
    ),
    (
        "Headers",
        "DCCP straight on IP. A bundle puts 12 bytes before each slice, as many as RTP has. SCTP \
         has the same before each message.",
    ),
];

//! [`Intervals`]: what happened in each interval of a run.

use std::time::Duration;

use super::Event;
use crate::FigureError;

/// Intervals that are kept at most: a day of seconds. What is later counts to the last one.
const INTERVALS_MAX: usize = 86_400;

/// A run, interval by interval.
#[derive(Debug, Clone)]
pub struct Intervals {
    pub(super) span: Duration,
    pub(super) tallies: Vec<Tally>,
    /// What was last known of the path, for intervals without news.
    last: Tally,
}

/// What happened in one interval, and where things stood at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// Bytes of packets sent.
    pub sent: f64,
    /// Bytes of packets received.
    pub received: f64,
    /// Bytes of data acknowledged.
    pub acknowledged: f64,
    /// Chunks declared lost.
    pub lost: f64,
    /// Of those, by a timeout.
    pub timed_out: f64,
    /// Chunks sent again.
    pub repeated: f64,
    /// Messages given up.
    pub abandoned: f64,
    /// Pictures left out for lack of room.
    pub left_out: f64,
    /// Pieces that came late.
    pub late: f64,
    /// Items given up at the receiver.
    pub skipped: f64,
    /// The congestion window in bytes.
    pub window: Option<f64>,
    /// Bytes in flight.
    pub in_flight: Option<f64>,
    /// Smoothed round-trip time in milliseconds.
    pub srtt: Option<f64>,
    /// What the association carries, in bits per second.
    pub carries: Option<f64>,
    /// What the path carries by the controller's model, in bits per second.
    pub bandwidth: Option<f64>,
    /// The least time that a piece had to spare, in milliseconds; 0 if one was late.
    pub spare: Option<f64>,
}

impl Intervals {
    /// Intervals of this length.
    #[must_use]
    pub fn new(span: Duration) -> Self {
        Self { span, tallies: Vec::new(), last: Tally::default() }
    }

    /// Takes the next event. Those of several paths are added up; of windows and round trips, the
    /// last one stands.
    pub fn add(&mut self, event: &Event) {
        let tally = self.at(event.time);
        let count = |field| event.number(field).unwrap_or_default();
        let (protocol, name) = event.name.split_once(':').unwrap_or_default();
        if !matches!(protocol, "sctp" | "dccp" | "media") {
            return;
        }
        match name {
            "packet_sent" => tally.sent += count("bytes"),
            "packet_received" => tally.received += count("bytes"),
            "data_sent" => tally.repeated += f64::from(event.flag("retransmission")),
            "data_acknowledged" => tally.acknowledged += count("bytes"),
            "data_lost" => {
                let lost = count("chunks") + count("datagrams");
                tally.lost += lost;
                if event.word("trigger") == "timeout" {
                    tally.timed_out += lost;
                }
            }
            "message_abandoned" => tally.abandoned += 1.0,
            "window_updated" => {
                tally.window = event.number("window_bytes");
                tally.in_flight = event.number("in_flight_bytes");
                tally.srtt = event.number("srtt_ms");
                tally.bandwidth = event.number("bandwidth_bps");
            }
            "rate_updated" => tally.carries = event.number("carries_bps"),
            "picture_left_out" => tally.left_out += 1.0,
            "piece_received" => {
                tally.late += f64::from(event.flag("late"));
                let spare = event.number("spare_ms");
                tally.spare =
                    spare.map(|spare| tally.spare.map_or(spare, |least| least.min(spare)));
            }
            "items_skipped" => tally.skipped += count("items"),
            _ => {}
        }
        self.last = *self.at(event.time);
    }

    /// Whether nothing has come.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tallies.is_empty()
    }

    /// The figure of all intervals, as SVG.
    ///
    /// # Errors
    /// It cannot be drawn.
    pub fn figure(&self, title: &str) -> Result<String, FigureError> {
        super::figure::draw(self, title)
    }

    /// Whether media was received rather than sent.
    pub(super) fn is_of_receiver(&self) -> bool {
        let total = |of: fn(&Tally) -> f64| self.tallies.iter().map(of).sum::<f64>();
        let has_pieces = self.tallies.iter().any(|tally| tally.spare.is_some());
        has_pieces || total(|tally| tally.received) > total(|tally| tally.sent)
    }

    /// The interval that a time is in; new ones begin where the last one ended.
    fn at(&mut self, ms: f64) -> &mut Tally {
        let index = (ms / 1e3 / self.span.as_secs_f64()).max(0.0) as usize;
        let index = index.min(INTERVALS_MAX - 1);
        let Tally { window, in_flight, srtt, carries, bandwidth, .. } = self.last;
        let begun = Tally { window, in_flight, srtt, carries, bandwidth, ..Tally::default() };
        if index >= self.tallies.len() {
            self.tallies.resize(index + 1, begun);
        }
        &mut self.tallies[index]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(ms: f64, name: &str, data: serde_json::Value) -> Event {
        let serde_json::Value::Object(data) = data else { panic!("an object") };
        Event { time: ms, name: name.to_owned(), group_id: String::new(), data }
    }

    #[test]
    fn what_happened_is_counted_and_what_stood_stands_until_there_is_news() {
        let mut intervals = Intervals::new(Duration::from_secs(1));
        assert!(intervals.is_empty());
        let window = json!({"window_bytes": 9_000, "in_flight_bytes": 10, "srtt_ms": 20.5});
        intervals.add(&event(100.0, "sctp:packet_sent", json!({"bytes": 1_000})));
        intervals.add(&event(999.0, "sctp:packet_sent", json!({"bytes": 500})));
        intervals.add(&event(999.0, "sctp:window_updated", window));
        let lost = json!({"chunks": 3, "trigger": "timeout"});
        intervals.add(&event(2_500.0, "sctp:data_lost", lost));
        let [first, second, third] = intervals.tallies[..] else { panic!("{intervals:?}") };
        assert_eq!((first.sent, first.window, first.srtt), (1_500.0, Some(9_000.0), Some(20.5)));
        assert_eq!((second.sent, second.window), (0.0, Some(9_000.0)));
        assert_eq!((third.lost, third.timed_out, third.window), (3.0, 3.0, Some(9_000.0)));
    }

    #[test]
    fn what_dccp_does_counts_as_what_sctp_does() {
        let mut intervals = Intervals::new(Duration::from_secs(1));
        intervals.add(&event(1.0, "dccp:packet_sent", json!({"bytes": 1_200})));
        let lost = json!({"datagrams": 4, "trigger": "acknowledgements"});
        intervals.add(&event(2.0, "dccp:data_lost", lost));
        intervals.add(&event(3.0, "dccp:rate_updated", json!({"carries_bps": 5e6})));
        intervals.add(&event(4.0, "other:packet_sent", json!({"bytes": 9})));
        let tally = intervals.tallies[0];
        assert_eq!((tally.sent, tally.lost, tally.carries), (1_200.0, 4.0, Some(5e6)));
    }

    #[test]
    fn a_time_beyond_all_sense_takes_no_memory() {
        let mut intervals = Intervals::new(Duration::from_millis(10));
        intervals.add(&event(1e300, "sctp:packet_sent", json!({"bytes": 1})));
        intervals.add(&event(-5.0, "sctp:packet_sent", json!({"bytes": 1})));
        assert_eq!(intervals.tallies.len(), INTERVALS_MAX);
    }

    #[test]
    fn regression_a_viewer_was_shown_as_a_sender_that_sends_next_to_nothing() {
        let mut intervals = Intervals::new(Duration::from_secs(1));
        intervals.add(&event(1.0, "sctp:packet_sent", json!({"bytes": 60})));
        assert!(!intervals.is_of_receiver());
        intervals.add(&event(2.0, "sctp:packet_received", json!({"bytes": 1_200})));
        assert!(intervals.is_of_receiver());
    }

    #[test]
    fn the_least_time_to_spare_is_what_counts() {
        let mut intervals = Intervals::new(Duration::from_secs(1));
        for (spare, late) in [(80.0, false), (0.0, true), (90.0, false)] {
            let data = json!({"spare_ms": spare, "late": late});
            intervals.add(&event(1.0, "media:piece_received", data));
        }
        assert!(intervals.is_of_receiver());
        assert_eq!((intervals.tallies[0].spare, intervals.tallies[0].late), (Some(0.0), 1.0));
    }
}

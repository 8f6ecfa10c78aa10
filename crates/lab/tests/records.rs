//! Tables of packets and units, read back.

use std::path::{Path, PathBuf};

use anabranch_lab::Parameters;
use anabranch_lab::RecordTo;
use anabranch_lab::ortiz2013::{
    Cell, Outcome, RtpStrategy, SctpStrategy, Setup, Source, Strategy, Treatment,
};
use anabranch_lab::records::TableFile;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

const FRAMES: usize = 25;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// What a cell measures on links that lose packets from the beginning, recorded.
fn record(strategy: Strategy, packets: &Path, units: &Path) -> Outcome {
    let parameters = Parameters::read(["onset=0,0"]).expect("there are such parameters");
    let setup = Setup::with(Source::Plain, parameters).cut_after(FRAMES);
    let cell = Cell { strategy, mbps: 30.0, loss: 1e-2, seed: 1 };
    let file = |path| Some(TableFile::create(path).expect("the target folder"));
    let to = RecordTo { packets: file(packets), units: file(units), ..RecordTo::default() };
    let measured = cell.run_recorded(&setup, to).expect("the machines behave");
    assert_eq!(measured, cell.run(&setup).expect("the machines behave"), "nothing else changes");
    measured.outcome
}

fn rows(path: &Path) -> Vec<Row> {
    let file = std::fs::File::open(path).expect("it has its name");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let rows = reader.get_row_iter(None).expect("it has rows");
    rows.collect::<Result<_, _>>().expect("every row can be read")
}

fn field<'a>(row: &'a Row, name: &str) -> &'a Field {
    let found = row.get_column_iter().find(|(column, _)| *column == name);
    found.map(|(_, field)| field).expect("there is such a column")
}

fn has(row: &Row, name: &str, text: &str) -> bool {
    *field(row, name) == Field::Str(text.to_owned())
}

/// Rows of data on their way to the receiver, a packet once.
fn count(rows: &[Row], is_it: impl Fn(&Row) -> bool) -> u64 {
    let mut packets: Vec<_> =
        rows.iter().filter(|row| is_it(row)).map(|row| field(row, "packet").to_string()).collect();
    packets.sort_unstable();
    packets.dedup();
    packets.len() as u64
}

#[test]
fn rows_add_up_with_what_the_links_and_the_sender_counted() {
    for (strategy, protocol) in [
        (Strategy::Sctp(SctpStrategy::CmtMulti(Treatment::Reliable)), "SCTP"),
        (Strategy::OURS, "SCTP"),
        (Strategy::Rtp(RtpStrategy::Multi), "RTP"),
        (Strategy::Tcp, "TCP"),
    ] {
        let file = path(&format!("{strategy}-packets.parquet"));
        let outcome = record(strategy, &file, &path(&format!("{strategy}-units.parquet")));
        let rows = rows(&file);
        assert!(rows.iter().all(|row| has(row, "protocol", protocol)), "{strategy}");
        let forward = |row: &Row| has(row, "direction", "forward");
        let lost = count(&rows, |row| forward(row) && has(row, "outcome", "lost"));
        assert_eq!(lost, outcome.lost_on_links, "{strategy}");
        let refused = count(&rows, |row| forward(row) && has(row, "outcome", "refused"));
        assert_eq!(refused, outcome.refused_by_queues, "{strategy}");
        let repeated = rows.iter().filter(|row| *field(row, "repeated") == Field::Bool(true));
        let repeated = repeated.filter(|row| forward(row)).count() as u64;
        assert_eq!(repeated, outcome.retransmissions, "{strategy}");
        let queued = |row: &&Row| matches!(field(row, "queued_s"), Field::Double(s) if *s > 0.0);
        assert!(rows.iter().filter(queued).count() > 100, "{strategy}");
    }
}

#[test]
fn the_rows_of_csv_are_those_of_parquet() {
    let strategy = Strategy::OURS;
    let [csv, parquet] = ["both.csv", "both.parquet"].map(path);
    record(strategy, &csv, &path("both-units.csv"));
    record(strategy, &parquet, &path("both-units.parquet"));
    let text = std::fs::read_to_string(&csv).expect("it has its name");
    assert!(text.starts_with("packet,sent_s,queued_s,left_s,outcome,link,direction,protocol,"));
    assert_eq!(text.lines().count() - 1, rows(&parquet).len());
}

#[test]
fn every_layer_of_every_frame_is_a_unit() {
    for strategy in [Strategy::OURS, Strategy::Rtp(RtpStrategy::Single)] {
        let units = path(&format!("{strategy}-all.parquet"));
        let outcome = record(strategy, &path(&format!("{strategy}-all.csv")), &units);
        let rows = rows(&units);
        assert_eq!(rows.len(), 2 * FRAMES);
        let decodable = |row: &Row| *field(row, "decodable") == Field::Bool(true);
        let of =
            |layer| rows.iter().filter(|row| decodable(row) && has(row, "layer", layer)).count();
        assert_eq!(of("enhancement"), outcome.frames_full);
        assert_eq!(of("base"), outcome.frames_full + outcome.frames_base);
        let has_deadline = |row: &Row| *field(row, "deadline_s") != Field::Null;
        assert!(rows.iter().all(|row| has_deadline(row) == (strategy == Strategy::OURS)));
    }
}

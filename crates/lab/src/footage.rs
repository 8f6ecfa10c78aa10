//! [`Footage`]: a film or a recorded encoder of the user's, which takes the place of what a paper's
//! experiment sends.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anabranch_media::Class;
use anabranch_sansio::Rate;
use serde::Deserialize;

use crate::scenario::{FilmUnit, film_units, read_file};
use crate::svc::Trace;

/// Between two pictures of a table: those that are here have 25 in a second.
pub(crate) const PICTURE: Duration = Duration::from_millis(40);

/// What a file has to send, by size and time; at its end it begins again.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Footage {
    /// Pictures, sound and data, in the order in which they are whole.
    pub(crate) units: Arc<[FilmUnit]>,
    /// From one beginning to the next.
    pub(crate) round: Duration,
}

/// A picture of an encoded video, in coding order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct TablePicture {
    /// I, P or B.
    #[serde(rename = "type")]
    pub(crate) kind: char,
    pub(crate) bytes: usize,
}

impl Footage {
    /// Reads a film, or a table of pictures whose name ends in `.csv`.
    pub(crate) fn read(file: &str) -> Result<Self, String> {
        let path = Path::new(file);
        let read = if is_table(path) {
            read_file(path).and_then(|bytes| of_table(&bytes))
        } else {
            film_units(path)
        };
        let (units, round) = read.map_err(|why| format!("{file}: {why}"))?;
        Ok(Self { units: units.into(), round })
    }

    /// The pictures, in the order of decoding.
    pub(crate) fn pictures(&self) -> impl Iterator<Item = &FilmUnit> {
        self.units.iter().filter(|unit| unit.shown.is_some())
    }

    /// The mean rate of its pictures.
    pub(crate) fn picture_rate(&self) -> Rate {
        let bytes: usize = self.pictures().map(|picture| picture.bytes).sum();
        Rate::bps((bytes as f64 * 8.0 / self.round.as_secs_f64()) as u64)
    }
}

/// Whether a file is a table rather than a film, by its name.
pub(crate) fn is_table(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv"))
}

/// Whether a table is not one of types and sizes, but one of two layers.
pub(crate) fn is_layered(table: &[u8]) -> bool {
    let headers = csv::Reader::from_reader(table).headers().cloned().unwrap_or_default();
    headers.iter().all(|name| name != "type")
}

/// A table of the pictures of an encoded video: a column `type`, which is I, P or B, and a column
/// `bytes`.
pub(crate) fn table_pictures(table: &[u8]) -> Result<Vec<TablePicture>, String> {
    let rows = csv::Reader::from_reader(table).into_deserialize();
    let rows: Result<Vec<TablePicture>, _> = rows.collect();
    rows.map_err(|error| format!("not a table of pictures: {error}"))
}

/// The tables that `data/README.md` describes: types and sizes, or two layers.
fn of_table(table: &[u8]) -> Result<(Vec<FilmUnit>, Duration), String> {
    let sizes = match is_layered(table) {
        true => of_layers(table)?,
        false => table_pictures(table)?.iter().map(|it| (class(it.kind), it.bytes)).collect(),
    };
    if sizes.is_empty() {
        return Err("it has no pictures: give at least one line below the header".to_owned());
    }
    if let Some(number) = sizes.iter().position(|(_, bytes)| *bytes == 0) {
        return Err(format!("picture {number} has 0 bytes: give 1 at least"));
    }
    let round = PICTURE * u32::try_from(sizes.len()).map_err(|_| "it has too many pictures")?;
    let unit = |(number, (class, bytes)): (u32, (Class, usize))| {
        let at = PICTURE * number;
        FilmUnit { due: (at, at), shown: Some(at), class, bytes }
    };
    Ok(((0..).zip(sizes).map(unit).collect(), round))
}

/// Each picture can be shown by itself.
fn of_layers(table: &[u8]) -> Result<Vec<(Class, usize)>, String> {
    let trace = Trace::from_csv(table).map_err(|error| error.to_string())?;
    Ok(trace.frames.iter().map(|frame| (Class::KeyFrame, frame.len() as usize)).collect())
}

const fn class(kind: char) -> Class {
    match kind {
        'I' => Class::KeyFrame,
        'P' => Class::Reference,
        _ => Class::Disposable,
    }
}

/// Films of this repository, and what is none.
#[cfg(test)]
pub(crate) mod testing {
    use crate::Settings;
    use crate::parameter::Parameters;

    /// 3 s of 75 pictures, and sound.
    pub(crate) const FILM: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/h264_aac.ts");
    pub(crate) const MP4: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/h264_aac.mp4");
    /// 300 pictures of 12 s.
    pub(crate) const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/mpeg2-720x576.csv");

    /// Parameters with this source, and with more where `set` has more.
    pub(crate) fn with_source<S: Settings>(file: &str, set: &str) -> Result<Parameters<S>, String> {
        let text = format!("source={file}{set}");
        Parameters::read([text.as_str()]).map_err(|error| error.to_string())
    }

    /// An unreadable file, one that is no film and a film without pictures are refused in words.
    pub(crate) fn check_refusals<S: Settings + std::fmt::Debug>() {
        let refused = |file: &str| with_source::<S>(file, "").unwrap_err();
        let missing = refused("/nowhere");
        assert!(missing.starts_with("source: /nowhere: No such file"), "{missing}");
        let text = refused(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        assert!(text.contains("Cargo.toml: ") && text.contains("not an MPEG transport"), "{text}");
        let name = format!("anabranch-sound-{}-{}", std::process::id(), std::any::type_name::<S>());
        let sound = std::env::temp_dir().join(name.replace(':', "-"));
        let frame = [&[0xff, 0xfb, 0x90, 0][..], &[0; 413]].concat();
        std::fs::write(&sound, frame.repeat(20)).unwrap();
        let words = refused(&sound.display().to_string());
        std::fs::remove_file(&sound).unwrap();
        assert!(words.contains("there is no picture in it: give a film in MPEG-2"), "{words}");
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{FILM, MP4, TABLE};
    use super::*;

    #[test]
    fn a_film_has_the_pictures_that_it_has_in_any_container() {
        for file in [FILM, MP4] {
            let footage = Footage::read(file).unwrap();
            assert_eq!(footage.pictures().count(), 75, "{file}");
            assert!(footage.units.len() > 75, "{file}: its sound, too");
            assert!(footage.units.is_sorted_by_key(|unit| unit.due.1));
            assert!((2.8..3.2).contains(&footage.round.as_secs_f64()), "{footage:?}");
        }
    }

    #[test]
    fn both_kinds_of_tables_are_read() {
        let sizes = Footage::read(TABLE).unwrap();
        assert_eq!((sizes.units.len(), sizes.round), (300, PICTURE * 300));
        assert_eq!(sizes.units[0].bytes, 92_719);
        let classes: Vec<_> = sizes.units.iter().take(3).map(|unit| unit.class).collect();
        assert_eq!(classes, [Class::KeyFrame, Class::Reference, Class::Disposable]);
        let layers = concat!(env!("CARGO_MANIFEST_DIR"), "/data/svc-720p25-intra.csv");
        let layers = Footage::read(layers).unwrap();
        assert_eq!(layers.units.len(), 2_116);
        assert!((21.7..21.8).contains(&(layers.picture_rate().as_bps() as f64 / 1e6)));
    }

    #[test]
    fn a_table_that_is_none_is_refused_in_words() {
        for (table, words) in [
            ("type,bytes\n", "it has no pictures"),
            ("type,bytes\nI,0\n", "picture 0 has 0 bytes"),
            ("type,bytes\nI,much\n", "not a table of pictures: CSV deserialize error"),
            ("a,b\n1,2\n", "not a trace of layered video"),
        ] {
            let error = of_table(table.as_bytes()).unwrap_err();
            assert!(error.contains(words), "{table:?}: {error}");
        }
    }
}

//! [`JsonFile`]: where the measures go at the end.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::output;

/// A file that is there whole or not at all, or stdout.
#[derive(Debug)]
pub(super) enum JsonFile {
    Stdout,
    /// A pipe or a device is written to as it is.
    Special(PathBuf),
    /// Written beside its place, and moved there when it is whole.
    Regular {
        place: PathBuf,
        beside: PathBuf,
        file: File,
    },
}

impl JsonFile {
    /// Makes sure that the file can be written before anything else is done.
    pub(super) fn create(name: &str) -> Result<Self, Failure> {
        if name == "-" {
            return Ok(Self::Stdout);
        }
        let place = PathBuf::from(name);
        match fs::metadata(&place) {
            Ok(there) if there.is_dir() => {
                return Err(Failure::usage(format!("{name} is a directory: give a file")));
            }
            Ok(there) if !there.is_file() => return Ok(Self::Special(place)),
            Ok(_) | Err(_) => {}
        }
        let mut beside = place.clone().into_os_string();
        beside.push(format!(".{}.tmp", std::process::id()));
        let beside = PathBuf::from(beside);
        let file = File::create(&beside)
            .map_err(|error| Failure::usage(format!("cannot write {name}: {error}")))?;
        Ok(Self::Regular { place, beside, file })
    }

    pub(super) const fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    /// Writes all of it.
    pub(super) fn write(mut self, json: &str) -> Result<(), Failure> {
        let text = format!("{json}\n");
        match &mut self {
            Self::Stdout => Ok(output::print(&text)?),
            Self::Special(place) => Ok(fs::write(place, text)?),
            Self::Regular { place, beside, file } => {
                file.write_all(text.as_bytes())?;
                file.sync_all()?;
                Ok(fs::rename(beside, place)?)
            }
        }
    }
}

impl Drop for JsonFile {
    fn drop(&mut self) {
        if let Self::Regular { beside, .. } = self {
            // It has been moved to its place, unless something went wrong.
            let _moved = fs::remove_file(beside);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_there_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("anabranch-json-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let place = folder.join("run.json");
        let name = place.to_str().unwrap();
        fs::write(&place, "before").unwrap();
        drop(JsonFile::create(name).unwrap());
        assert_eq!(fs::read_to_string(&place).unwrap(), "before");
        JsonFile::create(name).unwrap().write("{}").unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "{}\n");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told_before_the_run() {
        for name in ["/nowhere/run.json", "/"] {
            let Err(Failure::Usage(reason)) = JsonFile::create(name) else { panic!("{name}") };
            assert!(reason.contains(name), "{reason}");
        }
        assert!(JsonFile::create("-").unwrap().is_stdout());
    }
}

//! [`Files`]: the files that a scenario names.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::stream::{Stream, read};

/// Reads a file by the name that a scenario gives it.
type ReadBytes<'a> = Box<dyn Fn(&str) -> Result<Vec<u8>, String> + 'a>;

/// The files that scenarios name: recorded links and encoders, and films. A film is read once,
/// however many points of a sweep name it.
pub struct Files<'a> {
    read: ReadBytes<'a>,
    films: RefCell<BTreeMap<String, Arc<Stream>>>,
}

impl<'a> Files<'a> {
    /// Those that `read` reads, which says in words what is wrong with one.
    pub fn new(read: impl Fn(&str) -> Result<Vec<u8>, String> + 'a) -> Self {
        Self { read: Box::new(read), films: RefCell::default() }
    }

    /// Those beside a scenario: a name that is no whole path is looked for from the folder that the
    /// scenario's file is in.
    #[must_use]
    pub fn beside(scenario: &Path) -> Files<'static> {
        let folder = scenario.parent().map(PathBuf::from).unwrap_or_default();
        Files::new(move |file| read(&folder.join(file)))
    }

    fn text(&self, file: &str) -> Result<String, String> {
        String::from_utf8((self.read)(file)?).map_err(|_| "it is no text".to_owned())
    }

    fn film(&self, file: &str) -> Result<Arc<Stream>, String> {
        if let Some(film) = self.films.borrow().get(file) {
            return Ok(Arc::clone(film));
        }
        let film = Arc::new(Stream::read(&(self.read)(file)?)?);
        self.films.borrow_mut().insert(file.to_owned(), Arc::clone(&film));
        Ok(film)
    }
}

impl fmt::Debug for Files<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Files").field("films", &self.films.borrow().keys()).finish_non_exhaustive()
    }
}

/// The files that one scenario names, and a digest of what they hold.
pub(super) struct Named<'a> {
    files: &'a Files<'a>,
    digest: RefCell<Sha256>,
}

impl<'a> Named<'a> {
    pub(super) fn new(files: &'a Files<'a>) -> Self {
        Self { files, digest: RefCell::default() }
    }

    pub(super) fn text(&self, file: &str) -> Result<String, String> {
        let text = self.files.text(file)?;
        self.add(text.as_bytes());
        Ok(text)
    }

    pub(super) fn film(&self, file: &str) -> Result<Arc<Stream>, String> {
        let film = self.files.film(file)?;
        self.add(&film.digest);
        Ok(film)
    }

    /// What else makes the scenario another one.
    pub(super) fn add(&self, bytes: &[u8]) {
        self.digest.borrow_mut().update(bytes);
    }

    pub(super) fn digest(self) -> [u8; 32] {
        self.digest.into_inner().finalize().into()
    }
}

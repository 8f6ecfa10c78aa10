//! [`KeyFolder`]: who one is, and whom one knows: the keys that a user's programs keep.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anabranch_keys::{Authority, Certificate, Identity, KeyError, PublicKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use thiserror::Error;

use crate::net::{pem, state_folder};
use crate::url::CertificateFiles;

/// Our own key pair.
const IDENTITY: &str = "key.pem";
/// A line for each peer: `HOST:PORT KEY`.
const KNOWN_PEERS: &str = "known-peers";

/// Programs that may have died while they wrote a file.
const HALF_FILES_MAX: u32 = 1_000;

/// Held by who changes the peers.
const LOCK: &str = "known-peers.lock";

/// Why a file with keys is of no use.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// It cannot be read.
    #[error("{} cannot be read: {source}", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It cannot be written.
    #[error(
        "{} cannot be written: {source}; set XDG_STATE_HOME to a folder that can, or give \
         encryption=off", file.display()
    )]
    Unwritable {
        /// Which.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It holds something else.
    #[error(
        "{} holds no Ed25519 key in the form PKCS #8: anabranch key --new makes one", .0.display()
    )]
    NoKey(PathBuf),
    /// A certificate, its key or a CA that is of no use.
    #[error("{} is of no use: {source}", file.display())]
    Unusable {
        /// Which.
        file: PathBuf,
        /// What is wrong with it.
        source: KeyError,
    },
    /// It holds something else.
    #[error("line {line} of {} is not HOST:PORT KEY: mend or remove it", file.display())]
    NoPeer {
        /// Which.
        file: PathBuf,
        /// Where.
        line: usize,
    },
}

/// The folder with the keys of one user.
#[derive(Debug, Clone)]
pub struct KeyFolder(PathBuf);

impl KeyFolder {
    /// That of the user who runs the program: `$XDG_STATE_HOME/anabranch`.
    #[must_use]
    pub fn of_user() -> Self {
        Self(state_folder())
    }

    /// This one.
    #[must_use]
    pub const fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// The file with our own key.
    #[must_use]
    pub fn identity_file(&self) -> PathBuf {
        self.0.join(IDENTITY)
    }

    /// Who we are: a key that is made at first, and kept.
    ///
    /// # Errors
    /// It can be neither read nor made.
    pub fn identity(&self) -> Result<Identity, KeyFileError> {
        let file = self.identity_file();
        match fs::read(&file) {
            Ok(text) => read_identity(&file, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.make_identity(false)?;
                // Of two programs that make one at once, the first has the say.
                let text = fs::read(&file);
                read_identity(&file, &text.map_err(unreadable(&file))?)
            }
            Err(error) => Err(unreadable(&file)(error)),
        }
    }

    /// A new key in place of the old one: who knew us by that will not any more.
    ///
    /// # Errors
    /// It cannot be written; the old one is as it was.
    pub fn renew_identity(&self) -> Result<Identity, KeyFileError> {
        self.make_identity(true)?;
        self.identity()
    }

    /// The key that a peer had when it was last met.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn known_peer(&self, name: &str) -> Result<Option<PublicKey>, KeyFileError> {
        let peers = self.peers()?;
        Ok(peers.into_iter().find(|(known, _)| known == name).map(|(_, key)| key))
    }

    /// Keeps a peer's key, in place of one that it had before.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn remember(&self, name: &str, key: PublicKey) -> Result<(), KeyFileError> {
        let _lock = self.lock()?;
        let mut peers = self.peers()?;
        peers.retain(|(known, _)| known != name);
        peers.push((name.to_owned(), key));
        self.write_peers(&peers)
    }

    /// Forgets a peer's key. Returns whether there was one.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn forget(&self, name: &str) -> Result<bool, KeyFileError> {
        let _lock = self.lock()?;
        let mut peers = self.peers()?;
        let before = peers.len();
        peers.retain(|(known, _)| known != name);
        let had_it = peers.len() < before;
        if had_it {
            self.write_peers(&peers)?;
        }
        Ok(had_it)
    }

    /// All peers whose keys are kept, by `HOST:PORT`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn peers(&self) -> Result<Vec<(String, PublicKey)>, KeyFileError> {
        let file = self.0.join(KNOWN_PEERS);
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(&file)(error)),
        };
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let peers = lines.map(|(index, line)| {
            let wrong = || KeyFileError::NoPeer { file: file.clone(), line: index + 1 };
            let (name, key) = line.split_once(' ').ok_or_else(wrong)?;
            Ok((name.to_owned(), key.trim().parse().map_err(|_| wrong())?))
        });
        peers.collect()
    }

    fn write_peers(&self, peers: &[(String, PublicKey)]) -> Result<(), KeyFileError> {
        let lines: Vec<String> =
            peers.iter().map(|(name, key)| format!("{name} {key}\n")).collect();
        self.write(&self.0.join(KNOWN_PEERS), &lines.concat(), true)
    }

    /// Keeps other programs from changing the peers until it is dropped.
    fn lock(&self) -> Result<File, KeyFileError> {
        let file = self.0.join(LOCK);
        let unwritable = |source| KeyFileError::Unwritable { file: file.clone(), source };
        fs::create_dir_all(&self.0).map_err(unwritable)?;
        let lock = File::create(&file).map_err(unwritable)?;
        lock.lock().map_err(unwritable)?;
        Ok(lock)
    }

    fn make_identity(&self, replaces: bool) -> Result<(), KeyFileError> {
        let file = self.identity_file();
        let identity = Identity::generate().map_err(|error| KeyFileError::Unwritable {
            file: file.clone(),
            source: io::Error::other(error),
        })?;
        self.write(&file, &pem("PRIVATE KEY", identity.to_pkcs8()), replaces)
    }

    /// Writes a file whole or not at all, for its user's eyes alone. One that is there already
    /// stays unless it is to be replaced.
    fn write(&self, file: &Path, text: &str, replaces: bool) -> Result<(), KeyFileError> {
        let unwritable = |source| KeyFileError::Unwritable { file: file.to_owned(), source };
        fs::create_dir_all(&self.0).map_err(unwritable)?;
        let (half, made) = half_file(file).map_err(unwritable)?;
        let written = write_whole(made, text).and_then(|()| match replaces {
            true => fs::rename(&half, file),
            false => fs::hard_link(&half, file).or_else(|error| {
                let is_there = error.kind() == io::ErrorKind::AlreadyExists;
                if is_there { Ok(()) } else { Err(error) }
            }),
        });
        // It is gone already where it has taken the other one's place.
        let _gone = fs::remove_file(&half);
        written.map_err(unwritable)
    }
}

/// A file beside another one that nobody else writes to: not even a program with the same number
/// in another container.
fn half_file(file: &Path) -> io::Result<(PathBuf, File)> {
    let process = std::process::id();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    for number in 0..HALF_FILES_MAX {
        let half = file.with_extension(format!("{process}-{number}.new"));
        match options.open(&half) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|made| (half, made)),
        }
    }
    Err(io::Error::other(format!("there are {HALF_FILES_MAX} files *.new beside it: remove them")))
}

fn write_whole(mut file: File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// The CAs in a file, for who is called by a name, or for all who call.
///
/// # Errors
/// It cannot be read, or holds something else.
pub(crate) fn read_authority(file: &Path, host: Option<&str>) -> Result<Authority, KeyFileError> {
    let text = fs::read(file).map_err(unreadable(file))?;
    let authority = match host {
        Some(host) => Authority::of_host(&text, host),
        None => Authority::of_anyone(&text),
    };
    authority.map_err(unusable(file))
}

/// The certificate in two files.
///
/// # Errors
/// They cannot be read, hold something else, or do not belong together.
pub(crate) fn read_certificate(files: &CertificateFiles) -> Result<Certificate, KeyFileError> {
    let CertificateFiles { certificate, key } = files;
    let chain = fs::read(certificate).map_err(unreadable(certificate))?;
    let secret = fs::read(key).map_err(unreadable(key))?;
    Certificate::from_pem(&chain, &secret).map_err(|error| {
        let is_key = error == KeyError::CertificateKey;
        unusable(if is_key { key } else { certificate })(error)
    })
}

fn unusable(file: &Path) -> impl FnOnce(KeyError) -> KeyFileError {
    let file = file.to_owned();
    |source| KeyFileError::Unusable { file, source }
}

fn read_identity(file: &Path, text: &[u8]) -> Result<Identity, KeyFileError> {
    let no_key = || KeyFileError::NoKey(file.to_owned());
    let der = PrivatePkcs8KeyDer::from_pem_slice(text).map_err(|_| no_key())?;
    Identity::from_pkcs8(der.secret_pkcs8_der()).map_err(|_| no_key())
}

fn unreadable(file: &Path) -> impl FnOnce(io::Error) -> KeyFileError {
    let file = file.to_owned();
    |source| KeyFileError::Unreadable { file, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn folder(name: &str) -> KeyFolder {
        let folder =
            std::env::temp_dir().join(format!("anabranch-keys-{name}-{}", std::process::id()));
        let _absent = fs::remove_dir_all(&folder);
        KeyFolder::at(folder)
    }

    #[test]
    fn the_first_key_is_kept_and_only_its_user_reads_it() {
        let folder = folder("first");
        let key = folder.identity().unwrap().public_key();
        assert_eq!(folder.identity().unwrap().public_key(), key);
        let mode = fs::metadata(folder.identity_file()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(folder.renew_identity().unwrap().public_key(), key);
    }

    #[test]
    fn of_keys_that_are_made_at_the_same_time_one_is_everybodys() {
        for round in 0..20 {
            let folder = folder(&format!("race-{round}"));
            let keys: Vec<_> = std::thread::scope(|scope| {
                let made = [(); 4].map(|()| scope.spawn(|| folder.identity().unwrap()));
                made.map(|it| it.join().unwrap().public_key()).to_vec()
            });
            assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
            let names = fs::read_dir(&folder.0).unwrap().map(|it| it.unwrap().file_name());
            assert_eq!(names.collect::<Vec<_>>(), [IDENTITY], "nothing is left beside it");
        }
    }

    #[test]
    fn what_a_program_left_half_written_is_in_nobodys_way() {
        let folder = folder("half");
        fs::create_dir_all(&folder.0).unwrap();
        let half = folder.0.join(format!("key.{}-0.new", std::process::id()));
        fs::write(&half, "half").unwrap();
        assert_eq!(folder.identity().unwrap().public_key().to_string().len(), 43);
        assert_eq!(fs::read(&half).unwrap(), b"half", "another one may still write it");
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let words = KeyFolder::at("/dev/null/anabranch".into()).identity().unwrap_err().to_string();
        assert!(words.starts_with("/dev/null/anabranch/key.pem cannot be "), "{words}");
    }

    #[test]
    fn peers_are_remembered_and_forgotten() {
        let folder = folder("peers");
        let [one, other] = [(); 2].map(|()| Identity::generate().unwrap().public_key());
        assert_eq!(folder.known_peer("a:1").unwrap(), None);
        folder.remember("a:1", one).unwrap();
        folder.remember("b:2", other).unwrap();
        folder.remember("a:1", other).unwrap();
        assert_eq!(folder.known_peer("a:1").unwrap(), Some(other));
        assert!(folder.forget("a:1").unwrap() && !folder.forget("a:1").unwrap());
        assert_eq!(folder.peers().unwrap(), [("b:2".to_owned(), other)]);
    }

    #[test]
    fn of_peers_that_are_met_at_the_same_time_none_is_forgotten() {
        let folder = folder("at-once");
        let key = Identity::generate().unwrap().public_key();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let folder = &folder;
                scope.spawn(move || folder.remember(&format!("host-{number}:1"), key).unwrap());
            }
        });
        assert_eq!(folder.peers().unwrap().len(), 8);
    }

    #[test]
    fn files_that_hold_something_else_are_refused_in_words() {
        let folder = folder("broken");
        folder.identity().unwrap();
        fs::write(folder.identity_file(), "nothing").unwrap();
        assert!(folder.identity().unwrap_err().to_string().contains("holds no Ed25519 key"));
        fs::write(folder.0.join(KNOWN_PEERS), "a:1 nothing\n").unwrap();
        assert!(folder.known_peer("a:1").unwrap_err().to_string().contains("line 1 of"));
        let file = folder.0.join("ca.pem");
        let words = |host| read_authority(&file, host).unwrap_err().to_string();
        assert!(words(None).contains("ca.pem cannot be read: "), "{}", words(None));
        fs::write(&file, "nothing").unwrap();
        assert!(
            words(Some("h"))
                .ends_with("ca.pem is of no use: there is no certificate in it, in PEM")
        );
        let files = CertificateFiles { certificate: file.clone(), key: file.clone() };
        assert!(read_certificate(&files).unwrap_err().to_string().contains("is of no use: there"));
    }
}

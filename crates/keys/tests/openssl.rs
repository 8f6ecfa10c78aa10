//! TLS of OpenSSL 3 at the other end: what goes in messages about keys goes to it over TCP, record
//! by record, and both ends come to the same secret.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "associations/issuer.rs"]
#[expect(dead_code, reason = "several tests share it")]
mod issuer;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use anabranch_keys::{Authority, Certificate, Identity, KeyLog, TlsKeys, Trust};
use anabranch_sansio::Time;
use anabranch_sctp::{
    KeyAction, KeyContext, KeyFailure, KeyManagement, KeyManagementFactory as _, KeyRole,
};
use issuer::{ClientAuth, Holds, Issuer, ServerAuth};

/// Long enough for any machine: a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a file is looked for that is to come.
const LOOK_EVERY: Duration = Duration::from_millis(10);

const HOST: &str = "studio.example";

/// Bytes of a record's header, and where the length of the rest is in it.
const RECORD_HEADER_LEN: usize = 5;
const RECORD_LEN_AT: usize = 3;

/// The first byte of a message about keys that holds TLS records of the first epoch.
const RECORDS: u8 = 3;

/// Keeps the exporter secret.
#[derive(Debug, Default)]
struct Secret(Mutex<Vec<u8>>);

impl KeyLog for Secret {
    fn log(&self, label: &str, _client_random: &[u8], secret: &[u8]) {
        if label == "EXPORTER_SECRET" {
            *self.0.lock().unwrap() = secret.to_vec();
        }
    }
}

/// A folder with certificates, which goes with its test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("anabranch-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &[u8]) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    /// The exporter secret in what OpenSSL wrote of a handshake, in hexadecimal digits.
    fn exporter_secret(&self) -> String {
        loop {
            let text = std::fs::read_to_string(self.0.join("secrets")).unwrap_or_default();
            let mut lines = text.lines().filter(|line| line.starts_with("EXPORTER_SECRET "));
            if let Some(line) = lines.next() {
                return line.split(' ').nth(2).unwrap().to_owned();
            }
            sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is the system's to clean.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

/// A program that ends with its test.
struct Running(Child);

impl Running {
    fn openssl(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new("openssl");
        command.args(arguments).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        Self(command.spawn().expect("./test.sh installs openssl"))
    }

    /// The rest of the first line of its output that begins so.
    fn line_after(&mut self, start: &str) -> String {
        let output = BufReader::new(self.0.stdout.as_mut().unwrap());
        let mut lines = output.lines().map(Result::unwrap);
        lines.find_map(|line| line.strip_prefix(start).map(str::to_owned)).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails if it has ended, which is what is wanted.
        let _ended = self.0.kill();
        let _ended = self.0.wait();
    }
}

/// One end that agrees on keys with OpenSSL.
struct End {
    session: Box<dyn KeyManagement>,
    stream: TcpStream,
    opens: bool,
}

impl End {
    fn new(role: KeyRole, keys: &TlsKeys, stream: TcpStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let context = KeyContext::new(role, b"client".to_vec(), b"server".to_vec());
        let session = keys.begin(Time::ZERO, context).unwrap();
        Self { session, stream, opens: false }
    }

    /// Goes on until there are keys to open what the other end seals with.
    fn run(&mut self) -> Result<(), KeyFailure> {
        self.act();
        while !self.opens {
            let message = [&[RECORDS][..], &self.record()].concat();
            let result = self.session.handle_message(Time::ZERO, &message);
            self.act();
            result?;
        }
        Ok(())
    }

    fn record(&mut self) -> Vec<u8> {
        let mut record = vec![0; RECORD_HEADER_LEN];
        self.stream.read_exact(&mut record).unwrap();
        let len = [record[RECORD_LEN_AT], record[RECORD_LEN_AT + 1]];
        let len = usize::from(u16::from_be_bytes(len));
        record.resize(RECORD_HEADER_LEN + len, 0);
        self.stream.read_exact(&mut record[RECORD_HEADER_LEN..]).unwrap();
        record
    }

    fn act(&mut self) {
        while let Some(action) = self.session.poll() {
            match action {
                KeyAction::Send(message) if message[0] == RECORDS => {
                    self.stream.write_all(&message[1..]).unwrap();
                }
                KeyAction::OpenWith(..) => self.opens = true,
                // What is not TLS is not OpenSSL's.
                KeyAction::Send(_)
                | KeyAction::SealWith(..)
                | KeyAction::RequireProtection
                | KeyAction::Retire(_)
                | KeyAction::KeepForRestart(_) => {}
            }
        }
    }
}

struct Parties {
    folder: Folder,
    ca: Issuer,
    secret: Arc<Secret>,
}

impl Parties {
    /// OpenSSL's certificate is `theirs.pem`, of the CA in `ca.pem`.
    fn new(name: &str, theirs: [Vec<u8>; 2], ca: Issuer) -> Self {
        let folder = Folder::new(name);
        let [certificate, key] = theirs;
        folder.write("theirs.pem", &certificate);
        folder.write("theirs.key", &key);
        folder.write("ca.pem", &ca.pem());
        Self { folder, ca, secret: Arc::default() }
    }

    fn keys(&self, authority: Authority, certificate: &Certificate) -> TlsKeys {
        let trust = Trust::Certified(authority, Vec::new());
        let identity = Identity::generate().unwrap();
        let keys = TlsKeys::with_certificate(&identity, trust, certificate).unwrap();
        keys.with_key_log(Arc::clone(&self.secret) as Arc<dyn KeyLog>)
    }

    fn assert_same_secret(&self) {
        let ours = self.secret.0.lock().unwrap();
        let ours: String = ours.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(!ours.is_empty());
        assert_eq!(self.folder.exporter_secret(), ours);
    }
}

const KEPT: [&str; 9] = [
    "-tls1_3",
    "-cert",
    "theirs.pem",
    "-key",
    "theirs.key",
    "-CAfile",
    "ca.pem",
    "-keylogfile",
    "secrets",
];

#[test]
fn a_client_of_openssl_agrees_on_keys_with_us() {
    let ca = Issuer::new("The broadcaster");
    let theirs = ca.issue_pem("camera.example", ClientAuth, Holds::Today);
    let parties = Parties::new("openssl-client", theirs, ca);
    let ours = parties.ca.issue(HOST, ServerAuth, Holds::Today);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // It names its CA, as ours do: who does not is shown our key alone.
    let own = ["s_client", "-connect", &address, "-requestCAfile", "ca.pem"];
    let checks = ["-verify_return_error", "-verify_hostname", HOST];
    let _client = Running::openssl(&parties.folder.0, &[&own[..], &KEPT, &checks].concat());
    let (stream, _) = listener.accept().unwrap();
    let keys = parties.keys(parties.ca.of_anyone(), &ours);
    End::new(KeyRole::Server, &keys, stream).run().unwrap();
    parties.assert_same_secret();
}

/// OpenSSL as a server that wants to see a certificate, at a port of its own choice.
fn server(parties: &Parties) -> (Running, TcpStream) {
    let own = ["s_server", "-accept", "127.0.0.1:0", "-Verify", "3", "-verify_return_error"];
    let mut server = Running::openssl(&parties.folder.0, &[&own[..], &KEPT].concat());
    let address = server.line_after("ACCEPT ");
    (server, TcpStream::connect(address).unwrap())
}

#[test]
fn a_server_of_openssl_agrees_on_keys_with_us() {
    let ca = Issuer::new("The broadcaster");
    let theirs = ca.issue_pem(HOST, ServerAuth, Holds::Today);
    let parties = Parties::new("openssl-server", theirs, ca);
    let ours = parties.ca.issue("camera.example", ClientAuth, Holds::Today);
    let (_server, stream) = server(&parties);
    let keys = parties.keys(parties.ca.of_host(HOST), &ours);
    End::new(KeyRole::Client, &keys, stream).run().unwrap();
    parties.assert_same_secret();
}

#[test]
fn a_server_of_openssl_with_another_name_is_refused_in_words() {
    let ca = Issuer::new("The broadcaster");
    let theirs = ca.issue_pem("other.example", ServerAuth, Holds::Today);
    let parties = Parties::new("openssl-misnamed", theirs, ca);
    let ours = parties.ca.issue("camera.example", ClientAuth, Holds::Today);
    let (_server, stream) = server(&parties);
    let keys = parties.keys(parties.ca.of_host(HOST), &ours);
    let failure = End::new(KeyRole::Client, &keys, stream).run().unwrap_err();
    let words = "the certificate is for other.example, and not for studio.example";
    assert_eq!(failure.to_string(), words);
}

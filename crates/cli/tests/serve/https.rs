//! The page by HTTPS.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::access::Folder;
use super::{PATIENCE, Server, program};

const CHANNELS: &str = "[server]\nhttps = '127.0.0.1:0'\n\
                        [[channel]]\nname = 'Clock'\nsource = 'demo:clock'\n";

/// What is answered to who trusts this certificate only.
fn ask(host: &str, certificate: &Path, request: &str) -> String {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = "127.0.0.1".try_into().unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(host).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = StreamOwned::new(connection, socket);
    let head = format!("{request} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n");
    write!(stream, "{head}Origin: https://{host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The address and the fingerprint that it told.
fn told(server: &mut Server) -> (String, String) {
    server.wait_for("by HTTPS: ");
    server.wait_for("1 Clock: on air");
    let line = server.said.split("by HTTPS: https://").nth(1).unwrap();
    let (host, rest) = line.lines().next().unwrap().split_once("/ (SHA-256 ").unwrap();
    (host.to_owned(), rest.trim_end_matches(')').to_owned())
}

#[test]
fn a_page_and_offers_are_served_by_https_with_a_certificate_that_stays() {
    let folder = Folder::new("https");
    let file = folder.write("channels.toml", CHANNELS);
    let start = || Server::start(&[file.to_str().unwrap()]);
    let mut server = start();
    let (host, fingerprint) = told(&mut server);
    let certificate = folder.path("certificate.pem");
    let page = ask(&host, &certificate, "GET /");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("/assets/tv.js"), "{page}");
    let offered = ask(&host, &certificate, "POST /whep");
    assert!(offered.starts_with("HTTP/1.1 400"), "it is no offer: {offered}");
    let list = ask(&host, &certificate, "GET /playlist.m3u");
    assert!(list.contains(&format!("https://{host}/ch/1.ts")), "{list}");
    // What is not TLS gets no answer, and disturbs nobody.
    let mut plain = TcpStream::connect(&host).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(ask(&host, &certificate, "GET /").starts_with("HTTP/1.1 200"));
    server.end();

    let mut server = start();
    assert_eq!(told(&mut server).1, fingerprint);
    server.end();
}

#[test]
fn a_certificate_that_is_given_is_shown() {
    let (own, other) = (Folder::new("https-own"), Folder::new("https-given"));
    let first = own.write("channels.toml", CHANNELS);
    let mut server = Server::start(&[first.to_str().unwrap()]);
    let (_, fingerprint) = told(&mut server);
    server.end();
    let [certificate, key] = ["certificate.pem", "certificate.key"].map(|name| own.path(name));
    let given = format!(
        "[server]\nhttps = '127.0.0.1:0'\ntls_certificate = '{}'\ntls_key = '{}'\n\
         [[channel]]\nname = 'Clock'\nsource = 'demo:clock'\n",
        certificate.display(),
        key.display()
    );
    let file = other.write("channels.toml", &given);
    let mut server = Server::start(&[file.to_str().unwrap()]);
    assert_eq!(told(&mut server).1, fingerprint);
    server.end();
}

#[test]
fn half_of_what_https_needs_is_refused_in_a_line() {
    let folder = Folder::new("https-half");
    let file = folder.write("channels.toml", CHANNELS);
    let refused = |arguments: &[&str]| {
        let own = ["serve", file.to_str().unwrap(), "--http", "127.0.0.1:0"];
        let Output { status, stderr, .. } = program(&own).args(arguments).output().unwrap();
        let said = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), said.lines().count()), (Some(2), 1), "{said}");
        said
    };
    let half = refused(&["--tls-key", "nowhere.key"]);
    assert!(half.contains("needs three: https, tls_certificate and tls_key"), "{half}");
    let missing = refused(&["--tls-key", "nowhere.key", "--tls-certificate", "nowhere.pem"]);
    assert!(missing.contains("cannot read nowhere.pem: "), "{missing}");
}

//! Servers, viewers and other servers that know each other by certificates of a CA.

use std::path::{Path, PathBuf};

use super::issuer::{ClientAuth, Holds, Issuer, ServerAuth};
use super::{Server, program};

/// A folder with certificates in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("anabranch-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let ca = Issuer::new("The broadcaster");
        let folder = Self(folder);
        folder.write("ca.pem", &ca.pem());
        for (name, host, purpose) in
            [("tv", "127.0.0.1", ServerAuth), ("viewer", "viewer.example", ClientAuth)]
        {
            let [chain, key] = ca.issue_pem(host, purpose, Holds::Today);
            folder.write(&format!("{name}.pem"), &chain);
            folder.write(&format!("{name}.key"), &key);
        }
        folder
    }

    fn write(&self, name: &str, text: &[u8]) -> String {
        let file = self.0.join(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is the system's to clean.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_server_its_viewers_and_other_servers_know_each_other_by_certificates() {
    let folder = Folder::new("serve-certificates");
    let channels = "[server]\nca = 'ca.pem'\ncertificate = 'tv.pem'\n\
                    certificate_key = 'tv.key'\n[[channel]]\nname = 'Bars'\nsource = 'demo:bars'\n";
    let mut server = Server::start(&[&folder.write("channels.toml", channels.as_bytes())]);
    server.wait_for("native viewers: ");
    server.wait_for("1 Bars: on air");
    let line = server.said.split("native viewers: ").nth(1).unwrap().lines().next().unwrap();
    let address = line.split('?').next().unwrap().to_owned();
    let list = |options: &str| {
        let url = format!("{address}?{options}");
        let output = program(&["watch", "--list", "--retries", "0", &url])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).unwrap())
    };
    let own = "certificate=viewer.pem&certificate_key=viewer.key";
    let (is_welcome, said) = list(&format!("ca=ca.pem&{own}"));
    assert!(is_welcome && said.contains("Bars"), "{said}");
    let (is_welcome, said) = list("ca=ca.pem");
    assert!(!is_welcome, "{said}");
    assert!(
        said.contains("came without a certificate, but one of a known CA is demanded"),
        "{said}"
    );
    folder.write("other.pem", &Issuer::new("Somebody else").pem());
    let (is_welcome, said) = list(&format!("ca=other.pem&{own}"));
    assert!(!is_welcome && said.contains("no CA that is known to who asked"), "{said}");

    let relay =
        format!("[[channel]]\nname = 'Again'\nsource = '{address}?channel=1&ca=ca.pem&{own}'\n");
    let mut second = Server::start(&[&folder.write("relay.toml", relay.as_bytes())]);
    second.wait_for("1 Again: on air");
    second.end();
    server.end();
}

#[test]
fn what_would_protect_nobody_ends_the_command_in_words() {
    let folder = Folder::new("serve-half");
    for (section, words) in [
        ("certificate = 'tv.pem'", "certificate and certificate_key go together"),
        ("encryption = 'off'\nca = 'ca.pem'", "have no effect with encryption off"),
        ("ca = 'tv.key'", "tv.key is of no use: there is no certificate in it, in PEM"),
        (
            "certificate = 'tv.pem'\ncertificate_key = 'viewer.key'",
            "tv.pem is of no use: the certificate is made out to another key",
        ),
    ] {
        let file = folder.write("channels.toml", format!("[server]\n{section}\n").as_bytes());
        let output =
            program(&["serve", "--http", "127.0.0.1:0", "--udp", "127.0.0.1:0", &file]).output();
        let output = output.unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(words), "{said}");
    }
}

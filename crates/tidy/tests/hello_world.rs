//! The README of `anabranch-sctp`, followed word for word in an empty folder by somebody who has
//! the packages from a registry: a folder with what `cargo package` makes of ours, and with what
//! they depend on as `cargo vendor` finds it in cargo's cache. Needs no network once that is warm.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Where the README's server listens.
const ADDRESS: &str = "127.0.0.1:9899";

/// For how long each of the README's programs may run, its build included.
const SECONDS_MAX: &str = "300";

#[test]
fn two_programs_talk_as_the_readme_of_sctp_has_it() {
    let registry = Registry::fill();
    let readme = fs::read_to_string(root().join("crates/sctp/README.md")).unwrap();
    let mut visitor = Visitor::arrive(&registry);
    let blocks = blocks(&readme);
    let mut server = None;
    for (n, block) in blocks.iter().enumerate() {
        let printed = blocks.get(n + 1).filter(|next| next.language == "text");
        match (block.language, printed) {
            ("sh", Some(printed)) => assert_eq!(visitor.run(&block.text), printed.text),
            ("sh", None) if block.text.starts_with("cargo run") => {
                server = Some(visitor.start(&block.text));
            }
            ("sh", None) => visitor.prepare(&block.text),
            ("rust,no_run", _) => visitor.write(block),
            ("text", _) => {}
            (other, _) => panic!("the README has a block of {other}, which nobody follows here"),
        }
    }
    assert!(server.is_some(), "the README starts no server");
}

/// What stands in the README between two fences.
struct Block<'a> {
    language: &'a str,
    text: String,
    /// The paragraph above.
    above: &'a str,
}

fn blocks(readme: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut above) = (Vec::new(), "");
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside = lines.by_ref().take_while(|line| *line != "```");
            let text = inside.map(|line| format!("{line}\n")).collect();
            blocks.push(Block { language, text, above });
        } else if !line.is_empty() {
            above = line;
        }
    }
    blocks
}

/// Somebody with an empty folder.
struct Visitor {
    home: PathBuf,
    /// Where they are.
    folder: PathBuf,
}

impl Visitor {
    fn arrive(registry: &Registry) -> Self {
        let home = std::env::temp_dir().join(format!("anabranch-{}-hello", std::process::id()));
        fs::create_dir_all(home.join(".cargo")).unwrap();
        let config = format!(
            "source.crates-io.replace-with = 'packed'\nsource.packed.directory = {:?}\n\
             build.target-dir = {:?}\nprofile.dev.debug = false\nnet.offline = true\n",
            registry.packages(),
            registry.target(),
        );
        fs::write(home.join(".cargo/config.toml"), config).unwrap();
        let folder = home.join("empty");
        fs::create_dir(&folder).unwrap();
        Self { home, folder }
    }

    /// Runs commands, and stays where they lead.
    fn prepare(&mut self, commands: &str) {
        let printed = self.run(&format!("{commands}pwd\n"));
        self.folder = PathBuf::from(printed.lines().last().unwrap());
    }

    /// Puts a file where the text above says.
    fn write(&self, block: &Block<'_>) {
        let mut quoted = block.above.split('`').skip(1).step_by(2);
        let name = quoted.find(|word| word.ends_with(".rs")).unwrap_or_else(|| {
            panic!("nothing says where this goes: {}", block.above);
        });
        fs::write(self.folder.join(name), &block.text).unwrap();
    }

    /// What commands print.
    fn run(&self, commands: &str) -> String {
        let output = self.shell(commands).stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "{commands}: {}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Starts a program, and waits until it says something.
    fn start(&self, command: &str) -> Server {
        wait_for_the_port();
        let mut shell = self.shell(&format!("exec {command}"));
        let mut program = shell.stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = BufReader::new(program.stdout.take().unwrap());
        let mut line = String::new();
        printed.read_line(&mut line).unwrap();
        assert_eq!(line, format!("listening at {ADDRESS}\n"));
        Server { program, _printed: printed }
    }

    fn shell(&self, commands: &str) -> Command {
        let mut shell = Command::new("timeout");
        shell.args(["--kill-after=1", SECONDS_MAX, "sh", "-ec", commands]);
        shell.current_dir(&self.folder);
        without_our_cargo(&mut shell);
        shell
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.home).unwrap();
    }
}

/// A program that ends with its test.
struct Server {
    program: Child,
    /// Open, so that it can go on printing.
    _printed: BufReader<ChildStdout>,
}

impl Drop for Server {
    fn drop(&mut self) {
        // `timeout` hands the signal on.
        let pid = self.program.id().to_string();
        Command::new("kill").arg(pid).status().unwrap();
        self.program.wait().unwrap();
    }
}

/// The README names its port: others who follow it on this machine have it first.
fn wait_for_the_port() {
    for _ in 0..600 {
        if UdpSocket::bind(ADDRESS).is_ok() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("another program of this machine has {ADDRESS}");
}

/// A registry that is a folder. It stays for the next run, which replaces what changed.
struct Registry {
    place: PathBuf,
    ours: Vec<String>,
}

impl Registry {
    fn fill() -> Self {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hello-world");
        let registry = Self { place, ours: ours() };
        registry.vendor();
        registry.pack();
        registry
    }

    /// What our packages take from others, of the versions that we are tested with.
    fn vendor(&self) {
        let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
        let vendored = self.place.join("vendored.lock");
        if fs::read_to_string(&vendored).is_ok_and(|vendored| vendored == lock) {
            return;
        }
        _ = fs::remove_file(&vendored);
        _ = fs::remove_dir_all(self.packages());
        let mut manifest = "[workspace]\n[package]\nname = \"wanted\"\n[dependencies]\n".to_owned();
        for name in &self.ours {
            let path = root().join("crates").join(name.strip_prefix("anabranch-").unwrap());
            manifest.push_str(&format!("{name} = {{ path = {path:?} }}\n"));
        }
        fs::create_dir_all(self.wanted().join("src")).unwrap();
        fs::write(self.wanted().join("src/lib.rs"), "").unwrap();
        fs::write(self.wanted().join("Cargo.toml"), manifest).unwrap();
        fs::write(self.wanted().join("Cargo.lock"), &lock).unwrap();
        cargo(&self.wanted(), &["vendor", "--quiet", self.packages().to_str().unwrap()]);
        fs::write(vendored, lock).unwrap();
    }

    /// Our own packages, as they would be uploaded.
    fn pack(&self) {
        let target = self.place.join("packed");
        let mut arguments = vec!["package", "--locked", "--offline", "--quiet", "--allow-dirty"];
        arguments.extend(["--no-verify", "--target-dir", target.to_str().unwrap()]);
        arguments.extend(self.ours.iter().flat_map(|name| ["--package", name]));
        cargo(&root(), &arguments);
        for name in &self.ours {
            let archive =
                target.join(format!("package/{name}-{}.crate", env!("CARGO_PKG_VERSION")));
            let unpacked = self.place.join("unpacked").join(name);
            _ = fs::remove_dir_all(&unpacked);
            fs::create_dir_all(&unpacked).unwrap();
            let mut tar = Command::new("tar");
            tar.arg("xf").arg(archive).arg("-C").arg(&unpacked);
            // Which commit it is of would have all of it built anew after each.
            tar.args(["--strip-components=1", "--exclude=.cargo_vcs_info.json"]);
            assert!(tar.status().unwrap().success(), "{tar:?}");
            fs::write(unpacked.join(".cargo-checksum.json"), "{\"files\":{}}").unwrap();
            self.replace(name, &unpacked);
        }
    }

    /// Cargo takes a package of a registry to be the same for ever. Ours change between two runs of
    /// this test, and keep their versions.
    fn replace(&self, name: &str, unpacked: &Path) {
        let present = self.packages().join(name);
        let mut diff = Command::new("diff");
        diff.arg("-r").args([&present, unpacked]).stdout(Stdio::null()).stderr(Stdio::null());
        if diff.status().unwrap().success() {
            return;
        }
        let target = self.target();
        let target = ["--target-dir", target.to_str().unwrap()];
        let clean = [&["clean", "--offline", "--quiet", "--package", name][..], &target].concat();
        cargo(&self.wanted(), &clean);
        _ = fs::remove_dir_all(&present);
        fs::rename(unpacked, present).unwrap();
    }

    /// A package that depends on all of ours.
    fn wanted(&self) -> PathBuf {
        self.place.join("wanted")
    }

    fn packages(&self) -> PathBuf {
        self.place.join("packages")
    }

    fn target(&self) -> PathBuf {
        self.place.join("target")
    }
}

/// Those of our packages that the README's two programs are built from.
fn ours() -> Vec<String> {
    let wanted =
        ["tree", "--locked", "--offline", "--edges=normal", "--prefix=none", "--format={p}"];
    let roots = ["--package=anabranch-sctp", "--package=anabranch-driver"];
    let tree = cargo(&root(), &[&wanted[..], &roots].concat());
    let names = tree.lines().filter_map(|line| line.split(' ').next());
    let mut ours: Vec<_> = names.filter(|name| name.starts_with("anabranch-")).collect();
    ours.sort_unstable();
    ours.dedup();
    ours.into_iter().map(str::to_owned).collect()
}

fn cargo(folder: &Path, arguments: &[&str]) -> String {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(arguments).current_dir(folder);
    without_our_cargo(&mut cargo);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{cargo:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The cargo that runs this test has told it much that is none of another one's business.
fn without_our_cargo(command: &mut Command) {
    let told = std::env::vars_os().map(|(name, _)| name);
    let told = told.filter(|name| name.to_str().is_some_and(|name| name.starts_with("CARGO_")));
    told.filter(|name| name != "CARGO_HOME").for_each(|name| {
        command.env_remove(name);
    });
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

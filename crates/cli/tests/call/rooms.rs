//! People in a room. Most have no page: their programs have films in the place of camera and
//! microphone, and folders in the place of loudspeaker and screen.

use std::fs::File;
use std::path::Path;

use super::ME;
use crate::harness::{Place, Running, free_port, program, run};
use crate::page::Page;
use crate::recording;

const ROOMS: &str =
    "[[room]]\nname = \"staff\"\ntitle = \"Staff meeting\"\ntoken = \"0123456789abcdef01\"\n";

/// A meeting place with one room, on ports of its own.
struct Meet {
    place: Place,
    http: String,
    udp: String,
}

impl Meet {
    fn new(test: &str) -> Self {
        let place = Place::new(test);
        std::fs::write(place.file("rooms.toml"), ROOMS).unwrap();
        let [http, udp] = [(); 2].map(|()| format!("127.0.0.1:{}", free_port()));
        Self { place, http, udp }
    }

    /// Runs it.
    fn start(&self) -> Running {
        let rooms = self.place.file("rooms.toml");
        let mut meet = program(&["meet", &rooms, "--http", &self.http, "--udp", &self.udp]);
        let links = File::create(self.place.file("links")).unwrap();
        let mut meet = Running::spawn(meet.stdout(links));
        meet.line_with("operator's token: ");
        meet
    }

    /// The link for programs.
    fn link(&self) -> String {
        let links = std::fs::read_to_string(self.place.file("links")).unwrap();
        let link = links.split_whitespace().find(|word| word.starts_with("anabranch://"));
        link.unwrap().to_owned()
    }

    /// Sends somebody in.
    fn enter(&self, name: &str, more: &[&str]) -> Running {
        let link = self.link();
        Running::start(&[&["call", "--no-page", "--name", name, &link], more].concat())
    }
}

#[test]
fn people_without_pages_meet_in_a_room_and_record_each_other() {
    let meet = Meet::new("room-talk");
    let server = meet.start();
    let [hers, his] = ["hers", "his"].map(|name| meet.place.file(name));
    let films = ["--camera", ME, "--microphone", ME];
    let mut alice = meet.enter("Alice", &films);
    alice.line_with("In the room \"Staff meeting\"; nobody else is there yet.");
    let mut bob = meet.enter("Bob ../", &[&films[..], &["--record", &his]].concat());
    bob.line_with("In the room \"Staff meeting\" with Alice.");
    alice.line_with("Bob ../ came.");
    let mut carol = meet.enter("Carol", &["--record", &hers]);
    carol.line_with("In the room \"Staff meeting\" with Alice and Bob ../.");
    let recorded =
        [format!("{his}/1-Alice"), format!("{hers}/1-Alice"), format!("{hers}/2-Bob____")];
    recorded.iter().for_each(|folder| recording::wait_for(folder));
    carol.interrupt();
    carol.assert_success();
    bob.line_with("Carol left.");
    bob.interrupt();
    bob.assert_success();
    alice.line_with("Bob ../ left.");
    alice.interrupt();
    alice.assert_success();
    recorded.iter().for_each(|folder| recording::assert_whole(folder, ME));
    server.interrupt();
    server.assert_success();
}

/// Opens the page of a program and enters the room by it.
fn enter_by_page(url: &str, name: &str) -> Page {
    let mut page = Page::open(url);
    page.ask(&format!(r#"{{"type":"hello","protocol":1,"program":"a page","name":"{name}"}}"#));
    page.until(|message| message["type"] == "welcome");
    page.until_media();
    page
}

#[test]
fn what_a_page_hears_and_sees_is_recorded_visit_by_visit() {
    let meet = Meet::new("room-page");
    let server = meet.start();
    let mut alice = meet.enter("Alice", &["--camera", ME, "--microphone", ME]);
    alice.line_with("nobody else is there yet.");
    let [urls, hers] = ["urls", "hers"].map(|name| meet.place.file(name));
    let mut agent = program(&["call", "--record", &hers, &meet.link()]);
    let mut agent = Running::spawn(agent.stdout(File::create(&urls).unwrap()));
    agent.line_with("Open the page above");
    let url = std::fs::read_to_string(&urls).unwrap();
    let recorded = format!("{hers}/1-Alice");
    let page = enter_by_page(url.trim(), "Bob");
    recording::wait_for(&recorded);
    drop(page);
    alice.line_with("Bob left.");
    recording::assert_whole(&recorded, ME);
    let first = std::fs::read(Path::new(&recorded).join("played.csv")).unwrap();
    let mut page = enter_by_page(url.trim(), "Carol");
    recording::wait_for_table(&Path::new(&recorded).join("played-2.csv"));
    page.until_media();
    agent.interrupt();
    agent.assert_success();
    alice.line_with("Carol left.");
    let files = ["played.csv", "voice-2.opus", "picture-2.ivf"];
    let read = files.map(|file| std::fs::read(Path::new(&recorded).join(file)).unwrap());
    assert_eq!(read[0], first);
    assert!(read.iter().all(|file| file.len() > 1_000));
    alice.interrupt();
    alice.assert_success();
    server.interrupt();
    server.assert_success();
}

#[test]
fn who_lost_the_room_comes_back_and_ends_when_the_room_does() {
    let meet = Meet::new("room-back");
    let mut server = meet.start();
    let mut alice = meet.enter("Alice", &[]);
    alice.line_with("nobody else is there yet.");
    server.child.kill().unwrap();
    drop(server);
    alice.line_with("The connection to the room ended");
    let server = meet.start();
    alice.line_with("nobody else is there yet.");
    server.interrupt();
    let (status, said) = alice.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("anabranch: This room closes: the server ends"), "{said}");
}

#[test]
fn a_file_or_a_token_that_will_not_do_is_named() {
    let meet = Meet::new("room-refused");
    let server = meet.start();
    let (link, wrong) = (meet.link(), format!("{}x", meet.link()));
    let unwritable = meet.place.file("rooms.toml");
    let cases = [
        (&["--camera", "nowhere.mkv", &link][..], 2, "cannot read nowhere.mkv"),
        (&["--record", &unwritable, &link], 1, "cannot write "),
        (&[&wrong], 1, "anabranch: This link opens no room here. Ask for a new one"),
    ];
    let (status, said) = run(&["call", "--record", &unwritable, &link]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("cannot write "), "{said}");
    for (arguments, expected, words) in cases {
        let named = ["call", "--no-page", "--name", "Ann"];
        let (status, said) = run(&[&named, arguments].concat());
        assert!(said.contains(words), "{arguments:?}: {said}");
        assert_eq!(status, Some(expected), "{arguments:?}: {said}");
    }
    server.interrupt();
    server.assert_success();
}

//! Films in foreign containers, which processes of their own read.

use std::process::Command;
use std::thread;

use super::greedy::greedy;
use super::media::noise;
use super::ports::free_port;
use super::program::{Folder, Running};

#[test]
fn a_reader_that_is_killed_is_told_and_its_film_read_anew_while_the_server_goes_on() {
    let stream = ["libx264", "-preset", "ultrafast", "-qp", "10", "-pix_fmt", "yuv420p"];
    let units = ["libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "20M"];
    thread::scope(|scope| {
        for (film, coding) in [("film.mp4", stream), ("film.webm", units)] {
            scope.spawn(move || kill_reader_of(film, &coding));
        }
    });
}

fn kill_reader_of(film: &str, coding: &[&str]) {
    let folder = Folder::new(film);
    noise(&folder.path().join(film), &[&["-c:v"], coding].concat());
    let channels = format!(
        "[[channel]]\nname = 'Film'\nsource = '{film}'\n\
         [[channel]]\nname = 'Clock'\nsource = 'demo:clock'\n"
    );
    let mut server = Running::serve(&folder, &channels, free_port(), free_port());
    server.until_all(&["1 Film: on air", "2 Clock: on air"]);
    let readers = server.children();
    let [reader] = readers[..] else { panic!("one reads for the server: {readers:?}") };
    let killed = Command::new("kill").args(["-KILL", &reader.to_string()]).status().unwrap();
    assert!(killed.success());
    server.until("broke off: the process that read it was ended by signal 9");
    let anew = std::iter::repeat_with(|| server.children()).find(|them| !them.is_empty());
    assert_ne!(anew, Some(vec![reader]), "it is read anew");
    assert!(!server.seen().contains("off air"), "{}", server.seen());
    server.end();
}

#[test]
fn a_film_that_takes_more_memory_than_a_reader_may_have_ends_its_reader_alone() {
    let folder = Folder::new("greedy");
    greedy(&folder.path().join("greedy.webm"));
    let channels = "[[channel]]\nname = 'Greedy'\nsource = 'greedy.webm'\n\
                    [[channel]]\nname = 'Clock'\nsource = 'demo:clock'\n";
    let mut server = Running::serve(&folder, channels, free_port(), free_port());
    let off_air = "1 Greedy: off air: cannot read";
    let why = "it took more than 512 MiB of memory to read, or found a defect: it is damaged";
    server.until_all(&[off_air, why, "2 Clock: on air"]);
    assert_eq!(server.children(), [], "nobody reads before it is tried again");
    server.end();
}

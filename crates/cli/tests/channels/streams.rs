//! Files, folders and packets, in all that browsers do and do not decode.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::media::{H264, H264_AAC, TWO_PROGRAMS, make};
use super::ports::free_port;
use super::program::{Folder, Running, get, probe};

#[test]
fn a_folder_is_played_in_rounds_and_a_file_that_is_added_is_in_the_next() {
    let folder = Folder::new("rounds");
    let films = folder.path().join("films");
    std::fs::create_dir(&films).unwrap();
    std::fs::copy(H264_AAC, films.join("1.ts")).unwrap();
    let channels = "[[channel]]\nname = 'Films'\nsource = 'films'\n";
    let mut server = Running::serve(&folder, channels, free_port(), free_port());
    // A machine that stalls may have it on air without its sound first.
    server.until(", mp4a.40.2)");
    make(&films.join("2.part"), &[&H264[..], &["-c:a", "libmp3lame", "-f", "mpegts"]].concat());
    std::fs::rename(films.join("2.part"), films.join("2.ts")).unwrap();
    server.until(", mp3)");
    // The round begins again.
    server.until(", mp4a.40.2)");
    server.end();
}

#[test]
fn what_browsers_do_not_decode_is_said_so_and_stays_for_players() {
    let folder = Folder::new("codecs");
    make(&folder.path().join("ac3.ts"), &[&H264[..], &["-c:a", "ac3"]].concat());
    make(&folder.path().join("mp2.ts"), &[&H264[..], &["-c:a", "mp2"]].concat());
    make(&folder.path().join("opus.ts"), &[&H264[..], &["-c:a", "libopus"]].concat());
    make(&folder.path().join("film.mp4"), &[&H264[..], &["-c:a", "aac"]].concat());
    let channels = format!(
        "[[channel]]\nname = 'High'\nsource = '{TWO_PROGRAMS}'\nprogram = 1\n\
         [[channel]]\nname = 'Old'\nsource = '{TWO_PROGRAMS}'\nprogram = 2\n\
         [[channel]]\nname = 'None'\nsource = '{TWO_PROGRAMS}'\nprogram = 3\n\
         [[channel]]\nname = 'Ac3'\nsource = 'ac3.ts'\n\
         [[channel]]\nname = 'Mp2'\nsource = 'mp2.ts'\n\
         [[channel]]\nname = 'Opus'\nsource = 'opus.ts'\n\
         [[channel]]\nname = 'Film'\nsource = 'film.mp4'\n"
    );
    let http = free_port();
    let mut server = Running::serve(&folder, &channels, free_port(), http);
    let mut said = String::new();
    let expected = [
        "1 High: it is sent as H.265, which browsers do not decode; players take it from /ch/1.ts",
        "2 Old: it is sent as MPEG-2 video and AC-3, which browsers do not decode",
        "3 None: off air: ",
        "4 Ac3: its sound is sent as AC-3, which browsers do not decode: they show the picture",
        "5 Mp2: its sound is sent as MPEG audio layer II, which browsers do not decode",
        "6 Opus: on air (avc1.42c00b, opus)",
        "7 Film: on air (avc1.42c00b, mp4a.40.2)",
    ];
    while !expected.iter().all(|line| said.contains(line)) {
        said.push_str(&server.until(":"));
    }
    let [high, old, film] = ["/ch/1.ts", "/ch/2.ts", "/ch/7.ts"]
        .map(|path| thread::spawn(move || probe(http, path)))
        .map(|probing| probing.join().unwrap());
    assert!(old.contains("mpeg2video") && old.contains("ac3"), "{old}");
    assert!(!old.contains("hevc"), "one program of two: {old}");
    assert!(high.contains("hevc") && high.contains("opus"), "{high}");
    assert!(film.contains("h264") && film.contains("aac"), "{film}");
    assert!(get(http, "/playlist.m3u").contains("/ch/2.ts"));
    server.end();
}

#[test]
fn films_of_the_web_are_played_in_a_loop() {
    let folder = Folder::new("films");
    let vp9 = ["-c:v", "libvpx-vp9", "-deadline", "realtime"];
    let av1 = ["-c:v", "libaom-av1", "-usage", "realtime"];
    let common = ["-cpu-used", "8", "-pix_fmt", "yuv420p", "-g", "25"];
    make(&folder.path().join("vp9.webm"), &[&vp9[..], &common, &["-c:a", "libopus"]].concat());
    let options = [&av1[..], &common, &["-c:a", "libmp3lame"]].concat();
    make(&folder.path().join("av1.mkv"), &options);
    make(&folder.path().join("other.mkv"), &[&H264[..], &["-c:a", "libopus"]].concat());
    let channels = "[[channel]]\nname = 'Vp9'\nsource = 'vp9.webm'\n\
                    [[channel]]\nname = 'Av1'\nsource = 'av1.mkv'\n\
                    [[channel]]\nname = 'Other'\nsource = 'other.mkv'\n";
    let (udp, http) = (free_port(), free_port());
    let mut server = Running::serve(&folder, channels, udp, http);
    let mut said = String::new();
    let expected = [
        "1 Vp9: on air (vp09.00.10.08, opus)",
        "2 Av1: on air (av01.0.00M.08, mp3)",
        "3 Other: on air (avc1.42c00b, opus)",
    ];
    while !expected.iter().all(|line| said.contains(line)) {
        said.push_str(&server.until(":"));
    }
    let url = format!("anabranch://127.0.0.1:{udp}");
    let viewers = ["1", "2"].map(|channel| {
        Running::start(&["watch", "--headless", "--seconds", "5", "--channel", channel, &url])
    });
    for mut viewer in viewers {
        // Two rounds and more: nothing is missing at the seam.
        viewer.until("the first picture came after");
        let summary = viewer.summary();
        let pictures: u32 = summary.split(' ').next().unwrap().parse().unwrap();
        assert!(pictures > 100 && summary.contains("shown, 0 missing"), "{summary}");
    }
    let answer = get(http, "/ch/1.ts");
    assert!(answer.contains("This channel is no transport stream"), "{answer}");
    server.end();
}

#[test]
fn packets_that_stop_are_off_air_and_back_when_they_come_again() {
    let folder = Folder::new("packets");
    let port = free_port();
    let channels = format!("[[channel]]\nname = 'Camera'\nsource = 'udp://127.0.0.1:{port}'\n");
    let mut server = Running::serve(&folder, &channels, free_port(), free_port());
    for _ in 0..2 {
        let camera = Camera::start(port);
        server.until("1 Camera: on air (avc1.");
        drop(camera);
        server.until("1 Camera: off air: nothing has come for 3 seconds");
    }
    server.end();
}

/// Sends a stream over and over, until it is dropped.
struct Camera {
    is_over: Arc<AtomicBool>,
    sending: Option<thread::JoinHandle<()>>,
}

impl Camera {
    fn start(port: u16) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let sending = thread::spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let stream = std::fs::read(H264_AAC).unwrap();
            while !over.load(Ordering::Relaxed) {
                for datagram in stream.chunks(1_316) {
                    socket.send_to(datagram, ("127.0.0.1", port)).unwrap();
                    thread::sleep(Duration::from_millis(5));
                }
            }
        });
        Self { is_over, sending: Some(sending) }
    }
}

impl Drop for Camera {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.sending.take().unwrap().join().unwrap();
    }
}

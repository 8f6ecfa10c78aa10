//! Makes the demo clip out of coded layers (IVF) and sound (Ogg Opus).
//!
//! ```sh
//! make_clip LAYERS.ivf SOUND.ogg OUT.anaclip
//! ```
//!
//! `assets/clip/make/make.sh` runs it after the encoders. The IVF file holds the base and the
//! enhancement of each picture, one after the other; its time stamps count layers. The Ogg file
//! holds the sound of several rounds, of which the second is taken: its first packet follows the
//! last of the round before, as it will in a loop.

use std::error::Error;
use std::fs::{self, File};
use std::io::BufReader;

use anabranch_media::clip::{
    AUDIO_TRACK, Attribution, AudioFormat, Clip, ClipHeader, ClipUnit, VIDEO_TRACK, VideoFormat,
};
use anabranch_media::{Class, Layer};
use bytes::{Buf, Bytes};

const FPS: u16 = 25;
const PICTURE_US: u32 = 1_000_000 / FPS as u32;
const LAYERS: u8 = 2;

const SAMPLE_RATE: u32 = 48_000;
const CHANNELS: u8 = 2;
const OPUS_FRAME_US: u32 = 20_000;
/// The lead-in that make.sh cuts off, so that sound and picture agree without trimming.
const PRE_SKIP: u16 = 312;

/// Two coded frames for each picture, 720p: 46 million samples a second need level 4.
const VIDEO_CODEC: &str = "vp09.00.40.08";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [layers, sound, out] = arguments.as_slice() else {
        return Err("usage: make_clip LAYERS.ivf SOUND.ogg OUT.anaclip".into());
    };
    let ivf = read_ivf(fs::read(layers)?.into())?;
    let pictures = ivf.layers.len() as u64 / u64::from(LAYERS);
    let loop_duration_us = pictures * u64::from(PICTURE_US);
    let packets = read_opus_round(sound, loop_duration_us)?;

    let mut units: Vec<ClipUnit> = Vec::new();
    for (index, bytes) in ivf.layers.into_iter().enumerate() {
        units.push(video_unit(index as u64, bytes)?);
    }
    for (frame, bytes) in packets.into_iter().enumerate() {
        units.push(audio_unit(frame as u64, bytes));
    }
    // Stable: the layers of a picture keep their order, and the picture comes before its sound.
    units.sort_by_key(|unit| unit.pts_us);

    let clip = Clip::new(header(ivf.width, ivf.height, loop_duration_us), units)?;
    fs::write(out, clip.encode())?;
    Ok(())
}

fn header(width: u16, height: u16, loop_duration_us: u64) -> ClipHeader {
    ClipHeader {
        title: "Big Buck Bunny".into(),
        video: VideoFormat {
            codec: VIDEO_CODEC.into(),
            width,
            height,
            frame_rate_numerator: FPS,
            frame_rate_denominator: 1,
            layers: LAYERS,
        },
        audio: AudioFormat { codec: "opus".into(), sample_rate: SAMPLE_RATE, channels: CHANNELS },
        attribution: Attribution {
            text: "(c) 2008 Blender Foundation, www.bigbuckbunny.org".into(),
            url: "https://www.bigbuckbunny.org/".into(),
            license: "CC BY 3.0".into(),
            license_url: "https://creativecommons.org/licenses/by/3.0/".into(),
        },
        loop_duration_us,
    }
}

fn video_unit(index: u64, bytes: Bytes) -> Result<ClipUnit, Box<dyn Error>> {
    let (frame, layer) = (index / u64::from(LAYERS), (index % u64::from(LAYERS)) as u8);
    let class = match layer {
        0 if is_key_frame(&bytes)? => Class::KeyFrame,
        0 => Class::Reference,
        _ => Class::Disposable,
    };
    Ok(ClipUnit {
        track: VIDEO_TRACK,
        layer: Layer(layer),
        class,
        frame,
        pts_us: frame * u64::from(PICTURE_US),
        duration_us: PICTURE_US,
        bytes,
    })
}

/// VP9's uncompressed header begins with `frame_marker` (2 bits), the profile (2 bits, here 0),
/// `show_existing_frame` and `frame_type` (0: key frame).
fn is_key_frame(bytes: &[u8]) -> Result<bool, &'static str> {
    match bytes.first() {
        Some(first) if first & 0b1111_1000 == 0b1000_0000 => Ok(first & 0b0000_0100 == 0),
        Some(_) | None => Err("a layer is not a coded VP9 frame of profile 0"),
    }
}

fn audio_unit(frame: u64, bytes: Bytes) -> ClipUnit {
    ClipUnit {
        track: AUDIO_TRACK,
        layer: Layer::BASE,
        class: Class::Audio,
        frame,
        pts_us: frame * u64::from(OPUS_FRAME_US),
        duration_us: OPUS_FRAME_US,
        bytes,
    }
}

struct Ivf {
    width: u16,
    height: u16,
    layers: Vec<Bytes>,
}

fn read_ivf(mut file: Bytes) -> Result<Ivf, Box<dyn Error>> {
    const FILE_HEADER: usize = 32;
    const FRAME_HEADER: usize = 12;
    if file.len() < FILE_HEADER || !file.starts_with(b"DKIF") {
        return Err("the layers are not in an IVF file".into());
    }
    let mut header = file.split_to(FILE_HEADER);
    header.advance(12);
    let mut ivf =
        Ivf { width: header.get_u16_le(), height: header.get_u16_le(), layers: Vec::new() };
    while file.len() >= FRAME_HEADER {
        let len = file.get_u32_le() as usize;
        let time = file.get_u64_le();
        if time != ivf.layers.len() as u64 || len > file.len() {
            return Err(format!("layer {} is missing or cut off", ivf.layers.len()).into());
        }
        ivf.layers.push(file.split_to(len));
    }
    if !file.is_empty() || !ivf.layers.len().is_multiple_of(LAYERS.into()) {
        return Err("the IVF file does not hold two whole layers for each picture".into());
    }
    Ok(ivf)
}

/// The Opus packets of the second round.
fn read_opus_round(path: &str, round_us: u64) -> Result<Vec<Bytes>, Box<dyn Error>> {
    let frame_us = u64::from(OPUS_FRAME_US);
    if !round_us.is_multiple_of(frame_us) {
        return Err("a round has no whole number of Opus frames".into());
    }
    let round = usize::try_from(round_us / frame_us)?;
    let mut reader = ogg::PacketReader::new(BufReader::new(File::open(path)?));
    let mut packets: Vec<Bytes> = Vec::new();
    while let Some(packet) = reader.read_packet()? {
        packets.push(packet.data.into());
    }
    // RFC 7845 section 3: "There are two mandatory header packets."
    let [head, _comments, sound @ ..] = packets.as_slice() else {
        return Err("the Ogg file has no Opus headers".into());
    };
    check_opus_head(head)?;
    match sound.get(round..2 * round) {
        Some(second) => Ok(second.to_vec()),
        None => {
            Err(format!("the Ogg file has {} packets, two rounds have {}", sound.len(), 2 * round)
                .into())
        }
    }
}

/// RFC 7845 section 5.1: magic, version, channel count, pre-skip.
fn check_opus_head(mut head: &[u8]) -> Result<(), Box<dyn Error>> {
    if head.len() < 12 || !head.starts_with(b"OpusHead") {
        return Err("the Ogg file does not hold Opus".into());
    }
    head.advance(9);
    let (channels, pre_skip) = (head.get_u8(), head.get_u16_le());
    if (channels, pre_skip) != (CHANNELS, PRE_SKIP) {
        let found = format!("{channels} channels and a pre-skip of {pre_skip} samples");
        return Err(format!("the sound has {found}, not {CHANNELS} and {PRE_SKIP}").into());
    }
    Ok(())
}

//! [`Source`]: what the stream's sender sends when.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anabranch_media::Class;
use anabranch_sansio::Rng;
use anabranch_sctp::Level;

use super::host::STAMP;
use super::values::Values;
use crate::footage::{Footage, PICTURE, table_pictures};
use crate::scenario::FilmUnit;

const MPEG2: &[u8] = include_bytes!("../../data/mpeg2-720x576.csv");

/// MPEG-1 layer II at 48 kHz: 1152 samples, at 256 kbit/s.
const SOUND: Duration = Duration::from_millis(24);
const SOUND_LEN: usize = 768;

/// What the stream is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// As the paper's text has it: MPEG-2 of 4 Mbit/s with I, P and B pictures, and sound of 256
    /// kbit/s.
    Pictures,
    /// As the authors' published scripts have it: chunks at a constant rate of 9 Mbit/s, each of a
    /// random level, a third I, P and B.
    Constant,
}

/// A message of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Planned {
    /// From the stream's beginning.
    pub(super) at: Duration,
    pub(super) level: Level,
    pub(super) len: usize,
}

impl Source {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Constant, Self::Pictures];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Pictures => "Pictures and sound",
            Self::Constant => "Constant rate, random levels",
        }
    }

    /// The whole stream, in order.
    pub(super) fn messages(self, values: &Values, rng: &mut Rng) -> Vec<Planned> {
        match self {
            Self::Pictures => {
                if let Some(footage) = &values.film {
                    return film(values, footage);
                }
                let mut messages = pictures(values);
                messages.extend(sound(values.duration));
                messages.sort_by_key(|message| message.at);
                messages
            }
            Self::Constant => constant(values, rng),
        }
    }
}

/// The film in a loop, cut into messages that are spread evenly over each picture's time, or over
/// the whole film.
fn pictures(values: &Values) -> Vec<Planned> {
    let film = table_pictures(MPEG2).expect("the table that comes with this crate");
    let whole: usize = film.iter().map(|picture| picture.bytes).sum();
    let lasts = PICTURE * film.len() as u32;
    let mut sent = 0;
    let mut messages = Vec::new();
    for (number, picture) in (0..).zip(film.iter().cycle()) {
        let begin = PICTURE * number;
        if begin >= values.duration {
            break;
        }
        let level = match picture.kind {
            'I' => Level::High,
            'P' => Level::Normal,
            _ => Level::Low,
        };
        let count = picture.bytes.div_ceil(values.message as usize);
        for part in 0..count {
            let before = part * values.message as usize;
            let at = match values.even {
                true => lasts.mul_f64((sent + before) as f64 / whole as f64),
                false => begin + PICTURE * part as u32 / count as u32,
            };
            // The last one has its stamp, however little is left.
            let len = (picture.bytes - before).clamp(STAMP as usize, values.message as usize);
            messages.push(Planned { at, level, len });
        }
        sent += picture.bytes;
    }
    messages
}

/// A film of the user's in a loop: what it is made of, each in messages that are spread evenly over
/// the time that it takes in the film's own stream.
fn film(values: &Values, footage: &Footage) -> Vec<Planned> {
    let mut messages = Vec::new();
    let rounds = (0..).map(|number| footage.round * number);
    for begin in rounds.take_while(|begin| *begin < values.duration) {
        for FilmUnit { due: (first, last), class, bytes, .. } in &*footage.units {
            let level = match class {
                Class::KeyFrame | Class::Audio => Level::High,
                Class::Disposable => Level::Low,
                Class::Reference | Class::Data | Class::Tables | Class::Padding => Level::Normal,
            };
            let count = bytes.div_ceil(values.message as usize);
            messages.extend((0..count).map(|part| {
                let at = begin + *first + (*last - *first) * part as u32 / count as u32;
                let before = part * values.message as usize;
                let len = (bytes - before).clamp(STAMP as usize, values.message as usize);
                Planned { at, level, len }
            }));
        }
    }
    messages.retain(|message| message.at < values.duration);
    messages.sort_by_key(|message| message.at);
    messages
}

/// It matters as much as what all pictures are predicted from.
fn sound(duration: Duration) -> impl Iterator<Item = Planned> {
    let frames = (0..).map(|number| SOUND * number).take_while(move |at| *at < duration);
    frames.map(|at| Planned { at, level: Level::High, len: SOUND_LEN })
}

fn constant(values: &Values, rng: &mut Rng) -> Vec<Planned> {
    let len = values.message as usize;
    let interval = 8.0 * len as f64 / values.stream_rate as f64;
    let count = (values.duration.as_secs_f64() / interval) as u32;
    let message = |number: u32| Planned {
        at: Duration::from_secs_f64(interval * f64::from(number)),
        level: Level::ALL[1 + rng.range(0..3) as usize],
        len,
    };
    (0..count).map(message).collect()
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pictures => "pictures",
            Self::Constant => "constant",
        })
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|source| source.to_string() == name);
        found.ok_or_else(|| format!("there is no source '{name}': give pictures or constant"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters;
    use crate::footage::testing;

    fn rate_mbps(messages: &[Planned], of: impl Fn(&Planned) -> bool) -> f64 {
        let bytes: usize = messages.iter().filter(|it| of(it)).map(|it| it.len).sum();
        bytes as f64 * 8.0 / Values::default().duration.as_secs_f64() / 1e6
    }

    #[test]
    fn the_stream_has_the_papers_rates() {
        let mut rng = Rng::from_u64(1);
        let pictures = Source::Pictures.messages(&Values::default(), &mut rng);
        let is_sound = |it: &Planned| it.len == SOUND_LEN && it.level == Level::High;
        let sound = rate_mbps(&pictures, is_sound);
        assert!((sound - 0.256).abs() < 0.002, "{sound} Mbit/s");
        let video = rate_mbps(&pictures, |it| !is_sound(it));
        assert!((video - 4.0).abs() < 0.06, "{video} Mbit/s");
        let constant = Source::Constant.messages(&Values::default(), &mut rng);
        assert!((rate_mbps(&constant, |_| true) - 9.0).abs() < 0.001);
        for level in [Level::High, Level::Normal, Level::Low] {
            let share = rate_mbps(&constant, |it| it.level == level) / 9.0;
            assert!((share - 1.0 / 3.0).abs() < 0.01, "{level:?}: {share}");
        }
    }

    #[test]
    fn a_film_of_ones_own_is_sent_with_its_sound_for_as_long_as_the_stream_lasts() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/h264_aac.ts");
        let set = format!("duration=7s,source={file}");
        let parameters = Parameters::<Values>::read([set.as_str()]).unwrap();
        let messages = Source::Pictures.messages(parameters.values(), &mut Rng::from_u64(1));
        assert!(messages.is_sorted_by_key(|message| message.at));
        let last = messages.last().map(|message| message.at).unwrap_or_default();
        assert!((Duration::from_millis(6_900)..Duration::from_secs(7)).contains(&last), "{last:?}");
        for level in [Level::High, Level::Normal, Level::Low] {
            assert!(messages.iter().filter(|it| it.level == level).count() > 20, "{level:?}");
        }
        // 102 kB in three seconds, of which packets' headers and tables are no part.
        let bytes: usize = messages.iter().map(|message| message.len).sum();
        assert!((150_000..240_000).contains(&bytes), "{bytes}");
        testing::check_refusals::<Values>();
    }

    #[test]
    fn a_constant_multiplex_takes_as_long_as_the_pictures() {
        let even = Values { even: true, ..Values::default() };
        let last = |values: &Values| pictures(values).last().map(|message| message.at);
        let end = Values::default().duration;
        for last in [last(&even), last(&Values::default())] {
            let before = end.saturating_sub(last.expect("there are messages"));
            assert!(before < Duration::from_millis(20), "{before:?}");
        }
    }
}

#!/usr/bin/env python3
"""How voice sounds at the other end of a lossy link: PESQ's opinion of what calls played out.

Somebody speaks for a minute (eSpeak NG reads ten of the Harvard sentences, twice) into two calls,
each over `anabranch emulate`: one without loss, one with. What `--record` wrote of both is decoded,
frame by frame in the order in which it was played out, and PESQ (ITU-T P.862.2, wideband) compares
8 seconds at a time with what was said.

    voice_score.py [--program anabranch] [--delay 50ms] [--loss 5%] [--burst N] [--calls 3]

Needs the programs espeak-ng and ffmpeg, and the packages av, pesq and scipy.
"""

from __future__ import annotations

import argparse
import csv
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import av
import numpy
from pesq import pesq
from scipy.io import wavfile
from scipy.signal import resample_poly

SENTENCES = """The birch canoe slid on the smooth planks. Glue the sheet to the dark blue
background. It is easy to tell the depth of a well. These days a chicken leg is a rare dish. Rice is
often served in round bowls. The juice of lemons makes fine punch. The box was thrown beside the
parked truck. The hogs were fed chopped corn and garbage. Four hours of steady work faced us. A
large size in stockings is hard to sell."""

# Samples a second that PESQ compares, and those of Opus.
RATE = 16_000
OPUS_RATE = 48_000
# Seconds that are compared at once.
PART = 8
# How far what was played out may lie behind what was said, in seconds.
LAG_MAX = 4


def speak(folder: Path) -> numpy.ndarray:
    """Writes `speech.wav` and `speech.mka`, and returns what is said."""
    said = folder / "speech.wav"
    words = " ".join([SENTENCES] * 2)
    subprocess.run(["espeak-ng", "-v", "en-us", "-s", "150", "-w", said, words], check=True)
    ffmpeg = ["ffmpeg", "-v", "error", "-y", "-i", said, "-ac", "1"]
    opus = ["-c:a", "libopus", "-b:a", "24k", "-frame_duration", "20", "-application", "voip"]
    subprocess.run([*ffmpeg, "-ar", str(OPUS_RATE), *opus, folder / "speech.mka"], check=True)
    subprocess.run([*ffmpeg, "-ar", str(RATE), folder / "said.wav"], check=True)
    return wavfile.read(folder / "said.wav")[1]


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def call(program: str, link: list[str], seconds: float, folder: Path) -> Path:
    """Speaks over a link; returns what the other end recorded."""
    called, between = free_port(), free_port()
    record = Path(tempfile.mkdtemp(dir=folder))
    hosts = ["--listen", f"127.0.0.1:{between}", "--target", f"127.0.0.1:{called}"]
    listener = f"anabranch://127.0.0.1:{called}?mode=listener&encryption=off"
    caller = f"anabranch://127.0.0.1:{between}?encryption=off"
    quiet = ["call", "--no-page", "--quiet"]
    commands = [
        ["emulate", *hosts, *link],
        [*quiet, "--record", record, listener],
        [*quiet, "--microphone", folder / "speech.mka", caller],
    ]
    running = []
    for command in commands:
        running.append(subprocess.Popen([program, *command], stdout=subprocess.DEVNULL))
        time.sleep(0.5)
    time.sleep(seconds)
    for process in reversed(running):
        process.send_signal(signal.SIGINT)
        process.wait(10)
    return record


def packets(ogg: bytes) -> list[bytes]:
    """The packets of an Ogg file (RFC 3533) with one stream, without the two of its head."""
    found = [b""]
    while ogg:
        count = ogg[26]
        lengths, ogg = ogg[27 : 27 + count], ogg[27 + count :]
        for length in lengths:
            found[-1] += ogg[:length]
            ogg = ogg[length:]
            if length < 255:
                found.append(b"")
    return found[2:-1]


def played(record: Path) -> list[bytes]:
    """The frames that were played out, empty where one was concealed.

    The file has an empty frame also where nothing was to be played for 20 ms, as the delay grew: a
    page stretches what is around it there. Those are left out.
    """
    with (record / "played.csv").open() as table:
        kinds = [row["media"] for row in csv.DictReader(table)]
    frames = []
    for packet in packets((record / "voice.opus").read_bytes()):
        is_voice = len(packet) > 1
        if len(frames) < len(kinds) and is_voice == (kinds[len(frames)] == "voice"):
            frames.append(packet)
    if len(frames) != len(kinds):
        raise SystemExit(f"{record}: played.csv and voice.opus do not fit")
    while frames and len(frames[-1]) == 1:
        # The end of the call, not a loss.
        frames.pop()
    return frames


def decode(frames: list[bytes]) -> numpy.ndarray:
    """Decodes frames of Opus, concealing those that are empty, at the rate that PESQ compares."""
    decoder = av.CodecContext.create("libopus", "r")
    decoder.sample_rate, decoder.layout = OPUS_RATE, "mono"
    decoder.open()
    parts = [part.to_ndarray() for frame in frames for part in decoder.decode(av.Packet(frame))]
    samples = numpy.concatenate(parts, axis=1)[0]
    if samples.dtype.kind == "f":
        samples = samples * 32_767
    samples = resample_poly(samples.astype(float), 1, OPUS_RATE // RATE)
    return numpy.clip(samples, -32_768, 32_767).astype(numpy.int16)


def score(said: numpy.ndarray, heard: numpy.ndarray) -> list[float]:
    """PESQ's opinion of each part of what was heard."""
    begin = said[RATE : 6 * RATE].astype(float)
    among = numpy.concatenate([numpy.zeros(RATE), heard[: (6 + LAG_MAX) * RATE]]).astype(float)
    lag = int(numpy.argmax(numpy.correlate(among, begin, "valid"))) - 2 * RATE
    scores = []
    # What was said before the call began is not compared.
    for start in range(RATE * PART, min(len(said), len(heard) - lag) - PART * RATE, PART * RATE):
        spans = [said[start : start + PART * RATE], heard[start + lag : start + lag + PART * RATE]]
        scores.append(float(pesq(RATE, *spans, "wb")))
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="anabranch")
    parser.add_argument("--delay", default="50ms", help="one way")
    parser.add_argument("--loss", default="5%", help="both ways")
    parser.add_argument("--burst", default="1", help="packets lost in a row, on average")
    parser.add_argument("--calls", type=int, default=3, help="with loss")
    options = parser.parse_args()
    lossy = ["--loss", options.loss, "--burst", options.burst]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        said = speak(folder)
        for number in range(options.calls + 1):
            terms = ["--loss", "0%"] if number == 0 else [*lossy, "--seed", str(number)]
            link = ["--delay", options.delay, *terms]
            frames = played(call(options.program, link, len(said) / RATE, folder))
            concealed = sum(len(frame) == 1 for frame in frames)
            scores = score(said, decode(frames))
            print(
                f"{' '.join(link)}: {concealed} of {len(frames)} frames concealed,"
                f" PESQ {numpy.mean(scores):.3f}, worst part {min(scores):.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

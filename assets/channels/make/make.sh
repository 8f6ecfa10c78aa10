#!/bin/sh
# Makes the two test pictures of `anabranch serve`. README.md says with what.
set -eu

cd "$(dirname "$0")/.."
SECONDS_LONG=24

# make NAME FREQUENCY FILTERS: bars or a clock with a tone, as a transport stream that loops.
#
# 24 s are 600 pictures and 1125 frames of sound, and whole periods of both tones.
make() {
    name=$1 frequency=$2 picture=$3
    ffmpeg -nostdin -loglevel error -y \
        -f lavfi -i "$picture" \
        -f lavfi -i "sine=frequency=$frequency:sample_rate=48000,volume=-12dB" \
        -t "$SECONDS_LONG" -map 0:v -map 1:a \
        -c:v libx264 -profile:v main -preset veryslow -tune stillimage -pix_fmt yuv420p -threads 1 \
        -crf 36 -g 25 -keyint_min 25 -sc_threshold 0 -bf 2 -x264-params open-gop=0 \
        -c:a aac -b:a 32k -ac 1 \
        -flags +bitexact -fflags +bitexact -map_metadata -1 \
        -f mpegts -muxdelay 0.2 -pat_period 1 -mpegts_flags +resend_headers \
        "$name.ts"
}

FONT=/usr/share/fonts/truetype/dejavu/DejaVuSansMono-Bold.ttf
text() {
    printf 'drawtext=fontfile=%s:fontsize=%s:fontcolor=%s:x=(w-text_w)/2:y=%s:%s' \
        "$FONT" "$1" "$2" "$3" "$4"
}

# A clock that runs, and a mark that crosses the picture once a second.
make clock 500 "color=c=0x10243f:s=640x360:r=25,\
$(text 80 white '120' "timecode='00\:00\:00\:00':rate=25"),\
$(text 28 0x8fb8ff '250' "text='a test picture with a clock'"),\
drawbox=x=0:y=320:w=640:h=12:color=0x1c3a66:t=fill[clock];\
color=c=0xffc94d:s=24x12:r=25[mark];[clock][mark]overlay=x='616*mod(t,1)':y=320"

# Colour bars, and the seconds.
make bars 400 "smptehdbars=s=640x360:r=25,\
drawbox=x=200:y=130:w=240:h=100:color=black@0.85:t=fill,\
$(text 64 white '150' "text='%{eif\:t\:d\:2} s'")"

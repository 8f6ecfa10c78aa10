/** The page of `anabranch recv --page`, fed by `anabranch send`. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { defaultClip } from '../mock/default-clip';
import { openBrowser, type TestBrowser } from './browser';
import { freePort } from './network';
import { PageView } from './page-view';
import { Program } from './program';

describe('anabranch recv --page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'anabranch-recv-'));
  let browser: TestBrowser;
  let running: Program[] = [];
  let view: PageView;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterEach(async () => {
    for (const program of running) {
      await program.interrupt();
    }
    running = [];
    await view.page.close();
  });
  afterAll(async () => {
    await browser.close();
    rmSync(folder, { recursive: true });
  });

  function run(...args: readonly string[]): Program {
    const program = new Program(...args);
    running.push(program);
    return program;
  }

  async function open(receiver: Program): Promise<void> {
    view = new PageView(await browser.context.newPage());
    await view.page.goto(await receiver.url());
  }

  /** The page is open before the sender calls, as one that waits for a broadcast has it. */
  async function transfer(input: string, ...output: readonly string[]): Promise<void> {
    const port = await freePort();
    const url = `anabranch://127.0.0.1:${port}?mode=listener`;
    const receiver = run('recv', '--page', url, ...output);
    await open(receiver);
    await receiver.line(/waiting for a sender/);
    run('send', input, `anabranch://127.0.0.1:${port}`);
  }

  async function seesAPicture(): Promise<void> {
    const { mean, spread } = await view.brightness();
    expect(mean).toBeGreaterThan(20);
    expect(spread).toBeGreaterThan(10);
  }

  it('plays a broadcast beside the file that it writes, and says how it ended', async () => {
    const [input, output] = [join(folder, 'broadcast.ts'), join(folder, 'received.ts')];
    makeStream(input, ...H264_WITH_B_PICTURES, ...AAC);
    await transfer(input, output);
    await view.untilText('status', 'Playing');
    await view.get('sound').click();
    await view.morePictures(50);
    await seesAPicture();
    await view.untilText('layers-shown', 'whole picture');
    await view.until(async () => Number.isFinite(await view.figure('av-skew')));
    expect(await view.path(0).getAttribute('data-state')).toBe('active');
    await view.until(async () => Number.isFinite(await view.figure('delivered-rate')));
    await view.untilText('events', 'Connected: the sender at');
    await view.untilText('banner', 'The stream has ended.');
    expect(view.complaints).toEqual([]);
    await running[0]?.ended();
    expect(readFileSync(output).equals(readFileSync(input))).toBe(true);
  });

  it('plays pictures of several slices that come long before their sound', async () => {
    const input = join(folder, 'camera.ts');
    makeStream(input, ...ZERO_LATENCY, ...AAC);
    await transfer(input);
    await view.morePictures(100);
    await seesAPicture();
    expect(await view.figure('frames-lost')).toBe(0);
    await view.untilText('banner', 'The stream has ended.');
    expect(view.complaints).toEqual([]);
  });

  it('plays a film of several slices a picture', async () => {
    const input = join(folder, 'camera.mp4');
    makeStream(input, ...ZERO_LATENCY, ...AAC);
    await transfer(input);
    await view.morePictures(100);
    await seesAPicture();
    expect(view.complaints).toEqual([]);
  });

  it('plays a clip in layers', async () => {
    await transfer(defaultClip());
    await view.morePictures(50);
    await seesAPicture();
    await view.untilText('layers-shown', 'base + enhancement');
    await view.untilText('attribution', 'Blender Foundation');
    await view.untilText('banner', 'The stream has ended.');
    expect(view.complaints).toEqual([]);
  });

  it('names what it cannot play', async () => {
    const input = join(folder, 'old.ts');
    makeStream(input, '-c:v', 'mpeg2video', '-c:a', 'ac3');
    await transfer(input);
    await view.untilText(
      'banner',
      'This stream has MPEG-2 video and AC-3, which the page does not',
    );
    await view.untilText('events', 'The stream has MPEG-2 video, which the page does not play.');
  });

  it('counts down to the next call while nobody answers', async () => {
    const receiver = run('recv', '--page', `anabranch://127.0.0.1:${await freePort()}`);
    await open(receiver);
    await view.untilText('status', /Reconnecting in \d+ s/);
    await view.untilText('banner', /Trying again in \d+ s/);
  });
});

const H264_WITH_B_PICTURES = ['-c:v', 'libx264', '-bf', '2', '-g', '25', '-pix_fmt', 'yuv420p'];
/** As the README's camera: the picture leaves the encoder at once, and a frame of sound waits. */
const ZERO_LATENCY = [
  ...['-c:v', 'libx264', '-preset', 'veryfast', '-tune', 'zerolatency'],
  ...['-x264-params', 'slices=4', '-g', '50', '-pix_fmt', 'yuv420p'],
];
const AAC = ['-c:a', 'aac', '-ac', '2', '-ar', '48000'];

/** Eight seconds of picture and sound. */
function makeStream(file: string, ...codecs: readonly string[]): void {
  execFileSync('ffmpeg', [
    ...['-v', 'error', '-nostdin', '-y'],
    ...['-f', 'lavfi', '-i', 'testsrc2=size=640x360:rate=25', '-f', 'lavfi', '-i', 'sine=440'],
    ...['-t', '8', ...codecs, ...(file.endsWith('.ts') ? ['-f', 'mpegts'] : []), file],
  ]);
}

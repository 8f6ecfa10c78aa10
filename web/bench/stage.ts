/** The server, an emulated link before it, and the channels that it serves. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program } from '../e2e/program';
import type { Options } from './options';

const CHANNELS = 4;
/** Of one file, which is shown in a loop; groups of pictures of two seconds. */
const FILM = ['-t', '20', '-r', '25', '-g', '50'];
const SERVER_PORT = 47_001;
const LINK_PORT = 47_002;

export class Stage {
  readonly url: string;
  readonly #programs: readonly Program[];
  readonly #folder: string;

  static async build({ link, kbps, channels }: Options): Promise<Stage> {
    const folder = mkdtempSync(join(tmpdir(), 'anabranch-bench-'));
    const file = channels ?? makeChannels(folder, kbps);
    const http = ['--http', '127.0.0.1:0'];
    if (link === null) {
      const server = new Program('serve', file, ...http, '--udp', '0.0.0.0:0');
      return new Stage(await server.url(), [server], folder);
    }
    const [inside, outside] = [`127.0.0.1:${SERVER_PORT}`, `${outerAddress()}:${LINK_PORT}`];
    const ends = ['--listen', outside, '--target', inside];
    const emulator = new Program('emulate', ...ends, ...link);
    const places = ['--udp', inside, '--advertise', outside];
    const server = new Program('serve', file, ...http, ...places);
    return new Stage(await server.url(), [server, emulator], folder);
  }

  private constructor(url: string, programs: readonly Program[], folder: string) {
    this.url = url;
    this.#programs = programs;
    this.#folder = folder;
  }

  /** All channels are on air, and each has a whole group of pictures to begin with. */
  async ready(): Promise<void> {
    const [server] = this.#programs;
    const sources = server?.printed.match(/on air/g)?.length ?? 0;
    if (sources < CHANNELS) {
      await server?.line(/4 .*on air/);
    }
    await new Promise((done) => setTimeout(done, 3_000));
  }

  async strike(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.interrupt()));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Moving test pictures with as much noise as makes their rate, and a tone. */
function makeChannels(folder: string, kbps: number): string {
  const text = Array.from({ length: CHANNELS }, (_, index) => {
    const film = join(folder, `${index + 1}.ts`);
    const picture = `testsrc2=s=640x360:r=25,hue=h=${90 * index},noise=alls=24:allf=t`;
    const rate = [`-b:v`, `${kbps}k`, '-maxrate', `${kbps}k`, '-bufsize', `${kbps}k`];
    execFileSync('ffmpeg', [
      ...['-loglevel', 'error', '-f', 'lavfi', '-i', picture],
      ...['-f', 'lavfi', '-i', `sine=frequency=${330 + 110 * index}:sample_rate=48000`],
      ...['-c:v', 'libx264', '-preset', 'veryfast', '-tune', 'zerolatency', ...rate, ...FILM],
      ...['-pix_fmt', 'yuv420p', '-c:a', 'aac', '-ac', '2', film],
    ]);
    return `[[channel]]\nname = "Channel ${index + 1}"\nsource = "${film}"\n`;
  });
  const file = join(folder, 'channels.toml');
  writeFileSync(file, text.join('\n'));
  return file;
}

/** Chromium sends nothing from loopback addresses. */
function outerAddress(): string {
  const addresses = Object.values(networkInterfaces()).flat();
  const outer = addresses.find((it) => it?.family === 'IPv4' && !it.internal);
  if (outer === undefined) {
    throw new Error('Chromium needs an address beside loopback: add a veth pair');
  }
  return outer.address;
}

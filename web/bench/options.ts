/** What is measured, and over which link. */

import { parseArgs } from 'node:util';

export interface Options {
  /** Times that the page is opened. */
  readonly loads: number;
  /** Times that a key is pressed. */
  readonly zaps: number;
  /** Seconds for which one channel is watched. */
  readonly watch: number;
  /** Of the emulated link, as `anabranch emulate` reads them; null for none. */
  readonly link: readonly string[] | null;
  /** Of each channel. */
  readonly kbps: number;
  /** A file of channels instead of those that are made. */
  readonly channels: string | null;
  /** Tells each measurement, and where the time of the first picture goes. */
  readonly verbose: boolean;
}

export const HELP = `npm run bench:television -- [OPTION]

  --loads N        opens the page so many times                          [20]
  --zaps N         presses a key so many times, at random times          [0]
  --watch SECONDS  watches one channel for so long                       [0]
  --delay TIME     of the emulated link, each way, as 25ms
  --loss SHARE     of packets, each way, as 3%
  --rate RATE      as 8M
  --queue TIME     of the link's queue, as 100ms
  --kbps N         of each channel that is made (needs ffmpeg)           [3000]
  --channels FILE  channels.toml to serve instead
  --verbose        tells each measurement

Without delay, loss, rate and queue there is no emulated link.
`;

export function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      loads: { type: 'string', default: '20' },
      zaps: { type: 'string', default: '0' },
      watch: { type: 'string', default: '0' },
      delay: { type: 'string' },
      loss: { type: 'string' },
      rate: { type: 'string' },
      queue: { type: 'string' },
      kbps: { type: 'string', default: '3000' },
      channels: { type: 'string' },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    return null;
  }
  const { delay, loss, rate, queue } = values;
  const settings = Object.entries({ delay, loss, rate, queue });
  const link = settings.flatMap(([key, value]) => (value === undefined ? [] : [`--${key}`, value]));
  return {
    loads: whole('loads', values.loads),
    zaps: whole('zaps', values.zaps),
    watch: whole('watch', values.watch),
    link: link.length === 0 ? null : link,
    kbps: whole('kbps', values.kbps),
    channels: values.channels ?? null,
    verbose: values.verbose,
  };
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new Error(`--${name} ${text}: give a whole number`);
  }
  return value;
}

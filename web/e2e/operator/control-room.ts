/** The operator's page, with answers made up: as many viewers as one wants. */

import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BrowserContextOptions, Page, Route } from 'playwright-core';
import type { Channel, Message, Viewer } from '../../src/operator/answers';
import { openBrowser, type TestBrowser } from '../browser';
import { PageView } from '../page-view';
import { LAPTOP } from '../visit';

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const ADDRESS = 'http://127.0.0.1:1';
const TOKEN = 'a token of nobody';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

export class ControlRoom extends PageView {
  readonly #browser: TestBrowser;
  readonly #begunMs = performance.now();
  viewers = 3;

  static async start(viewers: number, look: BrowserContextOptions = {}): Promise<ControlRoom> {
    const browser = await openBrowser({ viewport: LAPTOP, ...look });
    const room = new ControlRoom(browser, await browser.context.newPage());
    room.viewers = viewers;
    await room.page.route('**/*', (route) => room.#answer(route));
    await room.page.goto(`${ADDRESS}/operator#${encodeURIComponent(TOKEN)}`);
    await room.untilText('status', 'Live');
    return room;
  }

  private constructor(browser: TestBrowser, page: Page) {
    super(page);
    this.#browser = browser;
  }

  async end(): Promise<void> {
    await this.#browser.close();
  }

  async #answer(route: Route): Promise<void> {
    const { pathname } = new URL(route.request().url());
    const seconds = (performance.now() - this.#begunMs) / 1000;
    const answers: Record<string, () => unknown> = {
      '/api/viewers': () =>
        Array.from({ length: this.viewers }, (_, index) => viewer(index, seconds)),
      '/api/channels': () => CHANNELS,
      '/api/urgent': () => MESSAGES,
    };
    const answer = answers[pathname];
    if (answer !== undefined) {
      await route.fulfill({ json: answer() });
      return;
    }
    const file = pathname === '/operator' ? '/operator.html' : pathname;
    const contentType = TYPES[extname(file)] ?? '';
    await route.fulfill({ body: await readFile(join(DIST, file)), contentType });
  }
}

const NAMES = ['Lobby', 'Canteen', 'Studio B', 'Reception', null, null, null];

function viewer(index: number, seconds: number): Viewer {
  const isNative = index % 5 === 1;
  const bytesPerSecond = 120_000 + 5_000 * (index % 50);
  const path = (network: number, share: number) => ({
    local: `192.0.2.${network}:9000`,
    remote: `198.51.${100 + network}.${index % 250}:${40_000 + index}`,
    rtt_ms: 12 + ((index * 7) % 90) + 20 * network,
    sent_chunks: Math.round((bytesPerSecond * share * (seconds + 60)) / 1000),
    lost_chunks: Math.round(((index * 3) % 11) * (seconds + 60) * share * 0.3),
    sent_bytes: Math.round(bytesPerSecond * share * (seconds + 60)),
  });
  return {
    id: `viewer ${index + 1}`,
    name: NAMES[index % NAMES.length] ?? null,
    program: isNative ? 'anabranch 0.1.0' : 'anabranch page',
    carrier: isNative ? 'native' : 'browser',
    since_ms: Math.round(1000 * seconds) + 61_000 * (index % 200),
    channel: (index % 3) + 1,
    zaps: (index * 13) % 40,
    skipped_units: 0,
    reduction: null,
    queued_bytes: 0,
    shown: Math.round(25 * seconds) + 1500,
    late: index % 4,
    lost: (index * 5) % 7,
    zap_ms: 60 + ((index * 17) % 80),
    paths: isNative ? [path(1, 0.7), path(2, 0.3)] : [path(1, 1)],
  };
}

const ON_AIR = { on_air: true, playable: { is: 'yes' }, obstacle: null } as const;

const CHANNELS: readonly Channel[] = [
  {
    number: 1,
    name: 'Big Buck Bunny',
    group: 'Demo',
    ...ON_AIR,
    viewers: 167,
    bits_per_second: 1.1e6,
  },
  { number: 2, name: 'Clock', group: 'Demo', ...ON_AIR, viewers: 167, bits_per_second: 480_000 },
  { number: 3, name: 'Bars', group: null, ...ON_AIR, viewers: 166, bits_per_second: 3.2e6 },
  {
    number: 7,
    name: 'City camera',
    group: 'City',
    on_air: false,
    playable: { is: 'yes' },
    obstacle: 'no packet came for 3 seconds; port 5000 is still open',
    viewers: 0,
    bits_per_second: 2.1e6,
  },
  {
    number: 12,
    name: 'Old encoder',
    group: 'City',
    on_air: true,
    playable: { is: 'no' },
    obstacle:
      'it is sent as MPEG-2 video, which browsers do not decode; players take it from /ch/12.ts',
    viewers: 0,
    bits_per_second: 4.4e6,
  },
];

const MESSAGES: readonly Message[] = [
  {
    id: 3,
    level: 'notice',
    text: 'No pictures from noon to one.',
    channel: 2,
    seen: 167,
    viewers: 167,
  },
  {
    id: 4,
    level: 'alarm',
    text: 'Please leave the building by the nearest exit.',
    channel: null,
    seen: 431,
    viewers: 500,
  },
];

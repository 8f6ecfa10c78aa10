/**
 * How old what one sees and hears is: between two Chromiums on one machine, in a room, in a call of
 * two agents, and in a plain WebRTC call. From when a picture is drawn until it is on the screen's
 * canvas, and from when a burst is in the microphone until it leaves the loudspeaker.
 *
 * npm run bench:delay -- [SECONDS]
 */

import type { Page } from 'playwright-core';
import { openBrowser, type TestBrowser } from '../e2e/browser';
import { freePort } from '../e2e/network';
import { Program } from '../e2e/program';
import { inventMarkedDevices } from './delay/marked-devices';
import { agesOfBursts, agesOfPictures, tapLoudspeaker, tapPlayer } from './delay/marks';
import { beginPlainCall } from './handover/plain-call';

/** Playouts have found their delay by then. */
const SETTLE_MS = 8_000;
const FLAGS = ['--use-fake-ui-for-media-stream', '--autoplay-policy=no-user-gesture-required'];

interface Ages {
  readonly pictures: readonly number[];
  readonly bursts: readonly number[];
}

async function twoPages(): Promise<readonly [readonly [Page, Page], () => Promise<void>]> {
  const browsers: TestBrowser[] = [];
  const pages: Page[] = [];
  for (let one = 0; one < 2; one += 1) {
    const browser = await openBrowser({ viewport: { width: 1_280, height: 720 } }, FLAGS);
    browsers.push(browser);
    await browser.context.addInitScript(inventMarkedDevices);
    await browser.context.addInitScript(tapLoudspeaker);
    pages.push(await browser.context.newPage());
  }
  const close = async () => {
    await Promise.all(browsers.map((browser) => browser.close()));
  };
  return [pages as unknown as readonly [Page, Page], close];
}

async function watch(page: Page, selector: string, forMs: number): Promise<Ages> {
  await page.waitForTimeout(SETTLE_MS);
  const [pictures, bursts] = await Promise.all([
    page.evaluate(agesOfPictures, { selector, forMs }),
    page
      .evaluate(async () => window.loudspeaker !== null)
      .then((plays) => (plays ? page.evaluate(agesOfBursts, forMs) : [])),
  ]);
  return { pictures, bursts };
}

async function openRoom(): Promise<readonly [Program, string]> {
  const udp = `127.0.0.1:${await freePort()}`;
  const server = new Program('meet', '--http', '127.0.0.1:0', '--udp', udp);
  return [server, (await server.line(/^Room: http:\S+$/m)).slice('Room: '.length)];
}

async function inRoom(forMs: number): Promise<Ages> {
  const [server, link] = await openRoom();
  const [pages, close] = await twoPages();
  try {
    for (const [index, page] of pages.entries()) {
      await page.goto(link);
      await page.getByTestId('name').fill(['Alice', 'Bob'][index] ?? '');
      await page.getByTestId('enter').click();
      await page.getByText('In the room').waitFor();
    }
    return await watch(pages[1], '[data-testid=member-1] canvas', forMs);
  } finally {
    await close();
    await server.interrupt();
  }
}

async function inCall(forMs: number): Promise<Ages> {
  const place = `anabranch://127.0.0.1:${await freePort()}?mode=listener`;
  const alice = new Program('call', place, '--name', 'Alice');
  const link = await alice.line(/anabranch:\/\/127\.0\.0\.1:\d+\?key=\S+/);
  const [pages, close] = await twoPages();
  await pages[0].goto(await alice.url());
  const bob = new Program('call', link, '--name', 'Bob');
  try {
    await pages[1].goto(await bob.url());
    await pages[1].getByText('In a call').waitFor();
    return await watch(pages[1], '[data-testid=video]', forMs);
  } finally {
    await close();
    await bob.interrupt();
    await alice.interrupt();
  }
}

async function inPlainCall(forMs: number): Promise<Ages> {
  // Any page of an address that counts as secure.
  const [server, link] = await openRoom();
  const [pages, close] = await twoPages();
  try {
    await Promise.all(pages.map((page) => page.goto(link)));
    await beginPlainCall(pages[0], pages[1], { whenOnline: false, withVoice: true });
    await pages[1].evaluate(tapPlayer, 'video.theirs');
    return await watch(pages[1], 'video.theirs', forMs);
  } finally {
    await close();
    await server.interrupt();
  }
}

function told(ages: readonly number[]): string {
  const sorted = [...ages].sort((one, other) => one - other);
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  return sorted.length === 0 ? 'not measured' : `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms`;
}

const forMs = 1_000 * Number(process.argv[2] ?? 30);
for (const [name, measure] of [
  ['room', inRoom],
  ['call', inCall],
  ['plain call', inPlainCall],
] as const) {
  const { pictures, bursts } = await measure(forMs);
  process.stdout.write(
    `${name}: glass to glass ${told(pictures)} (${pictures.length} pictures), ` +
      `mouth to ear ${told(bursts)} (${bursts.length} bursts)\n`,
  );
}
process.exit(0);

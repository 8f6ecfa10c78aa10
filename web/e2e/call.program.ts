/** Two people in one Chromium with invented devices, each with an agent: everything real. */

import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { listenAtLoudspeaker } from './call/ear';
import { CallPage, FAKE } from './call/visit';
import { violations } from './looks';
import { freePort } from './network';
import { Program } from './program';
import { LAPTOP } from './visit';

/** Of the microphone that the browser invents, as near as the ear of the test tells. */
const BEEP_HZ = [330, 470] as const;
const LOUD = 0.1;
/** Pages that encode and decode pictures leave little of a busy machine for a file. */
const LONG_MS = 150_000;

describe('anabranch call', () => {
  let browser: TestBrowser;
  let agents: { readonly alice: Program; readonly bob: Program };
  /** The two networks between them. */
  let links: readonly Program[] = [];
  let alice: CallPage;
  let bob: CallPage;

  beforeEach(async () => {
    browser = await openBrowser({ viewport: LAPTOP }, FAKE);
    await browser.context.addInitScript(listenAtLoudspeaker);
    const place = `127.0.0.1:${await freePort()}`;
    const ports = [await freePort(), await freePort()];
    const listens = ports.map((port) => `127.0.0.1:${port}`);
    links = listens.map((at) => new Program('emulate', '--listen', at, '--target', place));
    const first = new Program('call', `anabranch://${place}?mode=listener`, '--name', 'Alice');
    alice = await open(first);
    await alice.untilText('status', 'Waiting');
    const link = await first.line(/anabranch:\/\/127\.0\.0\.1:\d+\?key=\S+/);
    const over = link.replace(place, listens[0] ?? '');
    const second = new Program('call', `${over}&peer=${listens[1]}`, '--name', 'Bob');
    agents = { alice: first, bob: second };
    bob = await open(second);
    for (const view of [alice, bob]) {
      await view.untilText('status', 'In a call');
    }
  });
  afterEach(async () => {
    await browser.close();
    await agents.bob.interrupt();
    await agents.alice.interrupt();
    await Promise.all(links.map((link) => link.interrupt()));
  });

  async function open(agent: Program): Promise<CallPage> {
    const view = new CallPage(await browser.context.newPage());
    await view.page.goto(await agent.url());
    return view;
  }

  /** In the foreground: a page behind another draws nothing. */
  async function hearsAndSees(view: CallPage): Promise<void> {
    await view.page.bringToFront();
    await view.morePictures(25);
    expect((await view.brightness()).spread).toBeGreaterThan(5);
    await view.clockRuns();
    const [low, high] = BEEP_HZ;
    await view.until(async () => {
      const { peak, hz } = await view.heard();
      return peak > LOUD && hz > low && hz < high;
    });
  }

  it('has both hear and see each other, until one hangs up', async () => {
    await hearsAndSees(alice);
    await alice.untilText('their-name', 'Bob');
    await alice.untilText('listeners', 'Nobody can listen');
    await hearsAndSees(bob);
    await bob.untilText('their-name', 'Alice');
    await bob.untilText('call-time', /^\d+:\d\d$/);
    expect([...alice.complaints, ...bob.complaints]).toEqual([]);
    await bob.get('hang-up').click();
    await bob.untilText('banner', 'You hung up.');
    expect(await agents.bob.ended()).toBe(0);
    await agents.alice.line(/Bob hung up\./);
    await alice.untilText('status', 'Waiting');
  });

  it('goes on when a page is loaded anew, and when a camera is switched off and on', async () => {
    await hearsAndSees(alice);
    await bob.page.reload();
    await bob.untilText('status', 'In a call');
    await hearsAndSees(bob);
    await hearsAndSees(alice);
    await bob.get('camera').click();
    await alice.untilText('banner', 'Bob switched the camera off.');
    await bob.get('camera').click();
    await hearsAndSees(alice);
    await alice.get('hang-up').click();
    await agents.bob.line(/Alice hung up\./);
    expect(await agents.bob.ended()).toBe(0);
  });

  it('goes on over the other network when one is cut', async () => {
    await hearsAndSees(bob);
    const cut = links[0]?.stall(6_000);
    await bob.untilText('events', /lost; went on over/);
    await hearsAndSees(bob);
    await hearsAndSees(alice);
    await cut;
    expect([...alice.complaints, ...bob.complaints]).toEqual([]);
  });

  it('carries what both write, as it is', async () => {
    await bob.write('<b>Hello</b> Alice');
    await alice.write('Hello Bob');
    for (const view of [alice, bob]) {
      await view.untilText('texts', '<b>Hello</b> Alice');
      await view.untilText('texts', 'Hello Bob');
    }
    await alice.page.reload();
    await alice.untilText('texts', '<b>Hello</b> Alice');
    await alice.page.bringToFront();
    expect(await violations(alice.page)).toEqual([]);
    expect([...alice.complaints, ...bob.complaints]).toEqual([]);
  });

  it('shows the screen of either end, and then the camera again', async () => {
    for (const [shows, sees] of [
      [alice, bob],
      [bob, alice],
    ] as const) {
      await shows.page.bringToFront();
      await shows.get('screen').click();
      await shows.untilText('screen', 'Stop showing');
      await sees.page.bringToFront();
      await sees.morePictures(3);
      await shows.page.bringToFront();
      await shows.get('screen').click();
      await shows.untilText('screen', 'Show screen');
      await hearsAndSees(sees);
    }
    expect([...alice.complaints, ...bob.complaints]).toEqual([]);
  });

  it(
    'carries a file of 2 MB each way, whole, though a page is loaded anew on the way',
    async () => {
      const files = [randomBytes(2_000_000), randomBytes(2_000_000)] as const;
      await offer(alice, '../<b>film</b>.mp4', files[0]);
      await bob.untilText('files', '_<b>film<_b>.mp4');
      await bob.untilText('files', '2.00 MB, from Alice');
      await bob.page.bringToFront();
      expect(await violations(bob.page)).toEqual([]);
      const name = 'file-2';
      await bob.get(name).getByTestId('get').click();
      const progress = bob.get(name).getByRole('progressbar');
      const share = async () => Number(await progress.getAttribute('value'));
      await bob.until(async () => (await share()) > 0.55);
      const saved = bob.page.waitForEvent('download', { timeout: LONG_MS });
      await bob.page.reload();
      const download = await saved;
      expect(download.suggestedFilename()).not.toContain('/');
      expect(sha256(await readFile(await download.path()))).toBe(sha256(files[0]));

      await offer(bob, 'notes.txt', files[1]);
      await alice.page.bringToFront();
      const back = alice.page.waitForEvent('download', { timeout: LONG_MS });
      await alice.get('file-1').getByTestId('get').click();
      expect(sha256(await readFile(await (await back).path()))).toBe(sha256(files[1]));
      await alice.get('file-2').getByTestId('withdraw').click();
      await bob.get('file-2').waitFor({ state: 'detached' });
      await hearsAndSees(alice);
      expect([...alice.complaints, ...bob.complaints]).toEqual([]);
    },
    LONG_MS,
  );

  it('tells a second tab that the call is in the first one', async () => {
    const second = await open(agents.alice);
    await second.untilText('banner', 'The call is open in another tab');
    await hearsAndSees(alice);
  });
});

async function offer(view: CallPage, name: string, buffer: Buffer): Promise<void> {
  const file = { name, mimeType: 'application/octet-stream', buffer };
  await view.get('choose-files').setInputFiles(file);
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

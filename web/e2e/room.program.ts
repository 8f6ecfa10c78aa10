/** Three people in one Chromium with invented devices, in a room of the real program. */

import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { listenAtLoudspeaker } from './call/ear';
import { FAKE } from './call/visit';
import { violations } from './looks';
import { freePort } from './network';
import { Program } from './program';
import { LOUD, RoomPage } from './room/visit';
import { LAPTOP } from './visit';

/** A browser with devices whose person refuses them. */
const FAKE_DEVICES = '--use-fake-device-for-media-stream';
const DENY = '--deny-permission-prompts';

/** Pages that encode and decode pictures leave little of a busy machine for a file. */
const LONG_MS = 150_000;

describe('anabranch meet', () => {
  let browser: TestBrowser;
  let server: Program;
  let link: string;

  beforeEach(async () => {
    browser = await openBrowser({ viewport: LAPTOP }, FAKE);
    await browser.context.addInitScript(listenAtLoudspeaker);
    const udp = `127.0.0.1:${await freePort()}`;
    server = new Program('meet', '--http', '127.0.0.1:0', '--udp', udp);
    link = (await server.line(/^Room: http:\S+$/m)).slice('Room: '.length);
  });
  afterEach(async () => {
    await browser.close();
    expect(await server.interrupt()).toBe(0);
  });

  async function open(at = link): Promise<RoomPage> {
    const view = new RoomPage(await browser.context.newPage());
    await view.page.goto(at);
    return view;
  }

  async function visit(name: string, at = link): Promise<RoomPage> {
    const view = await open(at);
    await view.enter(name);
    return view;
  }

  it('has three people see and hear each other, write, and leave', async () => {
    const alice = await visit('Alice');
    await alice.untilText('people', 'You are alone here.');
    await alice.untilText('listeners', 'Who runs this room could listen.');
    const bob = await visit('Bob');
    await bob.sees(1);
    await bob.hears();
    await alice.sees(2);
    await alice.hears();
    const eve = await visit('Eve');
    await eve.sees(1);
    await eve.sees(2);
    await alice.sees(3);
    await alice.untilText('people', '3 people');

    await eve.write('<b>Hello</b> to all');
    for (const view of [alice, bob, eve]) {
      await view.untilText('texts', '<b>Hello</b> to all');
    }
    await bob.get('leave').click();
    await bob.untilText('banner', 'You left.');
    await alice.untilText('people', '2 people');
    await alice.untilText('notices', 'Bob left.');
    await eve.page.close();
    await server.line(/room: Eve left/);
    await alice.untilText('people', 'You are alone here.');
    expect([...alice.complaints, ...bob.complaints]).toEqual([]);
  });

  it('has a host who locks the room, and removes somebody', async () => {
    const said = await server.line(/Room, for its hosts: http:\S+$/m);
    const alice = await visit('Alice', said.slice(said.indexOf('http')));
    const bob = await visit('Bob');
    await alice.sees(2, 1);
    expect(await bob.get('lock').count()).toBe(0);
    expect(await bob.get('remove-1').count()).toBe(0);
    await alice.get('lock').click();
    await alice.untilText('lock', 'Unlock');
    await bob.untilText('locked', 'Locked');
    await bob.untilText('notices', 'Alice locked the room.');

    const eve = await open();
    await eve.get('name').fill('Eve');
    await eve.get('enter').click();
    await eve.untilText('banner', 'This room is locked. Its host was told that you are here');
    await alice.untilText('notices', 'Eve wants to come in, and the room is locked.');
    expect(await violations(alice.page)).toEqual([]);

    await alice.page.bringToFront();
    await alice.get('member-2').hover();
    await alice.get('remove-2').click();
    expect(await violations(alice.page)).toEqual([]);
    await alice.get('member-2').getByTestId('confirm').click();
    await bob.untilText('banner', 'Alice removed you from the room.');
    await alice.untilText('notices', 'Bob was removed by Alice.');
    await alice.untilText('people', 'You are alone here.');
    await alice.get('lock').click();
    await alice.untilText('lock', 'Lock');
    await eve.get('again').click();
    await eve.enter('Eve');
    await alice.untilText('people', '2 people');
    expect([...alice.complaints, ...bob.complaints, ...eve.complaints]).toEqual([]);
  });

  it(
    'carries a file of 20 MB whole, behind what people say',
    async () => {
      const alice = await visit('Alice');
      const bob = await visit('Bob');
      const buffer = randomBytes(20_000_000);
      await alice.get('choose-files').setInputFiles(
        [
          { name: '../<b>film</b>.mp4', mimeType: 'video/mp4', buffer },
          { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Hello') },
        ],
        { timeout: LONG_MS },
      );
      await bob.untilText('files', '_<b>film<_b>.mp4');
      await bob.untilText('files', '20.0 MB, from Alice');
      await bob.untilText('files', 'notes.txt');
      await bob.page.bringToFront();
      expect(await violations(bob.page)).toEqual([]);
      const saved = await Promise.all([
        bob.page.waitForEvent('download', { timeout: LONG_MS }),
        bob.get('file-1').getByTestId('get').click(),
      ]);
      const path = await saved[0].path();
      expect(saved[0].suggestedFilename()).not.toContain('/');
      expect(sha256(await readFile(path))).toBe(sha256(buffer));
      await bob.hears();
      await bob.untilText('file-1', 'Save again');

      await alice.get('file-2').getByTestId('withdraw').click();
      await bob.get('file-2').waitFor({ state: 'detached' });
      await alice.get('leave').click();
      await bob.get('file-1').waitFor({ state: 'detached' });
      expect([...alice.complaints, ...bob.complaints]).toEqual([]);
    },
    LONG_MS,
  );

  it(
    'goes on with a file where it was when the connection was lost',
    async () => {
      const alice = await visit('Alice');
      const bob = await visit('Bob');
      const buffer = randomBytes(40_000_000);
      const file = { name: 'film.mp4', mimeType: 'video/mp4', buffer };
      await alice.get('choose-files').setInputFiles(file);
      await bob.get('file-1').getByTestId('get').click();
      const share = async () => {
        const progress = bob.get('file-1').getByRole('progressbar');
        return Number(await progress.getAttribute('value'));
      };
      await bob.until(async () => (await share()) > 0.1);
      const saved = bob.page.waitForEvent('download', { timeout: LONG_MS });
      // So long that both begin new connections.
      await server.stall(10_000);
      expect(await share()).toBeGreaterThan(0.1);
      expect(sha256(await readFile(await (await saved).path()))).toBe(sha256(buffer));
      await bob.untilText('people', '2 people');
    },
    LONG_MS,
  );

  it(
    'goes on with a file where it was when the page was reloaded',
    async () => {
      const alice = await visit('Alice');
      const bob = await visit('Bob');
      const buffer = randomBytes(40_000_000);
      const file = { name: 'film.mp4', mimeType: 'video/mp4', buffer };
      await alice.get('choose-files').setInputFiles(file);
      await bob.get('file-1').getByTestId('get').click();
      const share = async () => {
        const progress = bob.get('file-1').getByRole('progressbar');
        return Number(await progress.getAttribute('value'));
      };
      await bob.until(async () => (await share()) > 0.3);
      const saved = bob.page.waitForEvent('download', { timeout: LONG_MS });
      await bob.page.reload();
      await bob.enter('Bob');
      // What was here is read while nothing comes.
      let isStalled = true;
      const stalled = server.stall(8_000).then(() => {
        isStalled = false;
      });
      await bob.until(async () => (await share()) > 0.25);
      expect(isStalled).toBe(true);
      await stalled;
      expect(sha256(await readFile(await (await saved).path()))).toBe(sha256(buffer));
    },
    LONG_MS,
  );

  it('takes other devices while one is in a room', async () => {
    const alice = await visit('Alice');
    const bob = await visit('Bob');
    await bob.get('devices').locator('summary').click();
    for (const device of ['microphone', 'loudspeaker', 'camera']) {
      const field = bob.get(`choose-${device}`);
      const options = field.locator('option');
      const last = (await options.last().getAttribute('value')) ?? '';
      await field.selectOption(last);
      await bob.until(async () => (await field.inputValue()) === last);
    }
    expect(await violations(bob.page)).toEqual([]);
    await alice.sees(2);
    await alice.hears();
    expect([...alice.complaints, ...bob.complaints]).toEqual([]);
  });

  it('says that there is no network, and is in the room again when there is one', async () => {
    const alice = await visit('Alice');
    await browser.context.setOffline(true);
    // The browser may be wrong: the room is heard.
    await alice.untilText('status', 'In the room');
    const stalled = server.stall(2_000);
    await alice.untilText('banner', 'This machine has no network.');
    await stalled;
    await browser.context.setOffline(false);
    await alice.untilText('status', 'In the room');
  });

  it('makes one person large, and shows a screen', async () => {
    const alice = await visit('Alice');
    const bob = await visit('Bob');
    await bob.sees(1);
    const width = async (view: RoomPage, member: number) =>
      (await view.get(`member-${member}`).boundingBox())?.width ?? 0;
    const inGrid = await width(bob, 1);
    await bob.get('view').click();
    await bob.until(async () => (await width(bob, 1)) > 1.5 * inGrid);
    await bob.get('view').click();
    await bob.until(async () => (await width(bob, 1)) === inGrid);
    await bob.get('pin-1').click();
    await bob.until(async () => (await width(bob, 1)) > 1.5 * inGrid);

    await alice.page.bringToFront();
    await alice.get('screen').click();
    await alice.untilText('screen', 'Stop showing');
    await bob.sees(1, 3);
    // A screen stands still: who comes sees it all the same.
    const eve = await visit('Eve');
    await eve.sees(1, 1);
    await alice.get('screen').click();
    await alice.untilText('screen', 'Show screen');
    await bob.sees(1);
    expect([...alice.complaints, ...bob.complaints, ...eve.complaints]).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('can be read and steered by all, %s', async (colours) => {
    const alice = await visit('Alice');
    await alice.page.emulateMedia({ colorScheme: colours });
    const lobby = await open();
    await lobby.get('enter').waitFor();
    expect(await violations(lobby.page)).toEqual([]);
    await lobby.enter('Bob');
    await lobby.sees(1, 5);
    await lobby.write('Hello');
    expect(await violations(lobby.page)).toEqual([]);
    for (const [width, height] of [
      [1_280, 720],
      [760, 900],
      [390, 844],
    ] as const) {
      await lobby.page.setViewportSize({ width, height });
      const overflow = () => document.documentElement.scrollWidth - window.innerWidth;
      expect(await lobby.page.evaluate(overflow), `${width} wide`).toBeLessThanOrEqual(0);
    }
  });

  it('goes on when a camera is switched off and on, and a microphone is muted', async () => {
    const alice = await visit('Alice');
    const bob = await visit('Bob');
    await bob.sees(1);
    await alice.page.bringToFront();
    await alice.get('camera').click();
    await bob.untilText('member-1', 'Camera off');
    await alice.get('camera').click();
    await bob.sees(1);
    await bob.hears();
    await alice.get('microphone').click();
    await bob.until(async () => (await bob.heard()).peak < LOUD / 10);
    await alice.get('microphone').click();
    await bob.hears();
  });

  it('says what was unplugged, and goes on with the rest', async () => {
    const alice = await visit('Alice');
    const bob = await visit('Bob');
    await bob.sees(1);
    await alice.page.bringToFront();
    await alice.page.evaluate(() => window.unplug('audio'));
    await alice.untilText('device-trouble', 'The microphone was unplugged. Plug it in again');
    expect(await violations(alice.page)).toEqual([]);
    await bob.sees(1);
    await bob.until(async () => (await bob.heard()).peak < LOUD / 10);
    await alice.get('microphone').click();
    await bob.hears();
    await alice.untilText('device-trouble', /^$/);
  });

  it('lets in who has no camera and no microphone, and says how to allow them', async () => {
    const strict = await openBrowser({ viewport: LAPTOP }, [FAKE_DEVICES, DENY]);
    try {
      const alice = new RoomPage(await strict.context.newPage());
      await alice.page.goto(link);
      await alice.untilText('device-trouble', 'The microphone may not be used. Allow it');
      await alice.untilText('device-trouble', 'The camera may not be used. Allow it');
      await alice.enter('Alice');
      const bob = await visit('Bob');
      await bob.untilText('member-1', 'No camera');
      await alice.sees(2);
      await alice.write('I have neither.');
      await bob.untilText('texts', 'I have neither.');
    } finally {
      await strict.close();
    }
  });

  it('has who reloads the page come back, and says in words whom it does not let in', async () => {
    const alice = await visit('Alice');
    const bob = await visit('Bob');
    await bob.sees(1);
    await alice.page.reload();
    await alice.enter('Alice');
    await alice.sees(2);
    const stranger = new RoomPage(await browser.context.newPage());
    await stranger.page.goto(link.replace(/#.*/, '#0123456789abcdef0123456789abcdef'));
    await stranger.get('name').fill('Mallory');
    await stranger.get('enter').click();
    await stranger.untilText('banner', 'This link opens no room here');
  });

  it('has all come back as the same members when nothing was heard for a while', async () => {
    const alice = await visit('Alice');
    const bob = await visit('Bob');
    await bob.sees(1);
    await server.stall(1_500);
    await bob.untilText('status', /Nothing heard|In the room/);
    for (const view of [alice, bob]) {
      await view.untilText('status', 'In the room');
      await view.untilText('people', '2 people');
    }
    await bob.sees(1);
    await bob.hears();
    await alice.sees(2);
  });
});

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

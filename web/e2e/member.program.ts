/** A room of the real program, which one enters by an agent over two paths, another by its page. */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { listenAtLoudspeaker } from './call/ear';
import { FAKE } from './call/visit';
import { violations } from './looks';
import { freePort } from './network';
import { executable, Program } from './program';
import { RoomPage } from './room/visit';
import { LAPTOP } from './visit';

/** Two addresses of this machine, each a path. */
const PATHS = '&path=127.0.0.1,127.0.0.2';
/** Pages that encode and decode pictures leave little of a busy machine for more. */
const LONG_MS = 150_000;
const OTHER_PATHS = '&path=127.0.0.3,127.0.0.4';
/** Two seconds of VP9 and Opus. */
const FILM = new URL('../../crates/media/tests/fixtures/vp9_opus.webm', import.meta.url).pathname;

describe('anabranch call in a room', () => {
  let browser: TestBrowser;
  let server: Program;
  let agent: Program;
  let link: string;
  let bob: RoomPage;

  beforeEach(async () => {
    browser = await openBrowser({ viewport: LAPTOP }, FAKE);
    await browser.context.addInitScript(listenAtLoudspeaker);
    const udp = `127.0.0.1:${await freePort()}`;
    server = new Program('meet', '--http', '127.0.0.1:0', '--udp', udp);
    const room = (await server.line(/^Room: http:\S+$/m)).slice('Room: '.length);
    const said = await server.line(/Room, by anabranch call: anabranch:\S+$/m);
    link = said.slice(said.indexOf('anabranch:')) + PATHS;
    agent = new Program('call', link);
    bob = await open(room);
  });
  afterEach(async () => {
    await browser.close();
    await agent.interrupt();
    expect(await server.interrupt()).toBe(0);
  });

  async function open(url: string): Promise<RoomPage> {
    const view = new RoomPage(await browser.context.newPage());
    await view.page.goto(url);
    return view;
  }

  it('has both hear and see each other, over two networks and then over one', async () => {
    const alice = await open(await agent.url());
    await alice.enter('Alice');
    await bob.enter('Bob');
    await alice.sees(2);
    await alice.hears();
    await bob.sees(1);
    await bob.hears();
    for (const path of ['path-0', 'path-1']) {
      await alice.untilText(path, 'Active');
    }
    expect(await violations(alice.page)).toEqual([]);
    expect(await bob.get('path-0').count()).toBe(0);

    await alice.page.bringToFront();
    await alice.get('path-0').getByTestId('leave').click();
    await alice.untilText('notices', 'was left as planned, nothing lost.');
    await alice.untilText('path-0', 'Closed');
    await alice.sees(2);
    await bob.sees(1);
    await bob.hears();
    await alice.write('Still here');
    await bob.untilText('texts', 'Still here');
    await alice.get('leave').first().click();
    await alice.untilText('banner', 'You left.');
    await bob.untilText('notices', 'Alice left.');
    expect([...alice.complaints, ...bob.complaints]).toEqual([]);
  });

  it(
    'has two programs talk past the room until somebody else comes',
    async () => {
      const other = new Program('call', link.replace(PATHS, OTHER_PATHS));
      const alice = await open(await agent.url());
      await alice.enter('Alice');
      const carol = await open(await other.url());
      await carol.enter('Carol');
      for (const view of [alice, carol]) {
        await view.untilText('listeners', 'Nobody else can listen');
        await view.untilText('path-0', 'through the room');
      }
      const notes = [alice, carol].map((view) => view.get('networks-note').textContent());
      const [ours, theirs] = await Promise.all(notes);
      expect(ours).toMatch(/reads this here, too: (\d{5} ){5}\d{5}\./);
      expect(ours).toBe(theirs);
      await alice.sees(2);
      await alice.hears();
      await carol.sees(1);
      await carol.hears();
      await alice.write('For you alone');
      await carol.untilText('texts', 'For you alone');
      await fetches(carol, 1, await offers(alice, 200_000));
      await alice.page.bringToFront();
      expect(await violations(alice.page)).toEqual([]);

      await bob.enter('Bob');
      expect(await bob.get('texts').textContent()).not.toContain('For you alone');
      for (const view of [alice, carol]) {
        await view.untilText('listeners', 'Who runs this room could listen.');
      }
      await bob.sees(1);
      await bob.hears();
      await alice.sees(2);
      await bob.page.bringToFront();
      await bob.get('leave').first().click();
      for (const view of [alice, carol]) {
        await view.untilText('listeners', 'Nobody else can listen');
      }
      await alice.sees(2);
      await carol.sees(1);
      expect([...alice.complaints, ...carol.complaints, ...bob.complaints]).toEqual([]);
      await other.interrupt();
    },
    LONG_MS,
  );

  it('is a member without a page, which is seen and heard, and records', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'anabranch-hall-'));
    const media = ['--camera', FILM, '--microphone', FILM, '--record', folder];
    const hall = new Program('call', '--no-page', '--name', 'Hall', ...media, link);
    await hall.line(/^In the room "Room"; nobody else is there yet\.$/m);
    await bob.enter('Bob');
    await hall.line(/^Bob came\.$/m);
    await bob.sees(1);
    await bob.until(async () => (await bob.heard()).peak > 0.05);
    await bob.write('Hello hall');
    await hall.line(/^Bob: Hello hall$/m);
    expect(await hall.interrupt()).toBe(0);
    await bob.untilText('notices', 'Hall left.');
    await expectRecorded(join(folder, '2-Bob'));
    expect(bob.complaints).toEqual([]);
  });

  it('records beside its page what another one says and shows', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'anabranch-beside-'));
    const other = new Program('call', '--record', folder, link.replace(PATHS, OTHER_PATHS));
    const alice = await open(await other.url());
    await bob.enter('Bob');
    await alice.enter('Alice');
    await alice.sees(1);
    await alice.hears();
    expect([...alice.complaints, ...bob.complaints]).toEqual([]);
    expect(await other.interrupt()).toBe(0);
    await expectRecorded(join(folder, '1-Bob'));
  });

  it('goes on where the program was held up, and lets a page in again', async () => {
    const alice = await open(await agent.url());
    await alice.enter('Alice');
    await bob.enter('Bob');
    await alice.sees(2);
    await agent.stall(2_000);
    await alice.sees(2);
    await bob.sees(1);

    const second = await open(await agent.url());
    await second.get('name').fill('Eve');
    await second.get('enter').click();
    await second.untilText('banner', 'The room is open in another tab or window');
    await second.page.close();

    await alice.page.reload();
    await bob.untilText('notices', 'Alice left.');
    await alice.enter('Alice');
    await alice.sees(2);
    await bob.sees(3);
  });

  it(
    'carries files of 20 MB both ways, behind what people say',
    async () => {
      const alice = await open(await agent.url());
      await alice.enter('Alice');
      await bob.enter('Bob');
      const sent = [await offers(alice, 20_000_000), await offers(bob, 20_000_000)];
      await Promise.all([bob, alice].map((view, at) => fetches(view, at + 1, sent[at])));
      await bob.hears();
      await alice.sees(2);
      expect([...alice.complaints, ...bob.complaints]).toEqual([]);
    },
    LONG_MS,
  );

  it('is told by the lobby of a browser', async () => {
    await bob.get('by-program').click();
    const field = bob.get('invite-link');
    await field.waitFor();
    expect(await field.inputValue()).toBe(`anabranch call '${link.slice(0, -PATHS.length)}'`);
    expect(await violations(bob.page)).toEqual([]);
    const alice = await open(await agent.url());
    await alice.get('name').waitFor();
    expect(await alice.get('by-program').count()).toBe(0);
  });

  it('says which link opens nothing, and that nobody answers', async () => {
    const other = new Program('call', link.replace(/token=\w+/, 'token=0123456789abcdef'));
    const eve = await open(await other.url());
    await eve.get('name').fill('Eve');
    await eve.get('enter').click();
    await eve.untilText('banner', 'This link opens no room here.');
    await other.line(/This link opens no room here/);
    expect(await other.interrupt()).toBe(0);

    const wary = new Program('call', link.replace(/key=[^&]+/, `key=${keyOfAnother()}`));
    const warned = await open(await wary.url());
    await warned.get('name').fill('Eve');
    await warned.get('enter').click();
    await wary.line(/is not the one that was expected/);
    expect(await wary.ended()).toBe(1);

    const nowhere = new Program('call', link.replace(/:\d+\?/, `:${await freePort()}?`));
    const lost = await open(await nowhere.url());
    await lost.get('name').fill('Eve');
    await lost.get('enter').click();
    await lost.untilText('banner', 'Nobody answers there');
    expect(await nowhere.interrupt()).toBe(0);
  });
});

/** Offers a file of so many bytes, which it returns. */
async function offers(view: RoomPage, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const file = { name: 'film.mp4', mimeType: 'video/mp4', buffer: randomBytes(bytes) };
  await view.get('choose-files').setInputFiles([file], { timeout: LONG_MS });
  return new Uint8Array(file.buffer);
}

/** Fetches a file of this number, which is to be like what was offered. */
async function fetches(
  view: RoomPage,
  number: number,
  offered: Uint8Array<ArrayBuffer> | undefined,
) {
  const file = view.get(`file-${number}`);
  await file.waitFor();
  const [download] = await Promise.all([
    view.page.waitForEvent('download', { timeout: LONG_MS }),
    file.getByTestId('get').click(),
  ]);
  const read = await readFile(await download.path());
  expect(read.equals(offered ?? new Uint8Array())).toBe(true);
}

/** Voice and pictures of more than a moment are in this folder. */
async function expectRecorded(folder: string) {
  const lines = (await readFile(join(folder, 'played.csv'), 'utf8')).split('\n');
  const count = (media: string) => lines.filter((line) => line.startsWith(`${media},`)).length;
  expect(count('picture')).toBeGreaterThan(9);
  expect(count('voice')).toBeGreaterThan(49);
}

/** A key that nobody here has. */
function keyOfAnother(): string {
  const XDG_STATE_HOME = mkdtempSync(join(tmpdir(), 'anabranch-key-'));
  const env = { ...process.env, XDG_STATE_HOME };
  return execFileSync(executable(), ['key'], { env, encoding: 'utf8' }).trim();
}

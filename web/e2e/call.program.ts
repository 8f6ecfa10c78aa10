/** Two people in one Chromium with invented devices, each with an agent: everything real. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { listenAtLoudspeaker } from './call/ear';
import { CallPage, FAKE } from './call/visit';
import { freePort } from './network';
import { Program } from './program';
import { LAPTOP } from './visit';

/** Of the microphone that the browser invents, as near as the ear of the test tells. */
const BEEP_HZ = [330, 470] as const;
const LOUD = 0.1;

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

  it('tells a second tab that the call is in the first one', async () => {
    const second = await open(agents.alice);
    await second.untilText('banner', 'The call is open in another tab');
    await hearsAndSees(alice);
  });
});

/** Two pages in a call, through agents that are made up. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type CallView, CallVisit } from './call/visit';
import { untilPainted, violations, watchForShifts } from './looks';
import { LAPTOP, PHONE } from './visit';

/** Of the microphone that the browser invents, as near as the ear of the test tells. */
const BEEP_HZ = [330, 470] as const;
const SILENCE = 0.01;

describe('a call', () => {
  let visit: CallVisit;
  let alice: CallView;
  let bob: CallView;
  beforeAll(async () => {
    visit = await CallVisit.start();
    ({ alice, bob } = visit);
    await visit.call();
    await visit.look(alice);
  });
  afterAll(() => visit.end());

  it('is heard and seen', async () => {
    await alice.morePictures(20);
    await hearsBeeps(alice);
    expect((await alice.brightness()).spread).toBeGreaterThan(5);
    await alice.untilText('their-name', 'Bob');
    await alice.untilText('listeners', 'Nobody can listen');
    await alice.untilText('call-time', /^\d+:\d\d$/);
    await alice.untilText('quality-why', 'Sound and picture are whole.');
    await alice.until(async () => (await level(alice, 'level-them')) > 0);
    await alice.until(async () => (await level(alice, 'level-us')) > 0);
    expect(alice.complaints).toEqual([]);
  });

  it('is sent in layers, with times of one clock', () => {
    const [first, ...pictures] = bob.sent('video');
    expect(first).toMatchObject({ role: 'key', frame: 0 });
    expect(new Set(pictures.map(({ role }) => role))).toEqual(new Set(['reference', 'disposable']));
    const voice = bob.sent('audio');
    expect(voice.map(({ frame }) => frame)).toEqual(voice.map((_, index) => index));
    const apart = (pictures.at(-1)?.ptsUs ?? 0) - (voice.at(-1)?.ptsUs ?? 1e9);
    expect(Math.abs(apart)).toBeLessThan(500_000);
  });

  it('goes on without pictures that nobody needs', async () => {
    alice.agent.lose = ({ role }) => role === 'disposable';
    await alice.morePictures(20);
    const { decode_errors } = await alice.request('page_stats');
    expect(decode_errors).toBe(0);
  });

  it('asks for a key picture when it lost another, and gets one', async () => {
    let isLost = false;
    alice.agent.lose = ({ role }) => {
      const isFirst = role === 'reference' && !isLost;
      isLost ||= isFirst;
      return isFirst;
    };
    await bob.sends('video', 'key');
    await alice.morePictures(10);
  });

  it('conceals voice that is lost', async () => {
    alice.agent.lose = ({ role, frame }) => role === 'voice' && frame % 10 === 0;
    const before = (await alice.request('page_stats')).concealed;
    await alice.request('page_stats', ({ concealed }) => concealed > before + 3);
    await hearsBeeps(alice);
    alice.agent.lose = () => false;
  });

  it('keeps the pitch when the playout comes to be later', async () => {
    alice.agent.laterUs = 60_000;
    await hearsBeeps(alice);
    alice.agent.laterUs = 0;
    await hearsBeeps(alice);
  });

  it('is silent while the other end is muted, and says so', async () => {
    await bob.get('microphone').click();
    await bob.devices('muted', 'on');
    await alice.untilText('their-name', 'Bob, muted');
    await alice.until(async () => (await alice.heard()).peak < SILENCE);
    const sent = bob.sent('audio').length;
    await alice.morePictures(5);
    expect(bob.sent('audio').length).toBe(sent);
    await bob.page.keyboard.press('m');
    await bob.sends('audio', 'voice', 10);
    expect(bob.sent('audio')[sent]?.frame).toBe(sent);
    await hearsBeeps(alice);
  });

  it('shows that the camera is off, and the picture again when it is on', async () => {
    await bob.get('camera').click();
    await bob.devices('on', 'muted');
    await alice.untilText('banner', 'Bob switched the camera off.');
    const sent = bob.sent('video').length;
    await bob.page.waitForTimeout(500);
    expect(bob.sent('video').length).toBe(sent);
    await bob.sends('video', 'key', 1, () => bob.get('camera').click());
    await alice.morePictures(10);
    await alice.get('banner').waitFor({ state: 'detached' });
  });

  it('carries what both write, and says where nobody reads it', async () => {
    await bob.write('Hello');
    await alice.untilText('texts', 'Hello');
    await alice.until(async () => (await alice.page.title()).startsWith('(1) '));
    bob.agent.takes = { text: false, files: false };
    bob.agent.call(alice.agent);
    await alice.untilText('no-texts', 'Bob gets no texts: their program is older');
    expect(await alice.get('write').isDisabled()).toBe(true);
    bob.agent.takes = { text: true, files: true };
    bob.agent.call(alice.agent);
    await alice.get('no-texts').waitFor({ state: 'detached' });
  });

  it('follows the rate at once, without key pictures, with smaller ones at low rates', async () => {
    await bob.sends('video', 'reference', 5);
    const keys = bob.sent('video').filter(({ role }) => role === 'key').length;
    bob.agent.setEncode({ video_bps: 400_000, voice_bps: 32_000, why: 'Less.' });
    await bob.sends('video', 'reference', 10);
    bob.agent.setEncode({ video_bps: 60_000, voice_bps: 16_000, why: 'Little.' });
    await bob.request('sending', ({ video }) => video?.height === 180);
    await bob.sends('video', 'reference', 25);
    const pictures = bob.sent('video').slice(-25);
    const bytes = pictures.reduce((sum, picture) => sum + picture.bytes, 0);
    const spanUs = (pictures.at(-1)?.ptsUs ?? 0) - (pictures[0]?.ptsUs ?? 0);
    expect((bytes * 8e6) / spanUs).toBeLessThan(90_000);
    expect(bob.sent('video').filter(({ role }) => role === 'key').length).toBe(keys);
    await alice.morePictures(5);
    bob.agent.say({ type: 'key_wanted' });
    await bob.sends('video', 'key');
    bob.agent.setEncode({ video_bps: 850_000, voice_bps: 32_000, why: 'More.' });
  });

  it('sends no picture where none is taken', async () => {
    bob.agent.setEncode({ video_bps: 0, voice_bps: 32_000, why: 'None is shown.' });
    await bob.sends('audio', 'voice', 25);
    const sent = bob.sent('video').length;
    await bob.sends('audio', 'voice', 25);
    expect(bob.sent('video').length).toBe(sent);
    bob.agent.setEncode({ video_bps: 850_000, voice_bps: 32_000, why: 'All is shown.' });
    await alice.morePictures(5);
  });

  it('changes devices while it runs', async () => {
    for (const device of ['microphone', 'loudspeaker', 'camera'] as const) {
      const field = bob.get(`choose-${device}`);
      const ids = await field
        .locator('option')
        .evaluateAll((options) => options.map((option) => (option as HTMLOptionElement).value));
      await field.selectOption(ids.at(-1) ?? '');
      await bob.until(async () => (await field.inputValue()) === ids.at(-1));
    }
    await bob.sends('audio', 'voice', 10);
    await bob.sends('video', 'reference', 3);
    await hearsBeeps(alice);
    expect(await bob.get('notices').locator('p').count()).toBe(0);
  });

  it('says what was unplugged, and goes on with the rest', async () => {
    await bob.page.evaluate(() => window.unplug('audio'));
    await bob.untilText('device-trouble', 'The microphone was unplugged.');
    await bob.devices('none', 'on');
    await alice.untilText('their-name', 'Bob, no microphone');
    await alice.morePictures(5);
    await bob.get('microphone').click();
    await bob.devices('on', 'on');
    await hearsBeeps(alice);
  });

  it('steers networks', async () => {
    await alice.page.locator('[data-testid=path-1] [data-testid=use-spare]').check({ force: true });
    expect(await alice.request('path_use')).toEqual({ type: 'path_use', path: 1, use: 'spare' });
    await alice.get('primary', alice.path(0)).click();
    expect(await alice.request('primary')).toEqual({ type: 'primary', path: 0 });
    await alice.get('voice-twice').click();
    await alice.until(async () => !(await alice.get('voice-twice').isChecked()));
    expect(await alice.request('voice_twice')).toEqual({ type: 'voice_twice', on: false });
    await alice.get('leave', alice.path(0)).click();
    await alice.request('leave');
    expect(await alice.request('leave')).toEqual({ type: 'leave', path: 0 });
    await alice.untilText('events', 'Left wlan0; nothing was lost');
    await alice.until(async () => (await alice.path(0).getAttribute('data-state')) === 'closed');
    expect(await alice.get('leave', alice.path(1)).isDisabled()).toBe(true);
    alice.agent.say({ type: 'error', request: 'leave', text: 'No other path stands.' });
    await alice.untilText('notices', 'No other path stands.');
  });

  it('is open in one tab, and moves to another when that one is closed', async () => {
    const second = await visit.open(alice.agent);
    await second.untilText('banner', 'The call is open in another tab');
    await alice.page.close();
    await visit.look(second);
    // Its program may learn of the closed tab a moment later, and refuses this one until then.
    await second.until(async () => {
      const reopen = second.get('reopen');
      if (await reopen.isVisible()) {
        await reopen.click();
      }
      return (await second.get('status').innerText()).includes('In a call');
    });
    await second.morePictures(5);
    await hearsBeeps(second);
    visit.alice = second;
    alice = second;
  });

  it('goes on after the page was loaded anew', async () => {
    await alice.sends('video', 'key', 1, async () => {
      await alice.page.reload();
      await alice.untilText('status', 'In a call');
    });
    await alice.sends('audio', 'voice', 10);
    await alice.morePictures(5);
    await hearsBeeps(alice);
    await hearsBeeps(bob);
  });

  it('says that there is no network, and goes on', async () => {
    alice.agent.setNetwork(false);
    await alice.untilText('banner', 'Nothing heard for 3 s');
    await alice.untilText('status', 'No network');
    alice.agent.setNetwork(true);
    await alice.untilText('status', 'In a call');
    await alice.morePictures(5);
  });

  it('waits for its program, and goes on with it', async () => {
    alice.agent.dropPage();
    await alice.untilText('banner', /program on this machine does not answer.*Trying again in 1 s/);
    await alice.untilText('status', 'In a call');
    await alice.morePictures(5);
  });

  it('ends by a click, for both', async () => {
    await alice.get('hang-up').click();
    await alice.untilText('banner', 'You hung up.');
    await bob.untilText('banner', 'Alice hung up.');
    expect(await alice.get('hang-up').isDisabled()).toBe(true);
    const sent = alice.agent.units.length;
    await alice.page.waitForTimeout(500);
    expect(alice.agent.units.length).toBe(sent);
    alice.agent.bye();
    await alice.untilText('banner', 'You hung up. The program has ended.');
    expect(alice.complaints.filter((text) => !text.includes('WebSocket'))).toEqual([]);
  });
});

describe('before a call', () => {
  let visit: CallVisit;
  afterEach(() => visit.end());

  it('one sees oneself, and can send what to call', async () => {
    visit = await CallVisit.start({ permissions: ['clipboard-read', 'clipboard-write'] });
    const { alice, bob } = visit;
    await alice.devices('on', 'on');
    await visit.look(alice);
    await alice.untilText('banner', 'Waiting for a call on port 9000.');
    await alice.until(async () => (await level(alice, 'level-us')) > 0);
    await alice.get('copy').click();
    await alice.untilText('copied', 'Copied.');
    const copied = await alice.page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toMatch(/^anabranch call 'anabranch:\/\/192.0.2.5:9000\?key=.*'$/);
    expect(await alice.get('hang-up').isDisabled()).toBe(true);
    expect(alice.agent.units).toEqual([]);
    expect(await alice.request('sending', ({ video }) => video !== null)).toMatchObject({
      video: { codec: 'vp09.00.31.08', format: 'vp9' },
    });
    await bob.untilText('banner', 'Calling 192.0.2.5:9000.');
    expect(await bob.get('hang-up').isEnabled()).toBe(true);
    expect(await bob.get('invite-link').count()).toBe(0);
  });

  it('says how to allow what the browser was told to refuse', async () => {
    visit = await CallVisit.start({}, ['--use-fake-device-for-media-stream', DENY]);
    await visit.alice.untilText('device-trouble', 'The microphone may not be used. Allow it');
    await visit.alice.untilText('device-trouble', 'The camera may not be used. Allow it');
    await visit.alice.devices('none', 'none');
    const { text } = await visit.alice.request('devices');
    expect(text).toContain('may not be used');
    visit.bob.agent.call(visit.alice.agent);
    await visit.alice.untilText('status', 'In a call');
    await visit.bob.untilText('banner', 'Alice has no camera.');
  });

  it('regression_no_picture_was_sent_where_the_processor_of_tracks_brought_none', async () => {
    visit = await CallVisit.start();
    const { alice } = visit;
    await alice.page.addInitScript(silenceProcessor);
    await alice.page.reload();
    await visit.look(alice);
    await alice.devices('on', 'on');
    await alice.sends('video', 'reference', 5, () => visit.call());
  });

  it('regression_a_page_behind_another_sent_two_pictures_a_second_of_a_player', async () => {
    visit = await CallVisit.start();
    const { alice, bob } = visit;
    await alice.page.addInitScript(silenceProcessor);
    await alice.page.reload();
    await visit.look(bob);
    await alice.devices('on', 'on');
    await alice.sends('video', 'reference', 40, () => visit.call());
  });

  it('says that there is no camera, and talks', async () => {
    visit = await CallVisit.start({}, [...NO_CAMERA]);
    const { alice, bob } = visit;
    await alice.untilText('device-trouble', 'No camera was found. Plug one in');
    await alice.devices('on', 'none');
    bob.agent.call(alice.agent);
    await bob.untilText('banner', 'Alice has no camera.');
    await visit.look(bob);
    await hearsBeeps(bob);
  });
});

describe('the page of a call looks', () => {
  let visit: CallVisit;
  afterEach(() => visit.end());

  it.each(['dark', 'light'] as const)(
    'whole and readable for everyone at every width, %s',
    async (colorScheme) => {
      visit = await CallVisit.start({ colorScheme });
      const { alice } = visit;
      await visit.look(alice);
      await alice.devices('on', 'on');
      await isWhole(alice, `before the call, ${colorScheme}`);
      await visit.call();
      await alice.morePictures(3);
      await isWhole(alice, `in the call, ${colorScheme}`);
      alice.agent.setNetwork(false);
      await alice.untilText('status', 'No network');
      expect(await violations(alice.page)).toEqual([]);
      await alice.page.keyboard.press('?');
      expect(await violations(alice.page)).toEqual([]);
    },
  );

  it('complete on a laptop: pictures, buttons, networks and log without scrolling', async () => {
    visit = await CallVisit.start();
    const { alice } = visit;
    await visit.call();
    for (const testId of ['video', 'hang-up', 'path-0', 'path-1', 'quality', 'events']) {
      const box = await alice.get(testId).boundingBox();
      expect(box, testId).not.toBeNull();
      expect((box?.y ?? 0) + (box?.height ?? 0), testId).toBeLessThanOrEqual(LAPTOP.height);
    }
  });

  it('calm, and is used by the keyboard alone', async () => {
    visit = await CallVisit.start();
    const { alice, bob } = visit;
    await visit.call();
    await visit.look(alice);
    await alice.morePictures(3);
    await alice.page.keyboard.press('m');
    await alice.devices('muted', 'on');
    await alice.page.keyboard.press('v');
    await alice.devices('muted', 'muted');
    await alice.page.keyboard.press('v');
    await alice.devices('muted', 'on');
    await alice.get('use-use', alice.path(1)).focus();
    await alice.page.keyboard.press('ArrowRight');
    expect(await alice.request('path_use')).toEqual({ type: 'path_use', path: 1, use: 'spare' });
    await alice.page.evaluate(untilPainted);
    await alice.page.evaluate(watchForShifts);
    await alice.morePictures(20);
    const moved = await alice.page.evaluate(() => Object(window).moved as readonly string[]);
    expect(moved).toEqual([]);
    await alice.get('hang-up').focus();
    await alice.page.keyboard.press('Enter');
    await bob.untilText('banner', 'Alice hung up.');
  });
});

async function isWhole(view: CallView, when: string): Promise<void> {
  for (const width of [320, PHONE.width, 600, 768, 1024, LAPTOP.width, 2560]) {
    await view.page.setViewportSize({ width, height: 844 });
    await view.page.waitForTimeout(100);
    const inner = await view.page.evaluate(() => document.documentElement.scrollWidth);
    expect(inner, `at ${width}, ${when}`).toBeLessThanOrEqual(width);
    expect(await violations(view.page), `at ${width}, ${when}`).toEqual([]);
  }
}

const DENY = '--deny-permission-prompts';
const NO_CAMERA = [
  '--use-fake-device-for-media-stream=device-count=0',
  '--use-fake-ui-for-media-stream',
];

/** As Chromium's processor is at times: it takes the track, and brings no picture. */
function silenceProcessor(): void {
  const silent = class {
    readonly readable = new ReadableStream<VideoFrame>();
  };
  Object.assign(window, { MediaStreamTrackProcessor: silent });
}

async function hearsBeeps(view: CallView): Promise<void> {
  const [low, high] = BEEP_HZ;
  await view.until(async () => {
    const { peak, hz } = await view.heard();
    return peak > 10 * SILENCE && hz > low && hz < high;
  });
}

async function level(view: CallView, testId: string): Promise<number> {
  return Number(await view.get(testId).getAttribute('data-level'));
}

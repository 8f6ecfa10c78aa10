/** The television page: plays, zaps, warns, comes back; against a studio in the same browser. */

import { afterEach, describe, expect, it } from 'vitest';
import { violations, watchForShifts } from './looks';
import { TelevisionVisit } from './television/visit';
import { LAPTOP, PHONE } from './visit';

describe('the television page', () => {
  let visit: TelevisionVisit;
  afterEach(() => visit.end());

  it('plays the first channel: pictures advance, are not black, and sound is in step', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.morePictures(25);
    const { mean, spread } = await visit.brightness();
    expect(mean).toBeGreaterThan(20);
    expect(spread).toBeGreaterThan(10);
    await visit.page.keyboard.press('i');
    await visit.until(async () => Math.abs(await visit.figure('skew')) < 80);
    expect(visit.complaints).toEqual([]);
  });

  it('zaps through all channels, forth and back, and tells how long each took', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    for (const [key, number] of ZAPS) {
      await visit.zap(key, number);
      expect(await visit.zapMs(), key).toBeGreaterThan(0);
      await visit.morePictures(3);
    }
    expect(visit.complaints).toEqual([]);
  });

  it('says what is off air and what a browser cannot play, and goes on from there', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.page.keyboard.press('4');
    await visit.untilText('banner', 'City camera is off air: its source does not answer.');
    await visit.page.keyboard.press('5');
    await visit.untilText('banner', 'Old encoder cannot be played in a browser: its picture is');
    expect(await visit.get('banner').locator('a').getAttribute('href')).toBe('/ch/5.ts');
    await visit.zap('2', 2);
    expect(await visit.get('banner').count()).toBe(0);
  });

  it('shows a source that is lost as off air, and its return', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.server.studio.evaluate(() => window.studio.air(101, false));
    await visit.untilText('banner', 'Big Buck Bunny is off air');
    await visit.untilText('channel-1', 'Off air');
    await visit.server.studio.evaluate(() => window.studio.air(101, true));
    await visit.get('channel-1').click();
    await visit.untilPlays(1);
  });

  it('says why a channel is not there any more, and shows another one', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    const take = (id: number) => window.studio.take(id, 'the permission has ended');
    await visit.server.studio.evaluate(take, 101);
    const words = 'Big Buck Bunny is not among your channels any more: the permission has ended.';
    await visit.untilText('banner', words);
    await visit.get('channel-1').waitFor({ state: 'detached' });
    await visit.zap('2', 2);
    expect(await visit.get('banner').count()).toBe(0);
  });

  it('leaves picture and name alone when digits name no channel', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.page.keyboard.press('9');
    await visit.untilText('notices', 'There is no channel 9.');
    await visit.untilText('now-playing', 'Big Buck Bunny');
    await visit.morePictures(10);
    expect(await visit.state()).toBe('playing');
    expect(await visit.get('banner').count()).toBe(0);
  });

  it('begins with the channel of its address, and goes back and forth in the history', async () => {
    visit = await TelevisionVisit.start('?channel=3');
    await visit.untilPlays(3);
    await visit.zap('2', 2);
    expect(new URL(visit.page.url()).search).toBe('?channel=2');
    await visit.page.waitForTimeout(1_600);
    await visit.zap('1', 1);
    await visit.zap('ArrowDown', 2);
    await visit.page.goBack();
    await visit.untilPlays(2);
    await visit.page.goBack();
    await visit.untilPlays(3);
    await visit.page.goForward();
    await visit.untilPlays(2);
    await visit.page.reload();
    await visit.untilPlays(2);
    expect(visit.complaints).toEqual([]);
  });

  it('says so when its address names no channel, and shows none in its place', async () => {
    visit = await TelevisionVisit.start('?channel=77');
    await visit.untilText('banner', 'There is no channel 77.');
    expect(await visit.shown()).toBe(0);
    await visit.zap('2', 2);
    expect(await visit.get('banner').count()).toBe(0);
  });

  it('plays as soon as a server that it came before has channels', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.server.studio.evaluate(() => window.studio.open(false));
    await visit.page.reload();
    await visit.untilText('banner', 'This server has no channels yet.');
    await visit.server.studio.evaluate(() => window.studio.open(true));
    await visit.untilPlays(1);
    await visit.morePictures(3);
  });

  it('shows urgent messages over the picture, and acknowledges them', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.server.studio.evaluate(() => {
      window.studio.say(1, { type: 'urgent', id: 7, level: 'alarm', text: 'Leave the house.' });
      window.studio.say(1, { type: 'urgent', id: 8, level: 'notice', text: 'A pause at noon.' });
    });
    await visit.untilText('urgent-7', 'Leave the house.');
    await visit.untilText('urgent-8', 'A pause at noon.');
    await visit.until(async () => (await visit.server.seen()).join() === '7,8');
    await visit.server.studio.evaluate(() => window.studio.say(1, { type: 'over', id: 7 }));
    await visit.get('urgent-7').waitFor({ state: 'detached' });
    await visit.get('urgent-8').getByRole('button').click();
    await visit.get('urgent-8').waitFor({ state: 'detached' });
  });

  it('comes back by itself after the server was started again, to the same channel', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.zap('3', 3);
    await visit.server.close();
    await visit.untilText('banner', /Trying again in \d s\./);
    await visit.untilText('status', 'No connection');
    await visit.server.open();
    await visit.untilText('status', 'Live');
    await visit.untilPlays(3);
    await visit.morePictures(10);
  });

  it('tells the words of a server that refuses', async () => {
    visit = await TelevisionVisit.start('', {}, { status: 503, text: 'all 500 places are taken' });
    await visit.untilText('banner', 'The server refuses: all 500 places are taken.');
  });

  it('finds channels by words of their names and programmes', async () => {
    visit = await TelevisionVisit.start();
    await visit.get('channel-1').waitFor();
    await visit.page.keyboard.press('/');
    await visit.page.keyboard.type('rivers');
    await visit.get('channel-1').waitFor({ state: 'detached' });
    expect(await visit.get('channel-12').count()).toBe(1);
    await visit.page.keyboard.press('Escape');
    await visit.get('channel-1').waitFor();
  });

  it('watches what was found at the press of Enter, or of arrows and Enter', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.page.keyboard.press('/');
    await visit.page.keyboard.type('rivers');
    expect(await visit.get('channel-12').getAttribute('data-marked')).toBe('true');
    await visit.zap('Enter', 12);
    expect(await visit.get('search').inputValue()).toBe('');
    await visit.page.keyboard.press('/');
    await visit.page.keyboard.press('ArrowDown');
    await visit.page.keyboard.press('ArrowDown');
    expect(await violations(visit.page)).toEqual([]);
    const second = await visit.get('guide').getByRole('button').nth(1).getAttribute('data-testid');
    expect(await visit.get(second ?? '').getAttribute('data-marked')).toBe('true');
    await visit.zap('Enter', Number(second?.replace('channel-', '')));
    await visit.zap('3', 3);
  });

  it('tells its keys in a dialog, while which they change nothing', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.page.keyboard.press('?');
    const help = visit.get('help-dialog');
    await help.getByText('the one before, the next one').waitFor();
    expect(await violations(visit.page)).toEqual([]);
    await visit.page.keyboard.press('2');
    await visit.page.keyboard.press('Escape');
    await help.waitFor({ state: 'hidden' });
    expect(await visit.get('channel-1').getAttribute('aria-current')).toBe('true');
    await visit.get('help').click();
    await help.getByRole('button', { name: 'Close' }).click();
    await help.waitFor({ state: 'hidden' });
  });

  it('is a bare player at /embed/N', async () => {
    visit = await TelevisionVisit.start('embed/2');
    await visit.until(async () => (await visit.state()) === 'playing');
    await visit.morePictures(10);
    expect(await visit.get('guide').count()).toBe(0);
    await visit.untilText('now-playing', 'Test card');
    for (const key of ['3', 'ArrowDown', 'Backspace', '/']) {
      await visit.page.keyboard.press(key);
    }
    await visit.morePictures(10);
    await visit.untilText('now-playing', 'Test card');
    expect(visit.complaints).toEqual([]);
  });

  it('says at /embed/N that there is no N, and shows nothing else', async () => {
    visit = await TelevisionVisit.start('embed/77');
    await visit.untilText('banner', 'There is no channel 77.');
    await visit.page.keyboard.press('2');
    await visit.page.waitForTimeout(500);
    await visit.untilText('banner', 'There is no channel 77.');
    expect(await visit.shown()).toBe(0);
  });

  it('plays where the browser hands no data channels to workers', async () => {
    visit = await TelevisionVisit.start();
    await visit.page.addInitScript(keepChannels);
    await visit.page.reload();
    await visit.untilPlays(1);
    await visit.zap('2', 2);
    await visit.morePictures(10);
  });

  it('tells the server what the viewer experiences', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.until(async () => {
      const heard = await visit.server.studio.evaluate(() => window.studio.heard());
      const report = heard.findLast(({ type }) => type === 'report') as { shown?: number };
      return (report?.shown ?? 0) > 25;
    });
    await visit.get('latency').selectOption('1000');
    await visit.until(async () => {
      const heard = await visit.server.studio.evaluate(() => window.studio.heard());
      return heard.some(({ type }) => type === 'latency');
    });
  });

  it('says how late it is while that is more than was chosen, and comes back', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.page.keyboard.press('i');
    await visit.until(async () => (await visit.figure('behind')) > 270);
    await visit.page.evaluate(watchForShifts);
    await visit.get('latency').selectOption('150');
    await visit.untilText('behind-now', / now$/);
    await visit.get('behind-now').waitFor({ state: 'detached' });
    expect(await visit.page.evaluate(() => Object(window).moved)).toEqual([]);
  });
});

describe('the television page looks', () => {
  let visit: TelevisionVisit;
  afterEach(() => visit.end());

  it('calm: nothing moves while the channel changes', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.page.evaluate(watchForShifts);
    await visit.zap('2', 2);
    await visit.morePictures(10);
    await visit.zap('3', 3);
    await visit.morePictures(10);
    expect(await visit.page.evaluate(() => Object(window).moved)).toEqual([]);
  });

  it('whole at every width: nothing overflows', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    for (const width of [320, PHONE.width, 600, 768, 1024, LAPTOP.width, 2560]) {
      await visit.page.setViewportSize({ width, height: 844 });
      await visit.page.waitForTimeout(100);
      const inner = await visit.page.evaluate(() => document.documentElement.scrollWidth);
      expect(inner, `at ${width}`).toBeLessThanOrEqual(width);
    }
  });

  it('readable for everyone: no violation of WCAG 2.2 A and AA', async () => {
    visit = await TelevisionVisit.start();
    await visit.untilPlays(1);
    await visit.page.keyboard.press('i');
    await visit.server.studio.evaluate(() =>
      window.studio.say(1, { type: 'urgent', id: 7, level: 'alarm', text: 'Leave the house.' }),
    );
    await visit.get('urgent-7').waitFor();
    expect(await violations(visit.page)).toEqual([]);
    await visit.zap('2', 2);
    await visit.page.keyboard.press('5');
    await visit.untilText('banner', 'cannot be played');
    expect(await violations(visit.page)).toEqual([]);
  });
});

/** Makes workers refuse data channels, as older browsers do. */
function keepChannels(): void {
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (this: Worker, message: unknown, transfer?: unknown) {
    if (Array.isArray(transfer) && transfer.some((item) => item instanceof RTCDataChannel)) {
      throw new DOMException('no data channels here', 'DataCloneError');
    }
    post.call(this, message, transfer as StructuredSerializeOptions);
  };
}

const ZAPS: readonly (readonly [key: string, number: number])[] = [
  ['2', 2],
  ['3', 3],
  ['Backspace', 2],
  ['ArrowUp', 1],
  ['PageDown', 12],
  ['ArrowDown', 1],
  ['2', 2],
];

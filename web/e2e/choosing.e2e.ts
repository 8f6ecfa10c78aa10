import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { violations } from './looks';
import { PHONE, Visit } from './visit';

describe('a page with channels to choose from', () => {
  let visit: Visit;
  beforeEach(async () => {
    visit = await Visit.start({ asReceiver: true, asViewer: true });
    await visit.morePictures(5);
  });
  afterEach(() => visit.end());

  async function watches(number: number): Promise<void> {
    const card = visit.get(`channel-${number}`);
    await visit.until(async () => (await card.getAttribute('aria-current')) === 'true');
  }

  it('lists them by groups with what is on, and what keeps one from being watched', async () => {
    expect(await visit.get('guide').getByRole('heading').allTextContents()).toEqual([
      'Public',
      'Private',
    ]);
    expect(await visit.get('channel-1').textContent()).toBe('1 NewsWeatherthen The day');
    expect(await visit.get('channel-3').textContent()).toBe('3 GardenOff air');
    expect(await visit.get('channel-20').textContent()).toContain('its video is MPEG-2');
    await watches(1);
  });

  it('takes a click, numbers, arrows and the way back, and shows the pictures', async () => {
    await visit.get('channel-2').click();
    await watches(2);
    await visit.morePictures(5);
    await visit.page.keyboard.press('1');
    await visit.untilText('typing', '1');
    await visit.page.keyboard.press('2');
    await watches(12);
    await visit.page.keyboard.press('Backspace');
    await watches(2);
    await visit.page.keyboard.press('ArrowUp');
    await watches(1);
    await visit.page.keyboard.press('PageUp');
    await watches(2);
    await visit.morePictures(5);
    const chosen = visit.server.requests.flatMap((it) => (it.type === 'choose' ? it.number : []));
    expect(chosen).toEqual([2, 12, 2, 1, 2]);
    expect(visit.complaints).toEqual([]);
  });

  it('finds one by its words', async () => {
    await visit.page.keyboard.press('/');
    await visit.page.keyboard.type('cycl');
    await visit.until(async () => (await visit.get('guide').getByRole('button').count()) === 1);
    await visit.get('channel-2').click();
    await watches(2);
    await visit.get('search').press('Escape');
    await visit.until(async () => (await visit.get('guide').getByRole('button').count()) === 5);
  });

  it('says what is off air, cannot be shown, or does not exist', async () => {
    await visit.page.keyboard.press('3');
    await visit.untilText('banner', 'Garden is off air: Its source ended. It goes on when it is');
    await visit.untilText('status', 'Off air');
    await visit.get('channel-20').click();
    await visit.untilText('banner', 'Old Films cannot be played in a browser: its video is MPEG-2');
    await visit.page.keyboard.press('7');
    await visit.untilText(
      'notices',
      '7 is not a channel of this server; there are 1 News, 2 Sport',
    );
    await visit.page.keyboard.press('2');
    await visit.untilText('status', 'Playing');
  });

  it('shows what is urgent, says that it was seen, and takes it back when it is over', async () => {
    const urgent = { type: 'urgent', id: 3, level: 'alarm', text: 'Leave the house.' };
    visit.server.broadcast(urgent);
    await visit.untilText('urgent-3', 'Leave the house.');
    await visit.request('seen', ({ id }) => id === 3);
    visit.server.broadcast({ type: 'over', id: 3 });
    await visit.get('urgent-3').waitFor({ state: 'detached' });
    visit.server.broadcast({ ...urgent, id: 4 });
    await visit.get('urgent-4').getByRole('button').click();
    await visit.get('urgent-4').waitFor({ state: 'detached' });
  });

  it('is readable for everyone, and whole at every width', async () => {
    visit.server.broadcast({ type: 'urgent', id: 3, level: 'notice', text: 'A short break.' });
    await visit.untilText('urgent-3', 'A short break.');
    expect(await violations(visit.page)).toEqual([]);
    await visit.page.keyboard.press('t');
    expect(await violations(visit.page)).toEqual([]);
    for (const width of [320, PHONE.width, 768, 1366]) {
      await visit.page.setViewportSize({ width, height: 844 });
      await visit.page.waitForTimeout(100);
      const inner = await visit.page.evaluate(() => document.documentElement.scrollWidth);
      expect(inner, `at ${width}`).toBeLessThanOrEqual(width);
    }
  });

  it('explains its keys', async () => {
    await visit.page.keyboard.press('?');
    const keys = await visit.page.locator('dialog kbd').allTextContents();
    expect(keys).toEqual(['0 … 9', '↑ ↓', '⌫', '/', 'Esc', 'M', 'S', 'F', 'T', '?']);
  });
});

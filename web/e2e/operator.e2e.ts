/** The operator's page with more viewers than a test can have. */

import { afterEach, describe, expect, it } from 'vitest';
import { untilPainted, violations, watchForShifts } from './looks';
import { ControlRoom } from './operator/control-room';
import { LAPTOP, PHONE } from './visit';

/** A frame that takes longer is one that people notice. */
const LONG_TASKS_MS = 3_000;

describe("the operator's page", () => {
  let room: ControlRoom;
  afterEach(() => room.end());

  it('shows 500 viewers, calm and in the order that was asked for', async () => {
    room = await ControlRoom.start(500);
    await room.untilText('viewer-count', '500');
    expect(await room.get('viewer').count()).toBe(500);
    await room.get('sort-zaps').click();
    const firstOf = () => room.get('viewer').first().locator('[data-column=zaps]').textContent();
    expect(await firstOf()).toMatch(/^39/);
    await room.get('sort-zaps').click();
    expect(await firstOf()).toMatch(/^0/);
    // The new order moves rows, once.
    await room.page.evaluate(untilPainted);
    await room.page.evaluate(watchForShifts);
    await room.page.waitForTimeout(LONG_TASKS_MS);
    expect(await room.page.evaluate(() => Object(window).moved)).toEqual([]);
    await room.get('search').fill('198.51.101.17:');
    await room.until(async () => (await room.get('viewer').count()) === 2);
  });

  it('is used by the keyboard alone', async () => {
    room = await ControlRoom.start(3);
    await room.get('sort-kbps').focus();
    await room.page.keyboard.press('Enter');
    expect(await room.get('sort-kbps').locator('..').getAttribute('aria-sort')).toBe('descending');
    await room.get('add').focus();
    await room.page.keyboard.press('Enter');
    await room.get('add-name').waitFor();
    await room.page.keyboard.press('Escape');
    await room.get('add-name').waitFor({ state: 'hidden' });
    const focused = await room.page.evaluate(() =>
      document.activeElement?.getAttribute('data-testid'),
    );
    expect(focused).toBe('add');
  });

  it('is whole and readable for everyone at every width, dark and light', async () => {
    for (const colorScheme of ['dark', 'light'] as const) {
      room = await ControlRoom.start(20, { colorScheme });
      for (const width of [320, PHONE.width, 600, 768, 1024, LAPTOP.width, 2560]) {
        await room.page.setViewportSize({ width, height: 844 });
        await room.page.waitForTimeout(100);
        const inner = await room.page.evaluate(() => document.documentElement.scrollWidth);
        expect(inner, `at ${width}`).toBeLessThanOrEqual(width);
        expect(await violations(room.page), `at ${width}`).toEqual([]);
      }
      if (colorScheme === 'dark') {
        await room.end();
      }
    }
  });
});

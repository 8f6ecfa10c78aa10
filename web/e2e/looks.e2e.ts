import axe, { type AxeResults } from 'axe-core';
import { afterEach, describe, expect, it } from 'vitest';
import { LAPTOP, PHONE, Visit } from './visit';

describe('the page looks', () => {
  let visit: Visit;
  afterEach(() => visit.end());

  it('calm: but for the log nothing moves while it plays and a path is cut', async () => {
    visit = await Visit.start();
    await visit.morePictures(10);
    await visit.page.evaluate(watchForShifts);
    await visit.get('cut', visit.path(1)).click();
    await visit.untilText('events', 'wifi failed.');
    await visit.get('cut', visit.path(1)).click();
    await visit.untilText('events', 'wifi is back.');
    const moved = await visit.page.evaluate(() => Object(window).moved as readonly string[]);
    expect(moved).toEqual([]);
  });

  it('complete on a laptop: video, paths and events without scrolling', async () => {
    visit = await Visit.start({}, { viewport: LAPTOP });
    await visit.morePictures(3);
    for (const testId of ['video', 'path-1', 'path-2', 'events', 'sound']) {
      const box = await visit.get(testId).boundingBox();
      expect(box, testId).not.toBeNull();
      expect((box?.y ?? 0) + (box?.height ?? 0), testId).toBeLessThanOrEqual(LAPTOP.height);
    }
  });

  it('whole at every width: nothing overflows', async () => {
    visit = await Visit.start();
    await visit.get('path-2').waitFor();
    for (const width of [320, PHONE.width, 600, 768, 1024, LAPTOP.width, 2560]) {
      await visit.page.setViewportSize({ width, height: 844 });
      await visit.page.waitForTimeout(100);
      const inner = await visit.page.evaluate(() => document.documentElement.scrollWidth);
      expect(inner, `at ${width}`).toBeLessThanOrEqual(width);
    }
  });

  it('as the system says: light, dark, without motion', async () => {
    visit = await Visit.start({}, { colorScheme: 'light', reducedMotion: 'reduce' });
    await visit.morePictures(3);
    expect(await visit.page.locator('html').getAttribute('data-theme')).toBe('light');
    const moving = await visit.page.evaluate(() => document.getAnimations().length);
    expect(moving).toBe(0);
  });

  it('readable for everyone, dark and light: no violation of WCAG 2.2 A and AA', async () => {
    visit = await Visit.start();
    await visit.morePictures(3);
    await visit.get('cut', visit.path(1)).click();
    await visit.untilText('events', 'wifi failed.');
    expect(await violations(visit)).toEqual([]);
    await visit.page.keyboard.press('t');
    expect(await violations(visit)).toEqual([]);
    await visit.page.keyboard.press('?');
    expect(await violations(visit)).toEqual([]);
  });
});

/** The rules that axe finds broken, each with the elements that break it. */
async function violations({ page }: Visit): Promise<readonly string[]> {
  // By evaluation, because the page's content policy forbids to add a script.
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const found = await Object(window).axe.run({ runOnly: tags });
    return (found as AxeResults).violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html }) => `${id}: ${html.slice(0, 120)}`),
    );
  });
}

/** Notes in `window.moved` whatever changes its place by itself. */
function watchForShifts(): void {
  interface LayoutShift extends PerformanceEntry {
    readonly sources: readonly {
      readonly node: Node | null;
      readonly previousRect: DOMRectReadOnly;
      readonly currentRect: DOMRectReadOnly;
    }[];
  }
  const moved: string[] = [];
  Object.assign(window, { moved });
  new PerformanceObserver((list) => {
    const sources = list.getEntries().flatMap((entry) => (entry as LayoutShift).sources);
    for (const { node, previousRect: from, currentRect: to } of sources) {
      const element = node instanceof Element ? node : (node?.parentElement ?? null);
      // A pixel is what a number in another font may take; new lines push the log down.
      const far = Math.abs(to.x - from.x) + Math.abs(to.y - from.y) > 1;
      if (far && element?.closest('[data-testid=events]') === null) {
        moved.push(`${element.outerHTML.slice(0, 80)}: ${from.x},${from.y} to ${to.x},${to.y}`);
      }
    }
  }).observe({ type: 'layout-shift' });
}

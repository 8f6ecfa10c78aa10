/** What can be measured of how a page looks. */

import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** The rules that axe finds broken, each with the elements that break it. */
export async function violations(page: Page): Promise<readonly string[]> {
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

/** Runs in the page: waits until what was changed by now is on the screen. */
export function untilPainted(): Promise<void> {
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())));
}

/** Notes in `window.moved` whatever changes its place by itself. */
export function watchForShifts(): void {
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
      // Of a table's cell that is laid out anew, Chromium at times gives the corner instead of the
      // text that stands in it, where nobody sees anything move.
      const isCorner = Math.abs((element?.getBoundingClientRect().x ?? to.x) - to.x) > 1;
      if (far && !isCorner && element?.closest('[data-testid=events]') === null) {
        moved.push(`${element.outerHTML.slice(0, 80)}: ${from.x},${from.y} to ${to.x},${to.y}`);
      }
    }
  }).observe({ type: 'layout-shift' });
}

import { afterEach, describe, expect, it } from 'vitest';
import { violations, watchForShifts } from './looks';
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
    for (const testId of ['video', 'treatments', 'path-1', 'path-2', 'events', 'sound']) {
      const box = await visit.get(testId).boundingBox();
      expect(box, testId).not.toBeNull();
      expect((box?.y ?? 0) + (box?.height ?? 0), testId).toBeLessThanOrEqual(LAPTOP.height);
    }
  });

  it('with figures that leave most of the picture free, and treatments beside it', async () => {
    visit = await Visit.start();
    await visit.morePictures(3);
    const box = async (testId: string) => {
      const found = await visit.get(testId).boundingBox();
      return found ?? { x: 0, y: 0, width: 0, height: 0 };
    };
    for (const width of [768, 1090, LAPTOP.width, 1920]) {
      await visit.page.setViewportSize({ width, height: 768 });
      await visit.page.waitForTimeout(100);
      const [picture, figures] = [await box('video'), await box('overlay')];
      const covered = (figures.width * figures.height) / (picture.width * picture.height);
      expect(covered, `at ${width}`).toBeLessThan(0.3);
    }
    const [picture, treatments] = [await box('video'), await box('treatments')];
    expect(treatments.y).toBeLessThan(picture.y + 10);
    expect(treatments.x).toBeGreaterThan(picture.x + picture.width);
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
    expect(await violations(visit.page)).toEqual([]);
    await visit.page.keyboard.press('t');
    expect(await violations(visit.page)).toEqual([]);
    await visit.page.keyboard.press('?');
    expect(await violations(visit.page)).toEqual([]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Visit } from './visit';

describe('one steers', () => {
  let visit: Visit;
  beforeAll(async () => {
    visit = await Visit.start();
    await visit.morePictures(5);
  });
  afterAll(() => visit.end());

  it('a path by cutting it: its event and state show, and the pictures go on', async () => {
    const wifi = visit.path(1);
    await visit.get('cut', wifi).click();
    const { path, cut, rate_kbps } = await visit.request('set_link');
    expect({ path, cut, rate_kbps }).toEqual({ path: 1, cut: true, rate_kbps: 20_000 });
    await visit.untilText('latest-event', /wifi may have failed|primary path is now mobile/);
    await visit.until(async () => (await wifi.getAttribute('data-state')) === 'inactive');
    expect(await visit.get('path-primary', visit.path(2)).textContent()).toBe('Primary');
    await visit.morePictures(20);
    expect(await visit.get('cut', wifi).textContent()).toBe('Mend');

    await visit.get('cut', wifi).click();
    await visit.until(async () => (await wifi.getAttribute('data-state')) === 'active');
    await visit.untilText('events', 'wifi is back.');
  });

  it('a link by its sliders, with the keyboard', async () => {
    const slider = visit.get('link-delay', visit.path(2));
    await slider.focus();
    expect(await slider.getAttribute('aria-valuetext')).toBe('30 ms');
    await visit.page.keyboard.press('ArrowRight');
    const { delay_ms, cut } = await visit.request('set_link', (it) => it.path === 2);
    expect(delay_ms).toBeGreaterThan(30);
    expect(cut).toBe(false);
    await visit.until(
      async () => (await slider.getAttribute('aria-valuetext')) === `${delay_ms} ms`,
    );
  });

  it('a slider at full speed, with at most ten requests a second', async () => {
    const slider = visit.get('link-rate', visit.path(1));
    await slider.focus();
    const before = visit.server.requests.length;
    const startMs = performance.now();
    for (let press = 0; press < 30; press++) {
      await visit.page.keyboard.press('ArrowLeft');
    }
    const settled = await slider.getAttribute('aria-valuetext');
    await visit.request('set_link', ({ rate_kbps: kbps }) =>
      [`${kbps / 1000} Mbit/s`, `${kbps} kbit/s`].includes(settled ?? ''),
    );
    const sent = visit.server.requests.slice(before).filter(({ type }) => type === 'set_link');
    expect(sent.length).toBeLessThanOrEqual(2 + (performance.now() - startMs) / 100);
  });

  it('the treatment of a class, and whole presets', async () => {
    const row = visit.get('treatment-video_enhancement');
    await row.getByLabel('reliability').selectOption('max_retransmissions');
    const { reliability } = await visit.request('set_treatment');
    expect(reliability).toEqual({ max_retransmissions: 1 });
    await visit.untilText('preset', 'Your own mix');

    await row.getByLabel('retransmit at most').fill('3');
    await row.getByLabel('retransmit at most').press('Enter');
    await visit.request(
      'set_treatment',
      (it) => JSON.stringify(it.reliability) === '{"max_retransmissions":3}',
    );
    await row.getByLabel('preferred path').selectOption('mobile');
    await visit.request('set_treatment', (it) => it.path === 2);
    await row.getByLabel('ordered').check();
    await visit.request('set_treatment', (it) => it.ordered);

    await visit.get('preset-live').click();
    expect((await visit.request('preset')).preset).toBe('live');
    await visit.untilText('preset', 'dropped at once');
  });

  it('the latency, within its range only', async () => {
    const field = visit.get('latency');
    await field.fill('1');
    await field.press('Enter');
    expect(await field.inputValue()).toBe('200');
    await field.fill('320');
    await field.press('Enter');
    expect((await visit.request('set_latency')).latency_ms).toBe(320);
  });

  it('with single keys', async () => {
    await visit.get('latency').blur();
    await visit.page.keyboard.press('2');
    await visit.request('set_link', (it) => it.path === 2 && it.cut);
    await visit.page.keyboard.press('s');
    expect(await visit.get('overlay').count()).toBe(0);
    await visit.page.keyboard.press('s');
    await visit.get('overlay').waitFor();
    const before = await visit.page.locator('html').getAttribute('data-theme');
    await visit.page.keyboard.press('t');
    expect(await visit.page.locator('html').getAttribute('data-theme')).not.toBe(before);
    await visit.page.keyboard.press('f');
    await visit.until(() => visit.page.evaluate(() => document.fullscreenElement !== null));
    await visit.page.keyboard.press('f');
    await visit.until(() => visit.page.evaluate(() => document.fullscreenElement === null));
    await visit.page.keyboard.press('?');
    await visit.page.getByRole('dialog', { name: 'Help' }).waitFor();
    await visit.page.keyboard.press('Escape');
    await visit.page.getByRole('dialog').waitFor({ state: 'hidden' });
  });

  it('and every control with the Tab key, each with a visible ring', async () => {
    const page = visit.page;
    const wanted = await page
      .locator('button:enabled:visible, input:enabled:visible, select:enabled:visible, a:visible')
      .count();
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    const reached = new Set<string>();
    for (let press = 0; press < wanted + 5; press++) {
      await page.keyboard.press('Tab');
      const focus = await page.evaluate(() => {
        const element = document.activeElement as HTMLElement;
        element.dataset.seen ??= String(Math.random());
        const controls = element.matches('button, input, select, a');
        const ring = Number.parseFloat(getComputedStyle(element).outlineWidth);
        return { id: element.dataset.seen, controls, ring, tag: element.outerHTML.slice(0, 80) };
      });
      if (focus.controls) {
        expect(focus.ring, focus.tag).toBeGreaterThanOrEqual(2);
        reached.add(focus.id);
      }
    }
    expect(reached.size).toBe(wanted);
  });
});

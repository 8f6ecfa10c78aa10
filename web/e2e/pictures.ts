/**
 * `npm run pictures FOLDER [URL]`: the page on a laptop and a phone, dark and light, as PNG files;
 * of a program that runs at URL, or of the mock server.
 */

import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { readClip } from '../mock/clip';
import { defaultClip } from '../mock/default-clip';
import { MockServer } from '../mock/server';
import { openBrowser } from './browser';

const LAPTOP = { width: 1366, height: 768 };
const PHONE = { width: 390, height: 844 };
const LOOKS = [
  { name: 'laptop-dark', viewport: LAPTOP, colorScheme: 'dark' },
  { name: 'laptop-light', viewport: LAPTOP, colorScheme: 'light' },
  { name: 'phone-dark', viewport: PHONE, colorScheme: 'dark' },
  { name: 'phone-light', viewport: PHONE, colorScheme: 'light' },
  { name: 'wide-dark', viewport: { width: 1920, height: 1080 }, colorScheme: 'dark' },
] as const;

const [folder = '.', url] = process.argv.slice(2);
for (const { name, ...look } of LOOKS) {
  const server = url === undefined ? await MockServer.start(readClip(defaultClip())) : null;
  const { context, close } = await openBrowser(look);
  const page = await context.newPage();
  await page.goto(url ?? server?.url ?? '');
  await play(page);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.screenshot({ path: join(folder, `${name}-all.png`), fullPage: true });
  await page.keyboard.press('1');
  await close();
  await server?.stop();
}
process.exit(0);

/** Lets something happen that the graphs can show: a cut that is mended, and one that lasts. */
async function play(page: Page): Promise<void> {
  await page.waitForTimeout(9_000);
  await page.keyboard.press('2');
  await page.waitForTimeout(3_000);
  await page.keyboard.press('2');
  await page.waitForTimeout(9_000);
  await page.keyboard.press('1');
  await page.waitForTimeout(6_000);
}

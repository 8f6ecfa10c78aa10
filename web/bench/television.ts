/**
 * `npm run bench:television`: how long Chromium takes from opening the television page to its first
 * picture, and from a key to the first picture of another channel. Chromium, `anabranch serve` and,
 * where a link is asked for, `anabranch emulate` run on this machine: stop other programs first.
 */

import { openBrowser } from '../e2e/browser';
import { TelevisionView } from '../e2e/television/view';
import { HELP, type Options, readOptions } from './options';
import { Stage } from './stage';

const OPEN_MAX_MS = 10_000;
/** A viewer who sees nothing for so long calls it broken. */
const ZAP_MAX_MS = 4_000;
const REST_MS = [400, 1_900] as const;
const POLL_MS = 20;
const SETTLE_MS = 5_000;
const PICTURES_PER_SECOND = 25;

const options = readOptions(process.argv.slice(2));
if (options === null) {
  process.stdout.write(HELP);
} else {
  await measure(options);
}
process.exit(0);

async function measure(options: Options): Promise<void> {
  const stage = await Stage.build(options);
  try {
    await stage.ready();
    if (options.loads > 0) {
      tell('page opened to first picture', await measureLoads(stage, options), options.loads);
    }
    if (options.zaps > 0) {
      tell('key pressed to first new picture', await measureZaps(stage, options), options.zaps);
    }
    if (options.watch > 0) {
      say(await watched(stage, options));
    }
  } finally {
    await stage.strike();
  }
}

/** Each in a new tab of a browser that is warm, as most are. */
async function measureLoads(stage: Stage, { loads, verbose }: Options): Promise<number[]> {
  const { context, close } = await openBrowser();
  const took: number[] = [];
  for (let load = 0; load < loads; load++) {
    const view = new TelevisionView(await context.newPage());
    await view.page.goto(stage.url);
    if (await within(view, OPEN_MAX_MS, async () => (await view.state()) === 'playing')) {
      took.push(await view.openedMs());
    }
    if (verbose) {
      say(`  load ${load + 1}: ${took.at(-1)?.toFixed(0)} ms; ${await marks(view)}`);
    }
    await view.page.close();
  }
  await close();
  return took;
}

/** One viewer, who watches each channel for a while. */
async function measureZaps(stage: Stage, { zaps, verbose }: Options): Promise<number[]> {
  const { context, close } = await openBrowser();
  const view = new TelevisionView(await context.newPage());
  await view.page.goto(stage.url);
  await view.untilPlays(1);
  const took: number[] = [];
  for (let zap = 0; zap < zaps; zap++) {
    const [least, most] = REST_MS;
    await view.page.waitForTimeout(least + Math.random() * (most - least));
    await view.page.keyboard.press('ArrowDown');
    if (await within(view, ZAP_MAX_MS, async () => (await view.state()) === 'playing')) {
      took.push(await view.zapMs());
    }
    if (verbose) {
      say(`  zap ${zap + 1}: ${took.at(-1)?.toFixed(0)} ms`);
    }
  }
  await close();
  return took;
}

/** What one viewer sees of a channel, from five seconds after it was there. */
async function watched(stage: Stage, { watch, verbose }: Options): Promise<string> {
  const { context, close } = await openBrowser();
  const view = new TelevisionView(await context.newPage());
  await view.page.goto(stage.url);
  await view.untilPlays(1);
  await view.page.waitForTimeout(SETTLE_MS);
  const [began, before] = [performance.now(), await view.shown()];
  let [shown, sinceMs, longestMs] = [before, began, 0];
  while (performance.now() < began + watch * 1000) {
    await view.page.waitForTimeout(POLL_MS);
    const now = await view.shown();
    if (now > shown) {
      longestMs = Math.max(longestMs, performance.now() - sinceMs);
      if (verbose && performance.now() - sinceMs > 1_500) {
        say(`  at ${((performance.now() - began) / 1000).toFixed(1)} s: ${now - before} pictures`);
      }
      [shown, sinceMs] = [now, performance.now()];
    }
  }
  const all = ((performance.now() - began) / 1000) * PICTURES_PER_SECOND;
  await close();
  const share = ((100 * (shown - before)) / all).toFixed(1);
  return (
    `watched for ${watch} s: ${share} % of the pictures seen, the longest time between two ` +
    `counts that differ ${(longestMs / 1000).toFixed(1)} s (the page counts four times a second)`
  );
}

async function within(
  view: TelevisionView,
  patienceMs: number,
  reached: () => Promise<boolean>,
): Promise<boolean> {
  const giveUpMs = performance.now() + patienceMs;
  while (!(await reached())) {
    if (performance.now() > giveUpMs) {
      return false;
    }
    await view.page.waitForTimeout(POLL_MS);
  }
  return true;
}

/** When the page had come how far, in milliseconds since it was opened. */
function marks(view: TelevisionView): Promise<string> {
  return view.page.evaluate(() =>
    performance
      .getEntriesByType('mark')
      .map(({ name, startTime }) => `${name} ${startTime.toFixed(0)}`)
      .join(', '),
  );
}

function tell(what: string, took: readonly number[], times: number): void {
  const sorted = [...took].sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1]?.toFixed(0) ?? '–';
  const failed = times - took.length;
  say(
    `${what}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms; ` +
      `${times} times, ${failed} failed`,
  );
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/**
 * How long a picture stands still when a browser's network changes: in a room of anabranch, entered
 * by the browser or by an agent beside it, and in plain WebRTC calls with ICE restarts. Alice's
 * browser is in a network namespace with two links, of which one goes down as the other comes up;
 * Bob's, who looks, is outside.
 *
 * Needs root and `ip`: npm run bench:handover -- [CUTS] [PART OF A NAME]
 */

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { openBrowser, type TestBrowser } from '../e2e/browser';
import { FAKE } from '../e2e/call/visit';
import { executable, Program, Running } from '../e2e/program';
import { beginPlainCall } from './handover/plain-call';
import { watchPicture } from './handover/stillness';

const NAMESPACE = 'anabranch-handover';
/** Where both links lead. */
const SERVER = '10.77.0.1';
const PORT = 18_080;
const LINKS = [
  { outside: 'abr-a0', inside: 'abr-a1', subnet: '10.77.1' },
  { outside: 'abr-b0', inside: 'abr-b1', subnet: '10.77.2' },
] as const;
const SETTLE_MS = 6_000;
/** After a cut; a call that is still by then counts as so long. */
const WATCH_MS = 20_000;

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

function inside(...args: readonly string[]): void {
  ip('-n', NAMESPACE, ...args);
}

function quietly(act: () => void): void {
  try {
    act();
  } catch {
    // It is not there.
  }
}

function tearDown(): void {
  quietly(() => ip('netns', 'del', NAMESPACE));
  quietly(() => ip('addr', 'del', `${SERVER}/32`, 'dev', 'lo'));
  for (const { outside } of LINKS) {
    quietly(() => ip('link', 'del', outside));
  }
}

function setUp(): void {
  tearDown();
  ip('netns', 'add', NAMESPACE);
  ip('addr', 'add', `${SERVER}/32`, 'dev', 'lo');
  inside('link', 'set', 'lo', 'up');
  for (const { outside, inside: name, subnet } of LINKS) {
    ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', name, 'netns', NAMESPACE);
    ip('addr', 'add', `${subnet}.1/24`, 'dev', outside);
    ip('link', 'set', outside, 'up');
  }
  up(0);
}

/** Its address and its route come and go with a link, as those of a phone do. */
function up(link: number): void {
  const { inside: name, subnet } = LINKS[link as 0 | 1];
  inside('link', 'set', name, 'up');
  inside('addr', 'replace', `${subnet}.2/24`, 'dev', name);
  inside('route', 'replace', 'default', 'via', `${subnet}.1`, 'dev', name);
}

function change(to: number): void {
  const { inside: name } = LINKS[(1 - to) as 0 | 1];
  inside('addr', 'flush', 'dev', name);
  inside('link', 'set', name, 'down');
  up(to);
}

/** Something that runs a program inside the namespace. */
function wrapper(program: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'anabranch-handover-')), 'program');
  writeFileSync(path, `#!/bin/sh\nexec ip netns exec ${NAMESPACE} ${program} "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}

const FLAGS = [...FAKE, `--unsafely-treat-insecure-origin-as-secure=http://${SERVER}:${PORT}`];

async function browsers(): Promise<readonly [alice: TestBrowser, bob: TestBrowser]> {
  const viewport = { width: 1_280, height: 720 };
  const executablePath = wrapper(process.env.CHROMIUM ?? '/usr/bin/chromium');
  const alice = await openBrowser({ viewport, executablePath }, FLAGS);
  return [alice, await openBrowser({ viewport }, FLAGS)];
}

/** Changes Alice's network over and over; the longest stillness of her picture after each. */
async function cuts(bob: Page, selector: string, count: number): Promise<number[]> {
  const longest: number[] = [];
  for (let cut = 0; cut < count; cut++) {
    await bob.waitForTimeout(SETTLE_MS);
    const watched = bob.evaluate(watchPicture, { selector, forMs: WATCH_MS });
    await bob.waitForTimeout(500);
    change((cut + 1) % 2);
    const ms = await watched;
    say(`  ${Math.round(ms)} ms`);
    longest.push(ms);
  }
  // Back to the first link.
  if (count % 2 === 1) {
    change(0);
  }
  return longest.sort((one, other) => one - other);
}

/** Alice's agent, which has every network that her machine has. */
async function startAgent(server: Program): Promise<Running> {
  const said = await server.line(/Room, by anabranch call: anabranch:\S+$/m);
  const link = said.slice(said.indexOf('anabranch:'));
  return new Running(
    spawn(wrapper(executable()), ['call', link], { stdio: ['ignore', 'pipe', 'pipe'] }),
  );
}

async function inRoom(count: number, byAgent: boolean): Promise<number[]> {
  const server = new Program(
    'meet',
    ...['--http', `${SERVER}:${PORT}`, '--udp', `${SERVER}:19000`],
  );
  const link = (await server.line(/^Room: http:\S+$/m)).slice('Room: '.length);
  const agent = byAgent ? await startAgent(server) : null;
  const both = await browsers();
  try {
    const pages: Page[] = [];
    for (const [index, { context }] of both.entries()) {
      const page = await context.newPage();
      await page.goto(index === 0 && agent !== null ? await agent.url() : link);
      await page.getByTestId('name').fill(['Alice', 'Bob'][index] ?? '');
      await page.getByTestId('enter').click();
      await page.getByText('In the room').waitFor();
      pages.push(page);
    }
    const [, bob] = pages as [Page, Page];
    return await cuts(bob, '[data-testid=member-1] canvas', count);
  } finally {
    await Promise.all(both.map((browser) => browser.close()));
    await agent?.interrupt();
    await server.interrupt();
  }
}

async function inPlainCall(count: number, whenOnline: boolean): Promise<number[]> {
  // Any page of the address that counts as secure.
  const server = new Program(
    'meet',
    ...['--http', `${SERVER}:${PORT}`, '--udp', `${SERVER}:19000`],
  );
  const link = (await server.line(/^Room: http:\S+$/m)).slice('Room: '.length);
  const both = await browsers();
  try {
    const [alice, bob] = await Promise.all(both.map(({ context }) => context.newPage()));
    if (alice === undefined || bob === undefined) {
      throw new Error('two browsers have two pages');
    }
    await Promise.all([alice, bob].map((page) => page.goto(link)));
    await beginPlainCall(alice, bob, { whenOnline, withVoice: false });
    return await cuts(bob, 'video.theirs', count);
  } finally {
    await Promise.all(both.map((browser) => browser.close()));
    await server.interrupt();
  }
}

function told(name: string, sorted: readonly number[]): string {
  const at = (share: number) => Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
  return `${name}: stillness p50 ${at(0.5)} ms, worst ${at(1)} ms, ${sorted.length} changes`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const count = Number(process.argv[2] ?? 6);
const only = process.argv[3] ?? '';
setUp();
try {
  const results: string[] = [];
  for (const { name, measure } of [
    { name: 'room', measure: () => inRoom(count, false) },
    { name: 'room, by anabranch call', measure: () => inRoom(count, true) },
    { name: 'plain call, restarted when disconnected', measure: () => inPlainCall(count, false) },
    { name: 'plain call, restarted when online, too', measure: () => inPlainCall(count, true) },
  ].filter(({ name }) => name.includes(only))) {
    say(name);
    results.push(told(name, await measure()));
  }
  results.forEach(say);
} finally {
  tearDown();
}
process.exit(0);

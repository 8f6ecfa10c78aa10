import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Visit } from './visit';

describe('in trouble', () => {
  let visit: Visit;
  beforeEach(async () => {
    visit = await Visit.start();
    await visit.morePictures(3);
  });
  afterEach(() => visit.end());

  it('the page tells what it could not read, once, and plays on', async () => {
    for (const text of ['{"type": ', '{"type":"stats"}', '{"type":"stats","now_us":"late"}']) {
      visit.server.broadcast(text);
    }
    await visit.untilText('notices', 'The program sent something unreadable');
    expect(await visit.get('notices').locator('p').count()).toBe(1);
    visit.server.broadcast({ type: 'weather', sky: 'clear' });
    await visit.morePictures(10);
    expect(visit.complaints).toEqual([]);
  });

  it('a refusal of the program is shown in its words', async () => {
    visit.server.broadcast({
      type: 'error',
      request: 'set_link',
      text: 'Path 7 does not exist; there are paths 1 and 2.',
    });
    await visit.untilText('notices', 'Path 7 does not exist; there are paths 1 and 2.');
    await visit.page.getByRole('button', { name: 'Dismiss' }).click();
    expect(await visit.get('notices').locator('p').count()).toBe(0);
  });

  it('a lost program is tried again, with a count-down, and found', async () => {
    visit.server.dropPages();
    await visit.untilText('banner', /The program does not answer.*Trying again in 1 s/);
    await visit.untilText('status', 'Playing');
    await visit.morePictures(10);
  });

  it('a lost peer is waited for, with a count-down', async () => {
    visit.server.broadcast({
      type: 'reconnecting',
      in_s: 2,
      why: 'The sender has not answered for 5 s.',
    });
    await visit.untilText('banner', 'The sender has not answered for 5 s. Trying again in 2 s.');
    await visit.untilText('banner', 'Trying now.');
    visit.server.world.event(
      visit.server.nowMs,
      'good',
      'peer_connected',
      null,
      'The sender is back.',
    );
    await visit.get('banner').waitFor({ state: 'detached' });
  });

  it('the end of the stream is told, and nothing is tried again', async () => {
    visit.server.broadcast({ type: 'ended', text: 'The sender ended the stream.' });
    await visit.untilText('banner', 'The sender ended the stream.');
    await visit.page.waitForTimeout(1_500);
    await visit.untilText('status', 'Ended');
  });

  it('a program that speaks another version is not guessed at', async () => {
    visit.server.broadcast({ ...visit.server.hello(), protocol: 2 });
    await visit.untilText('banner', 'The program speaks version 2 of the page protocol');
  });
});

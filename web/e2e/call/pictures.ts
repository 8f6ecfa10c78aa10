/**
 * `npm run pictures:call FOLDER`: the page of a call on a laptop and a phone, in each of its
 * states, as PNG files.
 */

import { join } from 'node:path';
import { LAPTOP, PHONE } from '../visit';
import { CallVisit } from './visit';

const [folder = '.'] = process.argv.slice(2);
const LOOKS = [
  { name: 'laptop', viewport: LAPTOP, colorScheme: 'dark' },
  { name: 'laptop-light', viewport: LAPTOP, colorScheme: 'light' },
  { name: 'phone', viewport: PHONE, colorScheme: 'dark' },
] as const;

for (const { name, ...look } of LOOKS) {
  const visit = await CallVisit.start(look);
  const { alice, bob } = visit;
  const shoot = async (state: string) => {
    await alice.page.waitForTimeout(1_000);
    await alice.page.screenshot({ path: join(folder, `${name}-${state}.png`) });
  };
  await visit.look(alice);
  await alice.devices('on', 'on');
  await shoot('preview');
  await alice.page.screenshot({ path: join(folder, `${name}-preview-all.png`), fullPage: true });
  await visit.call();
  await alice.morePictures(20);
  alice.agent.event(
    'warning',
    'path_failed',
    'wwan0 lost; went on over wlan0 after 63 ms, nothing lost.',
    1,
  );
  await bob.write('Can you see my screen?');
  await alice.write('Yes, and read it.');
  const file = { file: 1, member: 1, name: 'Minutes of the meeting.pdf', size: 2_000_000 };
  alice.agent.say({ type: 'file', ...file, sha256: '0'.repeat(64) });
  await shoot('call');
  await alice.page.screenshot({ path: join(folder, `${name}-call-all.png`), fullPage: true });
  await bob.get('camera').click();
  await bob.get('microphone').click();
  await alice.get('microphone').click();
  await shoot('muted');
  alice.agent.setNetwork(false);
  await shoot('no_path');
  alice.agent.setNetwork(true);
  await bob.get('hang-up').click();
  await shoot('ended');
  await visit.end();
}
process.exit(0);

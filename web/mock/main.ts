/**
 * `npm run mock [CLIP [PORT]]`: the page without the program, for work on its looks; and `npm run
 * mock call [PORT]`, two pages in a call with one another.
 */

import { MockAgent } from './call';
import { readClip } from './clip';
import { defaultClip } from './default-clip';
import { MockServer } from './server';

const [what = defaultClip(), port = '8080'] = process.argv.slice(2);
if (what === 'call') {
  const listener = await MockAgent.start('Alice', 'anabranch://192.0.2.5:9000?key=x', Number(port));
  const caller = await MockAgent.start('Bob', null, Number(port) + 1);
  caller.call(listener);
  process.stdout.write(`${listener.url}\n${caller.url}\n`);
} else {
  const server = await MockServer.start(readClip(what), { port: Number(port) });
  process.stdout.write(`${server.url}\n`);
}

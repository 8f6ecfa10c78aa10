/** `npm run mock [CLIP [PORT]]`: the page without the program, for work on its looks. */

import { readClip } from './clip';
import { defaultClip } from './default-clip';
import { MockServer } from './server';

const [clip = defaultClip(), port = '8080'] = process.argv.slice(2);
const server = await MockServer.start(readClip(clip), { port: Number(port) });
process.stdout.write(`${server.url}\n`);

/**
 * Every command of the README, as a reader would run it: up to a moving picture where there is a
 * page. A command without a recipe here fails the first test.
 */

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openBrowser, type TestBrowser } from './browser';
import { CallPage, FAKE } from './call/visit';
import { freePort, reachable } from './network';
import { PageView } from './page-view';
import { executable, type Running, ShellCommand } from './program';
import { commandsOf } from './readme';
import { RoomPage } from './room/visit';
import { TelevisionView } from './television/view';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** For what starts two servers, with a program and two pages each. */
const LONG_MS = 150_000;
/** VP9 and Opus. */
const FILM = join(ROOT, 'crates/media/tests/fixtures/vp9_opus.webm');
const COMMANDS = commandsOf(readFileSync(join(ROOT, 'README.md'), 'utf8'));

/** What stands for something else here, each of which the command must have. */
type Changes = readonly (readonly [written: string, here: string])[];

const RECEIVE = "anabranch recv 'anabranch://:9000?mode=listener&latency=200' out.ts";
const CAMERA = [
  'ffmpeg -f v4l2 -i /dev/video0 -f alsa -i default ' +
    '-c:v libx264 -preset veryfast -tune zerolatency -g 50 \\',
  "       -c:a aac -f mpegts 'udp://127.0.0.1:5000?pkt_size=1316' &",
].join('\n');
const SEND_CAMERA =
  'anabranch send udp://127.0.0.1:5000 ' +
  "'anabranch://receiver.example:9000?latency=200&path=192.0.2.5,198.51.100.7'";
const SEND_FILE = "anabranch send in.ts 'anabranch://receiver.example:9000?latency=200'";
const RECEIVE_AND_PLAY = "anabranch recv 'anabranch://:9000?mode=listener' - | mpv -";
const RECEIVE_ON_PAGE = "anabranch recv --page 'anabranch://:9000?mode=listener' out.ts";
const RECEIVE_DCCP = "anabranch recv 'anabranch+dccp://:9000?mode=listener&encryption=off' out.ts";
const SEND_DCCP =
  "anabranch send in.ts 'anabranch+dccp://receiver.example:9000" +
  "?latency=500&connections=auto&encryption=off'";
const EMULATE =
  'anabranch emulate --listen 127.0.0.1:7000 --target 127.0.0.1:9000 ' +
  '--rate 10M --delay 20ms --loss 1%';
const CHANNELS = [
  "cat > channels.toml <<'END'",
  '[[channel]]',
  'name = "Camera"',
  'command = "ffmpeg -re -f lavfi -i testsrc2=r=25 -c:v libx264 -tune zerolatency -g 25 ' +
    '-pix_fmt yuv420p -f mpegts -"',
  'END',
].join('\n');

const CALL = 'anabranch call';
const CALL_BACK = "anabranch call 'anabranch://host.example:9000?key=KEY'";
const CALL_WITH_FILES =
  'anabranch call --no-page --camera me.webm --microphone me.webm --record out ' +
  "'anabranch://host.example:9000?key=KEY'";

const MEET = 'anabranch meet';
const CALL_ROOM = "anabranch call 'anabranch://meet.example:9000?key=KEY&room=staff&token=TOKEN'";
const CALL_ROOM_WITH_FILES =
  'anabranch call --no-page --name Hall --camera me.webm --microphone me.webm --record out ' +
  "'anabranch://meet.example:9000?key=KEY&room=staff&token=TOKEN'";
const MEET_ROOMS = 'anabranch meet rooms.toml --https :8443';

/** What ends by itself, and in order. */
const ENDING: readonly { readonly command: string; readonly changes?: Changes }[] = [
  // It runs this very test.
  { command: './test.sh', changes: [['./', `bash -n ${ROOT}`]] },
  // Compiling takes longer than the test may: that there is what it would compile.
  {
    command: 'cargo install --path crates/cli',
    changes: [['install --path crates/cli', manifest('cli')]],
  },
  {
    command: 'cargo run --release -p anabranch-bench -- memory',
    changes: [['run --release -p anabranch-bench -- memory', manifest('bench')]],
  },
  {
    command: 'demo --headless --seconds 20 --json FILE',
    changes: [
      ['demo', 'anabranch demo'],
      ['20', '2'],
    ],
  },
  {
    command: 'demo --mobile rate=2M,delay=60ms,burst=4,loss=2%',
    changes: [['demo', 'anabranch demo --headless --seconds 2']],
  },
  { command: 'anabranch treatments' },
  { command: 'anabranch token --key access.key --who alice --channels 7 --for 30d' },
  { command: 'anabranch key' },
  // Names of commands, of which others here give the arguments.
  { command: 'anabranch send', changes: [['send', 'send --help']] },
  { command: 'anabranch lab run', changes: [['run', 'run --help']] },
  { command: 'anabranch lab run --example two-paths > two-paths.toml' },
  // Fewer runs, and shorter: scenarios have tests of their own.
  {
    command:
      'anabranch lab run two-paths.toml --sweep mobile.loss=0,0.1%,1% ' +
      '--sweep mobile.delay=20ms..100ms:20ms --seeds 30 --out results',
    changes: [
      ['run two', 'run --example two-paths > two-paths.toml && anabranch lab run two'],
      ['--seeds 30', '--seeds 1 --set duration=1s'],
    ],
  },
  // Fewer seeds, and shorter: the experiments have tests of their own.
  {
    command: 'anabranch lab ortiz2013 --seeds 10 --out results',
    changes: [['--seeds 10', '--seeds 1 --pictures 24 --strategy Anabranch']],
  },
  {
    command:
      'anabranch lab ortiz2013 --cell 30,0.01,1 --strategy Anabranch --capture --out results',
    changes: [['--cell', '--pictures 24 --cell']],
  },
  {
    command: 'anabranch lab kim2007 --seeds 10 --out results',
    changes: [['--seeds 10', '--seeds 1 --figure 12']],
  },
  { command: 'anabranch lab kim2007 --cell 12,50,1 --capture --out results' },
  {
    command: 'anabranch lab almajeed2011 --seeds 10 --out results',
    changes: [['--seeds 10', '--seeds 1 --pictures 30 --scenario core']],
  },
  {
    command: 'anabranch lab almajeed2011 --cell core,4,20,5,1 --capture --out results',
    changes: [['--cell', '--pictures 30 --cell']],
  },
  {
    command: 'anabranch lab huseynli2023 --seeds 10 --out results',
    changes: [['--seeds 10', '--seeds 1 --tables --set duration=2s']],
  },
  {
    command: 'anabranch lab chang2010 --seeds 10 --out results',
    changes: [['--seeds 10', '--seeds 1 --method 1.5s,planned --set video=1M']],
  },
  { command: 'anabranch lab chang2010 --cell 1,1.2s,2 --capture --out results' },
  {
    command: 'anabranch lab ortiz2013 --set rate=20M,queue=200p,loss=1%,burst=4 --out results',
    changes: [['--set', '--seeds 1 --pictures 24 --strategy Anabranch --set']],
  },
  {
    command:
      'anabranch lab ortiz2013 --sweep rate=20M,40M --sweep queue=25p,50p,100p --seeds 3 ' +
      '--out results',
    changes: [['--seeds 3', '--seeds 1 --pictures 24 --strategy Anabranch']],
  },
  {
    command:
      'anabranch lab ortiz2013 --cell 30,0.01,1 --strategy Anabranch ' +
      '--packets packets.parquet --frames frames.parquet',
    changes: [['--cell', '--pictures 24 --cell']],
  },
  {
    command: 'anabranch lab kim2007 --set loss=20%,30%,rtt=80ms --figure 8',
    changes: [['--figure 8', '--figure 8 --seeds 1']],
  },
  {
    command: 'anabranch lab compare --out results',
    changes: [['compare', 'compare --only "10 %" --tool anabranch --seconds 2 --connects 0']],
  },
];

/** What has a test of its own below. */
const SHOWN = [
  'cargo run --release -- demo',
  ...[RECEIVE, CAMERA, SEND_CAMERA, SEND_FILE, RECEIVE_AND_PLAY, RECEIVE_ON_PAGE, EMULATE],
  ...[RECEIVE_DCCP, SEND_DCCP],
  ...['anabranch serve', CHANNELS, 'anabranch serve channels.toml --http 0.0.0.0:8080'],
  'anabranch watch anabranch://host:9000',
  ...[CALL, CALL_BACK, CALL_WITH_FILES],
  ...[MEET, CALL_ROOM, CALL_ROOM_WITH_FILES, MEET_ROOMS],
];

describe('the README', () => {
  const programs = mkdtempSync(join(tmpdir(), 'anabranch-readme-programs-'));
  let folder: string;
  let browser: TestBrowser;
  let running: Running[];

  beforeAll(async () => {
    expect(reachable(), 'Chromium needs an address beside loopback: add a veth pair').toBe(true);
    symlinkSync(executable(), join(programs, 'anabranch'));
    browser = await openBrowser();
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'anabranch-readme-'));
    running = [];
  });
  afterEach(async () => {
    for (const command of running.reverse()) {
      await command.interrupt();
    }
    rmSync(folder, { recursive: true });
  });
  afterAll(async () => {
    await browser.close();
    rmSync(programs, { recursive: true });
  });

  function run(command: string, ...changes: Changes): Running {
    const changed = changes.reduce((text, [written, here]) => {
      expect(text).toContain(written);
      return text.replaceAll(written, here);
    }, command);
    const started = new ShellCommand(changed.replace(/\s&$/, ''), folder, programs);
    running.push(started);
    return started;
  }

  async function ends(command: string, ...changes: Changes): Promise<void> {
    const started = run(command, ...changes);
    expect(await started.ended(), started.printed).toBe(0);
  }

  async function moves(view: PageView): Promise<void> {
    await view.morePictures(50);
    const { mean, spread } = await view.brightness();
    expect(mean).toBeGreaterThan(10);
    expect(spread).toBeGreaterThan(5);
    expect(view.complaints).toEqual([]);
    await view.page.close();
  }

  async function page(of: Running): Promise<PageView> {
    const view = new PageView(await browser.context.newPage());
    await view.page.goto(await of.url());
    return view;
  }

  async function call(of: Running): Promise<CallPage> {
    const view = new CallPage(await browser.context.newPage());
    await view.page.goto(await of.url());
    return view;
  }

  async function person(people: TestBrowser, link: string): Promise<RoomPage> {
    const view = new RoomPage(await people.context.newPage());
    await view.page.goto(link);
    return view;
  }

  async function television(of: Running): Promise<TelevisionView> {
    const view = new TelevisionView(await browser.context.newPage());
    await view.page.goto(await of.url());
    await view.untilPlays(1);
    return view;
  }

  /** A test picture and a tone in the place of camera and microphone. */
  async function film(receiver: number): Promise<void> {
    const udp = await freePort();
    run(
      CAMERA,
      ['-f v4l2 -i /dev/video0', '-v error -nostdin -re -f lavfi -i testsrc2=r=30'],
      ['-f alsa -i default', '-f lavfi -i sine'],
      ['127.0.0.1:5000', `127.0.0.1:${udp}`],
    );
    run(
      SEND_CAMERA,
      ['127.0.0.1:5000', `127.0.0.1:${udp}`],
      ['receiver.example:9000', `127.0.0.1:${receiver}`],
      ['192.0.2.5,198.51.100.7', '127.0.0.1,127.0.0.2'],
    );
  }

  async function has(file: string, bytes: number): Promise<void> {
    const path = join(folder, file);
    for (let tries = 0; tries < 300; tries++) {
      if (existsSync(path) && statSync(path).size >= bytes) {
        return;
      }
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error(`${file} never had ${bytes} bytes: ${running.map(({ printed }) => printed)}`);
  }

  it('has no command without a test', () => {
    const tested = [...SHOWN, ...ENDING.map(({ command }) => command)];
    expect([...new Set(COMMANDS)].sort()).toEqual([...new Set(tested)].sort());
  });

  it.each(ENDING)('runs: $command', async ({ command, changes = [] }) => {
    mkdirSync(join(folder, 'results'));
    writeFileSync(join(folder, 'access.key'), '7'.repeat(64), { mode: 0o600 });
    await ends(command, ...changes);
  });

  it('shows the demo', async () => {
    const demo = run('cargo run --release -- demo', ['cargo run --release --', 'anabranch']);
    await moves(await page(demo));
  });

  it("receives one's own camera over two paths", async () => {
    const port = await freePort();
    run(RECEIVE, [':9000', `:${port}`]);
    await film(port);
    await has('out.ts', 300_000);
    await running[0]?.line(/connected/);
    const pictures = ['-v', 'error', '-i', 'out.ts', '-frames:v', '25', '-f', 'null', '-'];
    execFileSync('ffmpeg', pictures, { cwd: folder });
  });

  it("shows one's own camera on the receiver's page", async () => {
    const port = await freePort();
    const receiver = run(RECEIVE_ON_PAGE, [':9000', `:${port}`]);
    const view = await page(receiver);
    await film(port);
    await moves(view);
  });

  it('sends a file into a player', async () => {
    const port = await freePort();
    makeStream(join(folder, 'in.ts'));
    const played = run(RECEIVE_AND_PLAY, [':9000', `:${port}`], ['mpv -', 'cat > played.ts']);
    await ends(SEND_FILE, ['receiver.example:9000', `127.0.0.1:${port}`]);
    expect(await played.ended()).toBe(0);
    const [sent, came] = ['in.ts', 'played.ts'].map((file) => readFileSync(join(folder, file)));
    expect(came?.equals(sent ?? Buffer.of())).toBe(true);
  });

  it('sends a file over DCCP', async () => {
    const port = await freePort();
    makeStream(join(folder, 'in.ts'));
    const receiver = run(RECEIVE_DCCP, [':9000', `:${port}`]);
    await ends(SEND_DCCP, ['receiver.example:9000', `127.0.0.1:${port}`]);
    expect(await receiver.ended()).toBe(0);
    const [sent, came] = ['in.ts', 'out.ts'].map((file) => readFileSync(join(folder, file)));
    expect(came?.equals(sent ?? Buffer.of())).toBe(true);
  });

  it('emulates a bad network between two programs', async () => {
    const [listen, target] = [await freePort(), await freePort()];
    makeStream(join(folder, 'in.ts'));
    const network = run(
      EMULATE,
      ['127.0.0.1:7000', `127.0.0.1:${listen}`],
      [':9000', `:${target}`],
    );
    await network.line(/\d/);
    run(RECEIVE, [':9000', `:${target}`]);
    await ends(SEND_FILE, ['receiver.example:9000', `127.0.0.1:${listen}`]);
    await has('out.ts', 0.9 * statSync(join(folder, 'in.ts')).size);
  });

  it('calls, by a page and by files', async () => {
    const place = `'anabranch://127.0.0.1:${await freePort()}?mode=listener'`;
    const called = run(CALL, [CALL, `${CALL} ${place}`]);
    const link = await called.line(/anabranch:\/\/127\.0\.0\.1:\d+\?key=\S+/);
    const here: Changes = [['anabranch://host.example:9000?key=KEY', link]];
    copyFileSync(FILM, join(folder, 'me.webm'));
    const view = await call(called);
    const files = run(CALL_WITH_FILES, ...here);
    await moves(view);
    expect(await files.interrupt()).toBe(0);
    const caller = await call(run(CALL_BACK, ...here));
    await caller.untilText('status', 'In a call');
    expect(caller.complaints).toEqual([]);
  });

  it(
    'opens rooms, by HTTPS too, where people see each other, one by the program',
    async () => {
      const people = await openBrowser({ ignoreHTTPSErrors: true }, FAKE);
      writeFileSync(join(folder, 'rooms.toml'), "[[room]]\nname = 'staff'\n");
      copyFileSync(FILM, join(folder, 'me.webm'));
      for (const [command, ...changes] of [
        [MEET] as const,
        [MEET_ROOMS, [':8443', '127.0.0.1:0']] as const,
      ]) {
        const places = `--http 127.0.0.1:0 --udp 127.0.0.1:${await freePort()}`;
        const server = run(command, ['meet', `meet ${places}`], ...changes);
        const link = (await server.line(/https?:\S+#\w+/)).trim();
        const said = await server.line(/by anabranch call: anabranch:\S+/);
        const by = said.slice(said.indexOf('anabranch:'));
        const written = 'anabranch://meet.example:9000?key=KEY&room=staff&token=TOKEN';
        const agent = run(CALL_ROOM, [written, by]);
        const [alice, bob] = [await person(people, await agent.url()), await person(people, link)];
        await alice.enter('Alice');
        await bob.enter('Bob');
        await bob.sees(1);
        const hall = run(CALL_ROOM_WITH_FILES, [written, by]);
        await bob.sees(3);
        expect(await hall.interrupt()).toBe(0);
        expect([...alice.complaints, ...bob.complaints]).toEqual([]);
      }
      await people.close();
    },
    LONG_MS,
  );

  it('shows channels, in a browser and in the native viewer', async () => {
    const server = run('anabranch serve');
    await moves(await television(server));
    const at = await server.line(/anabranch:\/\/[\d.]+:\d+/);
    const viewer = run('anabranch watch anabranch://host:9000', ['anabranch://host:9000', at]);
    await moves(await page(viewer));
  });

  it("shows channels of one's own", async () => {
    await ends(CHANNELS);
    const serve = 'anabranch serve channels.toml --http 0.0.0.0:8080';
    await moves(await television(run(serve, ['0.0.0.0:8080', '127.0.0.1:0'])));
  });
});

function manifest(crate: string): string {
  return `read-manifest --manifest-path ${join(ROOT, 'crates', crate, 'Cargo.toml')}`;
}

/** Three seconds of picture and sound. */
function makeStream(file: string): void {
  const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=25'];
  const coding = ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-g', '25', '-c:a', 'aac'];
  const options = ['-t', '3', ...coding, '-f', 'mpegts', file];
  const input = ['-v', 'error', '-nostdin', '-y', ...picture, '-f', 'lavfi', '-i', 'sine'];
  execFileSync('ffmpeg', [...input, ...options]);
}

/** The real program, as `cargo build` made it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const BUILDS = ['release', 'debug'].map((profile) =>
  fileURLToPath(new URL(`../../target/${profile}/anabranch`, import.meta.url)),
);
const PATIENCE_MS = 15_000;

/** Where the programs keep their keys. */
const STATE = fileURLToPath(new URL('../../target/tmp/state', import.meta.url));
const ENVIRONMENT = { ...process.env, XDG_STATE_HOME: STATE };

/** `ANABRANCH`, or else the newest build. */
export function executable(): string {
  if (process.env.ANABRANCH !== undefined) {
    return process.env.ANABRANCH;
  }
  const age = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const [newest = ''] = BUILDS.sort((one, other) => age(other) - age(one));
  if (age(newest) === 0) {
    throw new Error('there is no anabranch: run cargo build first, or name one in ANABRANCH');
  }
  return newest;
}

/** Something that runs, with all that it printed. */
export class Running {
  readonly #process: ChildProcess;
  printed = '';

  constructor(process: ChildProcess) {
    this.#process = process;
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on('data', (data) => {
        this.printed += String(data);
      });
    }
  }

  /** Waits for a line, and returns what matches in it. */
  async line(pattern: RegExp): Promise<string> {
    const giveUpMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const found = pattern.exec(this.printed);
      if (found !== null) {
        return found[0];
      }
      if (performance.now() > giveUpMs || this.#process.exitCode !== null) {
        throw new Error(`${pattern} was not printed:\n${this.printed}`);
      }
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  /** The page's address, which stands on a line of its own. */
  url(): Promise<string> {
    return this.line(/^http:\/\/127\.0\.0\.1:\d+\/\S*$/m);
  }

  /** Presses Ctrl-C, and returns the exit status. */
  interrupt(): Promise<number | null> {
    const ended = this.ended();
    this.signal(this.#process);
    return ended;
  }

  /** Gets no processor for so long. */
  async stall(forMs: number): Promise<void> {
    this.#process.kill('SIGSTOP');
    await new Promise((done) => setTimeout(done, forMs));
    this.#process.kill('SIGCONT');
  }

  protected signal(process: ChildProcess): void {
    process.kill('SIGINT');
  }

  /** Waits for the program's end, and returns the exit status. */
  async ended(): Promise<number | null> {
    const { exitCode } = this.#process;
    if (exitCode !== null) {
      return exitCode;
    }
    return new Promise((done) => this.#process.once('exit', done));
  }
}

/** The program by itself. */
export class Program extends Running {
  constructor(...args: readonly string[]) {
    super(spawn(executable(), args, { env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] }));
  }
}

/** What a shell runs, which finds the program as `anabranch`. */
export class ShellCommand extends Running {
  constructor(command: string, cwd: string, programs: string) {
    const env = { ...ENVIRONMENT, PATH: `${programs}:${process.env.PATH}` };
    const args = ['-o', 'pipefail', '-c', command];
    super(spawn('bash', args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  /** A shell has a group of processes of its own, which hears of Ctrl-C as a whole. */
  protected override signal({ pid }: ChildProcess): void {
    try {
      process.kill(-(pid ?? Number.NaN), 'SIGINT');
    } catch {
      // All of it has ended.
    }
  }
}

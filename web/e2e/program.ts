/** The real program, as `cargo build` made it. */

import { type ChildProcess, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const BUILDS = ['release', 'debug'].map((profile) =>
  fileURLToPath(new URL(`../../target/${profile}/anabranch`, import.meta.url)),
);
const PATIENCE_MS = 15_000;

/** `ANABRANCH`, or else the newest build. */
function executable(): string {
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

/** A running program, with all that it printed. */
export class Program {
  readonly #process: ChildProcess;
  printed = '';

  constructor(...args: readonly string[]) {
    this.#process = spawn(executable(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
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
    this.#process.kill('SIGINT');
    return ended;
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

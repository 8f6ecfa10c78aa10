/** The remote control: what keys choose channels. */

/** After so long without another digit, the number is complete. */
export const DIGIT_WAIT_MS = 1_200;
const DIGITS_MAX = 4;

export interface ChannelKeysUser {
  /** The keys of the channels there are. */
  numbers(): readonly number[];
  /** What is typed so far, for the screen; empty when done. */
  onTyping(digits: string): void;
  onNumber(number: number, pressedMs: number): void;
  onStep(by: number, pressedMs: number): void;
  onBack(pressedMs: number): void;
  onSearch(): void;
}

/** As shown in the help. */
export const CHANNEL_KEYS: readonly (readonly [key: string, does: string])[] = [
  ['0 … 9', 'that channel'],
  ['↑ ↓', 'the one before, the next one; so do Page ↓ and Page ↑'],
  ['⌫', 'back to the last channel'],
  ['/', 'search; ↑ ↓ and Enter choose what was found'],
  ['Esc', 'takes back digits and search'],
];

/** Clock and timers, which a test sets. */
export interface Timers {
  set(then: () => void, delayMs: number): number;
  clear(timer: number): void;
}

export const TIMERS: Timers = {
  set: (then, delayMs) => window.setTimeout(then, delayMs),
  clear: (timer) => window.clearTimeout(timer),
};

export class ChannelKeys {
  readonly #user: ChannelKeysUser;
  readonly #timers: Timers;
  #digits = '';
  #timer = 0;

  constructor(user: ChannelKeysUser, timers: Timers = TIMERS) {
    this.#user = user;
    this.#timers = timers;
  }

  /** Whether the key means something here. */
  press(key: string, pressedMs: number): boolean {
    if (/^[0-9]$/.test(key)) {
      this.#digit(key, pressedMs);
      return true;
    }
    if (key === 'Enter' && this.#digits !== '') {
      this.#commit(pressedMs);
      return true;
    }
    const action = this.#action(key);
    action?.(pressedMs);
    return action !== undefined;
  }

  #action(key: string): ((pressedMs: number) => void) | undefined {
    const user = this.#user;
    const actions: Record<string, (pressedMs: number) => void> = {
      ArrowUp: (at) => user.onStep(-1, at),
      ArrowDown: (at) => user.onStep(1, at),
      PageUp: (at) => user.onStep(1, at),
      PageDown: (at) => user.onStep(-1, at),
      Backspace: (at) => user.onBack(at),
      Escape: () => this.#clear(),
      '/': () => user.onSearch(),
    };
    return Object.hasOwn(actions, key) ? actions[key] : undefined;
  }

  /** A number that no longer one begins with needs no waiting. */
  #digit(digit: string, pressedMs: number): void {
    this.#timers.clear(this.#timer);
    this.#digits = (this.#digits + digit).slice(-DIGITS_MAX);
    const longer = this.#user.numbers().some((number) => {
      const text = String(number);
      return text.length > this.#digits.length && text.startsWith(this.#digits);
    });
    if (!longer && Number(this.#digits) > 0) {
      this.#commit(pressedMs);
      return;
    }
    this.#user.onTyping(this.#digits);
    this.#timer = this.#timers.set(() => this.#commit(pressedMs + DIGIT_WAIT_MS), DIGIT_WAIT_MS);
  }

  #commit(pressedMs: number): void {
    const number = Number(this.#digits);
    this.#clear();
    this.#user.onNumber(number, pressedMs);
  }

  #clear(): void {
    this.#timers.clear(this.#timer);
    this.#digits = '';
    this.#user.onTyping('');
  }
}

/** The remote control: keys of the keyboard. */

import {
  CHANNEL_KEYS,
  ChannelKeys,
  type ChannelKeysUser,
  TIMERS,
  type Timers,
} from '../channels/keys';

export interface KeysUser extends ChannelKeysUser {
  onVolume(by: number): void;
  onSound(): void;
  onFigures(): void;
  onFullScreen(): void;
  onHelp(): void;
}

/** As shown in the help. */
export const KEYS: readonly (readonly [key: string, does: string])[] = [
  ...CHANNEL_KEYS,
  ['← →', 'volume'],
  ['M', 'sound on or off'],
  ['F', 'full screen'],
  ['I', 'figures over the picture'],
  ['?', 'this help'],
];

export class Keys {
  readonly #channels: ChannelKeys;
  readonly #others: Readonly<Record<string, () => void>>;

  constructor(user: KeysUser, timers: Timers = TIMERS) {
    this.#channels = new ChannelKeys(user, timers);
    this.#others = {
      ArrowLeft: () => user.onVolume(-0.05),
      ArrowRight: () => user.onVolume(0.05),
      m: () => user.onSound(),
      i: () => user.onFigures(),
      f: () => user.onFullScreen(),
      '?': () => user.onHelp(),
    };
  }

  /** Whether the key means something here. */
  press(key: string, pressedMs: number): boolean {
    if (this.#channels.press(key, pressedMs)) {
      return true;
    }
    const name = key.length === 1 ? key.toLowerCase() : key;
    const action = Object.hasOwn(this.#others, name) ? this.#others[name] : undefined;
    action?.();
    return action !== undefined;
  }
}

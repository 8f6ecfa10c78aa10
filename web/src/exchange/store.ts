/** What was written, and the files that there are, as signals. */

import { signal } from '@preact/signals';
import { Notices } from '../common/notices';
import type { ExchangeMessage, FileEntry, TextLine } from './protocol';

const TEXTS_MAX = 500;

export class ExchangeStore extends Notices {
  /** Which of those who write is oneself. */
  readonly you = signal<number | null>(null);
  readonly texts = signal<readonly TextLine[]>([]);
  /** What others have, and we do. */
  readonly files = signal<readonly FileEntry[]>([]);
  /** What was written while nobody looked. */
  readonly unread = signal(0);
  /** Our clock minus that of who tells. */
  protected offsetMs = 0;

  /** When something on the clock of who tells was, in ms since the epoch. */
  localMs(atUs: number): number {
    return atUs / 1_000 + this.offsetMs;
  }

  protected onExchange(message: ExchangeMessage): void {
    switch (message.type) {
      case 'text':
        this.texts.value = [...this.texts.peek(), message.body].slice(-TEXTS_MAX);
        this.unread.value += message.body.member === this.you.peek() ? 0 : 1;
        return;
      case 'file':
        this.#addFile(message.body);
        return;
      case 'file_refused':
        this.notify('warning', `${message.body.name}: ${message.body.text}`);
        return;
      case 'file_gone':
        this.files.value = this.files.peek().filter(({ file }) => file !== message.body.file);
    }
  }

  #addFile(entry: FileEntry): void {
    if (this.files.peek().some(({ file }) => file === entry.file)) {
      return;
    }
    this.files.value = [...this.files.peek(), entry];
    this.unread.value += entry.member === this.you.peek() ? 0 : 1;
  }
}

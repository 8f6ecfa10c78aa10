/** Sentences that are shown for a while. */

import { signal } from '@preact/signals';
import type { Severity } from '../protocol/program';

const NOTICES_MAX = 3;

export interface Notice {
  readonly id: number;
  readonly severity: Severity;
  readonly text: string;
}

export class Notices {
  readonly notices = signal<readonly Notice[]>([]);
  #noticeId = 0;

  notify(severity: Severity, text: string): void {
    this.#noticeId += 1;
    const others = this.notices.peek().filter((notice) => notice.text !== text);
    this.notices.value = [...others, { id: this.#noticeId, severity, text }].slice(-NOTICES_MAX);
  }

  dismiss(id: number): void {
    this.notices.value = this.notices.peek().filter((notice) => notice.id !== id);
  }
}

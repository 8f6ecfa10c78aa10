/** What people write to each other, and files, in rooms and calls alike: see docs/meet.md. */

import { type Checked, count, object, text } from '../protocol/checks';
import { tagged } from '../protocol/program';

/** Characters of a text. */
export const TEXT_CHARS_MAX = 2_000;
/** Bytes of the longest file. */
export const FILE_BYTES_MAX = 4 * 2 ** 30;

export const line = object({ name: text, member: count, at_us: count, text });

export const file = object({ file: count, member: count, name: text, size: count, sha256: text });

/** What is said of them. */
export const exchangeMessages = {
  text: tagged('text', line),
  file: tagged('file', file),
  file_refused: tagged('file_refused', object({ name: text, text })),
  file_gone: tagged('file_gone', object({ file: count })),
};

export type FileEntry = Checked<typeof file>;
export type TextLine = Checked<typeof line>;
export type ExchangeMessage = ReturnType<(typeof exchangeMessages)[keyof typeof exchangeMessages]>;

/** What a page says of them. */
export type ExchangeRequest =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'offer_file';
      readonly name: string;
      readonly size: number;
      readonly sha256: string;
    }
  | { readonly type: 'withdraw_file'; readonly file: number };

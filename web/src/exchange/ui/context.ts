import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { FilesReport } from '../files/desk';
import type { ExchangeStore } from '../store';

/** Who writes and has files, in a room or a call. Its properties may be read while rendering. */
export interface ExchangeUser {
  readonly store: ExchangeStore;
  /** For whom it is: `all`, or a name. */
  readonly others: string;
  /** Whether there is somebody to write to. */
  readonly isOpen: boolean;
  /** Why nothing can be written, or no file be offered, in a sentence; `null` if it can. */
  readonly noTexts: string | null;
  readonly noFiles: string | null;
  readonly filesReport: FilesReport | null;
  /** Whose number that is. */
  nameOf(member: number): string;
  write(text: string): void;
  /** Has files for the others. */
  offer(files: readonly File[]): void;
  withdraw(file: number): void;
  get(file: number): void;
  stopGetting(sha256: string): void;
}

export const ExchangeContext = createContext<ExchangeUser | null>(null);

export function useExchange(): ExchangeUser {
  const user = useContext(ExchangeContext);
  if (user === null) {
    throw new Error('texts and files of nobody');
  }
  return user;
}

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Session } from '../state/session';

export const SessionContext = createContext<Session | null>(null);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) {
    throw new Error('a component outside of the session');
  }
  return session;
}

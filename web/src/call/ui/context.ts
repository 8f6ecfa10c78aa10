import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { CallSession } from '../state/session';

export const CallContext = createContext<CallSession | null>(null);

export function useCall(): CallSession {
  const session = useContext(CallContext);
  if (session === null) {
    throw new Error('a component outside of the call');
  }
  return session;
}

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { RoomSession } from '../state/session';

export const RoomContext = createContext<RoomSession | null>(null);

export function useRoom(): RoomSession {
  const session = useContext(RoomContext);
  if (session === null) {
    throw new Error('a component outside of the room');
  }
  return session;
}

import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Desk } from '../desk';

export const DeskContext = createContext<Desk | null>(null);

export function useDesk(): Desk {
  const desk = useContext(DeskContext);
  if (desk === null) {
    throw new Error('a component outside of the desk');
  }
  return desk;
}

import { effect } from '@preact/signals';
import { render } from 'preact';
import { RoomSession, type Way } from './state/session';
import './styles/index.css';
import { App } from './ui/app';

/** Shows the page of a room that is reached in this way. */
export function visit(way: Way): void {
  const root = document.getElementById('app');
  if (root === null) {
    throw new Error('the page has no element #app');
  }
  const session = new RoomSession(way);
  effect(() => {
    const { title, unread } = session.store;
    const waiting = unread.value > 0 ? `(${unread.value}) ` : '';
    document.title = `${waiting}${title.value ?? 'Room'} · anabranch`;
  });
  render(<App session={session} />, root);
}

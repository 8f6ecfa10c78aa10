import { useEffect, useRef } from 'preact/hooks';
import { Guide } from '../../channels/guide';
import { typing } from '../../channels/signs';
import { toggleFullScreen } from '../../ui/full-screen';
import { openHelp } from '../../ui/help-dialog';
import { Notices } from '../../ui/notices';
import { Keys } from '../keys';
import type { Session } from '../state/session';
import { volume } from '../state/settings';
import { SessionContext } from './context';
import { toggleFigures } from './figures';
import { Header } from './header';
import { Help } from './help';
import { Player } from './player';

interface Props {
  readonly session: Session;
}

export function App({ session }: Props) {
  const box = useRef<HTMLElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => listen(session, box, field), [session]);
  const { store, isBound } = session;
  return (
    <SessionContext.Provider value={session}>
      {!isBound && <Header field={field} />}
      <main class={isBound ? 'television embedded' : 'television'}>
        <Player box={box} />
        {!isBound && <Guide tuner={session} />}
      </main>
      <Help />
      <Notices notices={store.notices.value} dismiss={(id) => store.dismiss(id)} />
    </SessionContext.Provider>
  );
}

interface Ref<T> {
  readonly current: T | null;
}

/** Returns the function that stops listening. */
function listen(session: Session, box: Ref<HTMLElement>, field: Ref<HTMLInputElement>): () => void {
  const keys = remote(session, box, field);
  const onKey = (event: KeyboardEvent) => {
    session.gesture();
    const { ctrlKey, metaKey, altKey, target, key, timeStamp } = event;
    if (ctrlKey || metaKey || altKey || isTyping(target, key) || isDialogOpen()) {
      return;
    }
    if (keys.press(key, performance.timeOrigin + timeStamp)) {
      event.preventDefault();
    }
  };
  const onPointer = () => session.gesture();
  document.addEventListener('keydown', onKey);
  document.addEventListener('pointerup', onPointer);
  return () => {
    document.removeEventListener('keydown', onKey);
    document.removeEventListener('pointerup', onPointer);
  };
}

function remote(session: Session, box: Ref<HTMLElement>, field: Ref<HTMLInputElement>): Keys {
  return new Keys({
    numbers: () => session.store.channels.peek()?.map(({ number }) => number) ?? [],
    onTyping: (digits) => {
      typing.value = session.isBound ? '' : digits;
    },
    onNumber: (number, pressedMs) => session.watch(number, pressedMs),
    onStep: (by, pressedMs) => session.step(by, pressedMs),
    onBack: (pressedMs) => session.back(pressedMs),
    onVolume: (by) => session.setVolume(Math.min(1, Math.max(0, volume.peek() + by))),
    onSound: () => session.toggleSound(),
    onFigures: toggleFigures,
    onFullScreen: () => toggleFullScreen(box.current),
    onSearch: () => field.current?.focus(),
    onHelp: openHelp,
  });
}

/** Its own keys work in it, and no others. */
function isDialogOpen(): boolean {
  return document.querySelector('dialog[open]') !== null;
}

/** Keys belong to a field into which they write, and arrows to what they move. */
function isTyping(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) {
    return false;
  }
  const isArrow = key.startsWith('Arrow');
  return target.matches('input[type=search], select') || (isArrow && target.matches('input'));
}

import { useEffect, useRef } from 'preact/hooks';
import { ChannelKeys } from '../channels/keys';
import { typing } from '../channels/signs';
import type { Session } from '../state/session';
import { Channels } from './channels';
import { SessionContext } from './context';
import { EventLog } from './event-log';
import { Footer } from './footer';
import { toggleFullScreen } from './full-screen';
import { Header } from './header';
import { Help } from './help';
import { openHelp } from './help-dialog';
import { LayerCards } from './layer-card';
import { Notices } from './notices';
import { PathCards } from './path-card';
import { Player, toggleOverlay } from './player';
import { River } from './river';
import { listenToShortcuts } from './shortcuts';
import { switchTheme } from './theme';
import { TreatmentTable } from './treatment-table';

export function App({ session }: { readonly session: Session }) {
  const player = useRef<HTMLElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const remote = remoteControl(session, field);
    return listenToShortcuts({
      onSound: () => session.toggleSound(),
      onOverlay: toggleOverlay,
      onFullScreen: () => toggleFullScreen(player.current),
      onTheme: switchTheme,
      onHelp: openHelp,
      onCut: (number) => cutPath(session, number),
      onRemote: (key, pressedMs) =>
        session.store.channels.peek() !== null && remote.press(key, pressedMs),
    });
  }, [session]);
  return (
    <SessionContext.Provider value={session}>
      <Header />
      <main>
        <div class="watch">
          <Player box={player} />
          <River />
          <EventLog events={session.store.events.value} />
        </div>
        <div class="steer">
          <Channels field={field} />
          <TreatmentTable />
          <PathCards />
          <LayerCards />
        </div>
      </main>
      <Footer />
      <Notices notices={session.store.notices.value} dismiss={(id) => session.store.dismiss(id)} />
      <Help />
    </SessionContext.Provider>
  );
}

function remoteControl(
  session: Session,
  field: { readonly current: HTMLInputElement | null },
): ChannelKeys {
  return new ChannelKeys({
    numbers: () => session.store.channels.peek()?.map(({ number }) => number) ?? [],
    onTyping: (digits) => {
      typing.value = digits;
    },
    onNumber: (number) => session.watch(number),
    onStep: (by) => session.step(by),
    onBack: () => session.back(),
    onSearch: () => field.current?.focus(),
  });
}

/** Cuts the path with this place in the list, from 1, or mends it. */
function cutPath(session: Session, number: number): void {
  const { store } = session;
  const path = store.paths.value[number - 1];
  if (path?.link && store.hello.value?.controls.links) {
    session.setLink(path.id, { ...path.link, cut: !path.link.cut });
  }
}

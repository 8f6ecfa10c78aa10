import { useEffect, useRef } from 'preact/hooks';
import { KEYS, listenToKeys } from '../../call/ui/keys';
import { NETWORK_TERMS } from '../../call/ui/paths';
import { ExchangeContext } from '../../exchange/ui/context';
import { Texts } from '../../exchange/ui/texts';
import { toggleFullScreen } from '../../ui/full-screen';
import { HelpDialog, openHelp, type Term } from '../../ui/help-dialog';
import { Notices } from '../../ui/notices';
import { switchTheme } from '../../ui/theme';
import type { RoomSession } from '../state/session';
import { Banner } from './banner';
import { RoomContext } from './context';
import { Controls } from './controls';
import { DeviceTrouble } from './device-trouble';
import { Devices } from './devices';
import { Grid } from './grid';
import { Header } from './header';
import { Lobby } from './lobby';
import { Networks } from './networks';

const TERMS: readonly Term[] = [
  ['Who could listen', 'who runs this room: media is encrypted on its way, and open to the room'],
  ['Host', 'who came by the link for hosts: may lock the room and remove others'],
  ['Locked', 'nobody else comes in but hosts, and who was there and lost the connection'],
  ['File', 'stays on the machine of who offers it until somebody gets it; checked by SHA-256'],
  ['Connection lost', 'the network of somebody is gone; who comes back within 30 s stays here'],
];

export function App({ session }: { readonly session: RoomSession }) {
  const stage = useRef<HTMLElement>(null);
  useEffect(
    () =>
      listenToKeys({
        onMicrophone: () => session.toggle('microphone'),
        onCamera: () => session.toggle('camera'),
        onFullScreen: () => toggleFullScreen(stage.current),
        onTheme: switchTheme,
        onHelp: openHelp,
      }),
    [session],
  );
  const { store } = session;
  const isLobby = store.stage.value.is === 'lobby';
  return (
    <RoomContext.Provider value={session}>
      <ExchangeContext.Provider value={session}>
        <Header />
        {isLobby ? (
          <Lobby />
        ) : (
          <main class="room">
            <section class="stage card" ref={stage} aria-label="Room">
              <Grid />
              <Banner />
              <Controls box={stage} />
              <DeviceTrouble />
            </section>
            <div class="side">
              <Networks />
              <Texts />
              {store.stage.value.is !== 'out' && <Devices />}
            </div>
          </main>
        )}
        <Notices notices={store.notices.value} dismiss={(id) => store.dismiss(id)} />
        <HelpDialog
          keys={KEYS}
          terms={store.networks.value === null ? TERMS : [...TERMS, ...NETWORK_TERMS]}
        />
      </ExchangeContext.Provider>
    </RoomContext.Provider>
  );
}

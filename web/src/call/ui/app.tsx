import { useEffect, useRef } from 'preact/hooks';
import { ExchangeContext } from '../../exchange/ui/context';
import { Texts } from '../../exchange/ui/texts';
import { EventLog } from '../../ui/event-log';
import { toggleFullScreen } from '../../ui/full-screen';
import { HelpDialog, openHelp, type Term } from '../../ui/help-dialog';
import { Notices } from '../../ui/notices';
import { switchTheme } from '../../ui/theme';
import type { CallSession } from '../state/session';
import { CallContext } from './context';
import { Devices } from './devices';
import { Header } from './header';
import { Invite } from './invite';
import { KEYS, listenToKeys } from './keys';
import { NETWORK_TERMS, Paths } from './paths';
import { Quality } from './quality';
import { Stage } from './stage';

const TERMS: readonly Term[] = [
  ...NETWORK_TERMS,
  ['File', 'stays on the machine of who offers it until the other end gets it; checked by SHA-256'],
  ['Concealed', 'voice that did not come in time and was bridged by what was said before'],
];

export function App({ session }: { readonly session: CallSession }) {
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
  const stats = store.stats.value;
  const networks = (
    <Paths
      key="paths"
      paths={stats?.paths ?? []}
      isTwice={stats?.voice.twice ?? null}
      request={(request) => session.request(request)}
    />
  );
  const panels = [networks, <Devices key="devices" />];
  return (
    <CallContext.Provider value={session}>
      <ExchangeContext.Provider value={session}>
        <Header />
        <main class="call" data-call={store.isCall.value}>
          <div class="watch">
            <Stage box={stage} />
            <EventLog events={store.events.value} />
          </div>
          <div class="side">
            <Invite key="invite" />
            {(store.isCall.value || store.texts.value.length > 0) && <Texts key="texts" />}
            <Quality key="quality" />
            {/* In a call one steers networks more than devices, and before it devices. */}
            {store.isCall.value ? panels : panels.toReversed()}
          </div>
        </main>
        <Notices notices={store.notices.value} dismiss={(id) => store.dismiss(id)} />
        <HelpDialog keys={KEYS} terms={TERMS} />
      </ExchangeContext.Provider>
    </CallContext.Provider>
  );
}

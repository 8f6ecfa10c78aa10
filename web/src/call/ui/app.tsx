import { useEffect, useRef } from 'preact/hooks';
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
import { Paths } from './paths';
import { Quality } from './quality';
import { Stage } from './stage';

const TERMS: readonly Term[] = [
  ['Use', 'this network carries voice and pictures'],
  ['Spare', 'it carries nothing while another one stands, and takes over when none does'],
  ['Never', 'it is closed, at once'],
  ['Primary', 'pictures take it as long as it carries them'],
  ['Leave', 'goes over to another network without any gap, then closes this one'],
  ['Voice over two', 'voice goes over two networks at once: one can die and no syllable is lost'],
  ['Concealed', 'voice that did not come in time and was bridged by what was said before'],
];

/** In a call one steers networks more than devices; before it is the other way round. */
const PANELS = [<Paths key="paths" />, <Devices key="devices" />];

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
  return (
    <CallContext.Provider value={session}>
      <Header />
      <main class="call" data-call={store.isCall.value}>
        <div class="watch">
          <Stage box={stage} />
          <EventLog events={store.events.value} />
        </div>
        <div class="side">
          <Invite key="invite" />
          <Quality key="quality" />
          {store.isCall.value ? PANELS : PANELS.toReversed()}
        </div>
      </main>
      <Notices notices={store.notices.value} dismiss={(id) => store.dismiss(id)} />
      <HelpDialog keys={KEYS} terms={TERMS} />
    </CallContext.Provider>
  );
}

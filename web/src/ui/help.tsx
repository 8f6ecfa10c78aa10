import { useSession } from './context';
import { HelpDialog, type Term } from './help-dialog';
import { shortcutsFor } from './shortcuts';

const TERMS: readonly Term[] = [
  [
    'Path',
    'One network between the two ends: a pair of addresses. All paths carry one association.',
  ],
  ['Primary', 'The path that new data takes first.'],
  ['Potentially failed', 'Nothing came back on it lately. Data already avoids it.'],
  ['Window', 'How much may be under way, unacknowledged, on a path. Flight is how much is.'],
  [
    'Latency',
    'How long after it was sent a picture is played. What cannot come by then is not waited for.',
  ],
  ['Late', 'Came after its time to be played.'],
  ['Abandoned', 'Given up by the sender, so that it does not hold up what can still come in time.'],
  [
    'Treatment',
    'What the transport does for a class of media: how hard it tries, in which order, where.',
  ],
];

export function Help() {
  const { store } = useSession();
  return <HelpDialog keys={shortcutsFor(store.hello.value?.controls)} terms={TERMS} />;
}

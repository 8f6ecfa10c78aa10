import { useSession } from './context';
import { shortcutsFor } from './shortcuts';

const ID = 'help';

const TERMS: readonly (readonly [term: string, means: string])[] = [
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

export function openHelp(): void {
  const dialog = document.getElementById(ID);
  if (dialog instanceof HTMLDialogElement && !dialog.open) {
    dialog.showModal();
  }
}

export function Help() {
  const { store } = useSession();
  return (
    <dialog id={ID} class="card" aria-labelledby="help-title">
      <form method="dialog">
        <h2 id="help-title">Help</h2>
        <button type="submit" class="icon-button" aria-label="Close">
          ×
        </button>
      </form>
      <h3>Keys</h3>
      <dl class="keys">
        {shortcutsFor(store.hello.value?.controls).map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <h3>Words</h3>
      <dl class="terms">
        {TERMS.map(([term, means]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{means}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}

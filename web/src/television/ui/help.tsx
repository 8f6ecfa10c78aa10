import { KEYS } from '../keys';

const ID = 'help';

/** What figures and signs mean. */
const TERMS: readonly (readonly [term: string, means: string])[] = [
  ['Delay', 'how long media may take from the server to the screen: more of it mends more losses'],
  ['Zapping', 'from the key to the first picture of the new channel'],
  ['Behind live', 'how long ago the server had what is on the screen'],
  ['Late, lost', 'pictures that came after their time, or never'],
  ['Off air', 'the server has nothing of this channel now; it goes on by itself when it has'],
];

export function openHelp(): void {
  const dialog = document.getElementById(ID);
  if (dialog instanceof HTMLDialogElement && !dialog.open) {
    dialog.showModal();
  }
}

/** The remote control, explained. */
export function Help() {
  return (
    <dialog id={ID} class="card" aria-labelledby="help-title" data-testid="help-dialog">
      <form method="dialog">
        <h2 id="help-title">Help</h2>
        <button type="submit" class="icon-button" aria-label="Close">
          ×
        </button>
      </form>
      <h3>Keys</h3>
      <dl class="keys">
        {KEYS.map(([key, does]) => (
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

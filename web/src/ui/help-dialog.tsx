/** A dialog that explains keys and words. */

const ID = 'help';

/** A key, or a word, and what it does or means. */
export type Term = readonly [term: string, means: string];

interface HelpProps {
  readonly keys: readonly Term[];
  readonly terms: readonly Term[];
}

/** Shows the help of this page, which has one. */
export function openHelp(): void {
  const dialog = document.getElementById(ID);
  if (dialog instanceof HTMLDialogElement && !dialog.open) {
    dialog.showModal();
  }
}

export function HelpDialog({ keys, terms }: HelpProps) {
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
        {keys.map(([key, does]) => (
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
        {terms.map(([term, means]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{means}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}

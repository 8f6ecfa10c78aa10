/** Asks before somebody or something is removed. */

import type { ComponentChildren, RefObject } from 'preact';

interface Props {
  readonly dialog: RefObject<HTMLDialogElement | null>;
  /** No other dialog of the page has it. */
  readonly id: string;
  readonly title: string;
  readonly keep: string;
  readonly onRemove: () => void;
  /** What comes of it. */
  readonly children: ComponentChildren;
}

export function ConfirmRemoval({ dialog, id, title, keep, onRemove, children }: Props) {
  return (
    <dialog ref={dialog} class="card" aria-labelledby={id}>
      <form method="dialog" class="confirm">
        <h2 id={id}>{title}</h2>
        <p>{children}</p>
        <div class="dialog-buttons">
          <button type="submit">{keep}</button>
          <button type="submit" class="danger-button" onClick={onRemove} data-testid="confirm">
            Remove
          </button>
        </div>
      </form>
    </dialog>
  );
}

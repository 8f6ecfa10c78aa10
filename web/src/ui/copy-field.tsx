import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';

interface Props {
  readonly text: string;
  readonly label: string;
  /** What is said when it was copied: a whole sentence. */
  readonly copied: string;
}

/** A line to be copied. */
export function CopyField({ text, label, copied }: Props) {
  const field = useRef<HTMLInputElement>(null);
  const said = useSignal('');
  const copy = async () => {
    field.current?.select();
    try {
      await navigator.clipboard.writeText(text);
      said.value = copied;
    } catch {
      said.value = 'It is selected: copy it with your keyboard.';
    }
  };
  return (
    <>
      <div class="copy">
        <input
          ref={field}
          type="text"
          readOnly
          value={text}
          aria-label={label}
          data-testid="invite-link"
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
        <button type="button" onClick={() => void copy()} data-testid="copy">
          Copy
        </button>
      </div>
      <p class="said" role="status" data-testid="copied">
        {said.value}
      </p>
    </>
  );
}

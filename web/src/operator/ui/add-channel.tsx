import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import type { ChannelAccess, NewChannel } from '../answers';
import { useDesk } from './context';

const NUMBER_MAX = 99_999;
const PROGRAM_MAX = 65_535;
const TEXT_MAX = 100;

/** The keys of channels.toml, but for a command: what the machine runs stands in that file only. */
export function AddChannel({ dialog }: { readonly dialog: RefObject<HTMLDialogElement | null> }) {
  const desk = useDesk();
  const wrong = useSignal<string | null>(null);
  const onSubmit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    wrong.value = await desk.add(channelOf(new FormData(form)));
    if (wrong.peek() === null) {
      form.reset();
      dialog.current?.close();
    }
  };
  return (
    <dialog
      ref={dialog}
      class="card"
      aria-labelledby="add-title"
      onClose={() => (wrong.value = null)}
    >
      <form class="add" onSubmit={(event) => void onSubmit(event)}>
        <h2 id="add-title">Add a channel</h2>
        <Field name="name" label="Name" required />
        <Field name="number" label="Number" type="number" max={NUMBER_MAX} hint="the next one" />
        <Field
          name="source"
          label="Source"
          required
          wide
          hint="udp://239.1.2.3:5000, rtp://…, film.ts, films/, demo:clock"
        />
        <Field name="group" label="Group" />
        <Field name="program" label="Program" type="number" max={PROGRAM_MAX} hint="all of it" />
        <Field name="now" label="Now" />
        <Field name="next" label="Next" />
        <label class="field wide">
          <span>Who may watch</span>
          <select name="access" data-testid="add-access">
            <option value="open">All</option>
            <option value="token">Who has a token for it</option>
          </select>
        </label>
        {wrong.value !== null && (
          <p class="bad wide" role="alert" data-testid="add-wrong">
            {wrong.value}
          </p>
        )}
        <div class="dialog-buttons wide">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="main-button" data-testid="add-submit">
            Add
          </button>
        </div>
      </form>
    </dialog>
  );
}

interface FieldProps {
  readonly name: keyof NewChannel;
  readonly label: string;
  readonly type?: 'text' | 'number';
  readonly max?: number;
  readonly hint?: string;
  readonly required?: boolean;
  readonly wide?: boolean;
}

function Field({ name, label, type = 'text', max, hint, required, wide }: FieldProps) {
  return (
    <label class={wide ? 'field wide' : 'field'}>
      <span>{label}</span>
      <input
        {...(type === 'number' ? { type, min: 1, max } : { type, maxLength: TEXT_MAX })}
        name={name}
        required={required}
        placeholder={hint}
        autocomplete="off"
        data-testid={`add-${name}`}
      />
    </label>
  );
}

/** Empty fields are left out. */
function channelOf(form: FormData): NewChannel {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const given = (names: readonly string[], read: (text: string) => string | number) =>
    Object.fromEntries(
      names.filter((name) => text(name) !== '').map((name) => [name, read(text(name))]),
    );
  return {
    name: text('name'),
    source: text('source'),
    access: text('access') as ChannelAccess,
    ...given(['group', 'now', 'next'], String),
    ...given(['number', 'program'], Number),
  };
}

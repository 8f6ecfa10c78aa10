import { PRESETS, type Preset, type Treatment } from '../protocol/program';
import { useSession } from './context';
import { pathName } from './path-words';
import { ReliabilityField } from './reliability-field';

const PRESET_MEANS: Readonly<Record<Preset, string>> = {
  reliable: 'Everything arrives, however late',
  layered: 'The base is fought for, the enhancement is not',
  live: 'What is late is dropped at once',
};

/** What the transport does for each class of media, changeable while it plays. */
export function TreatmentTable() {
  const { store } = useSession();
  const classes = store.hello.value?.classes ?? [];
  const table = store.treatments.value;
  if (classes.length === 0 || table === null) {
    return null;
  }
  const editable = (store.hello.value?.controls.treatments ?? null) !== null;
  return (
    <section class="card treatments" aria-labelledby="treatments-title" data-testid="treatments">
      <div class="treatments-head">
        <h2 id="treatments-title">Treatment</h2>
        <Presets chosen={table.preset} editable={editable} />
      </div>
      <div class="table-scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Class</th>
              <th scope="col">Reliability</th>
              <th scope="col">Ordered</th>
              <th scope="col">Priority</th>
              <th scope="col">Path</th>
            </tr>
          </thead>
          <tbody>
            {classes.map(({ id, name }) => {
              const treatment = table.treatments.find((row) => row.class === id);
              return (
                treatment && <Row key={id} name={name} treatment={treatment} editable={editable} />
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface PresetsProps {
  readonly chosen: Preset | null;
  readonly editable: boolean;
}

function Presets({ chosen, editable }: PresetsProps) {
  const session = useSession();
  return (
    <>
      <fieldset class="presets">
        <legend class="visually-hidden">Presets</legend>
        {PRESETS.map((preset) => (
          <button
            key={preset}
            type="button"
            aria-pressed={chosen === preset}
            disabled={!editable}
            title={PRESET_MEANS[preset]}
            onClick={() => session.request({ type: 'preset', preset })}
            data-testid={`preset-${preset}`}
          >
            {preset}
          </button>
        ))}
      </fieldset>
      <p class="preset-means" data-testid="preset">
        {chosen === null ? 'Your own mix' : PRESET_MEANS[chosen]}
      </p>
    </>
  );
}

interface RowProps {
  readonly name: string;
  readonly treatment: Treatment;
  readonly editable: boolean;
}

function Row({ name, treatment, editable }: RowProps) {
  const session = useSession();
  const change = (changes: Partial<Treatment>) =>
    session.request({ type: 'set_treatment', ...treatment, ...changes });
  return (
    <tr data-testid={`treatment-${treatment.class}`}>
      <th scope="row">{name}</th>
      <td data-label="Reliability">
        <ReliabilityField
          of={name}
          value={treatment.reliability}
          editable={editable}
          onChange={(reliability) => change({ reliability })}
        />
      </td>
      <td data-label="Ordered">
        <input
          type="checkbox"
          checked={treatment.ordered}
          disabled={!editable}
          aria-label={`${name}: ordered`}
          onChange={({ currentTarget }) => change({ ordered: currentTarget.checked })}
        />
      </td>
      <td data-label="Priority">
        <PrioritySelect
          of={name}
          value={treatment.priority}
          editable={editable}
          onChange={(priority) => change({ priority })}
        />
      </td>
      <td data-label="Path">
        <PathSelect
          of={name}
          value={treatment.path}
          editable={editable}
          onChange={(path) => change({ path })}
        />
      </td>
    </tr>
  );
}

interface FieldProps<T> {
  /** The class that the field belongs to. */
  readonly of: string;
  readonly value: T;
  readonly editable: boolean;
  readonly onChange: (value: T) => void;
}

function PrioritySelect({ of, value, editable, onChange }: FieldProps<number>) {
  const { store } = useSession();
  const [low, high] = store.hello.value?.controls.treatments?.priority ?? [value, value];
  return (
    <select
      aria-label={`${of}: priority, 0 goes first`}
      disabled={!editable}
      value={value}
      onChange={({ currentTarget }) => onChange(Number(currentTarget.value))}
    >
      {Array.from({ length: high - low + 1 }, (_, index) => (
        <option key={index} value={low + index}>
          {low + index}
        </option>
      ))}
    </select>
  );
}

function PathSelect({ of, value, editable, onChange }: FieldProps<number | null>) {
  const { store } = useSession();
  return (
    <select
      aria-label={`${of}: preferred path`}
      disabled={!editable}
      value={value ?? 'any'}
      onChange={({ currentTarget }) =>
        onChange(currentTarget.value === 'any' ? null : Number(currentTarget.value))
      }
    >
      <option value="any">any</option>
      {(store.hello.value?.paths ?? []).map((path) => (
        <option key={path.id} value={path.id}>
          {pathName(path)}
        </option>
      ))}
    </select>
  );
}

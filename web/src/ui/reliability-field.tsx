import type { Reliability, TreatmentRanges } from '../protocol/program';
import { useSession } from './context';
import { NumberField } from './number-field';

const KINDS = {
  reliable: 'reliable',
  lifetime_ms: 'lifetime',
  max_retransmissions: 'retransmit at most',
} as const;

type Kind = keyof typeof KINDS;

/** What a kind starts with when it is chosen. */
const START = { lifetime_ms: 200, max_retransmissions: 1 };
const UNIT = { lifetime_ms: 'ms', max_retransmissions: 'times' };

interface Props {
  readonly of: string;
  readonly value: Reliability;
  readonly editable: boolean;
  readonly onChange: (value: Reliability) => void;
}

/** How hard the transport tries: always, for a time, or so many times. */
export function ReliabilityField({ of, value, editable, onChange }: Props) {
  const { kind, limit } = parts(value);
  return (
    <span class="reliability">
      <select
        aria-label={`${of}: reliability`}
        disabled={!editable}
        value={kind}
        onChange={({ currentTarget }) => onChange(whole(currentTarget.value as Kind, null))}
      >
        {Object.entries(KINDS).map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
      {kind !== 'reliable' && (
        <LimitInput
          of={of}
          kind={kind}
          limit={limit}
          editable={editable}
          onChange={(chosen) => onChange(whole(kind, chosen))}
        />
      )}
    </span>
  );
}

interface LimitProps {
  readonly of: string;
  readonly kind: keyof TreatmentRanges & Exclude<Kind, 'reliable'>;
  readonly limit: number;
  readonly editable: boolean;
  readonly onChange: (limit: number) => void;
}

function LimitInput({ of, kind, limit, editable, onChange }: LimitProps) {
  const { store } = useSession();
  const range = store.hello.value?.controls.treatments?.[kind] ?? ([limit, limit] as const);
  return (
    <>
      <NumberField
        label={`${of}: ${KINDS[kind]}, ${UNIT[kind]}`}
        value={limit}
        range={range}
        step={kind === 'lifetime_ms' ? 10 : 1}
        disabled={!editable}
        onChange={onChange}
      />
      <span class="unit">{UNIT[kind]}</span>
    </>
  );
}

function parts(value: Reliability): { readonly kind: Kind; readonly limit: number } {
  if (value === 'reliable') {
    return { kind: 'reliable', limit: 0 };
  }
  return 'lifetime_ms' in value
    ? { kind: 'lifetime_ms', limit: value.lifetime_ms }
    : { kind: 'max_retransmissions', limit: value.max_retransmissions };
}

function whole(kind: Kind, limit: number | null): Reliability {
  switch (kind) {
    case 'reliable':
      return 'reliable';
    case 'lifetime_ms':
      return { lifetime_ms: limit ?? START.lifetime_ms };
    case 'max_retransmissions':
      return { max_retransmissions: limit ?? START.max_retransmissions };
  }
}

import { useEffect, useRef } from 'preact/hooks';
import { plain } from './format';

interface Props {
  readonly label: string;
  readonly value: number;
  readonly range: readonly [number, number];
  readonly step: number;
  readonly disabled?: boolean;
  readonly onChange: (value: number) => void;
  readonly testId?: string;
}

/**
 * A number to type: what is typed stays until Enter or the next field, and only a whole number in
 * range is taken.
 */
export function NumberField({ label, value, range, step, disabled, onChange, testId }: Props) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (input.current !== null && input.current !== document.activeElement) {
      input.current.value = plain(value);
    }
  }, [value]);
  return (
    <input
      type="number"
      ref={input}
      aria-label={label}
      min={range[0]}
      max={range[1]}
      step={step}
      disabled={disabled}
      onChange={({ currentTarget }) => {
        const chosen = Math.round(currentTarget.valueAsNumber);
        if (chosen >= range[0] && chosen <= range[1]) {
          onChange(chosen);
        } else {
          currentTarget.value = plain(value);
        }
      }}
      onBlur={({ currentTarget }) => {
        if (currentTarget.value === '') {
          currentTarget.value = plain(value);
        }
      }}
      data-testid={testId}
    />
  );
}

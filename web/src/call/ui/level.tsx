interface Props {
  readonly name: string;
  /** From 0 to 1. */
  readonly level: number;
  readonly testId: string;
}

/** How loud something is: a bar, for the eye alone. */
export function Level({ name, level, testId }: Props) {
  return (
    <span
      class="level"
      title={name}
      aria-hidden="true"
      data-testid={testId}
      data-level={level.toFixed(2)}
    >
      <span style={{ transform: `scaleX(${level.toFixed(2)})` }} />
    </span>
  );
}

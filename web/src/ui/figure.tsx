import type { Quantity } from './format';

interface Props {
  readonly quantity: Quantity;
  readonly testId?: string;
}

/** A number of fixed width with its unit. */
export function Figure({ quantity, testId }: Props) {
  return (
    <span class="figure" data-testid={testId}>
      <span class="figure-value">{quantity.value}</span>{' '}
      <span class="figure-unit">{quantity.unit}</span>
    </span>
  );
}

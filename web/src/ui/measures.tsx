/** Rows of figures over the picture. */

import type { ComponentChildren } from 'preact';
import { Figure } from './figure';
import { type Quantity, whole } from './format';

interface RowProps {
  readonly name: string;
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}

export function Row({ name, wide, children }: RowProps) {
  return (
    <div class={wide ? 'wide' : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

interface MeasureProps {
  readonly name: string;
  readonly of: Quantity;
  readonly testId: string;
}

export function Measure({ name, of, testId }: MeasureProps) {
  return (
    <Row name={name}>
      <Figure quantity={of} testId={testId} />
    </Row>
  );
}

interface CountProps {
  readonly name: string;
  readonly value: number | null;
  readonly testId: string;
}

export function Count({ name, value, testId }: CountProps) {
  return (
    <Row name={name}>
      <span data-testid={testId}>{whole(value)}</span>
    </Row>
  );
}

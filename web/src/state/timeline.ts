/** The last half minute of some measures, in the form that the graphs draw. */

export const SHOWN_S = 30;
/** A little more than is shown, so that lines enter at the left edge and do not begin there. */
const KEPT_S = SHOWN_S + 2;

type Column = (number | null)[];

/** Rows of `width` values over time, oldest first, in columns. */
export class Timeline {
  readonly times: number[] = [];
  readonly columns: readonly Column[];

  constructor(width: number) {
    this.columns = Array.from({ length: width }, () => []);
  }

  push(atS: number, values: readonly (number | null)[]): void {
    this.times.push(atS);
    this.columns.forEach((column, index) => {
      column.push(values[index] ?? null);
    });
    while ((this.times[0] ?? atS) < atS - KEPT_S) {
      this.times.shift();
      for (const column of this.columns) {
        column.shift();
      }
    }
  }
}

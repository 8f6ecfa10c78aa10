/** Checks that turn an unknown JSON value into a type that cannot be wrong. */

/** Says where in a message something else was expected. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** Returns the value as `T` or throws a {@link DecodeError} that names the place `at`. */
export type Check<T> = (value: unknown, at: string) => T;

export type Checked<C> = C extends Check<infer T> ? T : never;

type Shape = Record<string, Check<unknown>>;
type Object<S extends Shape> = { readonly [K in keyof S]: Checked<S[K]> };

/** An object with at least these fields; unknown ones are dropped. */
export function object<S extends Shape>(shape: S): Check<Object<S>> {
  return (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return fail(at, 'an object', value);
    }
    const fields = value as Record<string, unknown>;
    const checked: Record<string, unknown> = {};
    for (const [name, check] of Object.entries(shape)) {
      checked[name] = check(fields[name], `${at}.${name}`);
    }
    return checked as Object<S>;
  };
}

/** An array of at most `limit` elements. */
export function array<T>(element: Check<T>, limit: number): Check<readonly T[]> {
  return (value, at) => {
    if (!Array.isArray(value) || value.length > limit) {
      return fail(at, `an array of at most ${limit}`, value);
    }
    return value.map((item, index) => element(item, `${at}[${index}]`));
  };
}

/** `null`, or what `check` accepts. */
export function nullable<T>(check: Check<T>): Check<T | null> {
  return (value, at) => (value === null ? null : check(value, at));
}

/** As {@link nullable}, for a field that may also be absent. */
export function optional<T>(check: Check<T>): Check<T | null> {
  return (value, at) => (value === undefined ? null : nullable(check)(value, at));
}

/** One of the given strings. */
export function oneOf<const S extends string>(...allowed: readonly S[]): Check<S> {
  return (value, at) => {
    const found = allowed.find((candidate) => candidate === value);
    return found ?? fail(at, `one of ${allowed.join(', ')}`, value);
  };
}

/** The first check that accepts the value decides. */
export function either<A, B>(first: Check<A>, second: Check<B>): Check<A | B> {
  return (value, at) => {
    try {
      return first(value, at);
    } catch (error) {
      if (!(error instanceof DecodeError)) {
        throw error;
      }
      return second(value, at);
    }
  };
}

/** Text of at most 4096 characters. */
export const text: Check<string> = (value, at) =>
  typeof value === 'string' && value.length <= 4096 ? value : fail(at, 'a short text', value);

export const flag: Check<boolean> = (value, at) =>
  typeof value === 'boolean' ? value : fail(at, 'true or false', value);

/** A finite number, not negative. */
export const amount: Check<number> = (value, at) =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0
    ? value
    : fail(at, 'a number from 0', value);

/** A whole number from 0. */
export const count: Check<number> = (value, at) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : fail(at, 'a whole number from 0', value);

/** `[smallest, largest]`. */
export const range: Check<readonly [number, number]> = (value, at) => {
  if (!Array.isArray(value) || value.length !== 2) {
    return fail(at, 'a pair of numbers', value);
  }
  const low = amount(value[0], `${at}[0]`);
  const high = amount(value[1], `${at}[1]`);
  return low <= high ? [low, high] : fail(at, 'smallest before largest', value);
};

function fail(at: string, expected: string, value: unknown): never {
  const shown = JSON.stringify(value)?.slice(0, 60) ?? 'nothing';
  throw new DecodeError(`${at} should be ${expected}, but is ${shown}`);
}

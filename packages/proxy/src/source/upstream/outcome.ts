/** A value, or why there is none: what was done before its result is asked for. */
export type Outcome<Value> = { readonly value: Value } | { readonly cause: unknown };

export async function outcomeOf<Value>(promise: Promise<Value>): Promise<Outcome<Value>> {
  return promise.then(
    (value) => ({ value }),
    (cause: unknown) => ({ cause }),
  );
}

/** @throws why there is no value */
export function valueOf<Value>(outcome: Outcome<Value>): Value {
  if ("value" in outcome) return outcome.value;
  throw outcome.cause;
}

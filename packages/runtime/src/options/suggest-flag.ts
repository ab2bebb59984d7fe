import { flagName, publicOptions, type OptionTable } from "./option.js";

/** The known flag that was most probably meant, as ` (did you mean --port?)`, or an empty text. `flag` may have its dashes. */
export function suggestFlag(flag: string, table: OptionTable): string {
  const name = flag.replace(/^-+/, "");
  const successor = publicOptions(table).find(([, spec]) => spec.formerNames?.includes(name));
  if (successor !== undefined) return ` (use --${flagName(...successor)})`;
  const nearest = nearestOf(
    publicOptions(table).map(([key, spec]) => flagName(key, spec)),
    name,
    name.slice(0, 4),
  );
  return nearest === undefined ? "" : ` (did you mean --${nearest}?)`;
}

/** As `suggestFlag`, for the name of an environment variable. */
export function suggestVariable(name: string, known: readonly string[]): string {
  // All begin with BUNTING_.
  const nearest = nearestOf(known, name, name.slice(0, 12));
  return nearest === undefined ? "" : ` (did you mean ${nearest}?)`;
}

function nearestOf(known: readonly string[], name: string, beginning: string): string | undefined {
  // A single letter is as near to one flag as to another.
  if (name.length < 2) return undefined;
  const [nearest] = known
    .map((one) => ({ one, edits: editsBetween(one, name) }))
    .filter(({ one, edits }) => edits <= 1 || one.startsWith(beginning))
    .sort((a, b) => a.edits - b.edits);
  return nearest?.one;
}

/** How many letters have to be changed, left out or added, or swapped with the next, to make the one of the other. */
function editsBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1];
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        row > 1 && column > 1 && isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}

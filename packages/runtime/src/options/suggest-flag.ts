import { editsBetween } from "./nearest-word.js";
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

/**
 * Paths of fields as server-side apply names them in conflicts: `.spec.template.spec.containers[name="flagd-proxy"].image`. Names of fields are
 * not quoted, though labels have dots in theirs; so a path can be read only along an object that has the field.
 */

/** A field of an object, or an item of a list, and where it is. */
type Place =
  | { readonly in: Record<string, unknown>; readonly key: string }
  | { readonly in: unknown[]; readonly index: number };

/** A copy of the object without the field; undefined if it has no such field. Lists and objects that become empty stay. */
export function withoutField<T extends object>(object: T, path: string): T | undefined {
  const copy = structuredClone(object);
  const place = placeOf(copy, path);
  if (place === undefined) return undefined;
  if ("key" in place) Reflect.deleteProperty(place.in, place.key);
  else place.in.splice(place.index, 1);
  return copy;
}

function placeOf(value: unknown, path: string): Place | undefined {
  if (Array.isArray(value)) return placeInList(value, path);
  if (typeof value !== "object" || value === null || !path.startsWith(".")) return undefined;
  const fields = value as Record<string, unknown>;
  // Of `a.b`, the first field may be `a` or `a.b`.
  for (const key of Object.keys(fields)) {
    const rest = restAfter(path, `.${key}`);
    if (rest === undefined) continue;
    const place = rest === "" ? { in: fields, key } : placeOf(fields[key], rest);
    if (place !== undefined) return place;
  }
  return undefined;
}

/** Items are named by their keys (`[name="x"]`, `[containerPort=8015,protocol="TCP"]`), their value (`[="x"]`) or their index (`[3]`). */
function placeInList(items: unknown[], path: string): Place | undefined {
  const [selector = "", inner = ""] = /^\[((?:"(?:[^"\\]|\\.)*"|[^\]"])*)\]/.exec(path) ?? [];
  if (selector === "") return undefined;
  const index = /^\d+$/.test(inner) ? Number(inner) : items.findIndex((item) => isSelected(item, inner));
  if (!(index in items)) return undefined;
  const rest = path.slice(selector.length);
  return rest === "" ? { in: items, index } : placeOf(items[index], rest);
}

function isSelected(item: unknown, selector: string): boolean {
  const terms = [...selector.matchAll(/([^=,]*)=("(?:[^"\\]|\\.)*"|[^,]*)/g)];
  return (
    terms.length > 0 &&
    terms.every(([, key = "", json = ""]) => {
      const actual = key === "" ? item : (item as Readonly<Record<string, unknown>> | null)?.[key];
      return actual === parsed(json);
    })
  );
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function restAfter(path: string, beginning: string): string | undefined {
  if (!path.startsWith(beginning)) return undefined;
  const rest = path.slice(beginning.length);
  return rest === "" || rest.startsWith(".") || rest.startsWith("[") ? rest : undefined;
}

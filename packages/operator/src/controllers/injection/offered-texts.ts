import type { Injection } from "../../api/injection.js";
import type { InjectionTexts } from "../../desired/injection.js";
import type { TextList } from "./seen-texts.js";

/** On an Injection, as JSON: the texts with an entry that no Pod has named, by their lists. The next leader can't tell them from others. */
const offeredAnnotation = "bunting.dev/offered";

const lists = ["sources", "inProcess"] as const satisfies readonly TextList[];

/** The annotation of an Injection; nothing if all of its texts were asked for. */
export function offeredAnnotations(
  { spec }: Injection,
  { offered }: InjectionTexts,
): Readonly<Record<string, string>> {
  const texts = lists.map((list) =>
    Object.keys(spec[list] ?? {}).filter((text) => offered?.[list].has(text)),
  );
  const [sources = [], inProcess = []] = texts;
  if (sources.length + inProcess.length === 0) return {};
  return { [offeredAnnotation]: JSON.stringify({ sources, inProcess }) };
}

/** Reads the annotation. */
export function offeredTexts(
  annotations: Readonly<Record<string, string>> = {},
): Readonly<Record<TextList, ReadonlySet<unknown>>> {
  const { sources, inProcess } = parsed(annotations[offeredAnnotation]);
  const setOf = (value: unknown): ReadonlySet<unknown> => new Set(Array.isArray(value) ? value : []);
  return { sources: setOf(sources), inProcess: setOf(inProcess) };
}

function parsed(text = "{}"): Readonly<Partial<Record<TextList, unknown>>> {
  try {
    return (JSON.parse(text) ?? {}) as Readonly<Partial<Record<TextList, unknown>>>;
  } catch {
    return {};
  }
}

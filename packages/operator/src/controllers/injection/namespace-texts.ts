import type { InjectionTexts } from "../../desired/injection.js";

/** Where the texts of annotations that Pods of a namespace may have come from, each in no order. */
export interface TextOrigins {
  /** Names of the namespace's own objects. */
  readonly own: readonly string[];
  /** `namespace/name` of objects that are shared with the namespace. */
  readonly shared: readonly string[];
  /** Texts that were seen on Pods, or compiled for some before. */
  readonly seen: readonly string[];
}

/**
 * The texts to compile: objects of the namespace before what names several or those of others and was seen once, and that before what is only
 * offered. There may be more than an Injection has room for.
 */
export function textsOf(sources: TextOrigins, inProcess: TextOrigins): InjectionTexts {
  return {
    sources: inOrder(sources),
    inProcess: inOrder(inProcess),
    offered: { sources: offeredOf(sources), inProcess: offeredOf(inProcess) },
  };
}

function inOrder({ own, shared, seen }: TextOrigins): readonly string[] {
  return [...new Set([own, seen, shared].flatMap((texts) => texts.toSorted()))];
}

/** Whoever shares an object decides which namespaces hear of it; these have not asked. */
function offeredOf({ shared, seen }: TextOrigins): ReadonlySet<string> {
  const asked = new Set(seen);
  return new Set(shared.filter((text) => !asked.has(text)));
}

/** True for a text that names one object of the Pods' own namespace: those are compiled before any Pod has them. */
export function isPlainName(text: string): boolean {
  return !/[,/;\s]/.test(text);
}

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
 * The texts to compile: objects of the namespace before those of others, and those before what names several, or was seen once. There may be
 * more than an Injection has room for.
 */
export function textsOf(sources: TextOrigins, inProcess: TextOrigins): InjectionTexts {
  return { sources: inOrder(sources), inProcess: inOrder(inProcess) };
}

function inOrder({ own, shared, seen }: TextOrigins): readonly string[] {
  return [...new Set([own, shared, seen].flatMap((texts) => texts.toSorted()))];
}

/** True for a text that names one object of the Pods' own namespace: those are compiled before any Pod has them. */
export function isPlainName(text: string): boolean {
  return !/[,/\s]/.test(text);
}

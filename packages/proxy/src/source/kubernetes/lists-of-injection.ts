import type { KubeObject } from "@bunting/kube";
import { isTopicKey } from "@bunting/protocol";
import type { SourceFlags } from "../flag-source.js";

/** Of a list: a longer one is no list of the operator's. */
const mostTopics = 1_000;
const mostFrameCharacters = 64;

/**
 * The lists that an Injection has, by the text of Pods' annotations. One that is as `before` stays the same object, and entries that are not
 * understood have none.
 */
export function listsOfInjection(
  object: KubeObject,
  before: ReadonlyMap<string, SourceFlags>,
): ReadonlyMap<string, SourceFlags> {
  const { spec } = object as { readonly spec?: { readonly sources?: unknown } };
  const lists = new Map<string, SourceFlags>();
  for (const [text, entry] of Object.entries(asRecord(spec?.sources))) {
    const flags = sourceFlags(asRecord(entry));
    const known = before.get(text);
    if (flags !== undefined) lists.set(text, known !== undefined && isSame(known, flags) ? known : flags);
  }
  return lists;
}

function sourceFlags({ flags, frame }: Readonly<Record<string, unknown>>): SourceFlags | undefined {
  if (typeof frame !== "string" || frame === "" || frame.length > mostFrameCharacters) return undefined;
  if (!Array.isArray(flags) || flags.length === 0 || flags.length > mostTopics) return undefined;
  const topics = flags.filter((flag) => typeof flag === "string" && isTopicKey(flag));
  return topics.length === flags.length ? { topics, frame } : undefined;
}

function isSame(one: SourceFlags, other: SourceFlags): boolean {
  return one.frame === other.frame && one.topics.join() === other.topics.join();
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

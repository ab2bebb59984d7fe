import type { KubeObject } from "@bunting/kube";
import type { InjectionSpec } from "../../api/injection.js";

/** Of entries, what tells that their sources have changed, by the text of the annotation `openfeature.dev/featureflagsource`. */
export type Digests = Readonly<Record<string, string>>;

/** On an Injection, as JSON: the digests with which the workloads run that are restarted when what they get changes. */
export const rolledOutAnnotation = "bunting.dev/rolled-out";

/** Of an Injection, what restarts depend on. */
export interface StoredDigests extends KubeObject {
  readonly digests: Digests;
  /** The annotation; undefined if there is none, or if it is not ours. */
  readonly rolledOut: Digests | undefined;
}

/** The part of an Injection that is kept in memory. */
export function storedDigests(injection: KubeObject): StoredDigests {
  const { name, namespace = "", uid = "", resourceVersion = "", annotations = {} } = injection.metadata;
  const { sources = {} } = (injection as { readonly spec?: Partial<InjectionSpec> }).spec ?? {};
  return {
    metadata: { name, namespace, uid, resourceVersion },
    digests: Object.fromEntries(
      Object.entries(sources).map(([text, { digest, origin = digest }]) => [text, origin]),
    ),
    rolledOut: parsed(annotations[rolledOutAnnotation]),
  };
}

/** The most texts that are remembered although nothing is compiled of them any more. */
const mostAbsent = 100;

/** What is to be done where the digests are not those that are rolled out. */
export interface RolloutPlan {
  /** Texts whose workloads are to be restarted. */
  readonly changed: ReadonlySet<string>;
  /** What is rolled out afterwards. */
  readonly next: Digests;
}

/**
 * Compares the digests of texts whose workloads are to be restarted. One that is seen for the first time is only remembered: its Pods may have it
 * already. One that is gone stays remembered, because a source that is refused for a mistake comes back changed.
 */
export function planRollout(
  { digests, rolledOut = {} }: StoredDigests,
  restarts: (text: string) => boolean,
): RolloutPlan {
  const texts = Object.keys(digests).filter(restarts);
  const changed = texts.filter((text) => Object.hasOwn(rolledOut, text) && rolledOut[text] !== digests[text]);
  const absent = Object.entries(rolledOut).filter(([text]) => !Object.hasOwn(digests, text));
  const next = [...absent.slice(0, mostAbsent), ...texts.map((text) => [text, digests[text] ?? ""] as const)];
  return { changed: new Set(changed), next: sortedByText(next) };
}

function sortedByText(entries: readonly (readonly [text: string, digest: string])[]): Digests {
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function parsed(text: string | undefined): Digests | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    return sortedByText(
      Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  } catch {
    return undefined;
  }
}

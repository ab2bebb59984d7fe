import type { KubeObject } from "@bunting/kube";
import { sourceListDigest } from "@bunting/protocol";
import type { InjectionEntry, InjectionSpec } from "../../api/injection.js";

/**
 * Of entries, what tells that their sources have changed, by the text of the annotation `openfeature.dev/featureflagsource`: `ORIGIN`, and
 * `ORIGIN/FRAME` where there is a list that sidecars follow.
 */
export type Digests = Readonly<Record<string, string>>;

/** On an Injection, as JSON: the digests with which the workloads run that are restarted when what they get changes. */
export const rolledOutAnnotation = "bunting.dev/rolled-out";

/** The list of FeatureFlags that sidecars with a text are to have. */
export interface ListOfText {
  readonly frame: string;
  /** As agents name it. */
  readonly digest: string;
}

/** Of an Injection, what restarts depend on. */
export interface StoredDigests extends KubeObject {
  readonly digests: Digests;
  /** By text. */
  readonly lists: ReadonlyMap<string, ListOfText>;
  /** The annotation; undefined if there is none, or if it is not ours. */
  readonly rolledOut: Digests | undefined;
}

/** The part of an Injection that is kept in memory. */
export function storedDigests(injection: KubeObject): StoredDigests {
  const { name, namespace = "", uid = "", resourceVersion = "", annotations = {} } = injection.metadata;
  const { sources = {} } = (injection as { readonly spec?: Partial<InjectionSpec> }).spec ?? {};
  return {
    metadata: { name, namespace, uid, resourceVersion },
    digests: Object.fromEntries(Object.entries(sources).map(([text, entry]) => [text, digestOf(entry)])),
    lists: new Map(
      Object.entries(sources).flatMap(([text, { flags: topics, frame }]) => {
        if (topics === undefined || frame === undefined) return [];
        return [[text, { frame, digest: sourceListDigest({ namespace, text, frame, topics }) }] as const];
      }),
    ),
    rolledOut: parsed(annotations[rolledOutAnnotation]),
  };
}

/** The Injections of a namespace as one, the first of which has the annotation. Of a text that is about to move, the first one counts, too. */
export function joinedDigests(first: StoredDigests, further: readonly StoredDigests[]): StoredDigests {
  if (further.length === 0) return first;
  const lastFirst = [first, ...further].toReversed();
  return {
    ...first,
    digests: Object.assign({}, ...lastFirst.map(({ digests }) => digests)) as Digests,
    lists: new Map(lastFirst.flatMap(({ lists }) => [...lists])),
  };
}

function digestOf({ digest, origin = digest, frame }: InjectionEntry): string {
  return frame === undefined ? origin : `${origin}/${frame}`;
}

/** The most texts that are remembered although nothing is compiled of them any more. */
const mostAbsent = 100;

/** What is to be done where the digests are not those that are rolled out. */
export interface RolloutPlan {
  /** Texts whose workloads are to be restarted. */
  readonly changed: ReadonlySet<string>;
  /** Texts of which only the FeatureFlags have changed, which sidecars follow. There are none until what else has changed is rolled out. */
  readonly relisted: ReadonlySet<string>;
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
  const changeOf = (text: string): "none" | "list" | "all" =>
    Object.hasOwn(rolledOut, text) ? change(rolledOut[text] ?? "", digests[text] ?? "") : "none";
  const changed = texts.filter((text) => changeOf(text) === "all");
  const relisted = texts.filter((text) => changeOf(text) === "list");
  const isLater = (text: string): boolean => changed.length > 0 && relisted.includes(text);
  const absent = Object.entries(rolledOut).filter(([text]) => !Object.hasOwn(digests, text));
  const present = texts.map((text) => [text, (isLater(text) ? rolledOut : digests)[text] ?? ""] as const);
  return {
    changed: new Set(changed),
    relisted: new Set(changed.length > 0 ? [] : relisted),
    next: sortedByText([...absent.slice(0, mostAbsent), ...present]),
  };
}

function change(before: string, now: string): "none" | "list" | "all" {
  const [origin, frame] = before.split("/");
  const [newOrigin, newFrame] = now.split("/");
  if (origin === newOrigin) return "none";
  return frame !== undefined && frame === newFrame ? "list" : "all";
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

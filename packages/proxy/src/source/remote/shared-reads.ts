import type { KubeObject, RestClient } from "@bunting/kube";
import { errorCode, unlessAborted, type Clock } from "@bunting/runtime";

const secretType = { group: "", version: "v1", plural: "secrets" };
/** How long a Secret that was read counts for all who name it, and how long where a remote has refused what it holds. */
const freshMs = 30_000;
const refusedMs = 5_000;
/** Part of `freshMs` by which reads are apart later that began together, such as at the start of the proxy. */
const jitter = 0.2;

/** A question for a Secret. */
export interface SecretAsked {
  readonly signal: AbortSignal;
  /** True if a remote refused what the Secret held, which may have been replaced since. */
  readonly isRefused: boolean;
}

interface Place {
  readonly namespace: string;
  readonly name: string;
}

interface Read {
  readonly secret: Promise<KubeObject>;
  readonly sinceMs: number;
  readonly freshMs: number;
}

/** Reads a Secret, or gives undefined if the signal aborts first. Rejects with the client's KubeError. */
export type ReadShared = (
  client: Pick<RestClient, "get">,
  place: Place,
  asked: SecretAsked,
) => Promise<KubeObject | undefined>;

/** Secrets, each read once for all remotes that name it, however often these ask. */
export function sharedReads(clock: Clock, random = Math.random): ReadShared {
  /** Reads by namespace and name. */
  const reads = new Map<string, Read>();

  return (client, { namespace, name }, { signal, isRefused }) => {
    const key = `${namespace}/${name}`;
    const sinceMs = clock.monotonicMs();
    for (const [each, read] of reads) if (sinceMs - read.sinceMs >= read.freshMs) reads.delete(each);
    const before = reads.get(key);
    if (before !== undefined && (!isRefused || sinceMs - before.sinceMs < refusedMs))
      return unlessAborted(before.secret, signal);
    // Others wait for it, too: it ends with nobody's signal.
    const secret = client.get({ type: secretType, namespace, name }, new AbortController().signal);
    const read = { secret, sinceMs, freshMs: freshMs * (1 - jitter * random()) };
    reads.set(key, read);
    secret.catch((error: unknown) => {
      // Whether it may be read is an answer, too.
      const isAnswer = ["FORBIDDEN", "NOT_FOUND"].includes(errorCode(error) ?? "");
      if (!isAnswer && reads.get(key) === read) reads.delete(key);
    });
    return unlessAborted(secret, signal);
  };
}

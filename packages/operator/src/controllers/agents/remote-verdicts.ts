import { cut, quoted, singleLine } from "@bunting/runtime";

/** What a proxy says of a FeatureFlag's remote flag provider; one replica reads it for all, and only that one has a state. */
export interface ToldRemote {
  /** A proxy of a later version may know states that are not known here. */
  readonly state?: ToldRemoteState | (string & {});
  /** One word, and a sentence: why it is so, or what has failed since it was so. */
  readonly reason?: string;
  readonly message?: string;
  /** A sentence: what is served otherwise than the sides say. */
  readonly remarks?: string;
}

export const remoteStates = ["starting", "synced", "stale", "never", "forbidden", "held"] as const;
export type ToldRemoteState = (typeof remoteStates)[number];

/** The conditions about a remote: they are there as long as a FeatureFlag has one that a proxy reads. */
export const remoteConditions = ["RemoteSynced", "CredentialsForbidden"] as const;

/** What a condition about a remote says, without times. */
export interface RemoteVerdict {
  readonly type: (typeof remoteConditions)[number];
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

const maxMessageCharacters = 1_024;
/** The worst is said, if replicas say different things while one takes over from another. */
const fromWorst: readonly ToldRemoteState[] = ["forbidden", "never", "held", "stale", "starting", "synced"];

const unsynced: Readonly<
  Record<Exclude<ToldRemoteState, "synced">, { readonly reason: string; readonly then: string }>
> = {
  starting: { reason: "Starting", then: "It has not answered yet: the FeatureFlag's own flags are served." },
  never: { reason: "NeverAnswered", then: "The FeatureFlag's own flags are served." },
  stale: { reason: "Stale", then: "What it answered last is served." },
  held: {
    reason: "EmptyAnswerHeld",
    then: "What it answered before is served; allowEmpty lets it take all flags away.",
  },
  forbidden: { reason: "CredentialsForbidden", then: "What it answered last is served, if anything." },
};

/** Conditions about the remote of a FeatureFlag; none if no proxy reads one for it. */
export function remoteVerdicts(told: readonly (ToldRemote | undefined)[]): readonly RemoteVerdict[] {
  const worst = fromWorst.find((state) => told.some((remote) => remote?.state === state));
  const remote = told.find(
    (each) => each?.state !== undefined && (worst === undefined || each.state === worst),
  );
  if (remote === undefined) return [];
  if (worst === undefined) return [unknownVerdict(remote)];
  const said = sentence(remote.message ?? "");
  const remarks = sentence(remote.remarks ?? "");
  if (worst === "synced") {
    const since = said === "" ? "" : `Since then: ${said}`;
    const texts = ["The remote flag provider has answered.", since, remarks];
    return [verdict("RemoteSynced", "True", "Synced", joined(texts))];
  }
  const { reason, then } = unsynced[worst];
  const synced = verdict("RemoteSynced", "False", reason, joined([said, then, remarks]));
  if (worst !== "forbidden") return [synced];
  const grant =
    "The owner of the namespace lets the proxy read it by a Role for that Secret alone, with the verbs get and watch, which bunting grant credentials NAMESPACE/SECRET prints.";
  return [synced, verdict("CredentialsForbidden", "True", "Forbidden", `${said} ${grant}`.trim())];
}

function unknownVerdict({ state = "", message = "" }: ToldRemote): RemoteVerdict {
  const what = `The proxy says that it is ${quoted(cut(singleLine(state)))}, which an operator of this version does not know.`;
  return verdict("RemoteSynced", "Unknown", "StateUnknown", `${what} ${sentence(message)}`.trim());
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(" ");
}

function sentence(text: string): string {
  return text === "" || text.endsWith(".") ? text : `${text}.`;
}

function verdict(
  type: RemoteVerdict["type"],
  status: RemoteVerdict["status"],
  reason: string,
  message: string,
): RemoteVerdict {
  return { type, status, reason, message: cut(message, maxMessageCharacters) };
}

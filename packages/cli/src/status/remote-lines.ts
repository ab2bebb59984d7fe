import type { Colours } from "../terminal/colours.js";
import { textTable } from "../terminal/text-table.js";
import type { RemoteStatus, TopicStatus } from "./proxy-status.js";
import { span } from "./span.js";

const head = ["REMOTE OF", "STATE", "FOR", "OWN FLAGS", "REMOTE FLAGS"];
const isRight = [false, false, true, true, true];
/** Flags of a remote that are named. */
const maxNamed = 10;

interface TopicRemote {
  readonly topic: string;
  readonly remote: RemoteStatus;
}

/** The remotes of FeatureFlags: how far each is known, and which flags are of it; empty if none is named. */
export function remoteLines(
  topics: readonly TopicStatus[],
  colours: Colours,
  nowMs: number,
): readonly string[] {
  const remotes = topics.flatMap(({ topic = "?", remote }) =>
    remote === undefined ? [] : [{ topic, remote }],
  );
  if (remotes.length === 0) return [];
  const [first = "", ...rows] = textTable([head, ...remotes.map((one) => cells(one, nowMs))], isRight);
  return [
    "",
    colours.dim(first),
    ...rows.map((row, index) => (isFailing(remotes[index]?.remote) ? colours.yellow(row) : row)),
    ...remotes.flatMap(failure),
    ...remotes.flatMap(named),
  ];
}

function cells({ topic, remote: { state, sinceMs, flags } }: TopicRemote, nowMs: number): readonly string[] {
  return [
    topic,
    state ?? "read by another replica",
    sinceMs === undefined ? "" : span(Math.max(0, nowMs - sinceMs) / 1_000),
    String(flags?.local ?? "all"),
    String(flags?.remote ?? 0),
  ];
}

function isFailing(remote: RemoteStatus | undefined): boolean {
  return remote?.state !== undefined && !["synced", "starting"].includes(remote.state);
}

/** One that is synced may have failed since its last answer. */
function failure({ topic, remote: { reason, message } }: TopicRemote): readonly string[] {
  if (message === undefined) return [];
  return [`the remote of ${topic}${reason === undefined ? "" : ` (${reason})`}: ${message}`];
}

function named({ topic, remote: { remoteFlags, flags } }: TopicRemote): readonly string[] {
  if (remoteFlags.length === 0) return [];
  const shown = remoteFlags.slice(0, maxNamed);
  const more = Math.max(flags?.remote ?? 0, remoteFlags.length) - shown.length;
  return [`of the remote of ${topic}: ${shown.join(", ")}${more > 0 ? ` and ${more} more` : ""}`];
}

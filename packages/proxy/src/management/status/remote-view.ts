import type { TopicKey } from "@bunting/protocol";
import { remoteFlags, remoteView, type RemoteReport, type RemoteView } from "@bunting/remote";

export interface RemoteLookup {
  readonly remoteOf: (topic: TopicKey) => RemoteReport | undefined;
  readonly fromMonotonic: (ms: number) => number;
}

/** A FeatureFlag's remote flag provider; undefined if it names none. */
export function remoteViewOf(
  topic: TopicKey,
  { remoteOf, fromMonotonic }: RemoteLookup,
): RemoteView | undefined {
  const report = remoteOf(topic);
  return report && remoteView(report, fromMonotonic);
}

/** The names of its flags that are of the remote; undefined without any. */
export function remoteFlagsOf(
  topic: TopicKey,
  { remoteOf }: Pick<RemoteLookup, "remoteOf">,
): readonly string[] | undefined {
  const report = remoteOf(topic);
  return report && remoteFlags(report);
}

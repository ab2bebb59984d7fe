import type { TopicKey } from "@bunting/protocol";
import type { ServingContext } from "@bunting/runtime";
import type { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";
import type { DocumentLedger } from "./document-ledger.js";
import type { FanOut } from "./fan-out.js";
import type { DeletionPolicy } from "./tombstone.js";
import type { TopicCharge } from "./topic-charge.js";
import type { OfferAgain } from "./topic-memory.js";

export interface TopicPolicies {
  /** Policy for subscribers of a missing document: `hold` lets them wait, `fail` ends them with TOPIC_MISSING. */
  readonly missingPolicy: "hold" | "fail";
  /** Time for which a deleted document is served unchanged, before the deletion policy applies. */
  readonly deletionGraceMs: number;
  /** Deletion policy: `keep` serves the last snapshot, `empty` no flags, `close` ends subscribers with TOPIC_DELETED. */
  readonly deletionPolicy: DeletionPolicy;
}

export interface TopicOptions extends TopicPolicies {
  readonly key: TopicKey;
  readonly fanOut: FanOut;
  /** Of all topics of the process. */
  readonly ledger: DocumentLedger;
  readonly context: ServingContext<ProxyMetrics>;
  /** The connections and addresses that are charged with the topic. */
  readonly charge?: TopicCharge | undefined;
  /** Called when the last subscription is gone. */
  readonly onIdle: () => void;
  readonly onRoom: OfferAgain;
  /** The subscribers that must not be sent the version reported last; none if not given. */
  readonly lost?: LostSubscribers | undefined;
}

/** Subscribers to a topic that are to end before it has a new version, with the reason. */
export type LostSubscribers = (
  topic: TopicKey,
) => readonly { readonly error: ProxyError; readonly subscribers: ReadonlySet<unknown> }[];

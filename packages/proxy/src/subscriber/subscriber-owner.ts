import type { Identity } from "@bunting/identity";
import type { TopicKey } from "@bunting/protocol";
import type { StartQueue, TransportSession } from "@bunting/rpc";
import type { Clock, Deadlines } from "@bunting/runtime";
import type { ProxyError } from "../proxy-error.js";
import type { ProxyMetrics } from "../proxy-metrics.js";

/** The agent's stream that a subscriber belongs to. */
export interface SubscriberOwner<Subscriber> {
  readonly connection: TransportSession;
  readonly program: string | undefined;
  readonly identity: Identity | undefined;
  /** What the agent is called among others, as `instanceOf` keeps it; undefined if it does not say. */
  readonly instance: number | undefined;
  /** The peer is another proxy. */
  readonly isProxy: boolean;
  /** The peer is a proxy whose agents try versions. */
  readonly readsTrials: boolean;
  /** The peer is told whether the source can be followed. */
  readonly readsFreshness: boolean;
  /** The subscriber may have something to send: `next` is called when its turn comes. */
  due(subscriber: Subscriber): void;
  /** The topic has ended the subscription. */
  ended(subscriber: Subscriber, error: ProxyError): void;
}

/** The parts that the subscribers of all streams share. */
export interface TopicSubscriberContext<Subscriber> {
  readonly metrics: ProxyMetrics;
  readonly clock: Clock;
  /** Subscribers that wait for an answer of their agent. */
  readonly unanswered: Deadlines<Subscriber>;
  /** Decides when a subscriber gets its first snapshot; smaller messages do not wait. */
  readonly startQueue?: StartQueue | undefined;
  /** Makes the source read a topic again. Returns a function that cancels. */
  readonly refresh: (topic: TopicKey, done: () => void, connection: TransportSession) => () => void;
}

import type { TopicKey } from "@bunting/protocol";
import type { RpcStatus, TransportSession, TransportStream } from "@bunting/rpc";
import type { Deadlines } from "@bunting/runtime";
import type { Access } from "../access/access.js";
import type { ProxyError } from "../proxy-error.js";
import type { FlagSource } from "../source/flag-source.js";
import type { Subscriber, Subscription } from "../topic/subscription.js";
import type { AgentPrograms } from "./agent-programs.js";
import type { LeftBehind } from "./left-behind.js";
import type { SubscribeBudget } from "./subscribe-budget.js";
import type { TopicSubscriberContext } from "./subscriber-owner.js";
import type { TopicSubscriber } from "./topic-subscriber.js";

/** A stream that gets a heartbeat after a long silence. */
interface Beating {
  beat(): void;
}

/** The parts that all streams of bunting.sync.v1 share. */
export interface AgentStreamContext extends TopicSubscriberContext<TopicSubscriber> {
  readonly maxTopics: number;
  /** The proxies that the flags come through, this one first. */
  readonly tier: () => { readonly proxies: readonly string[]; readonly depth: number };
  readonly programs: AgentPrograms;
  readonly access: Access;
  readonly leftBehind: LeftBehind;
  /** Throws a ProtocolError that names the expected form. */
  readonly parseTopic: (selector: string) => TopicKey;
  /** Throws a ProxyError if the topic is refused. */
  readonly subscribe: (topic: TopicKey, subscriber: Subscriber) => Subscription;
  /** Calls back with the FeatureFlags that the operator has compiled of sources. Returns a function that ends it. */
  readonly followList: NonNullable<FlagSource["followList"]>;
  readonly statusOf: (error: ProxyError) => RpcStatus;
  /** Called once, when a stream has ended. */
  readonly onClosed: (stream: TransportStream) => void;
  /** Decides when a stream may subscribe once more. */
  readonly requestTurns: SubscribeBudget;
  /** Counts and logs that a limit was reached, and returns the error to refuse with. */
  readonly limitReached: (reason: string, session: TransportSession, message: string) => ProxyError;
  /** Calls `beat` for streams on which nothing was written for a while. */
  readonly silent: Deadlines<Beating>;
}

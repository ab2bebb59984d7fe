import { ProtocolError, type TopicKey } from "@bunting/protocol";
import type { Call, Method, RpcStatus, TransportStream } from "@bunting/rpc";
import { Deadlines } from "@bunting/runtime";
import { anonymousAccess, type Access, type Admission } from "../../access/access.js";
import { ProxyError } from "../../proxy-error.js";
import { TierPath } from "../../source/upstream/tier-path.js";
import { AgentPrograms } from "../../subscriber/agent-programs.js";
import { AgentStream } from "../../subscriber/agent-stream.js";
import type { AgentStreamContext } from "../../subscriber/agent-stream-context.js";
import { LeftBehind } from "../../subscriber/left-behind.js";
import type { ListFollower } from "../../subscriber/list-follower.js";
import { SubscribeBudget } from "../../subscriber/subscribe-budget.js";
import { rpcErrorOf, statusOf } from "../status-of.js";
import type { Subscribing } from "../subscribing.js";

export interface AgentSyncOptions {
  readonly subscribing: Subscribing;
  /** Time-out of an agent's answer, in ms; default 30 s. */
  readonly ackTimeoutMs?: number;
  /** A stream gets a heartbeat after this time without a message, in ms; 20 s if not given. Agents give a connection up after 60 s. */
  readonly heartbeatMs?: number;
  /** 32 if not given. */
  readonly maxTopicsPerStream?: number;
  /** 64 subscribes of all agents in one turn of the event loop if not given. */
  readonly requestTurns?: SubscribeBudget;
  /** The proxies that feed this one; default none. */
  readonly tierPath?: TierPath;
}

/** bunting.sync.v1, the protocol of our own agents; see docs/bunting-sync-v1.md. */
export class AgentSync {
  readonly methods: readonly Method[];
  readonly programs = new AgentPrograms();
  readonly #streams = new Map<TransportStream, AgentStream>();

  constructor(options: AgentSyncOptions) {
    const { topics, parseSelector, startQueue, access = anonymousAccess, followList } = options.subscribing;
    const { clock, metrics, log } = options.subscribing.context;
    const { tierPath = new TierPath(clock) } = options;
    tierPath.onChange(() => {
      for (const stream of this.#streams.values()) stream.tierChanged();
    });
    const context: AgentStreamContext = {
      clock,
      metrics,
      maxTopics: options.maxTopicsPerStream ?? 32,
      programs: this.programs,
      tier: () => tierPath.tier,
      access,
      leftBehind: options.subscribing.leftBehind ?? new LeftBehind(options.subscribing.context),
      parseTopic: topicParser(parseSelector),
      subscribe: (topic, subscriber) => topics.subscribe(topic, subscriber),
      startQueue,
      followList: followList ?? (() => () => undefined),
      refresh: (topic, done, connection) => topics.refresh(topic, done, connection),
      statusOf,
      onClosed: (stream) => this.#streams.delete(stream),
      requestTurns: options.requestTurns ?? new SubscribeBudget(),
      limitReached: (reason, { remoteAddress: peer }, message) => {
        metrics.refused(reason);
        log.warn(reason, { peer }, `refused a subscription: ${message}`);
        return new ProxyError("LIMIT_REACHED", message);
      },
      unanswered: new Deadlines(clock, options.ackTimeoutMs ?? 30_000, (subscriber) => subscriber.giveUp()),
      silent: new Deadlines(clock, options.heartbeatMs ?? 20_000, (stream) => stream.beat()),
    };
    const sync: Method = {
      kind: "bidi-streaming",
      path: "/bunting.sync.v1.SyncService/Sync",
      maxMessageBytes: undefined,
      // The stream decodes messages, so that it can end its subscriptions if that fails.
      invoke: (out) => {
        const admission = admit(access, out);
        const stream = new AgentStream(context, out);
        this.#streams.set(out.stream, stream);
        stream.open();
        if (!(admission instanceof Promise)) stream.admit(admission);
        else
          admission.then(
            (settled) => stream.admit(settled),
            (error: unknown) => stream.fail(rpcErrorOf(error)),
          );
        return stream;
      },
    };
    this.methods = [sync];
  }

  *followers(): Iterable<ListFollower> {
    for (const { listDigest: digest, connection } of this.#streams.values())
      if (digest !== undefined) yield { address: connection.remoteAddress, digest };
  }

  /** Ends a stream after its newest versions; one whose peer does not read stays open. False for a stream of another service. */
  drain(stream: TransportStream, status: RpcStatus): boolean {
    const agent = this.#streams.get(stream);
    agent?.drain(status);
    return agent !== undefined;
  }
}

function admit(access: Access, call: Call): Admission | Promise<Admission> {
  try {
    return access.admit(call);
  } catch (error) {
    throw rpcErrorOf(error);
  }
}

/** Messages repeat the name of their topic and are shared by all agents, so all agents have to use the same name. */
function topicParser(parseSelector: (selector: string) => TopicKey): (selector: string) => TopicKey {
  // In a storm all name the same topic: their subscribers then share one text.
  let last: TopicKey | undefined;
  return (selector) => {
    if (selector === last) return last;
    const topic = parseSelector(selector);
    if (topic !== selector)
      throw new ProtocolError("SELECTOR_INVALID", `the topic has to be named ${topic}: <namespace>/<name>`);
    return (last = topic);
  };
}

import type { Identity } from "@bunting/identity";
import type { buntingSyncV1 } from "@bunting/protocol";
import type { ResponseStream, RpcStatus, TransportSession } from "@bunting/rpc";
import type { Admission, Admitted } from "../access/access.js";
import type { ProxyError } from "../proxy-error.js";
import { instanceOf } from "../topic/trial-bucket.js";
import type { AgentProgram } from "./agent-programs.js";
import type { SourceFlags } from "../source/flag-source.js";
import { abuse, readAgentRequest, type AgentRequest } from "./agent-request.js";
import type { AgentStreamContext } from "./agent-stream-context.js";
import { nextStage, type StageEvent, type StreamStage } from "./stream-stage.js";
import { StreamTopics, type TopicsOwner } from "./stream-topics.js";
import { StreamWriter } from "./stream-writer.js";
import type { Requester } from "./subscribe-budget.js";
import type { TopicSubscriber } from "./topic-subscriber.js";
import { WaitingRequests } from "./waiting-requests.js";

/**
 * One stream of bunting.sync.v1: what its agent asks for goes to its topics, what they have to say to its writer. An agent that does not read
 * costs one frame, which others share, and a bounded number of errors: while these wait, or other agents have their turn to subscribe, its
 * requests are not read. Those that had arrived wait here.
 */
export class AgentStream implements TopicsOwner, Requester, Admitted {
  readonly #context: AgentStreamContext;
  readonly #out: ResponseStream;
  readonly #topics: StreamTopics;
  readonly #writer: StreamWriter;
  #stage: StreamStage = "arriving";
  /** Requests that arrived but are not handled yet; undefined if there never were any. */
  #waiting: WaitingRequests | undefined;
  #admission: Admission | undefined;
  /** The agent's `hello`. */
  #program: AgentProgram | undefined;
  instance: number | undefined;
  /** The `hello` was that of a proxy. */
  isProxy = false;
  readsFreshness = false;
  readsTrials = false;
  /** Undefined unless the `hello` asked for a list of FeatureFlags. */
  #followed: { readonly digest: string; readonly end: () => void } | undefined;

  constructor(context: AgentStreamContext, out: ResponseStream) {
    this.#context = context;
    this.#out = out;
    this.#topics = new StreamTopics(context, this);
    this.#writer = new StreamWriter(context, out, this.#topics, this);
  }

  /**
   * Follows the call, and starts the heartbeat. Headers wait for the admission: to an agent they say that it is connected. An admission that takes
   * longer than a heartbeat waits for the API server: the agent is told that it is heard, or it would open another stream, and another.
   */
  open(): void {
    this.#context.metrics.activeStreams(1);
    this.#out.onClose(this);
    this.#context.silent.start(this.#writer);
  }

  /** The agent may subscribe, as far as access allows. Sends response headers. */
  admit(admission: Admission): void {
    if (this.#stage === "ended") return;
    this.#pass("admit");
    this.#admission = admission;
    this.#out.sendHeaders();
    this.#context.access.watchAdmission(admission, this);
    this.onRoom();
  }

  /** @throws RpcError to end the call with, if the agent violates the protocol. */
  onMessage(message: Uint8Array): void {
    if (this.#stage === "ended") return;
    try {
      const request = readAgentRequest(message);
      if (request === undefined) return;
      if (this.#mayTake(request)) this.#take(request);
      else this.#wait(request, message.length);
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  /** Called by its call only. */
  onEnd(): void {
    this.end(halfClosed);
  }

  /** Called by its call only. */
  onClosed(): void {
    this.#context.onClosed(this.#out.stream);
    this.#close();
    this.#context.metrics.activeStreams(-1);
  }

  /** Handles the next request that waits. */
  handleNext(): boolean {
    // Until some errors are written, or some authorizations decided.
    if (this.#isFull || this.#stage === "arriving") return false;
    const request = this.#waiting?.take();
    if (request === undefined) return false;
    try {
      this.#take(request);
    } catch (error) {
      this.fail(error);
      return false;
    }
    if (!this.#mustWait) this.#out.stream.resumeReading();
    return this.#mustWait;
  }

  /** Ends after the newest versions were sent, as far as the agent answers. */
  drain(status: RpcStatus): void {
    this.#writer.drain(status);
  }

  /** Ends at once. */
  end(status: RpcStatus): void {
    this.#close();
    this.#out.end(status);
  }

  /** Ends at once, as if the handler of the call had thrown this error. */
  fail(error: unknown): void {
    this.#close();
    this.#out.fail(error);
  }

  /** The agent's admission has ended. */
  refuse(error: ProxyError): void {
    this.end(this.#context.statusOf(error));
  }

  get connection(): TransportSession {
    return this.#out.stream.session;
  }

  /** The tiers above this proxy have changed. */
  tierChanged(): void {
    if (this.isProxy) this.#writer.oweTier();
  }

  get program(): string | undefined {
    return this.#program?.name;
  }

  /** Of the list of FeatureFlags that the agent follows, as it says; undefined if it follows none. */
  get listDigest(): string | undefined {
    return this.#followed?.digest;
  }

  get identity(): Identity | undefined {
    return this.#admission?.identity;
  }

  due(subscriber: TopicSubscriber): void {
    this.#writer.due(subscriber);
  }

  ended(subscriber: TopicSubscriber, error: ProxyError): void {
    if (!this.#topics.has(subscriber)) return;
    this.#topics.drop(subscriber);
    this.refuseTopic(subscriber.topic, this.#context.statusOf(error));
  }

  /** Refuses or ends the subscription of a topic; the others go on, unless the agent's admission has ended. */
  refuseTopic(topic: string, status: RpcStatus): void {
    if (status.code === "UNAUTHENTICATED") this.end(status);
    else this.#writer.addError(topic, status);
  }

  onRoom(): void {
    if (this.#mustWait) this.#context.requestTurns.enter(this);
  }

  get #isFull(): boolean {
    return this.#writer.isFull || this.#topics.isFull;
  }

  get #mustWait(): boolean {
    return this.#waiting !== undefined && this.#waiting.size > 0;
  }

  #pass(event: StageEvent): void {
    const stage = nextStage(this.#stage, event);
    if (stage === "violation") throw abuse("hello is the first message of a stream, and comes once");
    this.#stage = stage;
  }

  #mayTake({ $case }: AgentRequest): boolean {
    if (this.#stage === "arriving" || this.#mustWait || this.#isFull) return false;
    return $case !== "subscribe" || this.#context.requestTurns.take();
  }

  #wait(request: AgentRequest, bytes: number): void {
    const isFirst = !this.#mustWait;
    (this.#waiting ??= new WaitingRequests(this.#out.stream)).add(request, bytes);
    if (isFirst && this.#stage !== "arriving") this.#context.requestTurns.enter(this);
  }

  #take(request: AgentRequest): void {
    this.#pass(request.$case === "hello" ? "hello" : "request");
    const admission = this.#admission;
    switch (request.$case) {
      case "hello":
        this.#program = this.#context.programs.enter(request.value.agent);
        this.isProxy = request.value.isProxy === true;
        this.instance = this.isProxy ? undefined : instanceOf(request.value.instance);
        this.readsTrials = this.isProxy && request.value.readsTrials === true;
        this.readsFreshness = this.isProxy || request.value.readsFreshness === true;
        this.tierChanged();
        if (request.value.sources !== undefined) this.#followList(request.value.sources);
        return;
      case "subscribe":
        if (admission !== undefined) this.#topics.subscribe(request.value, admission);
        return;
      case "trialReport":
        this.#topics.of(request.value.topic)?.trials?.take(request.value);
        return;
      default:
        this.#answer(request);
    }
  }

  /** A list says no more than names; each FeatureFlag of it is authorized when the agent subscribes. */
  #followList(list: buntingSyncV1.SourceList): void {
    const { identity } = this;
    if (identity !== undefined && identity.namespace !== list.namespace) return;
    const listener = (flags: SourceFlags): void => this.#writer.oweSourceFlags(flags);
    const end = this.#context.followList(list, listener, this.connection);
    this.#followed = { digest: list.digest, end };
  }

  /** An answer that crosses the end of its subscription finds none: that is no error of the agent. */
  #answer(request: Extract<AgentRequest, { $case: "unsubscribe" | "ack" | "nack" }>): void {
    const subscriber = this.#topics.of(request.value.topic);
    if (subscriber === undefined) return;
    if (request.$case === "unsubscribe") {
      this.#topics.drop(subscriber);
      this.#writer.speak();
    } else if (!subscriber.answer(request, this.#writer.written)) {
      this.#topics.drop(subscriber);
      const message = `the ${request.$case} answers nothing that was sent; subscribe again`;
      this.refuseTopic(subscriber.topic, { code: "INVALID_ARGUMENT", message });
    }
  }

  #close(): void {
    if (this.#stage === "ended") return;
    this.#pass("end");
    this.#writer.close();
    this.#context.requestTurns.leave(this);
    this.#waiting?.clear();
    if (this.#program !== undefined) this.#context.programs.leave(this.#program);
    this.#context.access.forget(this);
    this.#followed?.end();
    this.#topics.close();
  }
}

const halfClosed: RpcStatus = {
  code: "UNAVAILABLE",
  message: "the agent has closed its side of the stream, and can answer no more",
};

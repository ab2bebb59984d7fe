import type { Identity } from "@bunting/identity";
import { ProtocolError, type buntingSyncV1 } from "@bunting/protocol";
import { type ResponseStream, type RpcStatus, type TransportSession } from "@bunting/rpc";
import type { Admission, Admitted } from "../access/access.js";
import { ProxyError } from "../proxy-error.js";
import type { AgentProgram } from "./agent-programs.js";
import { abuse, readAgentRequest, type AgentRequest } from "./agent-request.js";
import type { AgentStreamContext } from "./agent-stream-context.js";
import type { Requester } from "./subscribe-budget.js";
import { FrameInFlight } from "./frame-in-flight.js";
import { heartbeatMessage, tierMessage, topicErrorMessage } from "./stream-messages.js";
import { StreamTopics } from "./stream-topics.js";
import { TopicSubscriber, type AgentMessage, type SubscriberOwner } from "./topic-subscriber.js";
import { WaitingRequests } from "./waiting-requests.js";

/** Limit of errors that wait to be written; beyond it, no more requests are read. */
const maxErrors = 64;
/** Limit of authorizations under way, also those of topics left meanwhile; beyond it, no more requests are read. */
const maxAuthorizing = 64;

/**
 * One stream of bunting.sync.v1. Its topics take turns: one message is written at a time, and it is made when the topic's
 * turn comes. An agent that does not read costs one frame, which others share, and a bounded number of errors: while
 * these wait, or other agents have their turn to subscribe, its requests are not read. Those that had arrived wait here.
 */
export class AgentStream implements SubscriberOwner, Requester, Admitted {
  readonly #context: AgentStreamContext;
  readonly #out: ResponseStream;
  readonly #topics: StreamTopics;
  readonly #errors: AgentMessage[] = [];
  /** Requests that arrived but are not handled yet; undefined if there never were any. */
  #waiting: WaitingRequests | undefined;
  /** Undefined until the agent is authenticated; its requests wait until then. */
  #admission: Admission | undefined;
  /** The agent's `hello`. */
  #program: AgentProgram | undefined;
  /** Number of the last message written; both ends count messages. */
  #written = 0;
  #isWriting = false;
  #speaking: TopicSubscriber | undefined;
  readonly #inFlight: FrameInFlight;
  #lastStatus: RpcStatus | undefined;
  /** The `hello` was that of a proxy. */
  isProxy = false;
  readsFreshness = false;
  /** The tiers above this proxy have not been sent yet to the proxy at the other end. */
  #owesTier = false;
  #hasEnded = false;
  /** Authorizations that wait for a decision. */
  #authorizing = 0;
  readonly #onWritten: (error?: Error) => void;

  constructor(context: AgentStreamContext, out: ResponseStream) {
    this.#context = context;
    this.#out = out;
    this.#topics = new StreamTopics(context);
    this.#inFlight = new FrameInFlight(out.stream);
    this.#onWritten = (error) => this.#finishWrite(error);
  }

  /** Sends response headers and starts the heartbeat. */
  open(): void {
    this.#context.metrics.activeStreams(1);
    this.#out.onClose(() => {
      this.#close();
      this.#context.metrics.activeStreams(-1);
    });
    this.#out.sendHeaders();
    this.#context.silent.start(this);
  }

  /** The agent may subscribe, as far as access allows. */
  admit(admission: Admission): void {
    if (this.#hasEnded) return;
    this.#admission = admission;
    this.#context.access.watchAdmission(admission, this);
    if (this.#mustWait) this.#context.requestTurns.enter(this);
  }

  /** @throws RpcError to end the call with, if the agent violates the protocol. */
  receive(message: Uint8Array): void {
    if (this.#hasEnded) return;
    try {
      const request = readAgentRequest(message);
      if (request === undefined) return;
      const admission = this.#admission;
      if (admission !== undefined && !this.#mustWait && this.#mayTake(request))
        this.#take(request, admission);
      else this.#wait(message);
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  /** Handles the next request that waits. */
  handleNext(): boolean {
    // Until some errors are written, or some authorizations decided.
    if (this.#isFull || this.#admission === undefined) return false;
    const message = this.#waiting?.take();
    if (message === undefined) return false;
    try {
      const request = readAgentRequest(message);
      if (request !== undefined) this.#take(request, this.#admission);
    } catch (error) {
      this.fail(error);
      return false;
    }
    if (!this.#mustWait) this.#out.stream.resumeReading();
    return this.#mustWait;
  }

  /** Ends after the newest versions were sent, as far as the agent answers. */
  drain(status: RpcStatus): void {
    this.#lastStatus ??= status;
    this.#speak();
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

  /** Called when nothing was written for a while. */
  beat(): void {
    if (this.#hasEnded) return;
    this.#context.silent.start(this);
    if (!this.#isWriting) this.#write(heartbeatMessage);
  }

  get connection(): TransportSession {
    return this.#out.stream.session;
  }

  /** The tiers above this proxy have changed. */
  tierChanged(): void {
    if (!this.isProxy || this.#hasEnded) return;
    this.#owesTier = true;
    this.#speak();
  }

  get program(): string | undefined {
    return this.#program?.name;
  }

  get identity(): Identity | undefined {
    return this.#admission?.identity;
  }

  due(subscriber: TopicSubscriber): void {
    if (subscriber === this.#speaking) this.#inFlight.isOld();
    if (this.#topics.due(subscriber)) this.#speak();
  }

  ended(subscriber: TopicSubscriber, error: ProxyError): void {
    if (!this.#topics.has(subscriber)) return;
    this.#topics.drop(subscriber);
    this.#refuse(subscriber.topic, this.#context.statusOf(error));
  }

  #mayTake({ $case }: AgentRequest): boolean {
    return !this.#isFull && ($case !== "subscribe" || this.#context.requestTurns.take());
  }

  get #isFull(): boolean {
    return this.#errors.length >= maxErrors || this.#authorizing >= maxAuthorizing;
  }

  get #mustWait(): boolean {
    return this.#waiting !== undefined && this.#waiting.size > 0;
  }

  #wait(message: Uint8Array): void {
    if (!this.#mustWait && this.#admission !== undefined) this.#context.requestTurns.enter(this);
    this.#waiting ??= new WaitingRequests(this.#out.stream);
    this.#waiting.add(message);
  }

  #take(request: AgentRequest, admission: Admission): void {
    if ((this.#program !== undefined) === (request.$case === "hello"))
      throw abuse("hello is the first message of a stream, and comes once");
    switch (request.$case) {
      case "hello":
        this.#program = this.#context.programs.enter(request.value.agent);
        this.isProxy = request.value.isProxy === true;
        this.readsFreshness = this.isProxy || request.value.readsFreshness === true;
        this.tierChanged();
        return;
      case "subscribe":
        this.#subscribe(request.value, admission);
        return;
      default:
        this.#answer(request);
    }
  }

  #subscribe(
    { topic: selector, held }: Extract<AgentRequest, { $case: "subscribe" }>["value"],
    admission: Admission,
  ): void {
    const { maxTopics, parseTopic, statusOf, limitReached } = this.#context;
    try {
      const topic = parseTopic(selector);
      if (this.#topics.of(topic) !== undefined) throw abuse(`this stream is subscribed to ${topic} already`);
      if (this.#topics.size >= maxTopics) {
        const message = `a stream has at most ${maxTopics} topics; open another one`;
        this.#refuse(selector, statusOf(limitReached("topics_per_stream", this.connection, message)));
        return;
      }
      this.#authorize(new TopicSubscriber(this.#context, this, topic), admission, held);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#refuse(selector, { code: "INVALID_ARGUMENT", message: error.message });
    }
  }

  #authorize(
    subscriber: TopicSubscriber,
    admission: Admission,
    held: buntingSyncV1.Version | undefined,
  ): void {
    const { topic } = subscriber;
    const refusal = this.#context.access.authorize(admission, topic, this.connection);
    if (!(refusal instanceof Promise)) {
      this.#join(subscriber, admission, held, refusal);
      return;
    }
    // Until the decision the topic counts as subscribed, but receives nothing.
    this.#topics.add(subscriber);
    this.#authorizing++;
    refusal
      .finally(() => {
        this.#authorizing--;
        if (this.#mustWait) this.#context.requestTurns.enter(this);
      })
      .then((settled) => {
        if (this.#topics.has(subscriber)) this.#join(subscriber, admission, held, settled);
      })
      .catch((error: unknown) => this.fail(error));
  }

  #join(
    subscriber: TopicSubscriber,
    admission: Admission,
    held: buntingSyncV1.Version | undefined,
    refusal: ProxyError | undefined,
  ): void {
    const { topic } = subscriber;
    const { access, subscribe, statusOf } = this.#context;
    try {
      if (refusal !== undefined) throw refusal;
      const subscription = subscribe(topic, subscriber);
      this.#topics.add(subscriber);
      access.watchTopic(admission, topic, subscriber);
      subscriber.open(subscription, held);
      this.#context.leftBehind.subscribed(topic, subscriber, held?.digest.toString("hex"));
    } catch (error) {
      this.#topics.delete(subscriber);
      if (!(error instanceof ProxyError)) throw error;
      this.#refuse(topic, statusOf(error));
    }
  }

  /** An answer that crosses the end of its subscription finds none: that is no error of the agent. */
  #answer(request: Extract<AgentRequest, { $case: "unsubscribe" | "ack" | "nack" }>): void {
    const subscriber = this.#topics.of(request.value.topic);
    if (subscriber === undefined) return;
    if (request.$case === "unsubscribe") {
      this.#topics.drop(subscriber);
      this.#speak();
    } else if (!subscriber.answer(request, this.#written)) {
      this.#topics.drop(subscriber);
      const message = `the ${request.$case} answers nothing that was sent; subscribe again`;
      this.#refuse(subscriber.topic, { code: "INVALID_ARGUMENT", message });
    }
  }

  /** Refuses or ends the subscription of a topic; the others go on, unless the agent's admission has ended. */
  #refuse(topic: string, status: RpcStatus): void {
    if (status.code === "UNAUTHENTICATED") {
      this.end(status);
      return;
    }
    this.#errors.push(topicErrorMessage(topic, status));
    this.#speak();
  }

  #speak(): void {
    if (this.#isWriting || this.#hasEnded) return;
    if (this.#owesTier) {
      this.#owesTier = false;
      this.#write(tierMessage(this.#context.tier()));
      return;
    }
    const error = this.#errors.shift();
    if (error !== undefined) {
      if (this.#mustWait) this.#context.requestTurns.enter(this);
      this.#write(error);
      return;
    }
    for (let due = this.#topics.takeDue(); due !== undefined; due = this.#topics.takeDue()) {
      const message = due.next(this.#written + 1);
      if (message === undefined) continue;
      this.#speaking = due;
      this.#write(message);
      return;
    }
    if (this.#lastStatus !== undefined && !this.#topics.isBehind) this.end(this.#lastStatus);
  }

  #write({ kind, frame }: AgentMessage): void {
    this.#written++;
    this.#isWriting = true;
    this.#context.metrics.agentMessage(kind, frame.length);
    this.#context.silent.start(this);
    if (kind === "topic_error") this.#out.write(frame, this.#onWritten);
    else {
      this.#inFlight.begin(frame);
      this.#out.writeShared(frame, this.#onWritten);
    }
  }

  #finishWrite(error: Error | undefined): void {
    this.#inFlight.end();
    const speaking = this.#speaking;
    this.#speaking = undefined;
    this.#isWriting = false;
    // The stream has ended and will be closed.
    if (error !== undefined || this.#hasEnded) return;
    if (speaking !== undefined) {
      speaking.written();
      // A tombstone needs no answer, so the topic may have more to send.
      this.#topics.due(speaking);
    }
    this.#speak();
  }

  #close(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#inFlight.end();
    this.#context.silent.cancel(this);
    this.#context.requestTurns.leave(this);
    this.#waiting?.clear();
    if (this.#program !== undefined) this.#context.programs.leave(this.#program);
    this.#context.access.forget(this);
    this.#topics.close();
  }
}

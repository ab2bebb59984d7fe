import { ProtocolError, type TopicKey } from "@bunting/protocol";
import {
  RpcError,
  statusCode,
  type ResponseStream,
  type RpcStatus,
  type TransportSession,
} from "@bunting/rpc";
import type { Deadlines } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";
import { frameResponse } from "../snapshot/topic-frames.js";
import type { Subscription, Subscriber } from "../topic/subscription.js";
import { readAgentRequest, type AgentRequest } from "./agent-request.js";
import type { Requester, RequestTurns } from "./request-turns.js";
import {
  TopicSubscriber,
  type AgentMessage,
  type SubscriberOwner,
  type TopicSubscriberContext,
} from "./topic-subscriber.js";

/** What all streams of bunting.sync.v1 share. */
export interface AgentStreamContext extends TopicSubscriberContext {
  readonly maxTopics: number;
  /** Throws a ProtocolError that names the expected form. */
  readonly parseTopic: (selector: string) => TopicKey;
  /** Throws a ProxyError if the topic is refused. */
  readonly subscribe: (topic: TopicKey, subscriber: Subscriber) => Subscription;
  readonly statusOf: (error: ProxyError) => RpcStatus;
  /** Decides when a stream may subscribe once more. */
  readonly requestTurns: RequestTurns;
  /** Counts and logs that a limit was reached, and returns the error to refuse with. */
  readonly limitReached: (reason: string, session: TransportSession, message: string) => ProxyError;
  /** Calls `beat` for streams on which nothing was written for a while. */
  readonly silent: Deadlines<AgentStream>;
}

const heartbeat: AgentMessage = {
  kind: "heartbeat",
  frame: frameResponse({ $case: "heartbeat", value: {} }),
};
/** How many errors may wait to be written before no more requests are read. */
const maxErrors = 64;
/** What a request that waits takes in addition to its bytes. */
const waitingBytes = 128;
/**
 * A stream is read on while fewer requests than this wait, and no large one does: that is all an ordinary agent sends, so that in a reconnect
 * storm few are charged for what a stream may hold while it is not read.
 */
const maxWaiting = 64;
const maxWaitingRequestBytes = 1024;

/**
 * One stream of bunting.sync.v1. Its topics take turns: one message is written at a time, and each is made when the turn of its topic comes.
 * So an agent that does not read costs no more than one frame, which others share, and a bounded number of errors: while they wait, and while
 * other agents have their turn to subscribe, only so many of its requests are read. What had arrived with the last of these waits here as well.
 */
export class AgentStream implements SubscriberOwner, Requester {
  readonly #context: AgentStreamContext;
  readonly #out: ResponseStream;
  readonly #subscribers = new Map<TopicKey, TopicSubscriber>();
  /** Subscribers that may have something to send, in the order of their wakes. */
  readonly #due = new Set<TopicSubscriber>();
  readonly #errors: AgentMessage[] = [];
  /** Requests that were received and wait to be handled. */
  #waiting: Uint8Array[] = [];
  #hasSaidHello = false;
  /** Messages written so far: the number of the last one, which both ends count. */
  #written = 0;
  #isWriting = false;
  #speaking: TopicSubscriber | undefined;
  #lastStatus: RpcStatus | undefined;
  #hasEnded = false;
  readonly #onWritten: (error?: Error) => void;

  constructor(context: AgentStreamContext, out: ResponseStream) {
    this.#context = context;
    this.#out = out;
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

  /** @throws RpcError to end the call with, if the agent violates the protocol. */
  receive(message: Uint8Array): void {
    if (this.#hasEnded) return;
    try {
      const request = readAgentRequest(message);
      if (request === undefined) return;
      if (this.#waiting.length === 0 && this.#mayTake(request)) this.#take(request);
      else this.#wait(message);
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  /** Handles the next request that waits. */
  handleNext(): boolean {
    // Until some are written.
    if (this.#errors.length >= maxErrors) return false;
    const message = this.#waiting.shift();
    if (message === undefined) return false;
    this.connection.account.release(message.length + waitingBytes);
    try {
      const request = readAgentRequest(message);
      if (request !== undefined) this.#take(request);
    } catch (error) {
      this.#close();
      this.#out.fail(error);
      return false;
    }
    if (this.#waiting.length === 0) this.#out.stream.resumeReading();
    return this.#waiting.length > 0;
  }

  /** Sends the newest versions, as far as the agent answers, then ends. */
  drain(status: RpcStatus): void {
    this.#lastStatus ??= status;
    this.#speak();
  }

  /** Ends at once. */
  end(status: RpcStatus): void {
    this.#close();
    this.#out.end(status);
  }

  /** Called when nothing was written for a while. */
  beat(): void {
    if (this.#hasEnded) return;
    this.#context.silent.start(this);
    if (!this.#isWriting) this.#write(heartbeat);
  }

  get connection(): TransportSession {
    return this.#out.stream.session;
  }

  due(subscriber: TopicSubscriber): void {
    if (this.#subscribers.get(subscriber.topic) !== subscriber) return;
    this.#due.add(subscriber);
    this.#speak();
  }

  ended(subscriber: TopicSubscriber, error: ProxyError): void {
    if (this.#subscribers.get(subscriber.topic) !== subscriber) return;
    this.#drop(subscriber);
    this.#refuse(subscriber.topic, this.#context.statusOf(error));
  }

  #mayTake({ $case }: AgentRequest): boolean {
    return this.#errors.length < maxErrors && ($case !== "subscribe" || this.#context.requestTurns.take());
  }

  #wait(message: Uint8Array): void {
    if (this.#waiting.length === 0) this.#context.requestTurns.enter(this);
    this.#waiting.push(message);
    this.connection.account.charge(message.length + waitingBytes);
    if (this.#waiting.length >= maxWaiting || message.length > maxWaitingRequestBytes)
      this.#out.stream.pauseReading();
  }

  #take(request: AgentRequest): void {
    if (this.#hasSaidHello === (request.$case === "hello"))
      throw abuse("hello is the first message of a stream, and comes once");
    switch (request.$case) {
      case "hello":
        this.#hasSaidHello = true;
        return;
      case "subscribe":
        this.#subscribe(request.value);
        return;
      default:
        this.#answer(request);
    }
  }

  #subscribe({ topic: selector, held }: Extract<AgentRequest, { $case: "subscribe" }>["value"]): void {
    const { maxTopics, parseTopic, subscribe, statusOf, limitReached } = this.#context;
    try {
      const topic = parseTopic(selector);
      if (this.#subscribers.has(topic)) throw abuse(`this stream is subscribed to ${topic} already`);
      if (this.#subscribers.size >= maxTopics) {
        const message = `a stream has at most ${maxTopics} topics; open another one`;
        this.#refuse(selector, statusOf(limitReached("topics_per_stream", this.connection, message)));
        return;
      }
      const subscriber = new TopicSubscriber(this.#context, this, topic);
      const subscription = subscribe(topic, subscriber);
      this.#subscribers.set(topic, subscriber);
      subscriber.open(subscription, held);
    } catch (error) {
      if (error instanceof ProxyError) this.#refuse(selector, statusOf(error));
      else if (error instanceof ProtocolError)
        this.#refuse(selector, { code: "INVALID_ARGUMENT", message: error.message });
      else throw error;
    }
  }

  /** An answer that crosses the end of its subscription finds none, which is no error of the agent. */
  #answer(request: Extract<AgentRequest, { $case: "unsubscribe" | "ack" | "nack" }>): void {
    const subscriber = this.#subscribers.get(request.value.topic as TopicKey);
    if (subscriber === undefined) return;
    if (request.$case === "unsubscribe") {
      this.#drop(subscriber);
      this.#speak();
    } else if (!this.#isAnswer(subscriber, request)) {
      this.#drop(subscriber);
      const message = `the ${request.$case} answers nothing that was sent; subscribe again`;
      this.#refuse(subscriber.topic, { code: "INVALID_ARGUMENT", message });
    }
  }

  #isAnswer(subscriber: TopicSubscriber, request: Extract<AgentRequest, { $case: "ack" | "nack" }>): boolean {
    const number = Number(request.value.number);
    if (number < 1 || number > this.#written) return false;
    if (request.$case === "ack")
      return subscriber.ack(number, request.value.digest.toString("hex"), request.value.rejectedFlags);
    const { heldDigest, reason, isDeltaMismatch } = request.value;
    subscriber.nack(number, heldDigest.toString("hex"), reason, isDeltaMismatch);
    return true;
  }

  /** Refuses or ends the subscription of a topic; the others go on. */
  #refuse(topic: string, { code, message, trailers }: RpcStatus): void {
    const retryAfterMs = Number(trailers?.["grpc-retry-pushback-ms"] ?? 0);
    const value = { topic, code: statusCode[code], message, retryAfterMs };
    this.#errors.push({ kind: "topic_error", frame: frameResponse({ $case: "topicError", value }) });
    this.#speak();
  }

  #drop(subscriber: TopicSubscriber): void {
    this.#subscribers.delete(subscriber.topic);
    this.#due.delete(subscriber);
    subscriber.close();
  }

  #speak(): void {
    if (this.#isWriting || this.#hasEnded) return;
    const error = this.#errors.shift();
    if (error !== undefined) {
      if (this.#waiting.length > 0) this.#context.requestTurns.enter(this);
      this.#write(error);
      return;
    }
    for (const subscriber of this.#due) {
      this.#due.delete(subscriber);
      const message = subscriber.next(this.#written + 1);
      if (message === undefined) continue;
      this.#speaking = subscriber;
      this.#write(message);
      return;
    }
    if (this.#lastStatus === undefined) return;
    for (const subscriber of this.#subscribers.values()) if (subscriber.isBehind) return;
    this.end(this.#lastStatus);
  }

  #write({ kind, frame }: AgentMessage): void {
    this.#written++;
    this.#isWriting = true;
    this.#context.metrics.agentMessage(kind, frame.length);
    this.#context.silent.start(this);
    if (kind === "topic_error") this.#out.write(frame, this.#onWritten);
    else this.#out.writeShared(frame, this.#onWritten);
  }

  #finishWrite(error: Error | undefined): void {
    const speaking = this.#speaking;
    this.#speaking = undefined;
    this.#isWriting = false;
    // The stream has ended and will be closed.
    if (error !== undefined || this.#hasEnded) return;
    if (speaking !== undefined) {
      speaking.written();
      // It may have a tombstone to send, which does not wait for an answer.
      if (this.#subscribers.get(speaking.topic) === speaking) this.#due.add(speaking);
    }
    this.#speak();
  }

  #close(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#context.silent.cancel(this);
    this.#context.requestTurns.leave(this);
    for (const { length } of this.#waiting) this.connection.account.release(length + waitingBytes);
    this.#waiting = [];
    for (const subscriber of this.#subscribers.values()) subscriber.close();
    this.#subscribers.clear();
    this.#due.clear();
  }
}

function abuse(message: string): RpcError {
  return new RpcError("INVALID_ARGUMENT", message);
}

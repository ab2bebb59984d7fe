import type { ResponseStream, RpcStatus } from "@bunting/rpc";
import { HeldFrame, smallFrameBytes, type FrameHolder } from "@bunting/server";
import type { AgentStreamContext } from "./agent-stream-context.js";
import type { SourceFlags } from "../source/flag-source.js";
import {
  type AgentMessage,
  heartbeatMessage,
  sourceFlagsMessage,
  tierMessage,
  topicErrorMessage,
} from "./stream-messages.js";
import { nextWrite, type WriterState } from "./stream-stage.js";
import type { StreamTopics, TopicsOwner } from "./stream-topics.js";
import type { TopicSubscriber } from "./topic-subscriber.js";

/** Limit of errors that wait to be written; beyond it, no more requests are read. */
const maxErrors = 64;

/** The stream, as what is written on it sees it. */
type WriterOwner = Pick<TopicsOwner, "onRoom"> & { end(status: RpcStatus): void };

/** What is written on a stream of bunting.sync.v1: one message at a time, made when its turn comes. Topics take turns behind all else. */
export class StreamWriter {
  readonly #context: AgentStreamContext;
  readonly #out: ResponseStream;
  readonly #topics: StreamTopics;
  readonly #owner: WriterOwner;
  /** Undefined until there is one. */
  #errors: AgentMessage[] | undefined;
  /** The shared frame that is being written, and what it is charged as once it is an old one. */
  #inFlight: Uint8Array | undefined;
  #held: HeldFrame | undefined;
  #state: WriterState = "idle";
  /** The tiers above this proxy have not been sent yet to the proxy at the other end. */
  #owesTier = false;
  /** The newest list of FeatureFlags that the agent's sources have, until it is sent. */
  #sourceFlags: SourceFlags | undefined;
  #written = 0;
  #speaking: TopicSubscriber | undefined;
  #lastStatus: RpcStatus | undefined;

  constructor(context: AgentStreamContext, out: ResponseStream, topics: StreamTopics, owner: WriterOwner) {
    this.#context = context;
    this.#out = out;
    this.#topics = topics;
    this.#owner = owner;
  }

  /** Number of the last message; both ends count messages. */
  get written(): number {
    return this.#written;
  }

  get isFull(): boolean {
    return this.#errors !== undefined && this.#errors.length >= maxErrors;
  }

  /** The topic may have something to send. */
  due(subscriber: TopicSubscriber): void {
    if (subscriber === this.#speaking && this.#inFlight !== undefined)
      this.#held ??= holdOldFrame(this.#inFlight, this.#out.stream);
    if (this.#topics.due(subscriber)) this.speak();
  }

  oweTier(): void {
    this.#owesTier = true;
    this.speak();
  }

  oweSourceFlags(flags: SourceFlags): void {
    this.#sourceFlags = flags;
    this.speak();
  }

  addError(topic: string, status: RpcStatus): void {
    (this.#errors ??= []).push(topicErrorMessage(topic, status));
    this.speak();
  }

  /** Ends the stream after the newest versions, as far as the agent answers. */
  drain(status: RpcStatus): void {
    this.#lastStatus ??= status;
    this.speak();
  }

  /** Called when nothing was written for a while. */
  beat(): void {
    if (this.#state === "closed") return;
    this.#context.silent.start(this);
    if (this.#state === "idle") this.#write(heartbeatMessage);
  }

  /** Nothing more is written. */
  close(): void {
    this.#state = "closed";
    this.#letGo();
    this.#context.silent.cancel(this);
  }

  /** Writes what is due next, unless a message is being written. */
  speak(): void {
    for (;;) {
      const owesError = this.#errors !== undefined && this.#errors.length > 0;
      const owesNotice = this.#owesTier || this.#sourceFlags !== undefined;
      const isDraining = this.#lastStatus !== undefined;
      switch (nextWrite(this.#state, owesNotice, owesError, this.#topics, isDraining)) {
        case "nothing":
          return;
        case "notice":
          this.#write(this.#takeNotice());
          return;
        case "error":
          this.#writeError();
          return;
        case "topic":
          this.#writeTopic();
          break;
        case "end":
          if (this.#lastStatus !== undefined) this.#owner.end(this.#lastStatus);
          return;
      }
    }
  }

  #takeNotice(): AgentMessage {
    const flags = this.#sourceFlags;
    if (flags === undefined || this.#owesTier) {
      this.#owesTier = false;
      return tierMessage(this.#context.tier());
    }
    this.#sourceFlags = undefined;
    return sourceFlagsMessage(flags);
  }

  #writeError(): void {
    const error = this.#errors?.shift();
    this.#owner.onRoom();
    if (error !== undefined) this.#write(error);
  }

  #writeTopic(): void {
    const due = this.#topics.takeDue();
    const message = due?.next(this.#written + 1);
    if (message === undefined) return;
    this.#speaking = due;
    this.#write(message);
  }

  #write({ kind, frame }: AgentMessage): void {
    this.#written++;
    this.#state = "writing";
    this.#context.metrics.agentMessage(kind, frame.length);
    this.#context.silent.start(this);
    if (kind === "topic_error") this.#out.write(frame, this);
    else {
      this.#inFlight = frame;
      this.#out.writeShared(frame, this);
    }
  }

  /** The peer has taken the frame, or has gone. */
  #letGo(): void {
    this.#held?.release(this.#out.stream);
    this.#held = undefined;
    this.#inFlight = undefined;
  }

  /** Called by its stream only. */
  onWritten(error?: Error): void {
    this.#letGo();
    const speaking = this.#speaking;
    this.#speaking = undefined;
    if (this.#state === "writing") this.#state = "idle";
    // The stream has ended and will be closed.
    if (error !== undefined || this.#state === "closed") return;
    if (speaking !== undefined) {
      speaking.written();
      // A tombstone needs no answer, so the topic may have more to send.
      this.#topics.due(speaking);
    }
    this.speak();
  }
}

const heldFrames = new WeakMap<Uint8Array, HeldFrame>();

/**
 * Charges a stream, or another one that holds the frame, too, with a shared frame that it is being sent although there is a newer one:
 * such a frame is there for those only that are slow to take it. Undefined if it is too small to count; else the stream has to release it.
 */
function holdOldFrame(frame: Uint8Array, stream: FrameHolder): HeldFrame | undefined {
  if (frame.byteLength < smallFrameBytes) return undefined;
  const held = heldFrames.get(frame) ?? new HeldFrame(frame.byteLength, true);
  heldFrames.set(frame, held);
  held.hold(stream);
  return held;
}

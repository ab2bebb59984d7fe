import type { RpcStatus } from "@bunting/rpc";
import { Deadlines, type Clock } from "@bunting/runtime";
import type { SyncStreamEndReason } from "./api-metrics.js";
import type { ClientStream, OutgoingStream } from "./outgoing-stream.js";
import type { Selection } from "./selection.js";
import type { StreamGroup } from "./stream-group.js";

/** An open stream, in the group of its selector. */
export interface GroupedStream<Group> {
  readonly out: OutgoingStream;
  readonly group: Group;
}

type GroupOf<Stream> = Pick<StreamGroup<Stream>, "selection" | "isEmpty" | "add" | "delete">;

export interface StreamRegistryOptions<Stream, Group> {
  readonly clock: Clock;
  /** `--stream-deadline`; 0 means none. */
  readonly streamDeadlineMs: number;
  readonly createGroup: (selection: Selection) => Group;
  /** Called once for each stream, when it has left its group: it is about to end, or has closed. */
  readonly onLeave: (stream: Stream, reason: SyncStreamEndReason) => void;
  /** Writes the last frame of a stream that the agent is about to end because it shuts down. */
  readonly writeLast: (stream: Stream) => void;
}

/** The server's own deadline, `--stream-deadline`. */
export const deadlineStatus: RpcStatus = {
  code: "DEADLINE_EXCEEDED",
  message: "stream closed due to server-side timeout",
};

/** Never OK, after which JS clients stay stale for ever, and never CANCELLED, after which .NET clients stop for good. */
export const shutdownStatus: RpcStatus = { code: "UNAVAILABLE", message: "the agent is shutting down" };

/** The open streams of a service, grouped by selector, each until it closes, its deadline passes or the agent shuts down. */
export class StreamRegistry<Stream extends GroupedStream<Group>, Group extends GroupOf<Stream>> {
  readonly #options: StreamRegistryOptions<Stream, Group>;
  readonly #groups = new Map<string, Group>();
  readonly #open = new Map<ClientStream, Stream>();
  readonly #expiring: Deadlines<Stream>;
  #isShutDown = false;

  constructor(options: StreamRegistryOptions<Stream, Group>) {
    const { clock, streamDeadlineMs } = options;
    this.#options = options;
    this.#expiring = new Deadlines(clock, streamDeadlineMs, (stream) => {
      this.#leave(stream, "deadline_exceeded");
      stream.out.end(deadlineStatus);
    });
  }

  /** How many streams are open. */
  get size(): number {
    return this.#open.size;
  }

  get isShutDown(): boolean {
    return this.#isShutDown;
  }

  /** The groups that have streams. */
  groups(): Iterable<Group> {
    return this.#groups.values();
  }

  /** The group of a selection, or a new one that is not kept: it has no streams. */
  groupOf(selection: Selection): Group {
    return this.#groups.get(selection.text) ?? this.#options.createGroup(selection);
  }

  /**
   * Adds a stream to the group of its selection. Undefined if its client has gone, or after `shutdown`, when it is ended instead.
   *
   * @param hasDeadline whether it ends by `--stream-deadline`
   */
  open(
    out: OutgoingStream,
    selection: Selection,
    createStream: (group: Group) => Stream,
    hasDeadline = true,
  ): Stream | undefined {
    if (this.#isShutDown) {
      out.end(shutdownStatus);
      return undefined;
    }
    if (!out.stream.isOpen) return undefined;
    const group = this.groupOf(selection);
    const stream = createStream(group);
    this.#groups.set(selection.text, group);
    group.add(stream);
    this.#open.set(out.stream, stream);
    if (hasDeadline && this.#options.streamDeadlineMs > 0) this.#expiring.start(stream);
    out.onClose(() => this.#leave(stream, "client_disconnect"));
    return stream;
  }

  /** Ends a stream, if it is one of this registry. Its connection's GOAWAY must have gone out, or the client comes back at once. */
  drain(clientStream: ClientStream): void {
    const stream = this.#open.get(clientStream);
    if (stream === undefined) return;
    this.#leave(stream, "normal_close");
    this.#options.writeLast(stream);
    stream.out.end(shutdownStatus);
  }

  /** Ends all streams, and those that still come. */
  shutdown(): void {
    this.#isShutDown = true;
    for (const clientStream of this.#open.keys()) this.drain(clientStream);
  }

  /** A stream that was ended leaves again when it closes. By then its selector may have a later group, which must stay. */
  #leave(stream: Stream, reason: SyncStreamEndReason): void {
    if (!this.#open.delete(stream.out.stream)) return;
    const { group } = stream;
    this.#expiring.cancel(stream);
    group.delete(stream);
    if (group.isEmpty) this.#groups.delete(group.selection.text);
    this.#options.onLeave(stream, reason);
  }
}

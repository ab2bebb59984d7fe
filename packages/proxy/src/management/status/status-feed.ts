import type { IncomingMessage, ServerResponse } from "node:http";
import { accountOf, type PeerAccount } from "@bunting/server";
import type { Clock } from "@bunting/runtime";
import type { StatusView } from "./status-view.js";

export interface StatusFeedOptions {
  readonly clock: Clock;
  readonly read: (viewers: number) => StatusView;
}

/** Shortest interval of reads of the status, for all viewers together. */
const tickMs = 1_000;
/** To read it takes at most this part of the time, however many topics there are. */
const maxShare = 1 / 50;
/** Beyond it, the viewer that has been there longest has to make room. */
const maxViewers = 32;
/** A viewer that has not taken a message for this long is dropped. */
const maxSilenceMs = 10_000;
/**
 * What one stream carries. The system takes this much for a viewer that reads nothing, and nobody can see that from here; a viewer that reads
 * opens another stream.
 */
const maxStreamBytes = 128 * 1024;
/** After the end of a stream, a browser opens the next one so soon. */
const reopenMs = 500;

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  // nginx would hold events back.
  "x-accel-buffering": "no",
};

/** A part of the view as an event, encoded once for all viewers. */
interface Section {
  readonly text: string;
  readonly frame: Buffer;
  /** The feed of viewers that do not see identities. */
  readonly publicFrame: Buffer;
  /** The reading that changed it. */
  readonly tick: number;
}

/**
 * The status as server-sent events. While there are viewers, and only then, it is read once a second for all of them; what has changed is
 * encoded once, and sent to each viewer that has taken what it was sent before. Nothing waits for a viewer here.
 */
export class StatusFeed {
  readonly #options: StatusFeedOptions;
  readonly #viewers = new Set<Viewer>();
  /** Sections are kept for a viewer that comes back at once. */
  #sections: Section[] = [];
  #tick = 0;
  #nextMs = 0;
  #cancelNext: (() => void) | undefined;

  constructor(options: StatusFeedOptions) {
    this.#options = options;
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** Answers a request with the events. */
  open(request: IncomingMessage, response: ServerResponse, seesSubscribers: boolean): void {
    response.writeHead(200, headers);
    if (request.method === "HEAD") {
      response.end();
      return;
    }
    if (this.#viewers.size >= maxViewers) {
      const [longest] = this.#viewers;
      longest?.replace();
    }
    const viewer = new Viewer(response, accountOf(request), seesSubscribers, () => this.#left(viewer));
    this.#viewers.add(viewer);
    if (this.#cancelNext === undefined) this.#schedule();
    viewer.send(this.#sections, this.#options.clock.monotonicMs());
  }

  #left(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    if (this.#viewers.size > 0) return;
    this.#cancelNext?.();
    this.#cancelNext = undefined;
  }

  /** Reads at once if that is due. */
  #schedule(): void {
    const { clock } = this.#options;
    const beganMs = clock.monotonicMs();
    if (beganMs >= this.#nextMs) {
      this.#read();
      const nowMs = clock.monotonicMs();
      this.#nextMs = nowMs + Math.max(tickMs, (nowMs - beganMs) / maxShare);
    }
    this.#cancelNext = clock.after(this.#nextMs - beganMs, () => {
      this.#schedule();
      const nowMs = clock.monotonicMs();
      for (const viewer of this.#viewers) viewer.send(this.#sections, nowMs);
    });
  }

  #read(): void {
    this.#tick++;
    const before = this.#sections;
    this.#sections = Object.entries(this.#options.read(this.#viewers.size)).map(([name, value], index) => {
      const text = JSON.stringify(value);
      const known = before[index];
      return known?.text === text ? known : section(name, text, value, this.#tick);
    });
  }
}

function section(name: string, text: string, value: unknown, tick: number): Section {
  const frame = frameOf(name, text);
  const publicText = ["late", "left", "topics"].includes(name)
    ? JSON.stringify(value, withoutSubscribers)
    : text;
  return { text, frame, publicFrame: publicText === text ? frame : frameOf(name, publicText), tick };
}

function frameOf(name: string, json: string): Buffer {
  return Buffer.from(`event: ${name}\ndata: ${json}\n\n`);
}

function withoutSubscribers(key: string, value: unknown): unknown {
  return ["address", "identity", "readers"].includes(key) ? undefined : value;
}

class Viewer {
  readonly #response: ServerResponse;
  readonly #account: PeerAccount | undefined;
  readonly #seesSubscribers: boolean;
  readonly #onGone: () => void;
  /** The reading up to which it was sent what has changed. */
  #tick = 0;
  #sentBytes = 0;
  /** Bytes that the viewer has not taken yet, and their time. */
  #waitingBytes = 0;
  #waitingSinceMs = 0;
  #isGone = false;

  constructor(
    response: ServerResponse,
    account: PeerAccount | undefined,
    seesSubscribers: boolean,
    onGone: () => void,
  ) {
    this.#response = response;
    this.#account = account;
    this.#seesSubscribers = seesSubscribers;
    this.#onGone = onGone;
    account?.beginStream();
    response.once("close", () => {
      this.#leave();
      this.#written();
    });
    response.write(`retry: ${reopenMs}\n\n`);
  }

  send(sections: readonly Section[], nowMs: number): void {
    if (this.#waitingBytes > 0) {
      if (nowMs - this.#waitingSinceMs > maxSilenceMs) this.#drop();
      return;
    }
    if (this.#sentBytes > maxStreamBytes) {
      this.#end();
      return;
    }
    const frames = sections
      .filter(({ tick }) => tick > this.#tick)
      .map(({ frame, publicFrame }) => (this.#seesSubscribers ? frame : publicFrame));
    this.#tick = sections.reduce((last, { tick }) => Math.max(last, tick), this.#tick);
    if (frames.length > 0) this.#write(frames, nowMs);
  }

  /** Another viewer takes its place. */
  replace(): void {
    if (this.#waitingBytes > 0) {
      this.#drop();
      return;
    }
    this.#response.write("event: crowded\ndata: {}\n\n");
    this.#end();
  }

  #write(frames: readonly Buffer[], nowMs: number): void {
    const bytes = frames.reduce((sum, { length }) => sum + length, 0);
    this.#waitingBytes = bytes;
    this.#waitingSinceMs = nowMs;
    this.#sentBytes += bytes;
    this.#account?.charge(bytes);
    for (const [index, frame] of frames.entries())
      this.#response.write(frame, index === frames.length - 1 ? () => this.#written() : undefined);
  }

  #written(): void {
    if (this.#waitingBytes === 0) return;
    this.#account?.release(this.#waitingBytes);
    this.#waitingBytes = 0;
  }

  #end(): void {
    this.#leave();
    this.#response.end();
  }

  /** With a reset where there is a socket of its own: what the system still holds for it goes as well. */
  #drop(): void {
    this.#leave();
    const { socket } = this.#response;
    const isOwn = this.#response.req.httpVersionMajor === 1 && socket !== null;
    // While its end is being sent, node neither resets a socket nor ever closes its handle.
    if (isOwn && !socket.writableEnded) socket.resetAndDestroy();
    else this.#response.destroy();
  }

  #leave(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#account?.endStream();
    this.#onGone();
  }
}

import type { OutgoingStream } from "./outgoing-stream.js";

/** One client's stream, with at most one frame in flight: what a client that does not read costs is bounded. */
export abstract class PacedStream {
  readonly out: OutgoingStream;
  readonly #onWritten: (error?: Error) => void;
  #isWriting = false;
  #hasLeft = false;

  constructor(out: OutgoingStream) {
    this.out = out;
    this.#onWritten = (error) => {
      this.#isWriting = false;
      if (error === undefined && !this.#hasLeft) this.onIdle();
    };
  }

  /** False while a frame is in flight. */
  get isIdle(): boolean {
    return !this.#isWriting;
  }

  /** Sends a frame; call it only while the stream is idle. */
  send(frame: Buffer): void {
    this.#isWriting = true;
    this.out.writeShared(frame, this.#onWritten);
  }

  /** To be called when it is about to end: what is in flight may be written later, and nothing follows it. */
  leave(): void {
    this.#hasLeft = true;
  }

  /** Called when a frame was written: sends what came up meanwhile, if anything did. */
  protected abstract onIdle(): void;
}

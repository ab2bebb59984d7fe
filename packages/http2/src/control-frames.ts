import type { PeerAccount } from "./account.js";
import { batch } from "./frame-batch.js";

/** Bytes of control frames that may wait for a peer that does not read: some 1,800, more than a reset for each stream. */
const maxWaitingBytes = 256 * 1024;
/** Bytes of a control frame in addition to its content. */
const frameObjectBytes = 128;

/** The frames of control that a connection is to send; those that wait for the end of a write are charged. */
export class ControlFrames {
  readonly #account: PeerAccount;
  #frames: Uint8Array[] | undefined;
  #waitingBytes = 0;
  /** Bytes of answers to PING and SETTINGS. */
  #answerBytes = 0;

  constructor(account: PeerAccount) {
    this.#account = account;
  }

  /** @param isAnswer to a PING or SETTINGS */
  add(frame: Uint8Array, isAnswer: boolean): void {
    (this.#frames ??= []).push(frame);
    if (isAnswer) this.#answerBytes += frame.length;
  }

  /** Charges a frame that was added, because it waits. False if too many do: the peer does not read what it asks for. */
  chargeWaiting(frame: Uint8Array): boolean {
    const bytes = frame.length + frameObjectBytes;
    this.#waitingBytes += bytes;
    this.#account.charge(bytes);
    return this.#waitingBytes <= maxWaitingBytes;
  }

  /** Puts all into the batch. Returns how many of the bytes are answers to PING and SETTINGS. */
  fill(): number {
    const frames = this.#frames;
    if (frames === undefined) return 0;
    const answerBytes = this.#answerBytes;
    this.#frames = undefined;
    this.#answerBytes = 0;
    if (this.#waitingBytes > 0) this.#account.release(this.#waitingBytes);
    this.#waitingBytes = 0;
    for (const frame of frames) batch.raw(frame);
    return answerBytes;
  }
}

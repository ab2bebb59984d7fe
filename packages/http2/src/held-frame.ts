import type { PeerAccount } from "./account.js";

/** A stream that is sent a frame which others are sent as well. */
export interface FrameHolder {
  readonly session: { readonly account: PeerAccount };
}

/** Of smaller frames hundreds may be held. */
export const smallFrameBytes = 16 * 1024;

/**
 * A frame, and the streams that have not taken it yet. The newest one is everybody's. An old one is there only for streams that are slow, and
 * hundreds of them could hold as many versions: so one of its holders is charged for it, and the next when that one has let go.
 */
export class HeldFrame {
  readonly #bytes: number;
  readonly #holders = new Set<FrameHolder>();
  #isOld: boolean;
  #charged: FrameHolder | undefined;

  /**
   * @param bytes that it takes as long as it is held, with what belongs to it
   * @param isOld there is a newer one already
   */
  constructor(bytes: number, isOld = false) {
    this.#bytes = bytes;
    this.#isOld = isOld;
  }

  get isHeld(): boolean {
    return this.#holders.size > 0;
  }

  hold(stream: FrameHolder): void {
    this.#holders.add(stream);
    this.#charge();
  }

  release(stream: FrameHolder): void {
    this.#holders.delete(stream);
    if (this.#charged !== stream) return;
    this.#charged = undefined;
    stream.session.account.release(this.#bytes);
    this.#charge();
  }

  /** There is a newer one. */
  supersede(): void {
    this.#isOld = true;
    this.#charge();
  }

  #charge(): void {
    if (!this.#isOld || this.#charged !== undefined) return;
    const [first] = this.#holders;
    this.#charged = first;
    first?.session.account.charge(this.#bytes);
  }
}

import { pingFrame } from "./frames.js";
import { RpcError } from "./status.js";

const ownPing = Buffer.from("bunting1", "latin1");
const keepalivePing = Buffer.from("bunting2", "latin1");

/** The PINGs that a connection has sent and its peer has not answered: at most one of its streams', and one of the keepalive. */
export class SessionPings {
  #onAck: ((error?: Error) => void) | undefined;
  #isProbed = false;

  /** The frame of a PING; undefined if one is outstanding. */
  ping(onAck: (error?: Error) => void): Buffer | undefined {
    if (this.#onAck !== undefined) return undefined;
    this.#onAck = onAck;
    return pingFrame(ownPing, false);
  }

  /** The frame of a PING of the keepalive; undefined if one is outstanding. */
  probe(): Buffer | undefined {
    if (this.#isProbed) return undefined;
    this.#isProbed = true;
    return pingFrame(keepalivePing, false);
  }

  /** False if this is the answer to neither. */
  acknowledge(payload: Buffer): boolean {
    if (this.#isProbed && payload.equals(keepalivePing)) {
      this.#isProbed = false;
      return true;
    }
    if (this.#onAck === undefined || !payload.equals(ownPing)) return false;
    this.#settle(undefined);
    return true;
  }

  /** The connection has closed. */
  close(): void {
    if (this.#onAck !== undefined)
      this.#settle(new RpcError("UNAVAILABLE", "the connection ended before the ping was answered"));
  }

  #settle(error: Error | undefined): void {
    const onAck = this.#onAck;
    this.#onAck = undefined;
    onAck?.(error);
  }
}

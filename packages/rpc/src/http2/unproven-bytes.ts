import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { PeerAccount } from "../limits/peer-memory.js";

/** What a connection may have sent unproven: far more than an ordinary client sends without a request. */
const ordinaryBytes = 4 * 1024;
/** What is read from a socket at once. */
const readBytes = 64 * 1024;
/** What nghttp2 holds of a header block at most: nine frames of 16 KB. */
const maxHeldBytes = 160 * 1024;

/**
 * The bytes of one connection that nghttp2 may still hold as a header block that has not ended. Node shows JavaScript nothing of one, but
 * what comes after it proves that it has ended: the answer to a PING (within a block, any other frame is an error), a request, DATA, a wider
 * window. So a peer that has sent much since the last proof gets a PING; as long as no proof follows, all that has come is charged.
 *
 * The proof is of the bytes that had arrived when the PING was sent, since those behind the answer may have begun another block.
 */
export class UnprovenBytes {
  readonly #session: ServerHttp2Session;
  readonly #socket: Socket;
  readonly #account: PeerAccount;
  readonly #onHeadersRefused: () => void;
  #provenBytes = 0;
  /** What had arrived when the PING was sent that is not answered; undefined without one. */
  #askedAtBytes: number | undefined;
  /** At the last look after the PING. */
  #seenBytes = 0;
  #receivedData = 0;
  #window = 0;
  #hasProof = false;
  /** The newest stream whose headers nghttp2 had begun to read when the PING was sent, and the newest that JavaScript has seen. */
  #begunStreamId = 0;
  #seenStreamId = 0;
  #chargedBytes = 0;
  #unprovenSweeps = 0;

  /** @param onHeadersRefused called when nghttp2 has refused requests since the last PING, of which JavaScript sees nothing. */
  constructor(
    session: ServerHttp2Session,
    socket: Socket,
    account: PeerAccount,
    onHeadersRefused: () => void,
  ) {
    this.#session = session;
    this.#socket = socket;
    this.#account = account;
    this.#onHeadersRefused = onHeadersRefused;
  }

  /** For how many sweeps in a row there has been no proof, since the PING. */
  get unprovenSweeps(): number {
    return this.#unprovenSweeps;
  }

  /** A request (a stream with this id) or another frame has been seen whole: what came before the last look is proven. */
  prove(streamId = 0): void {
    this.#seenStreamId = Math.max(this.#seenStreamId, streamId);
    this.#hasProof = true;
  }

  /** Sends a PING, unless one is not answered yet. */
  ask(): void {
    if (this.#askedAtBytes !== undefined) return;
    const askedAtBytes = this.#socket.bytesRead;
    const isSent = this.#session.ping((error) => {
      if (error === null) this.#settle(askedAtBytes);
    });
    if (!isSent) return;
    this.#askedAtBytes = askedAtBytes;
    this.#look(askedAtBytes);
    this.#begunStreamId = this.#session.state.lastProcStreamID ?? 0;
    this.#hasProof = false;
  }

  /** Asks for a proof, or charges what there is none of. To be called after what has arrived was read. */
  check(): void {
    const { bytesRead } = this.#socket;
    if (bytesRead - this.#provenBytes <= ordinaryBytes) return;
    if (this.#askedAtBytes === undefined) {
      this.ask();
      return;
    }
    const seenBytes = this.#seenBytes;
    if (this.#look(bytesRead)) {
      this.#provenBytes = Math.max(this.#provenBytes, seenBytes);
      this.#unprovenSweeps = 0;
    }
    const unprovenBytes = bytesRead - this.#provenBytes;
    this.#charge(unprovenBytes > ordinaryBytes ? unprovenBytes : 0);
  }

  /** Counts a sweep, after a check. */
  countSweep(): void {
    this.#unprovenSweeps = this.#chargedBytes > 0 ? this.#unprovenSweeps + 1 : 0;
  }

  /** True if something has come since the last look that cannot come within a header block. */
  #look(bytesRead: number): boolean {
    const { effectiveRecvDataLength: receivedData = 0, remoteWindowSize: window = 0 } = this.#session.state;
    const hasProof = this.#hasProof || receivedData > this.#receivedData || window > this.#window;
    this.#hasProof = false;
    this.#receivedData = receivedData;
    this.#window = window;
    this.#seenBytes = bytesRead;
    return hasProof;
  }

  #settle(askedAtBytes: number): void {
    this.#askedAtBytes = undefined;
    this.#unprovenSweeps = 0;
    if (this.#begunStreamId > this.#seenStreamId) this.#onHeadersRefused();
    this.#seenStreamId = Math.max(this.#seenStreamId, this.#begunStreamId);
    this.#provenBytes = Math.max(this.#provenBytes, askedAtBytes);
    // What came with the answer is that of a client which sends at full speed, unless it is more.
    const unprovenBytes = this.#socket.bytesRead - this.#provenBytes;
    this.#charge(unprovenBytes > readBytes ? unprovenBytes : 0);
  }

  #charge(bytes: number): void {
    const heldBytes = Math.min(bytes, maxHeldBytes);
    this.#account.charge(heldBytes - this.#chargedBytes);
    this.#chargedBytes = heldBytes;
  }
}

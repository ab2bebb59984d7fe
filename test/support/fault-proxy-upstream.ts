import { once } from "node:events";
import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { Exchange } from "./faulty-api-server/exchange.js";

export interface UpstreamListener {
  readonly onGoAway: (code: number) => void;
  /** The connection ended, and we did not close it. */
  readonly onBroken: () => void;
}

/** The proxy's own HTTP/2 connection to the real server. */
export class UpstreamSession {
  readonly #session: ClientHttp2Session;
  readonly #socket: TLSSocket;
  #closing = false;

  private constructor(session: ClientHttp2Session, socket: TLSSocket, listener: UpstreamListener) {
    this.#session = session;
    this.#socket = socket;
    session.on("error", () => undefined);
    socket.on("error", () => undefined);
    session.on("goaway", (code: number) => {
      // After a clean GOAWAY the server closes the connection when its last stream has ended: that breaks nothing.
      this.#closing ||= code === constants.NGHTTP2_NO_ERROR;
      listener.onGoAway(code);
    });
    session.once("close", () => {
      if (!this.#closing || socket.errored !== null) listener.onBroken();
    });
  }

  static async open(url: string, ca: string | Buffer, listener: UpstreamListener): Promise<UpstreamSession> {
    const { hostname, port } = new URL(url);
    const socket = connectTls({ host: hostname, port: Number(port), ca, ALPNProtocols: ["h2"] });
    const session = connect(url, {
      createConnection: () => socket,
      settings: { initialWindowSize: 1 << 20 },
    });
    const upstream = new UpstreamSession(session, socket, listener);
    // Requests that are sent before the server's SETTINGS arrive may never be answered.
    await once(session, "remoteSettings");
    return upstream;
  }

  request(exchange: Exchange, body: string | undefined): UpstreamAnswer {
    const headers = { ...passedOn(exchange.headers), ":method": exchange.method, ":path": exchange.uri };
    const stream = this.#session.request(headers);
    stream.end(body);
    void exchange.closed.then(() => stream.close(constants.NGHTTP2_CANCEL));
    return new UpstreamAnswer(stream, this.#socket);
  }

  close(): void {
    this.#closing = true;
    this.#session.destroy();
  }
}

/** A response from upstream, and whether it is complete. */
export class UpstreamAnswer {
  /** Undefined if the stream ended without one. */
  readonly head: Promise<IncomingHttpHeaders | undefined>;
  readonly #stream: ClientHttp2Stream;
  #whole = false;

  constructor(stream: ClientHttp2Stream, socket: TLSSocket) {
    this.#stream = stream;
    stream.on("error", () => undefined);
    // A broken connection looks like an end to node's client, and after a GOAWAY even rstCode is 0: only the socket shows it.
    stream.once("end", () => (this.#whole = stream.rstCode === 0 && !socket.destroyed));
    this.head = new Promise((resolve) => {
      stream.once("response", resolve);
      stream.once("close", () => resolve(undefined));
    });
  }

  /** Valid after the chunks have ended. */
  get isWhole(): boolean {
    return this.#whole;
  }

  get resetCode(): number {
    return this.#stream.rstCode === 0 ? constants.NGHTTP2_INTERNAL_ERROR : this.#stream.rstCode;
  }

  async *chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.#stream) yield chunk as Buffer;
    } catch {
      // It broke: `isWhole` stays false.
    }
  }
}

/** Headers that are of the message, not of the connection. */
export function passedOn(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const own = /^(:.*|connection|host|keep-alive|transfer-encoding|upgrade|http2-settings)$/;
  const entries = Object.entries(headers).filter(([name]) => !own.test(name));
  return Object.fromEntries(entries.map(([name, value]) => [name, value]));
}

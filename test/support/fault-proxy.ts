import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { freePort } from "./free-port.js";
import { resetSocket } from "./reset-socket.js";

/** How forwarded bytes are split. */
export interface Pace {
  readonly bytesPerWrite: number;
  /** Between two writes; 0 is a turn of the event loop. */
  readonly everyMs: number;
}

/** One connection through the proxy. */
interface Link {
  readonly client: Socket;
  readonly server: Socket;
}

/**
 * A TCP proxy that fails on command, for any server on a port of 127.0.0.1. It forwards each direction separately, one write at a time, and
 * does not read on until that is done, so that backpressure passes through it.
 */
export class FaultProxy {
  /** Connections that were accepted so far. */
  accepted = 0;
  bytesToClient = 0;
  bytesToServer = 0;
  readonly #server: Server;
  readonly #links = new Set<Link>();
  readonly #closing = new AbortController();
  #target: number;
  #port = 0;
  #pace: Pace | undefined;
  #blackhole: PromiseWithResolve | undefined;

  private constructor(target: number) {
    this.#target = target;
    // Half-open connections are what this is for: an end from one side must not end the other by itself.
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
  }

  /** @param target the port of the real server, on 127.0.0.1. */
  static async start(target: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    await proxy.#listen();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  get connections(): number {
    return this.#links.size;
  }

  /** The port that connections from now on go to. */
  get target(): number {
    return this.#target;
  }

  /** Connections from now on go to that port. */
  setTarget(port: number): void {
    this.#target = port;
  }

  /** RST on all connections, in both directions. */
  cut(): void {
    for (const { client, server } of this.#links) {
      resetSocket(client);
      resetSocket(server);
    }
  }

  /** FIN to all clients, at any point of the stream; what clients send is still forwarded, what the server sends is dropped. */
  fin(): void {
    for (const { client } of this.#links) client.end();
  }

  /** While on, nothing is forwarded in either direction and new connections are accepted but not served; when off, everything arrives. */
  blackhole(on: boolean): void {
    if (on) this.#blackhole ??= promiseWithResolve();
    else {
      this.#blackhole?.resolve();
      this.#blackhole = undefined;
    }
  }

  /** While on, new connections are refused and open ones continue. Resolves when it is in effect. */
  async refuse(on: boolean): Promise<void> {
    if (!on) return this.#listen();
    if (!this.#server.listening) return;
    // The callback of `close` waits for connections, but the port is closed at once.
    this.#server.close();
    await nextTurn();
  }

  /** Forwards in small writes from now on; undefined forwards bytes as they arrive. */
  slow(bytesPerWrite: number | undefined, everyMs = 0): void {
    this.#pace = bytesPerWrite === undefined ? undefined : { bytesPerWrite, everyMs };
  }

  /** Splits what is forwarded, without delay. */
  split(bytesPerWrite: number | undefined): void {
    this.slow(bytesPerWrite, 0);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.blackhole(false);
    const closed = this.#server.listening ? once(this.#server, "close") : undefined;
    this.#server.close();
    const links = [...this.#links].flatMap(({ client, server }) => [client, server]);
    const gone = links.filter((socket) => !socket.closed).map(socketClosed);
    this.cut();
    await Promise.all([closed, ...gone]);
  }

  async #listen(): Promise<void> {
    if (this.#server.listening) return;
    if (this.#port === 0) this.#port = await freePort();
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  #accept(client: Socket): void {
    this.accepted += 1;
    const server = connect({ port: this.#target, host: "127.0.0.1", allowHalfOpen: true });
    const link = { client, server };
    this.#links.add(link);
    client.setNoDelay(true);
    server.setNoDelay(true);
    client.on("error", () => resetSocket(server));
    server.on("error", () => resetSocket(client));
    void Promise.all([socketClosed(client), socketClosed(server)]).then(() => this.#links.delete(link));
    void this.#forward(client, server, (bytes) => (this.bytesToServer += bytes));
    void this.#forward(server, client, (bytes) => (this.bytesToClient += bytes));
  }

  async #forward(from: Socket, to: Socket, count: (bytes: number) => void): Promise<void> {
    try {
      for await (const chunk of from.iterator({ destroyOnReturn: false })) {
        const bytes = chunk as Buffer;
        await this.#blackhole?.promise;
        for (let at = 0; at < bytes.length;) {
          const pace = this.#pace;
          const part = bytes.subarray(at, at + (pace?.bytesPerWrite ?? bytes.length));
          await written(to, part);
          count(part.length);
          at += part.length;
          if (pace !== undefined) await pause(pace.everyMs, this.#closing.signal);
        }
      }
      await this.#blackhole?.promise;
      to.end();
    } catch {
      // The connection broke: its 'error' handlers have passed that on.
    }
  }
}

interface PromiseWithResolve {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

function promiseWithResolve(): PromiseWithResolve {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

async function written(socket: Socket, bytes: Buffer): Promise<void> {
  if (!socket.writable) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      socket.off("close", done);
      resolve();
    };
    socket.once("close", done);
    socket.write(bytes, done);
  });
}

async function socketClosed(socket: Socket): Promise<void> {
  await new Promise<void>((resolve) => socket.once("close", () => resolve()));
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0) await nextTurn();
  else await delay(ms, undefined, { signal }).catch(() => undefined);
}

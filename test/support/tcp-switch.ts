import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { resetSocket } from "./reset-socket.js";

/**
 * Behaves like a Service: each new connection goes to one of the current backends, and stays there when the list changes. Without
 * backends, a connection is closed at once.
 */
export class TcpSwitch {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #backends: readonly number[] = [];
  #next = 0;
  #accepted = 0;

  private constructor() {
    this.#server = createServer((client) => this.#accept(client));
  }

  static async start(): Promise<TcpSwitch> {
    const created = new TcpSwitch();
    await new Promise<void>((resolve) => {
      created.#server.listen({ host: "127.0.0.1", port: 0, backlog: 4_096 }, () => resolve());
    });
    return created;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Ports on this machine that new connections go to, in turn. */
  setBackends(ports: readonly number[]): void {
    this.#backends = ports;
  }

  /** Ends all open connections abruptly, like a process that is killed. */
  cut(): void {
    for (const socket of this.#sockets) resetSocket(socket);
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #accept(client: Socket): void {
    this.#accepted++;
    const port = this.#backends[this.#next++ % Math.max(1, this.#backends.length)];
    if (port === undefined) {
      resetSocket(client);
      return;
    }
    const server = connect({ host: "127.0.0.1", port, noDelay: true });
    client.setNoDelay(true);
    this.#join(client, server);
    this.#join(server, client);
  }

  /** When one side ends, the other ends in the same way. */
  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.pipe(to);
    from.once("error", () => resetSocket(to));
    from.once("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}

import { Agent } from "node:http";
import type { Duplex } from "node:stream";
import { openConnection, type SyncServer } from "./server.js";

/** Makes the connections of node:http to one server, with its TLS, or uses one that is open already. */
export class ServerAgent extends Agent {
  readonly #server: SyncServer;
  readonly #dialled: Duplex | undefined;

  constructor(server: SyncServer, dialled?: Duplex) {
    super();
    this.#server = server;
    this.#dialled = dialled;
  }

  override createConnection(): Duplex {
    return openConnection(this.#server, "http/1.1", this.#dialled);
  }
}

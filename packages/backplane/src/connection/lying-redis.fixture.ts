import { createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** What a server says on a connection, as soon as it is asked. */
export type Lie = (socket: Socket) => void;

/** Something that answers in place of Redis or a Sentinel: as a master does while a connection is opened, if it is asked to, and then as it likes. */
export class LyingRedis {
  readonly sockets: Socket[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param opens whether it lets connections be opened, instead of lying at once */
  static async start(lie: Lie, opens: boolean): Promise<LyingRedis> {
    const server = createServer({ noDelay: true });
    const lying = new LyingRedis(server);
    server.on("connection", (socket) => {
      lying.sockets.push(socket.on("error", () => undefined));
      if (!opens) lie(socket);
      socket.on("data", (data) => {
        for (const [, command] of data.toString("latin1").matchAll(/^\*\d+\r\n\$\d+\r\n(\w+)\r\n/gim))
          if (opens) answer(socket, (command ?? "").toUpperCase(), lie);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return lying;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

function answer(socket: Socket, command: string, lie: Lie): void {
  if (command === "CLIENT" || command === "AUTH" || command === "SELECT") socket.write("+OK\r\n");
  else if (command === "ROLE") socket.write("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  else lie(socket);
}

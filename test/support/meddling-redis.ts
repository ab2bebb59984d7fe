import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tailsScript } from "@bunting/backplane/internal/announcement/announcement-scripts.js";
import {
  askScript,
  listScript,
  mentionScript,
} from "@bunting/backplane/internal/interest/interest-scripts.js";
import {
  acquireScript,
  releaseScript,
  renewScript,
} from "@bunting/backplane/internal/lease/lease-scripts.js";
import { beatScript } from "@bunting/backplane/internal/membership/beat-script.js";
import {
  confirmScript,
  positionsScript,
  readScript,
  writeScript,
} from "@bunting/backplane/internal/record/record-scripts.js";
import { encodeResp, RespReader, type RespValue } from "./resp-values.js";

const scripts = {
  ...{ tails: tailsScript, ask: askScript, list: listScript, mention: mentionScript, beat: beatScript },
  ...{ acquire: acquireScript, release: releaseScript, renew: renewScript },
  ...{ confirm: confirmScript, positions: positionsScript, read: readScript, write: writeScript },
};
const nameOfSha = new Map(Object.entries(scripts).map(([name, { sha }]) => [sha, name]));

/** What replicas ask of Redis: a script of theirs, or a command in small letters. */
export type AskedOfRedis = keyof typeof scripts | "xread" | (string & {});

/** What is answered in place of a reply: a value, or bytes that may be none; undefined: nothing, ever. */
export type Lie = (
  reply: RespValue,
  asked: AskedOfRedis,
  command: readonly RespValue[],
) => RespValue | Buffer | undefined;

/** Stands between replicas and a real Redis, and passes on what is asked. What is answered passes as well, until it is told to lie. */
export class MeddlingRedis {
  lie: Lie | undefined;
  /** Reads of streams come back at once, as through a proxy that does not let them block. */
  neverBlocks = false;
  readonly #asked = new Map<AskedOfRedis, number>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number) {
    this.#server = createServer({ noDelay: true }, (client) =>
      this.#serve(client, connect(target, "127.0.0.1")),
    );
  }

  /** @param target the port of the real Redis, on 127.0.0.1 */
  static async start(target: number): Promise<MeddlingRedis> {
    const meddling = new MeddlingRedis(target);
    await new Promise<void>((resolve) => meddling.#server.listen(0, "127.0.0.1", resolve));
    return meddling;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  timesAsked(asked: AskedOfRedis): number {
    return this.#asked.get(asked) ?? 0;
  }

  stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #serve(client: Socket, redis: Socket): void {
    const waiting: (readonly RespValue[])[] = [];
    const [commands, replies] = [new RespReader(), new RespReader()];
    for (const [socket, other] of [
      [client, redis],
      [redis, client],
    ] as const) {
      this.#sockets.add(socket.on("error", () => undefined));
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    client.on("data", (data) => {
      for (const { value, bytes } of commands.read(data)) {
        const command = value as readonly string[];
        waiting.push(command);
        redis.write(this.neverBlocks && command[1] === "BLOCK" ? encodeResp(command.with(2, "1")) : bytes);
      }
    });
    redis.on("data", (data) => {
      for (const { value, bytes } of replies.read(data)) {
        const answer = this.#answer(value, bytes, waiting.shift() ?? []);
        if (answer !== undefined && client.writable) client.write(answer);
      }
    });
  }

  #answer(reply: RespValue, bytes: Buffer, command: readonly RespValue[]): Buffer | undefined {
    const [name, sha] = command.map(String);
    const asked = nameOfSha.get(sha ?? "") ?? (name ?? "").toLowerCase();
    this.#asked.set(asked, (this.#asked.get(asked) ?? 0) + 1);
    const answer = this.lie === undefined ? reply : this.lie(reply, asked, command);
    if (answer === reply) return bytes;
    return answer === undefined || Buffer.isBuffer(answer) ? answer : encodeResp(answer);
  }
}

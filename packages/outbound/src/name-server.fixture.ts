import { createSocket, type Socket } from "node:dgram";
import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";

const answerFlags = 0x8180;
const typeA = 1;

/** A real name server on a port of its own, which answers each question about a name with the next of its addresses; the last one stays. */
export class NameServer {
  /** Names that were asked for, one by one. */
  readonly asked: string[] = [];
  #addresses: readonly string[] = [];
  readonly #socket: Socket = createSocket("udp4");
  readonly #resolver = new Resolver();

  constructor() {
    this.#socket.on("message", (question, { address, port }) => {
      this.asked.push(nameIn(question));
      const [next = "", ...rest] = this.#addresses;
      if (rest.length > 0) this.#addresses = rest;
      this.#socket.send(answerTo(question, next), port, address);
    });
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.bind(0, "127.0.0.1", resolve));
    this.#resolver.setServers([`127.0.0.1:${this.#socket.address().port}`]);
  }

  answer(...addresses: readonly string[]): void {
    this.#addresses = addresses;
  }

  readonly resolve = async (name: string): Promise<readonly LookupAddress[]> =>
    (await this.#resolver.resolve4(name)).map((address) => ({ address, family: 4 }));

  async stop(): Promise<void> {
    this.#resolver.cancel();
    await new Promise<void>((resolve) => this.#socket.close(resolve));
  }
}

const headerBytes = 12;

function nameIn(question: Buffer): string {
  const labels: string[] = [];
  for (let at = headerBytes; question[at] !== 0; at += (question[at] ?? 0) + 1)
    labels.push(question.toString("latin1", at + 1, at + 1 + (question[at] ?? 0)));
  return labels.join(".");
}

/** The question as it came, and one record that points to its name and may not be kept. */
function answerTo(question: Buffer, address: string): Buffer {
  const end = question.indexOf(0, headerBytes) + 5;
  const answer = Buffer.concat([question.subarray(0, end), Buffer.alloc(16)]);
  answer.writeUInt16BE(answerFlags, 2);
  answer.writeUInt16BE(1, 6);
  answer.writeUInt32BE(0, 8);
  answer.writeUInt16BE(0xc0_00 + headerBytes, end);
  answer.writeUInt16BE(typeA, end + 2);
  answer.writeUInt16BE(1, end + 4);
  answer.writeUInt16BE(4, end + 10);
  answer.set(address.split(".").map(Number), end + 12);
  return answer;
}

import { Client, credentials } from "@grpc/grpc-js";

const path = "/flagd.evaluation.v1.Service/ResolveBoolean";
/** The flag `on`, for no context. */
const request = Buffer.from("0a026f6e", "hex");
/** A ResolveBooleanResponse begins with its value; false is left out. */
const isTrue = (answer: Buffer): boolean => answer[0] === 0x08 && answer[1] === 1;

/**
 * Evaluates the flag `on` over one gRPC connection, by the client that stock providers are made of. A stock provider would reconnect its stream of
 * events for seconds after each attack, and go on with that when it is closed.
 */
export class BooleanClient {
  readonly #client: Client;
  readonly #deadlineMs: number;

  constructor(target: string, deadlineMs: number) {
    this.#deadlineMs = deadlineMs;
    this.#client = new Client(target, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  }

  /** The flag's value; false also if the call fails. */
  async evaluate(): Promise<boolean> {
    const deadline = Date.now() + this.#deadlineMs;
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        path,
        (bytes: Buffer) => bytes,
        isTrue,
        request,
        { deadline },
        (error, value) => resolve(error === null && value === true),
      );
    });
  }

  close(): void {
    this.#client.close();
  }
}

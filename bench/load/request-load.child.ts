import { grpcClient, http1Client, type Ask, type Request } from "./request-clients.js";
import { serveCalls } from "../support/child-protocol.js";

/** What one server is asked, again and again. */
export interface RequestLoadInput {
  /** `grpc`: one connection of HTTP/2. `http1`: a connection for each caller. */
  readonly protocol: "grpc" | "http1";
  readonly port: number;
  /** Callers, of which each asks again as soon as it is answered. */
  readonly concurrency: number;
  /** In turn. A gRPC message has no prefix here. */
  readonly requests: readonly { readonly path: string; readonly bodyBase64: string }[];
}

class RequestLoad {
  readonly #ask: Ask;
  readonly #close: () => void;
  readonly #requests: readonly Request[];
  readonly #callers: Promise<void>[];
  #answers = 0;
  #isStopping = false;

  constructor({ protocol, port, concurrency, requests }: RequestLoadInput) {
    this.#requests = requests.map(({ path, bodyBase64 }) => ({
      path,
      body: Buffer.from(bodyBase64, "base64"),
    }));
    [this.#ask, this.#close] = protocol === "grpc" ? grpcClient(port, fail) : http1Client(port, concurrency);
    this.#callers = Array.from({ length: concurrency }, (_, caller) => this.#call(caller, concurrency));
  }

  get answers(): number {
    return this.#answers;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await Promise.all(this.#callers);
    this.#close();
  }

  async #call(first: number, step: number): Promise<void> {
    try {
      for (let index = first; !this.#isStopping; index += step) {
        const next = this.#requests[index % this.#requests.length];
        if (next === undefined) throw new Error("nothing to ask");
        await this.#ask(next);
        this.#answers++;
      }
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
    }
  }
}

let load: RequestLoad | undefined;

function running(): RequestLoad {
  if (load === undefined) throw new Error("the load was not started");
  return load;
}

const handlers = {
  start: (input: RequestLoadInput): void => {
    load = new RequestLoad(input);
  },
  answers: (): number => running().answers,
  stop: (): Promise<void> => running().stop(),
};

const fail = serveCalls(handlers);
export type RequestLoadHandlers = typeof handlers;

import { grpcClient, http1Client, http2Client, type Ask, type Request } from "./request-clients.js";
import { serveCalls } from "../support/child-protocol.js";

/** What one server is asked, again and again. */
export interface RequestLoadInput {
  /** `grpc` and `http2`: one connection. `http1`: a connection for each caller. */
  readonly protocol: "grpc" | "http2" | "http1";
  /** Path of the first request of each connection of HTTP/1.1; default: as of the others. */
  readonly firstPath?: string;
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

  constructor(input: RequestLoadInput) {
    const { concurrency, requests } = input;
    this.#requests = requests.map(({ path, bodyBase64 }) => ({
      path,
      body: Buffer.from(bodyBase64, "base64"),
    }));
    [this.#ask, this.#close] = clientOf(input);
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

function clientOf({
  protocol,
  port,
  concurrency,
  firstPath,
}: RequestLoadInput): [ask: Ask, close: () => void] {
  if (protocol === "grpc") return grpcClient(port, fail);
  if (protocol === "http2") return http2Client(port, fail);
  return http1Client(port, concurrency, firstPath);
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

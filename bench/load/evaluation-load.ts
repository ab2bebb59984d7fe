import { Agent, request } from "node:http";
import { connect, type ClientHttp2Session } from "node:http2";
import { evaluationV1, type JsonObject } from "@bunting/protocol";
import { Random } from "../fixtures/random.js";
import { randomContext } from "../fixtures/targeting-rules.js";
import { serveCalls } from "../support/child-protocol.js";

/** Evaluates as applications do: over gRPC and over OFREP at the same time, each caller asking again as soon as it is answered. */

export interface EvaluationLoadInput {
  readonly grpcPort: number;
  readonly ofrepPort: number;
  /** Callers of each protocol. */
  readonly concurrency: number;
  /** Flags to evaluate over gRPC, which has a method for each type. */
  readonly booleanKeys: readonly string[];
  /** Flags of any type. */
  readonly keys: readonly string[];
}

export interface EvaluationCounts {
  readonly grpc: number;
  readonly ofrep: number;
}

const contextCount = 256;

class EvaluationLoad {
  readonly #input: EvaluationLoadInput;
  readonly #session: ClientHttp2Session;
  readonly #agent: Agent;
  readonly #grpcFrames: readonly Buffer[];
  readonly #ofrepBodies: readonly string[];
  readonly #callers: Promise<void>[] = [];
  #isStopping = false;
  #grpc = 0;
  #ofrep = 0;

  constructor(input: EvaluationLoadInput) {
    const random = new Random(7);
    const contexts = Array.from({ length: contextCount }, () => randomContext(random));
    this.#input = input;
    this.#session = connect(`http://127.0.0.1:${input.grpcPort}`);
    this.#session.on("error", fail);
    this.#agent = new Agent({ keepAlive: true, maxSockets: input.concurrency });
    this.#ofrepBodies = contexts.map((context) => JSON.stringify({ context }));
    this.#grpcFrames = contexts.map((context, index) =>
      booleanRequest(cyclic(input.booleanKeys, index), context),
    );
  }

  start(): void {
    for (let caller = 0; caller < this.#input.concurrency; caller++) {
      this.#callers.push(this.#callOn((index) => this.#evaluateGrpc(index), caller));
      this.#callers.push(this.#callOn((index) => this.#evaluateOfrep(index), caller));
    }
  }

  async stop(): Promise<EvaluationCounts> {
    this.#isStopping = true;
    await Promise.all(this.#callers);
    this.#session.close();
    this.#agent.destroy();
    return { grpc: this.#grpc, ofrep: this.#ofrep };
  }

  async #callOn(evaluate: (index: number) => Promise<void>, first: number): Promise<void> {
    try {
      for (let index = first; !this.#isStopping; index += this.#input.concurrency) await evaluate(index);
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #evaluateGrpc(index: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ":method": "POST",
        ":path": "/flagd.evaluation.v1.Service/ResolveBoolean",
        "content-type": "application/grpc",
        te: "trailers",
      });
      let status: string | undefined;
      const noteStatus = (headers: Record<string, unknown>): void => {
        const value = headers["grpc-status"];
        if (typeof value === "string") status = value;
      };
      stream.on("response", noteStatus);
      stream.on("trailers", noteStatus);
      stream.on("error", reject);
      stream.on("close", () => {
        this.#grpc++;
        if (status === "0") resolve();
        else reject(new Error(`an evaluation over gRPC ended with status ${status ?? "none"}`));
      });
      stream.resume();
      stream.end(cyclic(this.#grpcFrames, index));
    });
  }

  #evaluateOfrep(index: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const call = request({
        agent: this.#agent,
        host: "127.0.0.1",
        port: this.#input.ofrepPort,
        method: "POST",
        path: `/ofrep/v1/evaluate/flags/${encodeURIComponent(cyclic(this.#input.keys, index))}`,
        headers: { "content-type": "application/json" },
      });
      call.on("error", reject);
      call.on("response", (response) => {
        response.resume();
        response.on("end", () => {
          this.#ofrep++;
          if (response.statusCode === 200) resolve();
          else
            reject(
              new Error(`an evaluation over OFREP was answered with status ${response.statusCode ?? "none"}`),
            );
        });
      });
      call.end(cyclic(this.#ofrepBodies, index));
    });
  }
}

function booleanRequest(flagKey: string, context: JsonObject): Buffer {
  const message = evaluationV1.ResolveBooleanRequest.encode({ flagKey, context }).finish();
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}

function cyclic<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new Error("nothing to choose from");
  return item;
}

let load: EvaluationLoad | undefined;

const handlers = {
  start: (input: EvaluationLoadInput): void => {
    load = new EvaluationLoad(input);
    load.start();
  },
  stop: async (): Promise<EvaluationCounts> => {
    if (load === undefined) throw new Error("the load was not started");
    return load.stop();
  },
};

const fail = serveCalls(handlers);
export type EvaluationLoadHandlers = typeof handlers;

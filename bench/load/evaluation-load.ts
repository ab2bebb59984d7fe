import { evaluationV1, type JsonObject } from "@bunting/protocol";
import { Random } from "../fixtures/random.js";
import { randomContext } from "../fixtures/targeting-rules.js";
import { grpcClient, http1Client, type Ask, type Request } from "./request-clients.js";
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
  readonly #askGrpc: Ask;
  readonly #closeGrpc: () => void;
  readonly #askOfrep: Ask;
  readonly #closeOfrep: () => void;
  readonly #grpcRequests: readonly Request[];
  readonly #ofrepBodies: readonly Buffer[];
  readonly #callers: Promise<void>[] = [];
  #isStopping = false;
  #grpc = 0;
  #ofrep = 0;

  constructor(input: EvaluationLoadInput) {
    const random = new Random(7);
    const contexts = Array.from({ length: contextCount }, () => randomContext(random));
    this.#input = input;
    [this.#askGrpc, this.#closeGrpc] = grpcClient(input.grpcPort, fail);
    [this.#askOfrep, this.#closeOfrep] = http1Client(input.ofrepPort, input.concurrency);
    this.#ofrepBodies = contexts.map((context) => Buffer.from(JSON.stringify({ context })));
    this.#grpcRequests = contexts.map((context, index) =>
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
    this.#closeGrpc();
    this.#closeOfrep();
    return { grpc: this.#grpc, ofrep: this.#ofrep };
  }

  async #callOn(evaluate: (index: number) => Promise<void>, first: number): Promise<void> {
    try {
      for (let index = first; !this.#isStopping; index += this.#input.concurrency) await evaluate(index);
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #evaluateGrpc(index: number): Promise<void> {
    await this.#askGrpc(cyclic(this.#grpcRequests, index));
    this.#grpc++;
  }

  async #evaluateOfrep(index: number): Promise<void> {
    const path = `/ofrep/v1/evaluate/flags/${encodeURIComponent(cyclic(this.#input.keys, index))}`;
    await this.#askOfrep({ path, body: cyclic(this.#ofrepBodies, index) });
    this.#ofrep++;
  }
}

function booleanRequest(flagKey: string, context: JsonObject): Request {
  const message = evaluationV1.ResolveBooleanRequest.encode({ flagKey, context }).finish();
  return { path: "/flagd.evaluation.v1.Service/ResolveBoolean", body: Buffer.from(message) };
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

import { Agent, request } from "node:http";
import { Client, credentials } from "@grpc/grpc-js";
import { evaluationV1 } from "@bunting/protocol";
import type { VersionJudge, Way } from "./version-judge.js";

const patienceMs = 2_000;
/** How long a poll may fail after the agent is back: connections of before are reset then. */
const graceMs = 5_000;

export interface PolledPorts {
  /** With its scheme. */
  readonly ofrep: string;
  readonly evaluation: string;
}

export interface PolledWays {
  readonly own: Way;
  readonly all: readonly Way[];
}

interface VersionAnswer {
  readonly value: number;
  readonly reason: string;
  readonly variant: string;
}

/** Asks an agent for the flag `version`, over OFREP and gRPC in turns, again and again, and judges each answer. */
export class AnswerPoller {
  /** Polls that failed while the agent was away. */
  failures = 0;
  /** Pause between polls, in ms. */
  everyMs = 200;
  readonly #judge: VersionJudge;
  readonly #ways: PolledWays;
  readonly #report: (problem: string) => void;
  readonly #connections = new Agent({ keepAlive: true, maxSockets: 1 });
  #ports: PolledPorts;
  #client: Client;
  #running: Promise<void> | undefined;
  #hasEnded = false;

  /**
   * @param ways what may be away: the agent itself, and all on the way to it, itself among them
   * @param report is called for an answer that is wrong, and for a poll that fails while the agent is there
   */
  constructor(ports: PolledPorts, judge: VersionJudge, ways: PolledWays, report: (problem: string) => void) {
    this.#ways = ways;
    this.#ports = ports;
    this.#client = clientOf(ports);
    this.#judge = judge;
    this.#report = report;
  }

  begin(): void {
    this.#running ??= this.#poll();
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#running;
    this.#connections.destroy();
    this.#client.close();
  }

  /** Another process answers, on other ports. */
  moveTo(ports: PolledPorts): void {
    this.#client.close();
    this.#client = clientOf(ports);
    this.#ports = ports;
    this.#judge.beginAgain();
  }

  async #poll(): Promise<void> {
    for (let turn = 0; !this.#hasEnded; turn++) {
      const [asked, askedMs] = [this.#ports, performance.now()];
      try {
        const answer = await (turn % 2 === 0 ? this.#askOfrep() : this.#askGrpc());
        // What another process had answered says nothing of this one.
        if (asked === this.#ports) this.#take(answer, askedMs);
      } catch (error) {
        this.#fail((error as Error).message);
      }
      await new Promise((resolve) => setTimeout(resolve, this.everyMs));
    }
  }

  #take({ value, reason, variant }: VersionAnswer, askedMs: number): void {
    if (reason !== "STATIC" || variant !== "now") this.#report(`answered by ${reason}, variant ${variant}`);
    this.#judge.take(value, askedMs);
  }

  #fail(message: string): void {
    // A restarted agent knows no flags while its proxy is frozen.
    const ways = message.includes("has not answered yet") ? this.#ways.all : [this.#ways.own];
    if (ways.some(({ awayUntilMs }) => performance.now() < awayUntilMs + graceMs)) this.failures++;
    else this.#report(`no answer: ${message}`);
  }

  #askOfrep(): Promise<VersionAnswer> {
    return new Promise((resolve, reject) => {
      const asking = request(
        `${this.#ports.ofrep}/ofrep/v1/evaluate/flags/version`,
        {
          method: "POST",
          agent: this.#connections,
          timeout: patienceMs,
          headers: { "content-type": "application/json" },
        },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (part: string) => (text += part));
          response.on("error", reject).on("end", () => {
            if (response.statusCode === 200) resolve(JSON.parse(text) as VersionAnswer);
            else reject(new Error(`${response.statusCode}: ${text}`));
          });
        },
      );
      asking.on("error", reject).on("timeout", () => asking.destroy(new Error("none within 2 s")));
      asking.end('{"context":{}}');
    });
  }

  #askGrpc(): Promise<VersionAnswer> {
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        "/flagd.evaluation.v1.Service/ResolveInt",
        (asked: evaluationV1.ResolveIntRequest) =>
          Buffer.from(evaluationV1.ResolveIntRequest.encode(asked).finish()),
        (bytes: Buffer) => evaluationV1.ResolveIntResponse.decode(bytes),
        { flagKey: "version", context: {} },
        { deadline: Date.now() + patienceMs },
        (error, answer) => {
          if (error === null && answer !== undefined) resolve({ ...answer, value: Number(answer.value) });
          else reject(error ?? new Error("no message"));
        },
      );
    });
  }
}

function clientOf({ evaluation }: PolledPorts): Client {
  return new Client(evaluation, credentials.createInsecure(), {
    "grpc.use_local_subchannel_pool": 1,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 500,
  });
}

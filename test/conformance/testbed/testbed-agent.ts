import { mkdirSync } from "node:fs";
import { FlagdProvider } from "@openfeature/flagd-provider";
import { OFREPProvider } from "@openfeature/ofrep-provider";
import type {
  Client,
  EvaluationContext,
  EvaluationDetails,
  JsonValue,
  Logger,
  Provider,
} from "@openfeature/server-sdk";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../../support/agent-process.js";
import { eventually, patienceMs } from "../../support/event-queue.js";
import { patient } from "../../support/patience.js";
import { TempDirectory } from "../../support/temp-directory.js";
import { firstDocument, secondDocument } from "./flag-documents.js";

/** Called and selected as in flagd-testbed. */
export const firstSource = "flags/allFlags.json";
export const secondSource = "rawflags/selector-flags.json";

/** An agent with the flags of flagd-testbed, that may be killed and started again on the same ports. */
export class TestbedAgent {
  readonly directory = new TempDirectory();
  readonly #args: readonly string[];
  #agent: AgentProcess | undefined;

  constructor(...args: readonly string[]) {
    this.#args = args;
    for (const folder of ["flags", "rawflags"]) mkdirSync(this.directory.file(folder));
    this.change("foo");
    this.directory.replace(secondSource, secondDocument);
  }

  get #running(): AgentProcess {
    if (this.#agent === undefined) throw new Error("the agent was not started");
    return this.#agent;
  }

  port(service: "evaluation" | "sync" | "ofrep" | "management"): number {
    return this.#running.ports.get(service) ?? 0;
  }

  /** On the ports of the time before, if there was one. */
  async start(): Promise<void> {
    const ports =
      this.#agent === undefined
        ? []
        : [
            ["--port", this.port("evaluation")],
            ["--sync-port", this.port("sync")],
            ["--ofrep-port", this.port("ofrep")],
            ["--management-port", this.port("management")],
          ];
    const sources = [firstSource, secondSource].flatMap((uri) => ["--uri", `file:${uri}`]);
    const agent = await startAgent([...ports.flat().map(String), ...sources, ...this.#args], {
      directory: this.directory.path,
    });
    this.#agent = agent;
    // A connection to the agent before, which fetch kept, may fail first.
    await eventually(() => isReady(agent.management).catch(() => false), "the agent is ready");
  }

  async kill(): Promise<void> {
    await this.#running.process.stop("SIGKILL");
  }

  async stop(): Promise<void> {
    const { process } = this.#running;
    const exitCode = await process.stop();
    this.directory.remove();
    expect(exitCode, process.output).to.equal(0);
  }

  /** Sets `changing-flag`. */
  change(to: "foo" | "bar"): void {
    this.directory.replace(firstSource, firstDocument(to));
  }
}

export type WayName = "rpc" | "in-process" | "OFREP";
export const wayNames: readonly WayName[] = ["rpc", "in-process", "OFREP"];

interface ProviderOptions {
  readonly selector?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cache?: "lru" | "disabled";
  /** After how many seconds without a connection the provider is in error. */
  readonly retryGracePeriod?: number;
  /** How long a call, and a try to connect, may take. */
  readonly deadlineMs?: number;
}

const ignore = (): void => undefined;
/** Flags with rules that are wrong on purpose are warned about. */
const silent: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** The provider from npm, with short pauses between its attempts. */
export function createProvider(
  way: WayName,
  agent: TestbedAgent,
  {
    selector,
    headers = {},
    cache = "disabled",
    retryGracePeriod = 1,
    deadlineMs = patient(patienceMs),
  }: ProviderOptions = {},
): Provider {
  if (way === "OFREP") {
    const selected = selector === undefined ? {} : { "Flagd-Selector": selector };
    return new OFREPProvider({
      baseUrl: `http://127.0.0.1:${agent.port("ofrep")}`,
      headers: Object.entries({ ...selected, ...headers }),
    });
  }
  const options: ConstructorParameters<typeof FlagdProvider>[0] = {
    resolverType: way,
    host: "127.0.0.1",
    port: agent.port(way === "rpc" ? "evaluation" : "sync"),
    cache,
    deadlineMs,
    retryBackoffMs: 100,
    retryBackoffMaxMs: 200,
    retryGracePeriod,
    ...(selector === undefined ? {} : { selector }),
  };
  return new FlagdProvider(options, silent);
}

/** Resolves with the method for the type of the default. */
export async function resolve(
  client: Client,
  key: string,
  fallback: JsonValue,
  context: EvaluationContext = {},
): Promise<EvaluationDetails<JsonValue>> {
  switch (typeof fallback) {
    case "boolean":
      return client.getBooleanDetails(key, fallback, context);
    case "string":
      return client.getStringDetails(key, fallback, context);
    case "number":
      return client.getNumberDetails(key, fallback, context);
    default:
      return client.getObjectDetails(key, fallback, context);
  }
}

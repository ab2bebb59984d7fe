import { setTimeout as delay } from "node:timers/promises";
import { startAgent, type AgentProcess } from "../../support/agent-process.js";
import type { Cluster } from "./cluster.js";

/** How its sidecar reaches the proxy. */
export interface AskedProxy {
  /** A target of gRPC. */
  readonly target: string;
  /** `namespace/name` of the FeatureFlag. */
  readonly flags: string;
  /** Variables of a sidecar that is secured; none: it speaks plaintext. */
  readonly env: Readonly<Record<string, string>>;
}

const everyMs = 20;

/** A Pod as the API server has it, beside a real sidecar on this machine, which is asked for the flag `version` all the time from its first answer on. */
export class AskingApplication {
  readonly failures: string[] = [];
  /** In their order, equal ones in a row once. */
  readonly values: number[] = [];
  asked = 0;
  readonly #cluster: Cluster;
  readonly #path: string;
  readonly #agent: AgentProcess;
  readonly #abort = new AbortController();
  readonly #asking: Promise<void>;

  private constructor(cluster: Cluster, path: string, agent: AgentProcess) {
    this.#cluster = cluster;
    this.#path = path;
    this.#agent = agent;
    this.#asking = this.#ask(this.#abort.signal);
  }

  static async start(
    cluster: Cluster,
    { namespace, name }: { readonly namespace: string; readonly name: string },
    { target, flags, env }: AskedProxy,
  ): Promise<AskingApplication> {
    const source = { uri: target, provider: "grpc", selector: `core.openfeature.dev/${flags}` };
    const args = ["--sources", JSON.stringify([source])];
    const isSecured = Object.keys(env).length > 0;
    const mounts = [{ name: "identity", mountPath: "/var/run/secrets/bunting" }];
    const token = { serviceAccountToken: { audience: "bunting", path: "token" } };
    const sidecar = {
      ...{
        name: "flagd",
        image: "registry.example/agent",
        restartPolicy: "Always",
        args: ["start", ...args],
      },
      env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
      ...(isSecured ? { volumeMounts: mounts } : {}),
    };
    await cluster.api.create(`/api/v1/namespaces/${namespace}/pods`, {
      metadata: { name },
      spec: {
        serviceAccountName: "workload",
        automountServiceAccountToken: false,
        initContainers: [sidecar],
        containers: [{ name: "app", image: "registry.example/app" }],
        ...(isSecured ? { volumes: [{ name: "identity", projected: { sources: [token] } }] } : {}),
      },
    });
    const path = `/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`;
    return new AskingApplication(cluster, path, await startAgent(args, { env }));
  }

  /** The Pod is gone, and nobody asks any more. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#asking;
    await this.#agent.process.stop("SIGKILL");
    await this.#cluster.api.request("DELETE", this.#path);
  }

  async #ask(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const answer = await this.#version().catch(String);
      if (typeof answer === "number") this.#got(answer);
      // A sidecar that has never had flags has none to lose.
      else if (this.values.length > 0) this.failures.push(answer);
      await delay(everyMs);
    }
  }

  #got(value: number): void {
    this.asked++;
    const last = this.values.at(-1) ?? 0;
    if (value < last) this.failures.push(`${value} after ${last}`);
    if (value !== last) this.values.push(value);
  }

  async #version(): Promise<number | string> {
    const response = await fetch(`${this.#agent.ofrep}/ofrep/v1/evaluate/flags/version`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
      signal: AbortSignal.timeout(5_000),
    });
    const { value, errorCode } = (await response.json()) as {
      readonly value?: number;
      readonly errorCode?: string;
    };
    return value ?? `${response.status} ${errorCode}`;
  }
}

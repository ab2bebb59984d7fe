import { eventually } from "../../support/event-queue.js";
import { binaries, operatorImage, ServiceProcess, type LogLine } from "../../support/service-process.js";
import type { ServiceAccount } from "./service-account.js";

export interface OperatorProcessOptions {
  /** As the token of its Pod. */
  readonly account: Pick<ServiceAccount, "namespace" | "directory" | "environment">;
  /** Name of its Pod. */
  readonly pod: string;
  readonly args?: readonly string[];
  /** Another bunting-operator than that of this checkout. */
  readonly binary?: string;
}

/** The operator as its image starts it, in a Pod of the account's namespace. Every test must await `stop`. */
export class OperatorProcess {
  readonly process: ServiceProcess;

  private constructor(process: ServiceProcess) {
    this.process = process;
  }

  static start({
    account,
    pod,
    args = [],
    binary = binaries.operator,
  }: OperatorProcessOptions): OperatorProcess {
    const process = new ServiceProcess(binary, {
      image: operatorImage,
      args: [
        "start",
        `--service-account-directory=${account.directory}`,
        "--health-probe-bind-address=127.0.0.1:0",
        "--metrics-bind-address=0",
        "--webhook-port=0",
        ...args,
      ],
      env: { ...account.environment, POD_NAMESPACE: account.namespace, POD_NAME: pod },
    });
    return new OperatorProcess(process);
  }

  /** Where probes and metrics are, once they are there. */
  async management(): Promise<string> {
    return `http://127.0.0.1:${await this.#portOf("management")}`;
  }

  /** Where the metrics are, of an operator that was told to have them at a port of their own. */
  async metrics(): Promise<string> {
    return `http://127.0.0.1:${await this.#portOf("metrics")}`;
  }

  /** The port of the webhooks, once it is open. */
  webhookPort(): Promise<number> {
    return this.#portOf("webhook");
  }

  /** Resolves when it leads. */
  async leads(withinMs?: number): Promise<void> {
    await this.process.nextLog("this process leads", withinMs);
  }

  /** Ends it, in any case. Resolves with its exit code. */
  stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    return this.process.stop(signal);
  }

  async #portOf(service: string): Promise<number> {
    const isIt = ({ msg, service: of }: LogLine): boolean => msg === "listening" && of === service;
    await eventually(
      () => this.process.logs.some(isIt),
      `the port of ${service} is open; ${this.process.output}`,
    );
    return this.process.logs.find(isIt)?.["port"] as number;
  }
}

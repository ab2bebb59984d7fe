import { webhookConfigurations } from "@bunting/operator/internal/desired/webhook-configurations.js";
import { eventually } from "../../support/event-queue.js";
import type { LogLine } from "../../support/service-process.js";
import type { ApiObject, ApiResponse } from "./api-client.js";
import type { Cluster } from "./cluster.js";
import { OperatorProcess } from "./operator-process.js";
import { grant, permissionsOf } from "./operator-roles.js";
import type { ServiceAccount } from "./service-account.js";

const core = "/apis/core.openfeature.dev/v1beta1";
const admission = "/apis/admissionregistration.k8s.io/v1";

interface Webhooks {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

/** A namespace in which operators run, with the roles of the chart, and another one that they give flags to. Every test must await `stop`. */
export class OperatorHome {
  readonly cluster: Cluster;
  readonly account: ServiceAccount;
  /** Where FeatureFlagSources and Pods are. */
  readonly shop: string;
  readonly #args: readonly string[];
  readonly #running: OperatorProcess[] = [];

  private constructor(cluster: Cluster, account: ServiceAccount, shop: string, args: readonly string[]) {
    this.cluster = cluster;
    this.account = account;
    this.shop = shop;
    this.#args = args;
  }

  /** @param args of all operators that are started here */
  static async create(cluster: Cluster, args: readonly string[]): Promise<OperatorHome> {
    const account = await cluster.createServiceAccountToken(
      await cluster.createNamespace(),
      "bunting-operator",
    );
    await grant(cluster, account, await permissionsOf(args));
    return new OperatorHome(cluster, account, await cluster.createNamespace(), args);
  }

  /**
   * @param way to the API server, if it is not the direct one
   * @param binary another bunting-operator than that of this checkout
   * @param settings in place of those of all
   */
  start(
    pod: string,
    way: Pick<ServiceAccount, "directory" | "environment"> = this.account,
    binary?: string,
    settings: readonly string[] = [],
  ): OperatorProcess {
    const { namespace } = this.account;
    const account = { namespace, directory: way.directory, environment: way.environment };
    const other = binary === undefined ? {} : { binary };
    const operator = OperatorProcess.start({ account, pod, args: [...this.#args, ...settings], ...other });
    this.#running.push(operator);
    return operator;
  }

  /** Ends all operators, also those that are stopped. */
  async stop(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((each) => each.stop("SIGKILL")));
  }

  put(kind: string, name: string, spec: object): Promise<ApiObject> {
    return this.cluster.api.apply(this.path(kind, name), {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind,
      metadata: { name, namespace: this.shop },
      spec,
    });
  }

  path(kind: string, name: string): string {
    return `${core}/namespaces/${this.shop}/${kind.toLowerCase()}s/${name}`;
  }

  /** The Injection of the shop; undefined if there is none. */
  async injection(): Promise<ApiObject | undefined> {
    const path = `/apis/bunting.dev/v1alpha1/namespaces/${this.shop}/injections/bunting`;
    const { status, text } = await this.cluster.api.request("GET", path);
    return status === 200 ? (JSON.parse(text) as ApiObject) : undefined;
  }

  /** Waits until the Injection has this somewhere, and resolves with it. */
  async untilCompiled(part: string): Promise<ApiObject> {
    let found: ApiObject | undefined;
    await eventually(
      async () => {
        found = await this.injection();
        return JSON.stringify(found?.["spec"] ?? {}).includes(part);
      },
      `${part} is compiled`,
      60_000,
    );
    if (found === undefined) throw new Error("there is no Injection");
    return found;
  }

  /** A Pod of the shop that asks for the FeatureFlagSource `app`. */
  createPod(annotations: Readonly<Record<string, string>> = {}): Promise<ApiResponse> {
    return this.cluster.api.request("POST", `/api/v1/namespaces/${this.shop}/pods`, {
      body: {
        metadata: { generateName: "app-", annotations: { ...asking, ...annotations } },
        spec: { containers: [{ name: "app", image: "registry.example/app" }] },
      },
    });
  }

  /** Has the API server ask the operator at this port, by an ExternalName: no Service routes here. */
  async registerWebhooks(port: number): Promise<void> {
    const { namespace } = this.account;
    const service = { namespace, name: "open-feature-operator-webhook-service" };
    await this.cluster.api.apply(`/api/v1/namespaces/${namespace}/services/${service.name}`, {
      apiVersion: "v1",
      kind: "Service",
      metadata: service,
      spec: { type: "ExternalName", externalName: "localhost" },
    });
    const takesInlineFlags = this.#args.includes("--inline-flags");
    const settings = { namespace, address: { service }, validatesFlags: true, takesInlineFlags };
    for (const object of webhookConfigurations(settings)) {
      const path = `${admission}/${object.kind.toLowerCase()}s/${object.metadata.name}`;
      const text = JSON.stringify(object).replaceAll('"port":443', `"port":${port}`);
      await this.cluster.api.apply(path, JSON.parse(text));
      await eventually(async () => {
        const { webhooks } = (await this.cluster.api.get(path)) as unknown as Webhooks;
        return webhooks.every(({ clientConfig }) => clientConfig.caBundle !== undefined);
      }, "the operator tells the API server of its authority");
    }
    await eventually(async () => hasSidecar(await this.createPod()), "the webhook is asked");
  }
}

/** Of Pods that ask for the FeatureFlagSource `app`. */
export const asking = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "app" };

export function hasSidecar({ text }: ApiResponse): boolean {
  return text.includes('"name":"flagd"');
}

/** What `/readyz` of an operator answers: its status and body. */
export async function readiness(operator: OperatorProcess): Promise<{ isReady: boolean; text: string }> {
  const response = await fetch(`${await operator.management()}/readyz`);
  return { isReady: response.status === 200, text: await response.text() };
}

/** Lines of a Prometheus page that begin like this, by what follows, and with their values. */
export async function metrics(
  operator: OperatorProcess,
  prefix: string,
): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`${await operator.management()}/metrics`)).text();
  const lines = text.split("\n").filter((line) => line.startsWith(prefix));
  return new Map(
    lines.map((line) => [line.slice(prefix.length, line.lastIndexOf(" ")), Number(line.split(" ").at(-1))]),
  );
}

/** Log lines with this word. */
export function logged(operator: OperatorProcess, word: string): readonly LogLine[] {
  return operator.process.logs.filter(({ msg }) => msg.includes(word));
}

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import { webhookConfigurations } from "@bunting/operator/internal/desired/webhook-configurations.js";
import type { Permission } from "@bunting/operator/internal/permissions.js";
import { eventually } from "../support/event-queue.js";
import type { ApiObject } from "./support/api-client.js";
import { OperatorProcess } from "./support/operator-process.js";
import { grant, permissionsOf } from "./support/operator-roles.js";
import type { ServiceAccount } from "./support/service-account.js";
import {
  auditPolicyOf,
  unusedGrants,
  usedPermissions,
  type UsedPermission,
} from "./support/used-permissions.js";
import { freshCluster } from "./support/use-cluster.js";

const core = "/apis/core.openfeature.dev/v1beta1";
const admission = "/apis/admissionregistration.k8s.io/v1";
/** Where the operator of the story runs. */
const home = "bunting-system";

/**
 * The operator runs as its image starts it, with the roles of its chart and no others, on an API server of its own, which writes down what
 * it is asked.
 */
describe("the operator", function () {
  this.timeout(120_000);
  const directory = mkdtempSync(path.join(tmpdir(), "bunting-audit-"));
  const log = path.join(directory, "audit.log");
  const policy = path.join(directory, "policy.json");
  writeFileSync(policy, JSON.stringify(auditPolicyOf(`system:serviceaccount:${home}:bunting-operator`)));
  const cluster = freshCluster({
    apiServerFlags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`],
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  let running: OperatorProcess[] = [];
  const start = (account: ServiceAccount, pod: string, ...args: string[]): OperatorProcess => {
    const operator = OperatorProcess.start({ account, pod, args });
    running.push(operator);
    return operator;
  };
  const stopAll = async (): Promise<void> => {
    await Promise.all(running.map((each) => each.stop("SIGKILL")));
    running = [];
  };

  async function accountIn(namespace: string, args: readonly string[] = []): Promise<ServiceAccount> {
    const account = await cluster().createServiceAccountToken(namespace, "bunting-operator");
    await grant(cluster(), account, await permissionsOf(args));
    return account;
  }

  const exists = async (...paths: string[]): Promise<boolean> => {
    const answers = await Promise.all(paths.map((each) => cluster().api.request("GET", each)));
    return answers.every(({ status }) => status === 200);
  };
  const proxyIn = (namespace: string): string[] => [
    `/apis/apps/v1/namespaces/${namespace}/deployments/flagd-proxy`,
    `/api/v1/namespaces/${namespace}/services/flagd-proxy-svc`,
    `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/flagd-proxy-pdb`,
  ];

  describe("with several replicas", () => {
    let account: ServiceAccount;
    before(async () => {
      account = await accountIn(await cluster().createNamespace());
    });
    after(stopAll);

    async function lease(): Promise<LeaseTimes> {
      const path = `/apis/coordination.k8s.io/v1/namespaces/${account.namespace}/leases/bunting-operator`;
      return (await cluster().api.get(path))["spec"] as LeaseTimes;
    }

    it("has one lead, and another soon after that was stopped, or once the Lease of a killed one is over", async () => {
      const first = start(account, "operator-1");
      await first.leads();
      const second = start(account, "operator-2");
      await eventually(() => isReady(second), "the second runs");
      first.process.child.kill("SIGTERM");
      await second.leads();
      expect(await first.process.exit).to.equal(0);
      const third = start(account, "operator-3");
      await eventually(() => isReady(third), "the third runs");
      await second.stop("SIGKILL");
      const left = await lease();
      await third.leads();
      // Its time is over after 15 s without a renewal.
      expect(millisecondsBetween(left.renewTime, (await lease()).acquireTime)).to.be.within(14_500, 25_000);
      expect(await metric(third, "bunting_operator_leader")).to.equal(1);
    });
  });

  describe("beside another operator", () => {
    after(stopAll);

    it("writes nothing of what both have, until that is gone", async () => {
      const namespace = await cluster().createNamespace();
      const args = ["--proxy=always"];
      const account = await accountIn(namespace, args);
      const other = `/apis/apps/v1/namespaces/${namespace}/deployments/open-feature-operator-controller-manager`;
      await cluster().api.apply(other, deploymentOf("open-feature-operator-controller-manager", namespace));
      await cluster().api.patch(`${other}/status`, { status: { replicas: 1, readyReplicas: 1 } });
      const operator = start(account, "operator-1", ...args);
      await operator.leads();
      await eventually(
        () => isReady(operator),
        "it is ready all the same, so that it can take the other's place",
      );
      expect(await metric(operator, "bunting_operator_held_back")).to.equal(1);
      expect(await exists(proxyIn(namespace)[0] ?? "")).to.equal(false);
      await cluster().api.delete(other);
      await eventually(() => exists(...proxyIn(namespace)), "the proxy is deployed");
      expect(await metric(operator, "bunting_operator_held_back")).to.equal(0);
    });
  });

  describe("from a FeatureFlagSource to flags in a Pod", () => {
    let account: ServiceAccount;
    let granted: readonly Permission[];
    let operator: OperatorProcess;
    let shop: string;

    before("it runs", async () => {
      await cluster().createNamespace(home);
      account = await accountIn(home);
      granted = await permissionsOf([]);
      operator = start(account, "operator-1");
      await operator.leads();
      await eventually(() => isReady(operator), "it is ready");
      await registerWebhooks(await operator.webhookPort());
      shop = await cluster().createNamespace();
    });
    after(stopAll);

    /** Without Services that route, the API server finds an operator by an ExternalName. */
    async function registerWebhooks(port: number): Promise<void> {
      const service = { namespace: home, name: "open-feature-operator-webhook-service" };
      await cluster().api.apply(`/api/v1/namespaces/${home}/services/${service.name}`, {
        apiVersion: "v1",
        kind: "Service",
        metadata: service,
        spec: { type: "ExternalName", externalName: "localhost" },
      });
      const objects = webhookConfigurations({ namespace: home, address: { service }, validatesFlags: true });
      for (const object of objects) {
        const path = `${admission}/${object.kind.toLowerCase()}s/${object.metadata.name}`;
        const text = JSON.stringify(object).replaceAll('"port":443', `"port":${port}`);
        await cluster().api.apply(path, JSON.parse(text));
        await eventually(async () => {
          const { webhooks } = (await cluster().api.get(path)) as unknown as Webhooks;
          return webhooks.every(({ clientConfig }) => clientConfig.caBundle !== undefined);
        }, "the operator tells the API server of its authority");
      }
    }

    it("deploys the proxy while a source uses it", async () => {
      expect(await exists(proxyIn(home)[0] ?? "")).to.equal(false);
      await cluster().putFeatureFlag(shop, "checkout", { flags: {} });
      await cluster().api.apply(`${core}/namespaces/${shop}/featureflagsources/end-to-end`, {
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlagSource",
        metadata: { name: "end-to-end", namespace: shop },
        spec: { sources: [{ source: `${shop}/checkout`, provider: "flagd-proxy" }] },
      });
      await eventually(() => exists(...proxyIn(home)), `the proxy is deployed; ${operator.process.output}`);
    });

    it("gives Pods their sidecar, by its webhook", async () => {
      const pod = await createPod("end-to-end");
      const [sidecar] = pod.spec.initContainers ?? [];
      expect(sidecar?.name).to.equal("flagd");
      expect(sidecar?.args.join(" ")).to.contain(`flagd-proxy-svc.${home}.svc.cluster.local:8015`);
      expect(pod.metadata.annotations?.["bunting.dev/injected"]).to.match(/^webhook [0-9a-f]{16}$/);
    });

    it("starts Pods whose source is missing all the same, and says why they have no flags", async () => {
      const pod = await createPod("nowhere");
      expect(pod.spec.initContainers).to.equal(undefined);
      expect(pod.metadata.annotations?.["bunting.dev/not-injected"]).to.equal("UnknownSource");
    });

    it("compiles for the API server what Pods of the namespace get", async () => {
      const path = `/apis/bunting.dev/v1alpha1/namespaces/${shop}/injections/bunting`;
      const { sources } = (await cluster().api.get(path))["spec"] as { sources: object };
      expect(sources).to.have.property("end-to-end");
    });

    it("refuses FeatureFlags that can't be served as they are meant", async () => {
      const flags = { bad: { state: "ENABLED", variants: { on: true }, defaultVariant: "off" } };
      const refused = await cluster()
        .putFeatureFlag(shop, "bad", { flags })
        .then(
          () => undefined,
          (error: unknown) => (error as Error).message,
        );
      expect(refused).to.contain("off");
    });

    it("puts back what is deleted of the proxy, and what is edited", async () => {
      for (const path of proxyIn(home)) await cluster().api.delete(path);
      await eventually(() => exists(...proxyIn(home)), "the proxy is deployed again");
      const [deployment = ""] = proxyIn(home);
      const imageOf = async (): Promise<string | undefined> => {
        const { spec } = (await cluster().api.get(deployment)) as unknown as PodTemplated;
        return spec.template.spec.containers[0]?.image;
      };
      const before = await imageOf();
      const edit = ["set", "image", "deployment/flagd-proxy", "flagd-proxy=registry.example/other"];
      // The second time its event becomes a series.
      for (const _ of [1, 2]) {
        await cluster().kubectl(["-n", home, ...edit]);
        await eventually(async () => (await imageOf()) === before, "the edit is taken back");
      }
    });

    it("says in their status what became of sources", async () => {
      await cluster().api.apply(`${core}/namespaces/${shop}/inprocessconfigurations/direct`, {
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "InProcessConfiguration",
        metadata: { name: "direct", namespace: shop },
        spec: {},
      });
      for (const path of ["featureflagsources/end-to-end", "inprocessconfigurations/direct"])
        await eventually(async () => {
          const { status } = (await cluster().api.get(
            `${core}/namespaces/${shop}/${path}`,
          )) as WithConditions;
          return (
            status?.conditions?.some(({ type, status: is }) => type === "Accepted" && is === "True") === true
          );
        }, `${path} is accepted`);
    });

    it("goes on after a restart, and removes what nothing uses any more", async () => {
      await operator.stop();
      operator = start(account, "operator-2", "--proxy-linger=1ms");
      await operator.leads();
      const injection = `/apis/bunting.dev/v1alpha1/namespaces/${shop}/injections/bunting`;
      expect(await exists(injection, ...proxyIn(home))).to.equal(true);
      await cluster().api.delete(`${core}/namespaces/${shop}/featureflagsources/end-to-end`);
      await cluster().api.delete(`${core}/namespaces/${shop}/inprocessconfigurations/direct`);
      for (const path of [injection, ...proxyIn(home)])
        await eventually(async () => !(await exists(path)), `${path} is gone; ${operator.process.output}`);
    });

    it("needs no more than it is granted, and is granted no more than it needs", async () => {
      const used = (): readonly UsedPermission[] => usedPermissions(log);
      await eventually(() => unusedGrants(granted, used()).length === 0, "it has used all").catch(
        () => undefined,
      );
      expect(unusedGrants(granted, used())).to.deep.equal([]);
      expect(used().filter(({ status }) => status === 401 || status === 403)).to.deep.equal([]);
    });

    async function createPod(source: string): Promise<InjectedPod> {
      const created = await cluster().api.create(`/api/v1/namespaces/${shop}/pods`, {
        metadata: {
          generateName: "app-",
          annotations: { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": source },
        },
        spec: { containers: [{ name: "app", image: "registry.example/app" }] },
      });
      return created as unknown as InjectedPod;
    }
  });
});

interface LeaseTimes {
  readonly acquireTime: string;
  readonly renewTime: string;
}

interface PodTemplated {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
}

interface WithConditions extends ApiObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

interface InjectedPod extends ApiObject {
  readonly metadata: ApiObject["metadata"] & { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly initContainers?: readonly { readonly name: string; readonly args: readonly string[] }[];
  };
}

interface Webhooks {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

function deploymentOf(name: string, namespace: string): object {
  const labels = { "control-plane": "controller-manager" };
  const spec = { containers: [{ name: "manager", image: "registry.example/other" }] };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

function millisecondsBetween(from: string, to: string): number {
  return Date.parse(to) - Date.parse(from);
}

async function isReady(operator: OperatorProcess): Promise<boolean> {
  return (await fetch(`${await operator.management()}/readyz`)).status === 200;
}

async function metric(operator: OperatorProcess, name: string): Promise<number | undefined> {
  const text = await (await fetch(`${await operator.management()}/metrics`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

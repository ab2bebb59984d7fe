import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";
import type { Permission } from "@bunting/operator/internal/permission.js";
import { eventually } from "../support/event-queue.js";
import type { ApiObject, ApiResponse } from "./support/api-client.js";
import { OperatorProcess } from "./support/operator-process.js";
import { grant, permissionsOf } from "./support/operator-roles.js";
import { registerWebhooks, unregisterWebhooks } from "./support/register-webhooks.js";
import type { ServiceAccount } from "./support/service-account.js";
import {
  auditPolicyOf,
  unusedGrants,
  usedPermissions,
  type UsedPermission,
} from "./support/used-permissions.js";
import { freshCluster } from "./support/use-cluster.js";

const core = "/apis/core.openfeature.dev/v1beta1";
/** Where the operator of the story runs, and that with all options: once for all namespaces, and once for some that are named. */
const homes = {
  all: { story: "bunting-system", options: "bunting-all" },
  named: { story: "bunting-some", options: "bunting-some-all" },
} as const;
type Serving = keyof typeof homes;

/**
 * The operator runs as its image starts it, with the roles of its chart and no others, on an API server of its own, which writes down what
 * it is asked.
 */
/** The rest of what an API server wants of a container's status. */
const pulledContainer = { name: "image", image: "x", imageID: "x", ready: false, restartCount: 0 };

describe("the operator", function () {
  this.timeout(120_000);
  const directory = mkdtempSync(path.join(tmpdir(), "bunting-audit-"));
  const log = path.join(directory, "audit.log");
  const policy = path.join(directory, "policy.json");
  const userIn = (namespace: string): string => `system:serviceaccount:${namespace}:bunting-operator`;
  const users = Object.values(homes).flatMap((each) => Object.values(each).map(userIn));
  writeFileSync(policy, JSON.stringify(auditPolicyOf(...users)));
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

  async function accountIn(
    namespace: string,
    args: readonly string[] = [],
    served?: readonly string[],
  ): Promise<ServiceAccount> {
    const account = await cluster().createServiceAccountToken(namespace, "bunting-operator");
    await grant(cluster(), account, await permissionsOf(args, namespace), served);
    return account;
  }
  /** What an operator that serves these is started with, beside its other arguments. */
  const servingArgs = (served: readonly string[] | undefined): readonly string[] =>
    served === undefined ? [] : [`--watch-namespaces=${served.join(",")}`];

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

  describe("installed anew", () => {
    after(stopAll);

    it("leads before the Lease is over that nobody could release, once its holder's Pod is gone", async () => {
      const namespace = await cluster().createNamespace();
      const account = await accountIn(namespace);
      const old = start(account, "operator-old");
      await old.leads();
      await old.stop("SIGKILL");
      const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/bunting-operator`;
      const left = (await cluster().api.get(path))["spec"] as LeaseTimes;
      const name = "bunting-operator";
      await cluster().api.apply(
        `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`,
        deploymentOf(name, namespace),
      );
      const hash = "5d4f";
      const owner = {
        apiVersion: "apps/v1",
        kind: "ReplicaSet",
        name: `${name}-${hash}`,
        uid: "u",
        controller: true,
      };
      await cluster().api.create(`/api/v1/namespaces/${namespace}/pods`, {
        metadata: { name: "operator-new", labels: { "pod-template-hash": hash }, ownerReferences: [owner] },
        spec: podSpec,
      });
      await start(account, "operator-new").leads();
      const taken = (await cluster().api.get(path))["spec"] as LeaseTimes;
      expect(millisecondsBetween(left.renewTime, taken.acquireTime)).to.be.below(14_500);
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

  for (const serving of ["all", "named"] as const) {
    const words = serving === "all" ? "" : ", of an operator of some namespaces";
    describe(`from a FeatureFlagSource to flags in a Pod${words}`, () => storyOf(serving));
    describe(`with all that may be switched on${words}`, () => optionsOf(serving));
  }

  function storyOf(serving: Serving): void {
    const { story: home } = homes[serving];
    let account: ServiceAccount;
    let granted: readonly Permission[];
    let operator: OperatorProcess;
    let args: readonly string[];
    let shop: string;
    let team: string;
    const security = `/api/v1/namespaces/${home}/configmaps/bunting-proxy-security`;

    before("it runs", async () => {
      await cluster().createNamespace(home);
      [shop, team] = [await cluster().createNamespace(), await cluster().createNamespace()];
      const served = serving === "all" ? undefined : [shop, team];
      args = servingArgs(served);
      account = await accountIn(home, args, served);
      granted = await permissionsOf(args, home);
      const data = { state: "mixed", since: new Date().toISOString(), waitsFor: "" };
      const metadata = { name: "bunting-proxy-security", namespace: home };
      await cluster().api.apply(security, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
      operator = start(account, "operator-1", ...args);
      await operator.leads();
      await eventually(() => isReady(operator), "it is ready");
    });
    after(stopAll);
    after("no webhooks are called any more", async () => {
      await unregisterWebhooks(cluster(), home, serving === "all" ? undefined : [shop, team]);
    });

    it("finds Pods that were created while no webhook was there", async () => {
      await createPod("end-to-end");
      await eventually(async () => {
        const { items } = await cluster().api.list(`/apis/events.k8s.io/v1/namespaces/${shop}/events`);
        return items.some(({ reason }) => reason === "Missed");
      }, "an event tells of the Pod");
      expect(await metric(operator, `bunting_operator_missed_pods{namespace="${shop}"}`)).to.equal(1);
      const served = serving === "all" ? undefined : [shop, team];
      await registerWebhooks(cluster(), home, await operator.webhookPort(), served);
    });

    it("makes files of FeatureFlags, also of those that another namespace shares", async () => {
      await cluster().putFeatureFlag(
        team,
        "limits",
        { flags: {} },
        { annotations: { "bunting.dev/readers": shop } },
      );
      await putSource("from-files", { source: `${team}/limits`, provider: "file" });
      await eventually(async () => (await configMaps()).length === 1, "a ConfigMap is made");
    });

    it("deploys the proxy while a source uses it", async () => {
      expect(await exists(proxyIn(home)[0] ?? "")).to.equal(false);
      await cluster().putFeatureFlag(shop, "checkout", { flags: {} });
      await putSource("end-to-end", { source: `${shop}/checkout`, provider: "flagd-proxy" });
      await eventually(() => exists(...proxyIn(home)), `the proxy is deployed; ${operator.process.output}`);
    });

    it("takes back what an earlier one had secured, and goes by the proxy where that is lost", async () => {
      const state = async (): Promise<string> =>
        JSON.stringify((await cluster().api.get(security))["data"] ?? {});
      await eventually(async () => (await state()).includes('"leaving"'), "it leaves TLS");
      const [deployment = ""] = proxyIn(home);
      await eventually(
        async () =>
          JSON.stringify(await cluster().api.get(deployment)).includes('"bunting.dev/proxy-access":"both"'),
        "the proxy serves both",
      );
      await cluster().api.delete(security);
      await eventually(() => exists(security), "it is written again");
    });

    it("gives Pods their sidecar, by its webhook", async () => {
      const pod = await createPod("end-to-end");
      const [sidecar] = pod.spec.initContainers ?? [];
      expect(sidecar?.name).to.equal("flagd");
      expect(sidecar?.args.join(" ")).to.contain(`flagd-proxy-svc.${home}.svc.cluster.local:8015`);
      expect(pod.metadata.annotations?.["bunting.dev/injected"]).to.match(/^webhook [0-9a-f]{16}$/);
    });

    it("starts Pods whose variables would have names that Kubernetes refuses, with others", async () => {
      await putObject(shop, "InProcessConfiguration", "odd", { envVarPrefix: "A=\u0000" });
      const metadata = {
        generateName: "app-",
        annotations: { "openfeature.dev/enabled": "true", "openfeature.dev/inprocessconfiguration": "odd" },
      };
      const named = async (): Promise<string> => {
        const pod = { metadata, spec: podSpec };
        return JSON.stringify((await cluster().api.create(`/api/v1/namespaces/${shop}/pods`, pod))["spec"]);
      };
      await eventually(async () => (await named()).includes('"FLAGD_RESOLVER"'), "the Pod has its variables");
      await cluster().api.delete(`${core}/namespaces/${shop}/inprocessconfigurations/odd`);
    });

    it("starts Pods whose source is missing all the same, and says why they have no flags", async () => {
      const pod = await createPod("nowhere");
      expect(pod.spec.initContainers).to.equal(undefined);
      expect(pod.metadata.annotations?.["bunting.dev/not-injected"]).to.equal("UnknownSource");
    });

    it("compiles for the API server what Pods of the namespace get", async () => {
      const path = `/apis/bunting.dev/v1alpha1/namespaces/${shop}/injections/bunting`;
      await eventually(async () => {
        const { sources } = (await cluster().api.get(path))["spec"] as { sources: object };
        return Object.hasOwn(sources, "end-to-end");
      }, "its text is compiled");
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
      for (let edits = 0; edits < 2; edits++) {
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

    it("says of Flagds that it serves none, and by which option it would", async () => {
      const path = `${core}/namespaces/${shop}/flagds/alone`;
      await putObject(shop, "Flagd", "alone", { featureFlagSource: "end-to-end" });
      let said: readonly string[] = [];
      await eventually(async () => {
        const { conditions = [] } = ((await cluster().api.get(path)) as WithConditions).status ?? {};
        said = conditions.map(
          ({ type, status, reason, message }) => `${type} ${status} ${reason} ${message}`,
        );
        return said.length > 0;
      }, "its status says so");
      expect(said).to.have.lengthOf(1);
      expect(said[0]).to.match(/^Progressing False NotServed .*--flagd/);
      await eventually(async () => {
        const events = await cluster().api.list(`/apis/events.k8s.io/v1/namespaces/${shop}/events`);
        return events.items.some(
          ({ reason, note }) => reason === "NotServed" && String(note).includes("--flagd"),
        );
      }, "an event says so");
    });

    it("says of sources that use the proxy whether that is ready", async () => {
      await eventually(async () => {
        const source = await cluster().api.get(`${core}/namespaces/${shop}/featureflagsources/end-to-end`);
        const { conditions = [] } = (source as WithConditions).status ?? {};
        return conditions.some(({ type, reason }) => type === "ProxyReady" && reason === "Progressing");
      }, "it says that no Pod of the proxy is available yet");
    });

    it("goes on after a restart, and removes what nothing uses any more", async () => {
      await operator.stop();
      operator = start(account, "operator-2", "--proxy-linger=1ms", ...args);
      await operator.leads();
      const injection = `/apis/bunting.dev/v1alpha1/namespaces/${shop}/injections/bunting`;
      expect(await exists(injection, ...proxyIn(home))).to.equal(true);
      for (const name of ["end-to-end", "from-files"])
        await cluster().api.delete(`${core}/namespaces/${shop}/featureflagsources/${name}`);
      await cluster().api.delete(`${core}/namespaces/${shop}/inprocessconfigurations/direct`);
      for (const path of [injection, ...proxyIn(home)])
        await eventually(async () => !(await exists(path)), `${path} is gone; ${operator.process.output}`);
      await eventually(async () => (await configMaps()).length === 0, "the ConfigMap is gone");
    });

    it("makes the token for the status of the proxy anew that somebody has spoilt", async () => {
      const path = `/api/v1/namespaces/${home}/secrets/flagd-proxy-status`;
      const tokens = async (): Promise<string> => {
        const { data } = (await cluster().api.get(path)) as unknown as { readonly data: { tokens: string } };
        return Buffer.from(data.tokens, "base64").toString();
      };
      const before = await tokens();
      await cluster().api.patch(path, { data: { tokens: Buffer.from("guess\n").toString("base64") } });
      await eventually(async () => /^[\w-]{43}\n$/.test(await tokens()), "it is made anew");
      expect(await tokens()).to.not.equal(before);
    });

    it("needs no more than it is granted, and is granted no more than it needs", async () => {
      const used = (): readonly UsedPermission[] => usedPermissions(log, userIn(home));
      await eventually(() => unusedGrants(granted, used()).length === 0, "it has used all").catch(
        () => undefined,
      );
      expect(unusedGrants(granted, used())).to.deep.equal([]);
      expect(used().filter(({ status }) => status === 401 || status === 403)).to.deep.equal([]);
    });

    /** Those of ours: the API server or its controllers may make others. */
    async function configMaps(): Promise<readonly ApiObject[]> {
      const path = `/api/v1/namespaces/${shop}/configmaps?labelSelector=bunting.dev%2Faccess`;
      return (await cluster().api.list(path)).items;
    }

    const putSource = (name: string, source: object): Promise<unknown> =>
      putObject(shop, "FeatureFlagSource", name, { sources: [source] });

    async function createPod(source: string): Promise<InjectedPod> {
      const pod = { metadata: { generateName: "app-", annotations: asking(source) }, spec: podSpec };
      return (await cluster().api.create(`/api/v1/namespaces/${shop}/pods`, pod)) as unknown as InjectedPod;
    }
  }

  function optionsOf(serving: Serving): void {
    const { options: home } = homes[serving];
    const options = [
      ...["--flagd", "--rollout-on-change", "--missed-pods=evict", "--provider-kubernetes=direct"],
      ...["--inline-flags", ...(serving === "all" ? ["--agent-rollouts"] : [])],
    ];
    let granted: readonly Permission[];
    let shop: string;

    before("it runs", async () => {
      await cluster().createNamespace(home);
      shop = await cluster().createNamespace();
      const served = serving === "all" ? undefined : [shop];
      const args = [...options, ...servingArgs(served)];
      const account = await accountIn(home, args, served);
      granted = await permissionsOf(args, home);
      await cluster().putFeatureFlag(shop, "checkout", { flags: {} });
      await putObject(shop, "FeatureFlagSource", "watched", {
        sources: [{ source: "checkout", provider: "kubernetes" }],
        rolloutOnChange: true,
      });
      const operator = start(account, "operator-1", ...args);
      await operator.leads();
      await eventually(() => isReady(operator), `it is ready; ${operator.process.output}`);
    });
    after(stopAll);

    it("lets sidecars watch FeatureFlags, as long as a source says so", async () => {
      // The operator itself may have one there.
      const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${shop}/rolebindings?labelSelector=bunting.dev%2Faccess`;
      const bindings = async (): Promise<number> => (await cluster().api.list(path)).items.length;
      await eventually(async () => (await bindings()) === 1, "there is a RoleBinding");
      await putObject(shop, "FeatureFlagSource", "watched", {
        sources: [{ source: "checkout", provider: "flagd-proxy" }],
        rolloutOnChange: true,
      });
      await eventually(async () => (await bindings()) === 0, "there is none any more");
    });

    it("makes a FeatureFlag of what a workload has of its own, and follows it to its end", async () => {
      const labels = { app: "inline" };
      const template = { metadata: { labels }, spec: { ...podSpec, restartPolicy: "Never" } };
      const always = { metadata: { labels }, spec: podSpec };
      for (const [kind, group, spec] of [
        ["deployment", "apps", { replicas: 0, selector: { matchLabels: labels }, template: always }],
        ["job", "batch", { suspend: true, template }],
        ["cronjob", "batch", { schedule: "0 0 1 1 *", suspend: true, jobTemplate: { spec: { template } } }],
      ] as const) {
        const path = `/apis/${group}/v1/namespaces/${shop}/${kind}s`;
        const flag = `/apis/core.openfeature.dev/v1beta1/namespaces/${shop}/featureflags/inline-${kind}-inline`;
        const found = (): Promise<ApiResponse> => cluster().api.request("GET", flag);
        const annotations = (text: string | null): object => ({ "openfeature.dev/inline-flags": text });
        const annotate = (text: string | null): Promise<unknown> =>
          cluster().api.patch(`${path}/inline`, { metadata: { annotations: annotations(text) } });
        const metadata = { name: "inline", annotations: annotations('{"flags":{}}') };
        await cluster().api.create(path, { metadata, spec });
        await eventually(async () => (await found()).status === 200, `that of a ${kind} is made`);
        await annotate('{"flags":{"a":{"state":"ENABLED","variants":{"on":true},"defaultVariant":"on"}}}');
        await eventually(async () => (await found()).text.includes('"on"'), "it has the edit");
        await annotate(null);
        await eventually(async () => (await found()).status === 404, "it goes");
      }
    });

    it("restarts workloads when their source has changed", async () => {
      const path = `/apis/apps/v1/namespaces/${shop}/deployments/app`;
      await cluster().api.apply(path, deploymentOf("app", shop, asking("watched")));
      // Changes count from what was noted last: nothing is restarted because the operator starts.
      await eventually(async () => {
        const injection = await cluster().api.get(
          `/apis/bunting.dev/v1alpha1/namespaces/${shop}/injections/bunting`,
        );
        const { metadata, spec } = injection as unknown as CompiledInjection;
        const noted = metadata.annotations?.["bunting.dev/rolled-out"] ?? "{}";
        const [origin] = (JSON.parse(noted) as Record<string, string>)["watched"]?.split("/") ?? [];
        return origin !== undefined && origin === spec.sources["watched"]?.origin;
      }, "what Pods get is noted");
      const originOf = async (): Promise<string | undefined> => {
        const at = `/apis/bunting.dev/v1alpha1/namespaces/${shop}/injections/bunting`;
        return ((await cluster().api.get(at)) as unknown as CompiledInjection).spec.sources["watched"]
          ?.origin;
      };
      const before = await originOf();
      // No Pod gets anything of this edit.
      await putObject(shop, "FeatureFlagSource", "watched", {
        sources: [{ source: "checkout", provider: "flagd-proxy" }],
        rolloutOnChange: true,
        syncProviderArgs: ["a=b"],
      });
      await eventually(async () => {
        const source = await cluster().api.get(`${core}/namespaces/${shop}/featureflagsources/watched`);
        const { conditions = [] } = (source as WithConditions).status ?? {};
        const { generation } = source.metadata;
        return conditions.some(
          ({ type, observedGeneration }) => type === "Compiled" && observedGeneration === generation,
        );
      }, "the edit is compiled");
      expect(await originOf(), "what restarts go by is the same").to.equal(before);
      const hasRestarted = async (): Promise<boolean> =>
        JSON.stringify((await cluster().api.get(path))["spec"]).includes("kubectl.kubernetes.io/restartedAt");
      await putObject(shop, "FeatureFlagSource", "watched", {
        sources: [{ source: "checkout", provider: "flagd-proxy" }],
        rolloutOnChange: true,
        debugLogging: true,
      });
      await eventually(hasRestarted, "it is restarted");
    });

    it("deploys Flagds, and takes away what is disabled", async () => {
      const ingress = { enabled: true, hosts: ["flags.example"] };
      const autoscaling = { maxReplicas: 3 };
      await putObject(shop, "Flagd", "alone", { featureFlagSource: "watched", ingress, autoscaling });
      const paths = [
        `/apis/apps/v1/namespaces/${shop}/deployments/alone`,
        `/api/v1/namespaces/${shop}/services/alone`,
        `/apis/networking.k8s.io/v1/namespaces/${shop}/ingresses/alone`,
        `/apis/autoscaling/v2/namespaces/${shop}/horizontalpodautoscalers/alone`,
      ];
      await eventually(() => exists(...paths), "it is deployed");
      await putObject(shop, "Flagd", "alone", { featureFlagSource: "watched" });
      for (const path of paths.slice(2))
        await eventually(async () => !(await exists(path)), `${path} is gone`);
    });

    it("evicts Pods without flags, so that they are replaced", async () => {
      const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "app-1", uid: "0", controller: true };
      const path = `/api/v1/namespaces/${shop}/pods`;
      const metadata = { name: "missed", annotations: asking("watched"), ownerReferences: [owner] };
      await cluster().api.create(path, { metadata, spec: podSpec });
      await eventually(async () => !(await exists(`${path}/missed`)), "it is evicted");
    });

    if (serving === "all") it("gives running sidecars another image", upgradesInPlace);

    it("needs no more than it is granted", async () => {
      const conditional = granted.filter(({ onlyIf }) =>
        options.some((arg) => arg.startsWith(`--${onlyIf?.option ?? "?"}`)),
      );
      // These are served where the Gateway API is installed; and nothing owned by us is rolled out but a Deployment.
      const unseen = /httproutes|statefulsets|daemonsets|clusterroles|\/roles\//;
      const unused = (): readonly string[] =>
        unusedGrants(conditional, usedPermissions(log, userIn(home))).filter((each) => !unseen.test(each));
      // An API server writes a request down some time after it has answered it.
      await eventually(() => unused().length === 0, "all is used").catch(() => undefined);
      expect(unused()).to.deep.equal([]);
      const refused = usedPermissions(log, userIn(home)).filter(({ status }) => [401, 403].includes(status));
      expect(refused).to.deep.equal([]);
    });

    async function upgradesInPlace(): Promise<void> {
      const path = `/api/v1/namespaces/${shop}/pods/running`;
      const sidecar = { name: "flagd", image: "registry.example/agent:1", restartPolicy: "Always" };
      await cluster().api.create(`/api/v1/namespaces/${shop}/pods`, {
        metadata: { name: "running", labels: { "bunting.dev/agent": "1" }, annotations: { a: "b" } },
        spec: { ...podSpec, initContainers: [sidecar], nodeName: "nowhere" },
      });
      const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
      await cluster().api.patch(`${path}/status`, { status });
      const rollout = `/apis/bunting.dev/v1alpha1/agentrollouts/${shop}`;
      const rollOut = (tag: number): Promise<unknown> =>
        cluster().api.apply(rollout, {
          ...{ apiVersion: "bunting.dev/v1alpha1", kind: "AgentRollout", metadata: { name: shop } },
          spec: { image: `registry.example/agent:${tag}`, from: ["*"], minAge: "0s", prePull: true },
        });
      const pulls = async (): Promise<readonly ApiObject[]> => {
        const selector = encodeURIComponent("bunting.dev/image-pull");
        return (
          await cluster().api.list(`/api/v1/namespaces/${home}/pods?labelSelector=${selector}`)
        ).items.filter(({ metadata }) => metadata["deletionTimestamp"] === undefined);
      };
      const pulling = async (tag: number): Promise<boolean> =>
        JSON.stringify(await pulls()).includes(`registry.example/agent:${tag}"`);
      await rollOut(3);
      await eventually(() => pulling(3), "its node is to pull the image");
      await rollOut(2);
      await eventually(async () => (await pulling(2)) && !(await pulling(3)), "another one is asked for");
      const [pull] = await pulls();
      const terminated = { exitCode: 0, reason: "Completed" };
      await cluster().api.patch(`/api/v1/namespaces/${home}/pods/${pull?.metadata.name ?? ""}/status`, {
        status: { phase: "Succeeded", containerStatuses: [{ ...pulledContainer, state: { terminated } }] },
      });
      await eventually(
        async () => JSON.stringify(await cluster().api.get(path)).includes("registry.example/agent:2"),
        "it has the image",
      );
      await cluster().api.delete(rollout);
    }
  }

  async function putObject(namespace: string, kind: string, name: string, spec: object): Promise<void> {
    await cluster().api.apply(`${core}/namespaces/${namespace}/${kind.toLowerCase()}s/${name}`, {
      apiVersion: "core.openfeature.dev/v1beta1",
      kind,
      metadata: { name, namespace },
      spec,
    });
  }
});

interface LeaseTimes {
  readonly acquireTime: string;
  readonly renewTime: string;
}

interface CompiledInjection {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly sources: Readonly<Record<string, { readonly origin: string }>> };
}

interface PodTemplated {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
  };
}

interface WithConditions extends ApiObject {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
      readonly observedGeneration?: number;
    }[];
  };
}

interface InjectedPod extends ApiObject {
  readonly metadata: ApiObject["metadata"] & { readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly initContainers?: readonly { readonly name: string; readonly args: readonly string[] }[];
  };
}

const podSpec = { containers: [{ name: "app", image: "registry.example/app" }] };

/** The annotations of a Pod that asks for flags. */
function asking(source: string): Readonly<Record<string, string>> {
  return { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": source };
}

function deploymentOf(name: string, namespace: string, annotations: object = {}): object {
  const labels = { app: name };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels, annotations }, spec: podSpec },
    },
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

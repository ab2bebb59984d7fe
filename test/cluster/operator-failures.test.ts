import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { otherLeaseName } from "@bunting/operator/internal/api/leases.js";
import { OtherOperator } from "@bunting/operator/internal/controllers/other-operator.js";
import { connectCluster } from "@bunting/kube";
import { aborted, createLogger, systemClock } from "@bunting/runtime";
import { goModuleSource } from "../../scripts/go-module-source.js";
import { openFeatureOperator } from "../../scripts/upstream-suite.js";
import { eventually } from "../support/event-queue.js";
import { FastClock } from "../support/fast-clock.js";
import { faults } from "../support/faulty-api-server/fault-script.js";
import { tooManyRequests } from "../support/faulty-api-server/status.js";
import type { ApiObject } from "./support/api-client.js";
import { FaultyPath } from "./support/faulty-path.js";
import { asking, hasSidecar, logged, metrics, OperatorHome, readiness } from "./support/operator-home.js";
import type { OperatorProcess } from "./support/operator-process.js";
import { freshCluster } from "./support/use-cluster.js";

const root = path.resolve(import.meta.dirname, "../..");
const crds = path.join(root, "deploy/crds");
const leadsNoLonger = "this process leads no longer: its lease was not renewed in time";
const required = { "bunting.dev/injection": "required" };

interface WithStatus extends ApiObject {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string }[];
    readonly digest?: string;
    readonly flags?: number;
  };
}

const proxied = (port: number, more: object = {}): object => ({
  sources: [{ source: "flags", provider: "flagd-proxy" }],
  port,
  ...more,
});

/** The rows of the failure matrix that need a real API server; those of admission are in operator-admission.test.ts. */
describe("the operator, when something of the cluster fails:", function () {
  this.timeout(180_000);
  const cluster = freshCluster({ crds: false });
  let home: OperatorHome;
  const useHome = (...args: readonly string[]): void => {
    before(async () => {
      home = await OperatorHome.create(cluster(), args);
    });
    after(() => home.stop());
  };
  const exists = async (url: string): Promise<boolean> =>
    (await cluster().api.request("GET", url)).status === 200;
  const proxyPath = (): string =>
    `/apis/apps/v1/namespaces/${home.account.namespace}/deployments/flagd-proxy`;

  describe("resource types", () => {
    useHome("--flagd");
    let operator: OperatorProcess;
    const install = (...args: readonly string[]): Promise<string> =>
      cluster().kubectl(["apply", "--server-side", "--force-conflicts", ...args]);
    const types = (word: string): ReadonlySet<unknown> =>
      new Set(logged(operator, word).map(({ type }) => type));
    const names = (word: string, ...plurals: readonly string[]): Promise<void> =>
      eventually(
        () => plurals.every((plural) => types(word).has(plural)),
        `${plurals.join(", ")}: ${word}`,
        60_000,
      );
    const restart = async (pod: string): Promise<void> => {
      await operator.stop();
      operator = home.start(pod);
      await operator.leads();
    };
    const statusOf = async (kind: string, name: string): Promise<NonNullable<WithStatus["status"]>> =>
      ((await cluster().api.get(home.path(kind, name))) as WithStatus).status ?? {};

    it("waits for those that there are not, and names them", async () => {
      operator = home.start("operator-1");
      await operator.leads();
      const missing = ["featureflags", "featureflagsources", "inprocessconfigurations"];
      await names("CrdMissing", ...missing.map((plural) => `${plural}.core.openfeature.dev`));
      const { isReady, text } = await readiness(operator);
      expect(isReady).to.equal(false);
      for (const plural of missing) expect(text).to.contain(`watch of ${plural}`);
    });

    it("uses what those of the open-feature-operator have, and says once what they lack", async function () {
      const source = goModuleSource(...openFeatureOperator);
      if (source === undefined) return this.skip();
      await install("-f", path.join(source, "config/crd/bases"));
      await cluster().untilServed();
      const flags = { on: { state: "ENABLED", variants: { on: true }, defaultVariant: "off" } };
      await home.put("FeatureFlag", "flags", { flagSpec: { flags } });
      await home.put("FeatureFlagSource", "app", proxied(9001));
      await home.put("InProcessConfiguration", "direct", {});
      await home.put("Flagd", "alone", { featureFlagSource: "app" });
      await eventually(async () => (await readiness(operator)).isReady, "it is ready", 60_000);
      // Other controllers go on without Injections.
      const apps = `/apis/apps/v1/namespaces/${home.shop}/deployments`;
      await eventually(() => exists(`${apps}/alone`), "the Flagd is deployed");
      await eventually(async () => {
        const { items } = await cluster().api.list(`/apis/events.k8s.io/v1/namespaces/${home.shop}/events`);
        return items.some(({ reason }) => reason === "Flag");
      }, "the FeatureFlag is checked");
      await names("CrdOutdated", "flagds.core.openfeature.dev", "featureflags.core.openfeature.dev");
      await names("CrdMissing", "injections.bunting.dev");
      expect(await exists(proxyPath())).to.equal(false);

      await install("-f", path.join(crds, "injections.yaml"));
      await home.untilCompiled('"app"');
      await eventually(() => exists(proxyPath()), "the proxy is deployed");
      const ours = ["featureflagsources", "inprocessconfigurations"];
      await names("CrdOutdated", ...ours.map((plural) => `${plural}.core.openfeature.dev`));
      const reconciled = await metrics(operator, "bunting_operator_reconcile_total");
      const failed = [...reconciled].filter(([labels, count]) => labels.includes("failed") && count > 0);
      expect(failed, operator.process.output).to.deep.equal([]);
    });

    it("writes what an older one of ours has of the status, and all of it once that is replaced", async () => {
      for (const file of ["featureflags", "flagds", "inprocessconfigurations"])
        await install("-f", path.join(crds, `${file}.yaml`));
      const older = parse(readFileSync(path.join(crds, "featureflagsources.yaml"), "utf8")) as Definition;
      for (const { schema } of older.spec.versions)
        delete schema.openAPIV3Schema.properties.status.properties.digest;
      await cluster().kubectl(
        ["apply", "--server-side", "--force-conflicts", "-f", "-"],
        JSON.stringify(older),
      );
      const probe = `${home.path("FeatureFlagSource", "app")}/status?fieldManager=probe&dryRun=All`;
      const body = {
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlagSource",
        status: { digest: "" },
      };
      await eventually(async () => {
        const { text } = await cluster().api.request("PATCH", probe, {
          contentType: "application/apply-patch+yaml",
          body,
        });
        return text.includes(".status.digest: field not declared");
      }, "the older definition is in force");
      await home.put("FeatureFlagSource", "app", proxied(9002));
      await restart("operator-2");
      const isAccepted = async (): Promise<boolean> =>
        (await statusOf("FeatureFlagSource", "app")).conditions?.some(({ type }) => type === "Accepted") ===
        true;
      await eventually(isAccepted, "conditions are written");
      expect(logged(operator, "CrdOutdated").map(({ fields }) => fields)).to.deep.equal([["digest"]]);
      expect(await statusOf("FeatureFlagSource", "app")).to.not.have.property("digest");

      await install("-k", crds);
      await restart("operator-3");
      await eventually(
        async () => (await statusOf("FeatureFlagSource", "app")).digest !== undefined,
        "the digest is written",
      );
      for (const [kind, name] of [
        ["InProcessConfiguration", "direct"],
        ["Flagd", "alone"],
        ["FeatureFlag", "flags"],
      ] as const)
        await eventually(
          async () => (await statusOf(kind, name)).conditions !== undefined,
          `the status of the ${kind} is written`,
        );
      expect(types("CrdOutdated").size).to.equal(0);
    });
  });

  describe("a leader that is stopped for longer than its Lease, and goes on,", () => {
    before(() => cluster().installCrds());
    useHome("--rollout-on-change");
    let first: OperatorProcess;
    let second: OperatorProcess;
    let injection: ApiObject;
    const touched = ({ metadata }: ApiObject): unknown =>
      (metadata["annotations"] as Record<string, string>)["bunting.dev/touched"];
    const deployment = (): string => `/apis/apps/v1/namespaces/${home.shop}/deployments/web`;
    const restarts = async (): Promise<number> =>
      ((await cluster().api.get(deployment())).metadata.generation ?? 0) - 1;
    const leads = async (operator: OperatorProcess): Promise<boolean> =>
      (await metrics(operator, "bunting_operator_leader")).get("") === 1;

    before("two replicas run", async () => {
      first = home.start("operator-1");
      await first.leads();
      second = home.start("operator-2");
      await eventually(async () => (await readiness(second)).isReady, "the second runs");
      await home.put("FeatureFlagSource", "app", proxied(9001, { rolloutOnChange: true }));
      const labels = { app: "web" };
      await cluster().api.apply(deployment(), {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web", namespace: home.shop },
        spec: {
          selector: { matchLabels: labels },
          template: {
            metadata: { labels, annotations: asking },
            spec: { containers: [{ name: "app", image: "registry.example/app" }] },
          },
        },
      });
      await eventually(
        async () => JSON.stringify((await home.injection()) ?? {}).includes("bunting.dev/rolled-out"),
        "what Pods get is noted",
      );
      await home.registerWebhooks(await first.webhookPort());
    });

    it("keeps no Pod from starting meanwhile, but for those that require flags", async () => {
      first.process.child.kill("SIGSTOP");
      const pod = await home.createPod();
      expect([pod.status, hasSidecar(pod)]).to.deep.equal([201, false]);
      const waiting = await home.createPod(required);
      expect(waiting.status).to.not.equal(201);
      expect(waiting.text).to.match(
        /failed calling webhook .*required-pod\.bunting\.dev.*(deadline|timeout|Timeout)/,
      );
    });

    it("is replaced by another one, which does what is to be done, and counts the Pod", async () => {
      await home.put("FeatureFlagSource", "app", proxied(9002, { rolloutOnChange: true }));
      await second.leads(40_000);
      injection = await home.untilCompiled("9002");
      await eventually(async () => (await restarts()) === 1, "the workload is restarted");
      await eventually(
        async () =>
          (await metrics(second, "bunting_operator_missed_pods")).get(`{namespace="${home.shop}"}`) === 1,
        "the Pod without flags is counted",
      );
      await home.registerWebhooks(await second.webhookPort());
      expect(hasSidecar(await home.createPod(required))).to.equal(true);
    });

    it("takes nothing of that back, and does nothing twice", async () => {
      first.process.child.kill("SIGCONT");
      await first.process.nextLog(leadsNoLonger);
      await eventually(async () => !(await leads(first)), "it has ended its work");
      // What it may have begun before it looked at its watch is put right by the leader.
      await eventually(async () => {
        const now = await home.injection();
        return now !== undefined && touched(now) === touched(injection);
      }, "the leader has the last word");
      expect((await home.untilCompiled("9002"))["spec"]).to.deep.equal(injection["spec"]);
      await home.put("FeatureFlagSource", "app", proxied(9003, { rolloutOnChange: true }));
      expect(touched(await home.untilCompiled("9003"))).to.equal(touched(injection));
      expect(await restarts()).to.equal(1);
      expect(await Promise.all([first, second].map(leads))).to.deep.equal([false, true]);
    });
  });

  describe("an API server", () => {
    before(() => cluster().installCrds());
    useHome();
    let way: FaultyPath;
    let operator: OperatorProcess;
    before("the operator reaches it by a path that fails", async () => {
      way = await FaultyPath.start(cluster());
      operator = home.start("operator-1", way.pod(home.account));
      await operator.leads();
      await home.put("FeatureFlagSource", "app", proxied(9001));
      await home.untilCompiled("9001");
      await home.registerWebhooks(await operator.webhookPort());
    });
    after(() => way.close());

    const ofInjections = (method: string, uri: string): boolean =>
      method === "PATCH" && uri.includes(`/${home.shop}/injections/`);

    it("that is slow, and answers 429, gets fewer writes than there are edits, of which the last counts", async () => {
      const before = way.http2.requests.length;
      const where = ({ method, uri }: { readonly method: string; readonly uri: string }): boolean =>
        ofInjections(method, uri);
      const fault = way.http2.fault({ where }, faults.answer(429, tooManyRequests()), 2);
      way.http2.fault({ where }, faults.delayed(500), 1_000);
      for (let port = 9101; port <= 9110; port++) await home.put("FeatureFlagSource", "app", proxied(port));
      await home.untilCompiled("9110");
      expect(fault.struck).to.equal(2);
      const writes = way.http2.requests.slice(before).filter(({ method, uri }) => ofInjections(method, uri));
      expect(writes.length).to.be.lessThan(10);
      way.http2.clearFaults();
    });

    it("that does not answer has Pods given flags from memory all the same", async () => {
      way.tcp.blackhole(true);
      expect(hasSidecar(await home.createPod(required))).to.equal(true);
      way.tcp.blackhole(false);
    });

    it("that was away has the leader step down, and write nothing of what was so before", async () => {
      await way.http2.stop();
      await operator.process.nextLog(leadsNoLonger, 40_000);
      expect((await readiness(operator)).isReady).to.equal(true);
      expect(hasSidecar(await home.createPod(required))).to.equal(true);
      const before = await home.injection();
      await home.put("FeatureFlagSource", "app", proxied(9200));
      // Its sources come later than its turn to lead.
      const where = ({ uri }: { readonly uri: string }): boolean => uri.includes("/featureflagsources");
      way.http2.fault({ where }, faults.delayed(3_000), 1_000);
      await way.http2.resume();
      await operator.leads(60_000);
      let first: ApiObject | undefined;
      await eventually(async () => {
        first = await home.injection();
        return first?.metadata.resourceVersion !== before?.metadata.resourceVersion;
      }, "it writes again");
      expect(JSON.stringify(first)).to.contain("9200");
    });
  });

  describe("an etcd that is set back to a backup", () => {
    before(() => cluster().installCrds());
    useHome("--leader-elect=false");

    it("has what is edited then compiled, also under the generation that it had before", async () => {
      const way = await FaultyPath.start(cluster());
      try {
        home.start("operator-1", way.pod(home.account));
        await home.put("FeatureFlagSource", "app", proxied(9001));
        await home.untilCompiled("9001");
        const backup = await cluster().saveEtcd();
        // More than an API server writes when it starts.
        for (let i = 0; i < 100; i++)
          await home.put("FeatureFlag", "other", { flagSpec: { flags: {}, metadata: { i } } });
        await home.put("FeatureFlagSource", "app", proxied(9002));
        await home.untilCompiled("9002");
        await way.http2.stop();
        await cluster().restoreEtcd(backup);
        await cluster().untilServed();
        await home.put("FeatureFlagSource", "app", proxied(9003));
        const where = ({ uri }: { readonly uri: string }): boolean => uri.includes("/featureflagsources");
        way.http2.fault({ where }, faults.answer(429, tooManyRequests()), 1_000);
        await way.http2.resume();
        // It has read the Injection, which went back to 9001, and no sources yet: it writes what it knew.
        await home.untilCompiled("9002");
        way.http2.clearFaults();
        await home.untilCompiled("9003");
      } finally {
        await home.stop();
        await way.close();
      }
    });
  });

  describe("another operator", () => {
    useHome();
    const stop = new AbortController();
    after(() => stop.abort());

    it("in the same namespace has the work wait for it, whichever of the two was first", async () => {
      const { namespace } = home.account;
      const choice = { kubeconfig: cluster().kubeconfig, kubeContext: "", serviceAccountDirectory: "" };
      const connected = await connectCluster(choice, {
        program: "bunting-test/0",
        clock: systemClock,
        env: {},
      });
      const connections = connected.connections.run(stop.signal);
      const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
      const seen: (string | undefined)[] = [];
      let working = 0;
      const other = new OtherOperator({
        client: connected.client,
        namespace,
        ownUid: () => Promise.resolve(undefined),
        context: { clock: new FastClock(60), logger },
        onSeen: (what) => seen.push(what),
      });
      const lease = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${otherLeaseName}`;
      const hold = (holderIdentity: string): Promise<ApiObject> =>
        cluster().api.apply(lease, {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { name: otherLeaseName, namespace },
          spec: {
            holderIdentity,
            leaseDurationSeconds: 15,
            renewTime: new Date().toISOString().replace("Z", "000Z"),
          },
        });
      await hold("stock_1");
      const done = other.workInAbsence(async (signal) => {
        working++;
        await aborted(signal);
        working--;
      }, stop.signal);
      await eventually(() => seen.length === 1, "the one that was first is seen");
      expect(working).to.equal(0);
      await hold("");
      await eventually(() => working === 1, "the work begins when it is gone");
      const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/open-feature-operator-controller-manager`;
      const labels = { app: "stock" };
      await cluster().api.apply(deployment, {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "open-feature-operator-controller-manager", namespace },
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: "manager", image: "stock" }] } },
        },
      });
      await cluster().api.patch(`${deployment}/status`, { status: { replicas: 1, readyReplicas: 1 } });
      await eventually(() => working === 0, "the work ends when it comes back");
      await cluster().api.delete(deployment);
      await eventually(() => working === 1, "it begins again");
      expect(seen.map((what) => what?.replace(/ .*/, ""))).to.deep.equal([
        "stock_1",
        undefined,
        "Pods",
        undefined,
      ]);
      stop.abort();
      await Promise.all([done, connections]);
    });
  });
});

interface Definition {
  readonly spec: {
    readonly versions: readonly {
      readonly schema: {
        readonly openAPIV3Schema: {
          readonly properties: { readonly status: { readonly properties: { digest?: unknown } } };
        };
      };
    }[];
  };
}

import { isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import { withInlineTemplate } from "@bunting/operator/internal/pod/inline-template.js";
import { inlineKinds, type InlineKind } from "@bunting/featureflags/resources";
import type { JsonObject } from "@bunting/protocol";
import { proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import type { ApiObject, ApiResponse } from "./support/api-client.js";
import { featureFlagPath } from "./support/cluster.js";
import { OperatorHome } from "./support/operator-home.js";
import type { OperatorProcess } from "./support/operator-process.js";
import { TestPolicies } from "./support/test-policies.js";
import { sharedCluster } from "./support/use-cluster.js";

const kinds = Object.keys(inlineKinds) as readonly InlineKind[];
const flagged = "openfeature.dev/inline-flags";
const remarked = "openfeature.io/operator-remarks";

/** A text with one flag of this value. */
const valued = (value: number): string =>
  JSON.stringify({ flags: { version: { state: "ENABLED", variants: { v: value }, defaultVariant: "v" } } });

interface WorkloadOptions {
  readonly annotations?: object;
  /** Annotations of the Pod template. */
  readonly template?: object;
}

function workload(
  kind: InlineKind,
  name: string,
  { annotations = {}, template }: WorkloadOptions,
): JsonObject {
  const labels = { app: name };
  const pod = {
    metadata: { labels, ...(template === undefined ? {} : { annotations: template }) },
    spec: {
      containers: [{ name: "app", image: "registry.example/app" }],
      ...(kind.endsWith("Job") ? { restartPolicy: "Never" } : {}),
    },
  };
  const { group, version } = inlineKinds[kind];
  const selected = { selector: { matchLabels: labels }, template: pod };
  const spec = {
    Deployment: { ...selected, replicas: 0 },
    StatefulSet: { ...selected, replicas: 0, serviceName: "none" },
    DaemonSet: selected,
    Job: { suspend: true, template: pod },
    CronJob: { schedule: "0 0 1 1 *", suspend: true, jobTemplate: { spec: { template: pod } } },
  }[kind];
  const object = { apiVersion: `${group}/${version}`, kind, metadata: { name, annotations }, spec };
  return object as unknown as JsonObject;
}

const cases: readonly (readonly [what: string, WorkloadOptions])[] = [
  ["flags of its own", { annotations: { [flagged]: valued(1) } }],
  ["flags of its own under the older name", { annotations: { "openfeature.io/inline-flags": valued(1) } }],
  [
    "flags of its own beside others",
    {
      annotations: { [flagged]: valued(1) },
      template: { "openfeature.dev/featureflag": "a, team/b", "openfeature.dev/enabled": "false" },
    },
  ],
  [
    "the name of flags that it no longer has",
    { template: { "openfeature.dev/featureflag": "a,inline-KIND-w , b", x: "y" } },
  ],
  [
    "nothing but the name of flags that it no longer has",
    { template: { "openfeature.dev/featureflag": "inline-KIND-w" } },
  ],
  ["no flags", { template: { "openfeature.dev/featureflag": "a" } }],
];

describe("flags that a workload has of its own", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let home: OperatorHome;
  let operator: OperatorProcess;
  let policies: TestPolicies;
  let byPolicy: string;

  before(async () => {
    policies = new TestPolicies(cluster());
    await policies.install("inline-flags.yaml");
    byPolicy = await policies.createNamespace();
    home = await OperatorHome.create(cluster(), ["--inline-flags", "--leader-elect=false"]);
    await home.put("FeatureFlagSource", "app", { sources: [{ source: "flags", provider: "flagd-proxy" }] });
    operator = home.start("operator-1");
    await home.untilCompiled("app");
    await home.registerWebhooks(await operator.webhookPort());
  });
  after(async () => {
    await home.stop();
    await policies.remove();
  });

  const pathOf = (kind: InlineKind, namespace = home.shop): string => {
    const { group, version, plural } = inlineKinds[kind];
    return `/apis/${group}/${version}/namespaces/${namespace}/${plural}`;
  };
  const create = (kind: InlineKind, name: string, options: WorkloadOptions): Promise<ApiObject> =>
    cluster().api.create(pathOf(kind), workload(kind, name, options));
  const inline = async (kind: InlineKind, name: string): Promise<ApiObject | undefined> => {
    const path = featureFlagPath(home.shop, `inline-${kind.toLowerCase()}-${name}`);
    const { status, text } = await cluster().api.request("GET", path);
    return status === 200 ? (JSON.parse(text) as ApiObject) : undefined;
  };
  const specOf = async (kind: InlineKind, name: string): Promise<unknown> =>
    (await inline(kind, name))?.["spec"];
  const isStored = async (kind: InlineKind, name: string, value: number): Promise<boolean> =>
    isDeepStrictEqual(await specOf(kind, name), { flagSpec: JSON.parse(valued(value)) as unknown });
  const remarks = async (kind: InlineKind, name: string): Promise<string | undefined> => {
    const { metadata } = await cluster().api.get(`${pathOf(kind)}/${name}`);
    const { annotations = {} } = metadata as { readonly annotations?: Readonly<Record<string, string>> };
    return annotations[remarked];
  };
  const annotate = (kind: InlineKind, name: string, text: string | null): Promise<unknown> =>
    cluster().api.patch(`${pathOf(kind)}/${name}`, { metadata: { annotations: { [flagged]: text } } });

  describe("changes its template, by the policy as by the webhook,", () => {
    for (const kind of kinds)
      it(`of a ${kind}`, async () => {
        for (const [what, options] of cases) {
          const text = JSON.stringify(options).replaceAll("KIND", kind.toLowerCase());
          const given = workload(kind, "w", JSON.parse(text) as WorkloadOptions);
          const expected = templateOf(kind, withInlineTemplate(kind, given));
          for (const namespace of [byPolicy, home.shop]) {
            const made = await dryRun(kind, namespace, given);
            // Nobody asks the webhook about what has no flags of its own, and had none.
            if (namespace === home.shop && !what.startsWith("flags of")) continue;
            expect(templateOf(kind, JSON.parse(made.text) as JsonObject), what).to.deep.equal(expected);
          }
        }
      });

    it("and takes the name out again with the annotation", async () => {
      await create("Deployment", "taken-out", { annotations: { [flagged]: valued(1) } });
      await annotate("Deployment", "taken-out", null);
      const after = await cluster().api.get(`${pathOf("Deployment")}/taken-out`);
      expect(templateOf("Deployment", after as unknown as JsonObject)).to.deep.equal({
        "openfeature.dev/enabled": "true",
      });
    });

    async function dryRun(kind: InlineKind, namespace: string, body: object): Promise<ApiResponse> {
      const made = await cluster().api.request("POST", `${pathOf(kind, namespace)}?dryRun=All`, { body });
      expect(made.status, made.text).to.equal(201);
      return made;
    }
  });

  for (const kind of kinds)
    it(`become a FeatureFlag of a ${kind}, follow its edits without touching its template, and go with the annotation`, async () => {
      const name = `life-${kind.toLowerCase()}`;
      const { metadata } = await create(kind, name, { annotations: { [flagged]: valued(1) } });
      await eventually(async () => (await inline(kind, name)) !== undefined, "the FeatureFlag is made");
      const flag = await inline(kind, name);
      const owners = (flag?.metadata as { readonly ownerReferences?: readonly object[] }).ownerReferences;
      expect(owners?.[0]).to.include({ kind, name, uid: metadata.uid, controller: true });
      await eventually(
        async () =>
          (await remarks(kind, name)) ===
          `inline, 1 flag in FeatureFlag inline-${kind.toLowerCase()}-${name}`,
        "the remarks say so",
      );
      const { spec } = await cluster().api.get(`${pathOf(kind)}/${name}`);
      await annotate(kind, name, valued(2));
      await eventually(() => isStored(kind, name, 2), "the edit arrives");
      expect((await cluster().api.get(`${pathOf(kind)}/${name}`))["spec"]).to.deep.equal(spec);
      await annotate(kind, name, null);
      await eventually(async () => (await inline(kind, name)) === undefined, "it goes");
      await eventually(async () => (await remarks(kind, name)) === undefined, "so do the remarks");
    });

  it("are refused with their place if they are not JSON, and what was stored stays", async () => {
    await create("Deployment", "broken", { annotations: { [flagged]: valued(1) } });
    await eventually(() => isStored("Deployment", "broken", 1), "it is made");
    const body = { metadata: { annotations: { [flagged]: '{"flags":\n  {"a": }}' } } };
    const { status, text } = await cluster().api.request("PATCH", `${pathOf("Deployment")}/broken`, {
      body,
      contentType: "application/merge-patch+json",
    });
    expect(status).to.equal(422);
    expect(text).to.match(/metadata\.annotations\[openfeature\.dev\/inline-flags\]: line 2, column \d+/);
    expect(await isStored("Deployment", "broken", 1)).to.equal(true);
  });

  it("are put back if somebody edits or deletes the FeatureFlag", async () => {
    await create("Deployment", "drift", { annotations: { [flagged]: valued(1) } });
    const path = featureFlagPath(home.shop, "inline-deployment-drift");
    await eventually(() => isStored("Deployment", "drift", 1), "it is made");
    const added = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
    await cluster().api.patch(path, { spec: { flagSpec: { flags: { added } } } });
    await eventually(() => isStored("Deployment", "drift", 1), "it is put back");
    await eventually(async () => {
      const { items } = await cluster().api.list(`/apis/events.k8s.io/v1/namespaces/${home.shop}/events`);
      return JSON.stringify(items).includes("DriftRepaired");
    }, "an event says so");
    await cluster().api.delete(path);
    await eventually(() => isStored("Deployment", "drift", 1), "it is made anew");
  });

  it("leave somebody else's FeatureFlag of the name alone, and say so", async () => {
    const flags = { mine: { state: "ENABLED", variants: { on: true }, defaultVariant: "on" } };
    await cluster().putFeatureFlag(home.shop, "inline-deployment-taken", { flags });
    const before = await specOf("Deployment", "taken");
    await create("Deployment", "taken", { annotations: { [flagged]: valued(1) } });
    await eventually(
      async () =>
        (await remarks("Deployment", "taken"))?.startsWith("refused: there is a FeatureFlag") === true,
      "the remarks say so",
    );
    expect(await specOf("Deployment", "taken")).to.deep.equal(before);
    await annotate("Deployment", "taken", null);
    await eventually(
      async () => (await remarks("Deployment", "taken")) === undefined,
      "it is looked at again",
    );
    expect(await specOf("Deployment", "taken")).to.deep.equal(before);
  });

  it("say why the API server refuses the FeatureFlag", async () => {
    const quotas = `/api/v1/namespaces/${home.shop}/resourcequotas`;
    const name = "count/featureflags.core.openfeature.dev";
    await cluster().api.create(quotas, { metadata: { name: "none" }, spec: { hard: { [name]: "0" } } });
    await cluster().api.patch(`${quotas}/none/status`, {
      status: { hard: { [name]: "0" }, used: { [name]: "0" } },
    });
    try {
      await create("Deployment", "quota", { annotations: { [flagged]: valued(1) } });
      await eventually(
        async () =>
          /^refused, and the last flags stay: .*quota/.test((await remarks("Deployment", "quota")) ?? ""),
        "the remarks say so",
      );
    } finally {
      await cluster().api.delete(`${quotas}/none`);
    }
  });

  describe("reach an agent", () => {
    let proxy: ProxyProcess;
    let agent: AgentProcess;

    before(async () => {
      const account = await cluster().createServiceAccountToken(home.account.namespace, "proxy");
      await cluster().grantStockRole(account);
      proxy = await startProxyInPod(account);
      await create("StatefulSet", "asked", { annotations: { [flagged]: valued(1) } });
      agent = await startAgent(proxySources(proxy.sync, `${home.shop}/inline-statefulset-asked`));
    });
    after(() => Promise.all([agent, proxy].map(({ process }) => process.stop("SIGKILL"))));

    it("as edits of a FeatureFlag do", async () => {
      for (const value of [1, 2]) {
        await annotate("StatefulSet", "asked", valued(value));
        await eventually(async () => (await answer()) === value, `the agent answers ${value}`, 60_000);
      }
    });

    async function answer(): Promise<unknown> {
      const response = await fetch(`${agent.ofrep}/ofrep/v1/evaluate/flags/version`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
      return ((await response.json()) as { readonly value?: unknown }).value;
    }
  });
});

/** The annotations of the Pod template. */
function templateOf(kind: InlineKind, object: JsonObject): unknown {
  let value: unknown = object;
  for (const field of [...inlineKinds[kind].template, "metadata", "annotations"])
    value = (value as Readonly<Record<string, unknown>> | undefined)?.[field];
  return value ?? {};
}

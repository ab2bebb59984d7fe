import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { scaled } from "../support/scale.js";
import type { ApiObject } from "./support/api-client.js";
import { inParallel } from "./support/in-parallel.js";
import { asking, OperatorHome } from "./support/operator-home.js";
import { rssBytes } from "./support/rss-bytes.js";
import { freshCluster } from "./support/use-cluster.js";

const core = "/apis/core.openfeature.dev/v1beta1";
/** The limit of the chart. */
const limitMiB = 192;
/** The most that annotations of an object may have together is 256 KB. */
const annotation = "x".repeat(250_000);
const text = "x".repeat(700_000);

/** Whoever may make objects in a namespace of their own, and means harm. Memory that any of these objects took would be 100 MB of it. */
describe("a tenant who fills a namespace with large objects", function () {
  this.timeout(300_000);
  const cluster = freshCluster();
  const container = { name: "app", image: "registry.example/app" };

  /** Of each kind: where they are, how many of them, and what one is. */
  const objects: readonly {
    readonly what: string;
    readonly path: (namespace: string) => string;
    readonly count: number;
    readonly object: (namespace: string) => object;
  }[] = [
    {
      what: "ConfigMaps that look like the operator's",
      path: (namespace) => `/api/v1/namespaces/${namespace}/configmaps`,
      count: 400,
      object: (namespace) => ({
        metadata: { labels: { "bunting.dev/access": namespace }, annotations: { a: annotation } },
      }),
    },
    {
      what: "Flagds",
      path: (namespace) => `${core}/namespaces/${namespace}/flagds`,
      count: 120,
      object: () => ({
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "Flagd",
        metadata: { annotations: { a: annotation } },
        spec: { featureFlagSource: text },
      }),
    },
    {
      what: "FeatureFlags with a long level of validation",
      path: (namespace) => `${core}/namespaces/${namespace}/featureflags`,
      count: 400,
      object: () => ({
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlag",
        metadata: { annotations: { "bunting.dev/validation": annotation } },
        spec: { flagSpec: { flags: {} } },
      }),
    },
    {
      what: "Pods that wait for a source with a long name",
      path: (namespace) => `/api/v1/namespaces/${namespace}/pods`,
      count: 400,
      object: () => ({
        metadata: {
          annotations: {
            ...asking,
            "openfeature.dev/featureflagsource": annotation,
            "bunting.dev/not-injected": "UnknownSource",
          },
        },
        spec: { containers: [container] },
      }),
    },
    {
      what: "Pods of an owner with a long name",
      path: (namespace) => `/api/v1/namespaces/${namespace}/pods`,
      count: 120,
      object: () => ({
        metadata: {
          annotations: { ...asking, "bunting.dev/not-injected": "HostNetwork" },
          ownerReferences: [{ apiVersion: "apps/v1", kind: "Job", name: text, uid: "u", controller: true }],
        },
        spec: { containers: [container] },
      }),
    },
  ];

  async function fill(namespace: string): Promise<void> {
    // The gate takes the first kind, which ended an operator by itself. The others have unit tests, too.
    for (const { path, count, object } of objects.slice(0, scaled(objects.length, 1))) {
      const numbers = Array.from({ length: count }, (_, index) => index);
      const { metadata, ...rest } = object(namespace) as { readonly metadata: object };
      await inParallel(numbers, () =>
        cluster().api.create(path(namespace), { metadata: { ...metadata, generateName: "t-" }, ...rest }),
      );
    }
  }

  it("keeps no operator from serving others, within its limit of memory", async () => {
    const home = await OperatorHome.create(cluster(), ["--flagd", "--missed-pods=evict"]);
    const operator = home.start("operator-1");
    await fill(await cluster().createNamespace());
    let peak = 0;
    const look = async (): Promise<void> => {
      peak = Math.max(peak, rssBytes(operator.process.pid) / 2 ** 20);
      await delay(100);
    };
    try {
      await home.put("FeatureFlagSource", "app", { sources: [{ source: "flags", provider: "flagd-proxy" }] });
      await eventually(
        async () => {
          await look();
          const source: ApiObject = await cluster().api.get(home.path("FeatureFlagSource", "app"));
          return JSON.stringify(source["status"] ?? {}).includes("get the entry");
        },
        "the other namespace is served",
        60_000,
      );
      await home.put("Flagd", "alone", { featureFlagSource: "app" });
      await eventually(
        async () => {
          await look();
          const path = `/apis/apps/v1/namespaces/${home.shop}/deployments/alone`;
          return (await cluster().api.request("GET", path)).status === 200;
        },
        "so is its Flagd",
        60_000,
      );
      expect(peak).to.be.below(limitMiB);
    } finally {
      await home.stop();
    }
  });
});

const sources = scaled(10_000, 150);
/** Who edit at a time, as fast as an API server takes it. */
const editors = 8;

describe(`a tenant with ${sources} FeatureFlagSources, who edits one all the time`, function () {
  this.timeout(scaled(1_800_000, 180_000));
  const cluster = freshCluster();

  it("keeps no operator from serving others, and gets what was written last", async () => {
    const home = await OperatorHome.create(cluster(), []);
    const operator = home.start("operator-1");
    await operator.leads();
    const namespace = await cluster().createNamespace();
    const path = `${core}/namespaces/${namespace}/featureflagsources`;
    const source = (name: string, value: string): object => ({
      apiVersion: "core.openfeature.dev/v1beta1",
      kind: "FeatureFlagSource",
      metadata: { name, namespace },
      spec: { sources: [{ source: "flags", provider: "flagd-proxy" }], envVars: [{ name: "V", value }] },
    });
    const numbers = Array.from({ length: sources - 1 }, (_, index) => index);
    // What came last is not kept, and of the others an Injection has room for the first.
    await cluster().api.create(path, source("edited", "first"));
    await inParallel(numbers, (index) => cluster().api.create(path, source(`s-${index}`, "first")));
    const editing = new AbortController();
    const edit = async (): Promise<void> => {
      for (let edits = 0; !editing.signal.aborted; edits++)
        await cluster().api.request("PATCH", `${path}/edited?fieldManager=test&force=true`, {
          body: source("edited", `edit-${edits}`),
          contentType: "application/apply-patch+yaml",
        });
    };
    const edited = Promise.all(Array.from({ length: editors }, edit));
    let peak = 0;
    try {
      await home.put("FeatureFlagSource", "app", { sources: [{ source: "flags", provider: "flagd-proxy" }] });
      await eventually(
        async () => {
          peak = Math.max(peak, rssBytes(operator.process.pid) / 2 ** 20);
          await delay(100);
          const object = await cluster().api.get(home.path("FeatureFlagSource", "app"));
          return JSON.stringify(object["status"] ?? {}).includes("get the entry");
        },
        "the other namespace is served",
        60_000,
      );
      editing.abort();
      await edited;
      await cluster().api.apply(`${path}/edited`, source("edited", "the-last"));
      await eventually(async () => {
        const injection = `/apis/bunting.dev/v1alpha1/namespaces/${namespace}/injections/bunting`;
        return (await cluster().api.request("GET", injection)).text.includes("the-last");
      }, "what was written last is compiled");
      expect(peak).to.be.below(limitMiB);
    } finally {
      editing.abort();
      await home.stop();
    }
  });
});

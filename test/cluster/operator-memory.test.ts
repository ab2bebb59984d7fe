import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { scaled } from "../support/scale.js";
import { inParallel } from "./support/in-parallel.js";
import { OperatorProcess } from "./support/operator-process.js";
import { grant, permissionsOf } from "./support/operator-roles.js";
import { flagSpec } from "./support/proxy-under-test.js";
import { rssBytes } from "./support/rss-bytes.js";
import { freshCluster } from "./support/use-cluster.js";

const pods = scaled(2_000, 600);
const flags = scaled(500, 150);
const sources = 100;
/** 70 were seen with 2,000 Pods and 500 FeatureFlags. */
const maxRssMiB = 96;

describe(`${pods} Pods, ${flags} FeatureFlags of 10 KB and ${sources} FeatureFlagSources`, function () {
  this.timeout(180_000);
  const cluster = freshCluster();

  it("cost the operator that leads at most 96 MiB in all", async () => {
    const home = await cluster().createNamespace();
    const shop = await cluster().createNamespace();
    const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
    const spec = flagSpec(1, "x".repeat(10_000));
    await inParallel(numbers(flags), (index) => cluster().putFeatureFlag(shop, `flag-${index}`, spec));
    await inParallel(numbers(sources), (index) =>
      cluster().api.apply(
        `/apis/core.openfeature.dev/v1beta1/namespaces/${shop}/featureflagsources/source-${index}`,
        {
          apiVersion: "core.openfeature.dev/v1beta1",
          kind: "FeatureFlagSource",
          metadata: { name: `source-${index}`, namespace: shop },
          spec: { sources: [{ source: `flag-${index}`, provider: "flagd-proxy" }] },
        },
      ),
    );
    await inParallel(numbers(pods), (index) =>
      cluster().api.create(`/api/v1/namespaces/${shop}/pods`, {
        metadata: {
          name: `app-${index}`,
          annotations: {
            "openfeature.dev/enabled": "true",
            "openfeature.dev/featureflagsource": `source-${index % sources}`,
            "bunting.dev/injected": "policy 0123456789abcdef",
          },
        },
        spec: { containers: [{ name: "app", image: "registry.example/app" }] },
      }),
    );
    const account = await cluster().createServiceAccountToken(home, "bunting-operator");
    await grant(cluster(), account, await permissionsOf([]));
    const operator = OperatorProcess.start({ account, pod: "operator-1" });
    try {
      await operator.leads();
      // Five are written in a second, so that one of the last tells that much was read by then.
      await eventually(
        async () => {
          await delay(500);
          const { items } = await cluster().api.list(
            `/apis/core.openfeature.dev/v1beta1/namespaces/${shop}/featureflags`,
          );
          return items.filter(({ status }) => JSON.stringify(status ?? "").includes("Accepted")).length > 60;
        },
        "FeatureFlags are checked",
        90_000,
      ).catch((error: unknown) => {
        throw new Error(operator.process.output, { cause: error });
      });
      expect(rssBytes(operator.process.pid) / 2 ** 20).to.be.below(maxRssMiB);
    } finally {
      await operator.stop("SIGKILL");
    }
  });
});

const hostileSources = scaled(200, 80);
/** The limit of the chart. */
const limitMiB = 192;

describe(`${hostileSources} FeatureFlagSources of 1 MB in one namespace`, function () {
  this.timeout(300_000);
  const cluster = freshCluster();

  it("leave the operator within its limit, are told of, and keep no other namespace from being served", async () => {
    const home = await cluster().createNamespace();
    const [noisy, quiet] = [await cluster().createNamespace(), await cluster().createNamespace()];
    const create = (namespace: string, name: string, value: string): Promise<unknown> =>
      cluster().api.create(`/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/featureflagsources`, {
        apiVersion: "core.openfeature.dev/v1beta1",
        kind: "FeatureFlagSource",
        metadata: { name, namespace },
        spec: {
          sources: [{ source: "flags", provider: "flagd-proxy" }],
          envVars: Array.from({ length: 8 }, (_, i) => ({ name: `V${i}`, value: `${i}${value}` })),
        },
      });
    const nameOf = (index: number): string => `source-${String(index).padStart(3, "0")}`;
    const numbers = Array.from({ length: hostileSources }, (_, index) => index);
    await inParallel(numbers, (index) =>
      create(noisy, nameOf(index), "x".repeat(index % 2 === 0 ? 125_000 : 31_000)),
    );
    await create(quiet, "source", "x");
    const account = await cluster().createServiceAccountToken(home, "bunting-operator");
    await grant(cluster(), account, await permissionsOf([]));
    const operator = OperatorProcess.start({ account, pod: "operator-1" });
    try {
      await operator.leads();
      const statusOf = async (namespace: string, name: string): Promise<string> => {
        const path = `/apis/core.openfeature.dev/v1beta1/namespaces/${namespace}/featureflagsources/${name}`;
        return JSON.stringify((await cluster().api.get(path))["status"] ?? {});
      };
      let peak = 0;
      await eventually(
        async () => {
          peak = Math.max(peak, rssBytes(operator.process.pid) / 2 ** 20);
          await delay(100);
          return (await statusOf(quiet, "source")).includes("get the entry");
        },
        "the quiet namespace is served",
        60_000,
      );
      await eventually(
        async () => {
          peak = Math.max(peak, rssBytes(operator.process.pid) / 2 ** 20);
          await delay(500);
          const [large, late] = [
            await statusOf(noisy, nameOf(0)),
            await statusOf(noisy, nameOf(hostileSources - 1)),
          ];
          return large.includes("has more than 256 KB") && late.includes("are kept in memory");
        },
        "the noisy one is told of",
        90_000,
      );
      // 89 were seen.
      expect(peak).to.be.below(limitMiB);
    } finally {
      await operator.stop("SIGKILL");
    }
  });
});

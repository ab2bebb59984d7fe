import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import type { ApiObject } from "./support/api-client.js";
import { featureFlagPath } from "./support/cluster.js";
import { OperatorHome } from "./support/operator-home.js";
import { freshCluster } from "./support/use-cluster.js";

/** A text with one flag of this value. */
const valued = (value: number): string =>
  JSON.stringify({ flags: { version: { state: "ENABLED", variants: { v: value }, defaultVariant: "v" } } });

/** Where the garbage collector runs, and workloads come and go. */
describe("the FeatureFlag of a workload's own flags", function () {
  this.timeout(120_000);
  const cluster = freshCluster({ controllerManager: true });
  let home: OperatorHome;

  before(async () => {
    home = await OperatorHome.create(cluster(), ["--inline-flags", "--leader-elect=false"]);
    home.start("operator-1");
  });
  after(() => home.stop());

  const path = (): string => `/apis/apps/v1/namespaces/${home.shop}/statefulsets`;
  const create = (name: string, value: number): Promise<ApiObject> => {
    const labels = { app: name };
    const template = {
      metadata: { labels },
      spec: { containers: [{ name: "app", image: "registry.example/app" }] },
    };
    return cluster().api.create(path(), {
      metadata: { name, annotations: { "openfeature.dev/inline-flags": valued(value) } },
      spec: { replicas: 0, serviceName: "none", selector: { matchLabels: labels }, template },
    });
  };
  const remove = async (name: string, propagationPolicy: string): Promise<void> => {
    const query = `propagationPolicy=${propagationPolicy}`;
    const { status, text } = await cluster().api.request("DELETE", `${path()}/${name}?${query}`);
    expect(status, text).to.equal(200);
    const isGone = async (): Promise<boolean> =>
      (await cluster().api.request("GET", `${path()}/${name}`)).status === 404;
    await eventually(isGone, "the workload is gone", 30_000);
  };
  /** The uids of its owners, and the value of its flag; undefined if there is none. */
  const flag = async (name: string): Promise<string | undefined> => {
    const made = featureFlagPath(home.shop, `inline-statefulset-${name}`);
    const { status, text } = await cluster().api.request("GET", made);
    if (status === 404) return undefined;
    const { metadata, spec } = JSON.parse(text) as {
      readonly metadata: { readonly ownerReferences?: readonly { readonly uid: string }[] };
      readonly spec: {
        readonly flagSpec: { readonly flags: { readonly version: { readonly variants: object } } };
      };
    };
    const owners = (metadata.ownerReferences ?? []).map(({ uid }) => uid);
    return JSON.stringify([owners, spec.flagSpec.flags.version.variants]);
  };
  const isOf = async (name: string, { metadata }: ApiObject, value: number): Promise<boolean> =>
    (await flag(name)) === JSON.stringify([[metadata.uid], { v: value }]);

  it("goes with a workload that is renamed, whose flags have another one", async () => {
    const before = await create("before", 1);
    await eventually(() => isOf("before", before, 1), "it is made", 30_000);
    const after = await create("after", 1);
    await remove("before", "Background");
    await eventually(() => isOf("after", after, 1), "the other one is made", 30_000);
    await eventually(async () => (await flag("before")) === undefined, "the first one is collected", 30_000);
  });

  it("is made anew for a workload that replaces one of its name", async () => {
    const first = await create("replaced", 1);
    await eventually(() => isOf("replaced", first, 1), "it is made", 30_000);
    await remove("replaced", "Background");
    const second = await create("replaced", 2);
    await eventually(() => isOf("replaced", second, 2), "it is the second one's", 60_000);
  });

  it("stays for Pods that are left without their workload, and goes over to the next one of its name", async () => {
    const first = await create("orphaned", 1);
    await eventually(() => isOf("orphaned", first, 1), "it is made", 30_000);
    await remove("orphaned", "Orphan");
    expect(await flag("orphaned")).to.equal(JSON.stringify([[], { v: 1 }]));
    const second = await create("orphaned", 2);
    await eventually(() => isOf("orphaned", second, 2), "it is the second one's", 30_000);
  });
});

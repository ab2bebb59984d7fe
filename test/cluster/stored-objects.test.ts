import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import { parse } from "yaml";
import { eventually } from "../support/event-queue.js";
import { ApiError, type ApiObject } from "./support/api-client.js";
import { sharedCluster } from "./support/use-cluster.js";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const group = "stored.example";
const name = `featureflagsources.${group}`;
const flagds = `flagds.${group}`;
/** What the open-feature-operator's definition, which has no rules, has let in. */
const stored = {
  sources: [
    { source: "", provider: "consul" },
    { source: "a/b/c", provider: "flagd-proxy" },
  ],
  port: 8014,
  socketPath: "flagd.sock",
};

/** Our definition under another group, since that of the other tests has to stay as it is. */
function definition(isWithRules: boolean, plural = "featureflagsources"): object {
  const file = path.join(import.meta.dirname, `../../deploy/crds/${plural}.yaml`);
  const text = readFileSync(file, "utf8").replaceAll("core.openfeature.dev", group);
  return JSON.parse(JSON.stringify(parse(text)), (key, value: unknown) =>
    !isWithRules && ["x-kubernetes-validations", "maxItems", "maxLength"].includes(key) ? undefined : value,
  ) as object;
}

describe("a FeatureFlagSource that was stored before our definition", () => {
  const cluster = sharedCluster();
  let objects: string;
  let object: string;

  before("an object that our rules refuse", async () => {
    const namespace = await cluster().createNamespace();
    objects = `/apis/${group}/v1beta1/namespaces/${namespace}/featureflagsources`;
    object = `${objects}/old`;
    await cluster().api.create(definitions, definition(false));
    const body = {
      apiVersion: `${group}/v1beta1`,
      kind: "FeatureFlagSource",
      metadata: { name: "old" },
      spec: stored,
    };
    await eventually(async () => {
      const { status } = await cluster().api.request("POST", objects, { body });
      return status === 201;
    }, "the object is stored");
    const { metadata } = await cluster().api.get(`${definitions}/${name}`);
    const replacement = {
      ...definition(true),
      metadata: { name, resourceVersion: metadata.resourceVersion },
    };
    await cluster().api.replace(`${definitions}/${name}`, replacement);
    const other = { ...body, metadata: { name: "new" } };
    await eventually(async () => {
      const { status } = await cluster().api.request("POST", `${objects}?dryRun=All`, { body: other });
      return status === 422;
    }, "the rules are in force");
  });

  after(() => cluster().api.delete(`${definitions}/${name}`));

  const specOf = ({ spec }: ApiObject): unknown => spec;

  it("can be annotated, and edited where no rule speaks", async () => {
    await cluster().api.patch(object, { metadata: { annotations: { edited: "yes" } } });
    const edited = await cluster().api.patch(object, {
      spec: { debugLogging: true, contextValues: { a: "b" } },
    });
    expect(specOf(edited)).to.deep.include({ ...stored, debugLogging: true });
  });

  it("can have its status written", async () => {
    const status = { usedBy: 1 };
    expect((await cluster().api.patch(`${object}/status`, { status }))["status"]).to.deep.equal(status);
  });

  it("can be mended, one field after the other", async () => {
    const { spec } = await cluster().api.patch(object, { spec: { socketPath: "/run/of/flagd.sock" } });
    expect(spec).to.include({ socketPath: "/run/of/flagd.sock" });
    const sources = [{ source: "a/b", provider: "flagd-proxy" }];
    expect(specOf(await cluster().api.patch(object, { spec: { sources } }))).to.deep.include({ sources });
  });

  it("can't be made worse", async () => {
    const sources = [{ source: "a/b", provider: "etcd" }];
    const refused = await cluster()
      .api.patch(object, { spec: { sources } })
      .catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(ApiError).with.property("status", 422);
  });
});

describe("a Flagd that was stored before our definition", () => {
  const cluster = sharedCluster();
  const body = {
    apiVersion: `${group}/v1beta1`,
    kind: "Flagd",
    metadata: { name: "old" },
    spec: { featureFlagSource: "app", replicas: -1 },
  };
  after(() => cluster().api.delete(`${definitions}/${flagds}`));

  it("can be edited, and mended, and not made worse", async () => {
    const objects = `/apis/${group}/v1beta1/namespaces/${await cluster().createNamespace()}/flagds`;
    await cluster().api.create(definitions, definition(false, "flagds"));
    const untilStatus = (wanted: number, sent: object, query = ""): Promise<void> =>
      eventually(
        async () => (await cluster().api.request("POST", objects + query, { body: sent })).status === wanted,
        `the answer is ${wanted}`,
      );
    await untilStatus(201, body);
    const { metadata } = await cluster().api.get(`${definitions}/${flagds}`);
    const { resourceVersion } = metadata;
    const rules = { ...definition(true, "flagds"), metadata: { name: flagds, resourceVersion } };
    await cluster().api.replace(`${definitions}/${flagds}`, rules);
    await untilStatus(422, { ...body, metadata: { name: "new" } }, "?dryRun=All");

    const object = `${objects}/old`;
    const edited = await cluster().api.patch(object, { spec: { serviceType: "NodePort" } });
    expect(edited["spec"]).to.deep.include({ serviceType: "NodePort", replicas: -1 });
    const worse = await cluster()
      .api.patch(object, { spec: { replicas: -2 } })
      .catch((error: unknown) => error);
    expect(worse).to.be.instanceOf(ApiError).with.property("status", 422);
    const mended = await cluster().api.patch(object, { spec: { replicas: 2 } });
    expect(mended["spec"]).to.include({ replicas: 2 });
  });
});

import { expect } from "chai";
import { podsInText } from "./pods-in-text.js";

const containers = [{ name: "app" }];
const template = {
  metadata: { labels: { app: "web" }, annotations: { a: "1" }, name: "x" },
  spec: { containers },
};
const read = (...objects: readonly object[]): ReturnType<typeof podsInText> =>
  podsInText("web.yaml", Buffer.from(objects.map((one) => JSON.stringify(one)).join("\n---\n")), "shop");

describe("podsInText", () => {
  it("makes a Pod of the template of a workload, in its namespace or the one that is asked for", async () => {
    const deployment = { kind: "Deployment", metadata: { name: "web" }, spec: { template } };
    const jobTemplate = { spec: { template } };
    const cronJob = {
      kind: "CronJob",
      metadata: { name: "nightly", namespace: "night" },
      spec: { jobTemplate },
    };
    const pods = await read(deployment, { kind: "List", items: [cronJob] }, { kind: "Service", spec: {} });
    expect(pods.map(({ owner }) => owner)).to.deep.equal(["Deployment shop/web", "CronJob night/nightly"]);
    expect(pods[0]?.pod).to.deep.equal({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { labels: { app: "web" }, annotations: { a: "1" }, generateName: "web-", namespace: "shop" },
      spec: { containers },
    });
    expect(pods[1]?.pod.metadata).to.include({ generateName: "nightly-", namespace: "night" });
  });

  it("takes a Pod without its name and its status, which belong to the one that exists", async () => {
    const pod = { kind: "Pod", metadata: { name: "web", uid: "1" }, spec: { containers }, status: {} };
    const [found] = await read(pod);
    expect(found?.pod).to.deep.equal({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { generateName: "web-", namespace: "shop" },
      spec: { containers },
    });
  });

  for (const [name, text, message] of [
    ["no Pod", "kind: Service\nspec: {}\n", "web.yaml holds no Pod and no workload"],
    ["no YAML", "a: [\n", "web.yaml:"],
  ] as const) {
    it(`refuses a text with ${name}`, async () => {
      const error = await podsInText("web.yaml", Buffer.from(text), "shop").catch((cause: unknown) => cause);
      expect(error).to.include({ code: "INPUT_INVALID" });
      expect(String(error)).to.contain(message);
    });
  }
});

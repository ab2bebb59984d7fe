import { expect } from "chai";
import type { ApiResponse } from "./support/api-client.js";
import { sharedCluster } from "./support/use-cluster.js";

const path = "/apis/bunting.dev/v1alpha1/agentrollouts";

describe("the resource type AgentRollout", function () {
  this.timeout(60_000);
  const cluster = sharedCluster();
  const names: string[] = [];

  async function create(spec: object): Promise<ApiResponse> {
    const name = `t${Date.now().toString(36)}-${names.length}`;
    names.push(name);
    const body = { apiVersion: "bunting.dev/v1alpha1", kind: "AgentRollout", metadata: { name }, spec };
    return cluster().api.request("POST", path, { body });
  }

  afterEach(async () => {
    for (const name of names.splice(0)) await cluster().api.request("DELETE", `${path}/${name}`);
  });

  const least = { image: "registry.example/agent:2", from: ["*"] };

  it("gets defaults", async () => {
    const { status, text } = await create(least);
    expect(status).to.equal(201);
    expect((JSON.parse(text) as { readonly spec: unknown }).spec).to.deep.equal({
      ...least,
      ...{ maxUnavailable: "25%", maxInFlight: 10, perNode: 1 },
      ...{ minAge: "60s", observe: "30s", deadline: "120s" },
      ...{ failureThreshold: 3, rollbackOnHalt: true, paused: false, prePull: false },
    });
  });

  it("keeps every field", async () => {
    const full = {
      image: `registry.example/agent@sha256:${"0a".repeat(32)}`,
      from: ["ghcr.io/open-feature/flagd:*"],
      namespaceSelector: { matchExpressions: [{ key: "team", operator: "In", values: ["shop"] }] },
      podSelector: { matchLabels: { app: "web" } },
      ...{ maxUnavailable: 2, maxInFlight: 3, perNode: 4, minAge: "0s", observe: "500ms", deadline: "2m" },
      ...{ failureThreshold: 10, rollbackOnHalt: false, paused: true, prePull: true },
    };
    const { status, text } = await create(full);
    expect(status, text).to.equal(201);
    expect((JSON.parse(text) as { readonly spec: unknown }).spec).to.deep.equal(full);
  });

  const refused: Readonly<Record<string, readonly [spec: object, says: string]>> = {
    "an image without a tag": [{ image: "registry.example/agent" }, "spec.image"],
    "what is no image": [
      { image: "https://registry.example/agent:1" },
      "it is no image with a tag or a digest",
    ],
    "an image in two lines": [
      { image: "registry.example/agent:1\n" },
      "it is no image with a tag or a digest",
    ],
    "a tag with a slash": [{ image: "registry.example/agent:1/2" }, "it is no image with a tag or a digest"],
    "a digest that is too short": [{ image: "agent@sha256:12" }, "it is no image with a tag or a digest"],
    "an option in place of an image": [{ image: "--help" }, "it is no image with a tag or a digest"],
    "an image that begins with a space": [{ image: " agent:1" }, "it is no image with a tag or a digest"],
    "an image of 5,000 characters": [{ image: `${"a".repeat(5_000)}:1` }, "may not be more than 512"],
    "no images to replace": [{ from: [] }, "spec.from"],
    "a share of nothing": [{ maxUnavailable: "0%" }, "it is a number from 1 on, or a percentage"],
    "no Pod of a workload": [{ maxUnavailable: 0 }, "it is a number from 1 on, or a percentage"],
    "a duration without a unit": [{ observe: "30" }, "it is a duration of up to 24h"],
    "a duration of days": [{ minAge: "48h" }, "it is a duration of up to 24h"],
    "no time to become ready": [{ deadline: "0s" }, "it is a duration from 1s to 24h"],
    "a threshold above what is remembered": [{ failureThreshold: 11 }, "spec.failureThreshold"],
  };
  for (const [what, [spec, says]] of Object.entries(refused))
    it(`is refused with ${what}`, async () => {
      const { status, text } = await create({ ...least, ...spec });
      expect(status, text).to.equal(422);
      expect(text).to.contain(says);
    });

  it("is listed with its state", async () => {
    await create(least);
    const [name = ""] = names;
    const status = { image: least.image, desired: 9, updated: 4, failed: 1, phase: "Progressing" };
    await cluster().api.patch(`${path}/${name}/status`, { status });
    const table = await cluster().kubectl(["get", "agentrollout", name]);
    const [head = "", row = ""] = table.split("\n").map((line) => line.split(/\s{2,}/).join(" "));
    expect(head).to.equal("NAME IMAGE DESIRED UPDATED FAILED PHASE AGE");
    expect(row).to.match(/ registry\.example\/agent:2 9 4 1 Progressing \d+s$/);
  });
});

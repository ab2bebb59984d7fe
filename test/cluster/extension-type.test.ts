import { expect } from "chai";
import type { ApiResponse } from "./support/api-client.js";
import { sharedCluster } from "./support/use-cluster.js";

const path = "/apis/bunting.dev/v1alpha1/extensions";
const service = { namespace: "tools", name: "qos" };
const least = { hooks: ["pre-create"], objects: ["Sidecar"], service };

describe("the resource type Extension", function () {
  this.timeout(60_000);
  const cluster = sharedCluster();

  /** Nothing is stored: an operator of another test would ask it. */
  function create(spec: object, name = "qos"): Promise<ApiResponse> {
    const body = { apiVersion: "bunting.dev/v1alpha1", kind: "Extension", metadata: { name }, spec };
    return cluster().api.request("POST", `${path}?dryRun=All`, { body });
  }

  it("gets defaults", async () => {
    const { status, text } = await create(least);
    expect(status, text).to.equal(201);
    expect((JSON.parse(text) as { readonly spec: unknown }).spec).to.deep.equal({
      ...least,
      service: { ...service, port: 8080, path: "/" },
      ...{ timeout: "2s", failurePolicy: "Ignore", priority: 0 },
    });
  });

  it("keeps every field", async () => {
    const full = {
      hooks: ["pre-create", "lint"],
      objects: ["Sidecar", "Proxy", "Flagd", "FeatureFlag"],
      url: "https://hooks.example.com:8443/qos?stage=dev",
      caBundle: "-----BEGIN CERTIFICATE-----",
      ...{ timeout: "500ms", failurePolicy: "Fail", priority: -3 },
      namespaceSelector: { matchExpressions: [{ key: "team", operator: "In", values: ["shop"] }] },
      mutates: ["/spec/container/resources"],
      before: ["annotater", "category:checks"],
      after: ["first"],
      categories: ["defaults"],
      maintainer: "platform@example.com",
      repository: "https://git.example.com/platform/qos",
    };
    const { status, text } = await create(full);
    expect(status, text).to.equal(201);
    expect((JSON.parse(text) as { readonly spec: unknown }).spec).to.deep.equal(full);
  });

  const refused: Readonly<Record<string, readonly [spec: object, says: string]>> = {
    "neither a service nor a url": [{ service: undefined }, "either a service or a url"],
    "both of them": [{ url: "https://hooks.example.com" }, "either a service or a url"],
    "no hook": [{ hooks: [] }, "spec.hooks"],
    "a hook that does not exist": [{ hooks: ["post-create"] }, "spec.hooks"],
    "comments on what is no FeatureFlag": [{ hooks: ["lint"] }, "the hook lint is about FeatureFlags"],
    "FeatureFlags that nobody comments on": [
      { objects: ["Sidecar", "FeatureFlag"] },
      "FeatureFlags are for the hook lint",
    ],
    "changes of nothing": [
      { hooks: ["pre-create", "lint"], objects: ["FeatureFlag"] },
      "the hook pre-create is about Sidecars",
    ],
    "objects that nobody changes": [
      { hooks: ["lint"], objects: ["Sidecar", "FeatureFlag"] },
      "are for the hook pre-create",
    ],
    "what a comment may change": [
      { hooks: ["lint"], objects: ["FeatureFlag"], mutates: ["/spec"] },
      "mutates is about the hook pre-create",
    ],
    "a url of another kind": [{ service: undefined, url: "file:///etc/passwd" }, "it is no address"],
    "a url with a password": [{ service: undefined, url: "https://a:b@hooks.example.com" }, "a user's name"],
    "a Service of another domain": [{ service: { ...service, name: "qos.evil" } }, "no name of a Service"],
    "a namespace with a slash": [{ service: { ...service, namespace: "a/b" } }, "no name of a namespace"],
    "a path with a line break": [
      { service: { ...service, path: "/a\nb" } },
      "it begins with a slash, and has neither white space nor a fragment",
    ],
    "a time of an hour": [{ timeout: "3600s" }, "it is a duration of up to 10s"],
    "no time at all": [{ timeout: "0s" }, "it is a duration of up to 10s"],
    "another policy": [{ failurePolicy: "Retry" }, "spec.failurePolicy"],
    "a pointer that is none": [{ mutates: ["spec"] }, "a JSON pointer begins with a slash"],
    "an operator of selectors that does not exist": [
      { namespaceSelector: { matchExpressions: [{ key: "a", operator: "Like" }] } },
      "spec.namespaceSelector",
    ],
  };
  for (const [what, [changes, says]] of Object.entries(refused))
    it(`refuses ${what}`, async () => {
      const { status, text } = await create({ ...least, ...changes });
      expect(status).to.equal(422);
      expect(text).to.contain(says);
    });

  it("refuses a name that can't be the last part of an annotation", async () => {
    expect((await create(least, "x".repeat(64))).status).to.equal(422);
  });
});

import { expect } from "chai";
import type { ApiResponse } from "./support/api-client.js";
import { featureFlagPath } from "./support/cluster.js";
import { sharedCluster } from "./support/use-cluster.js";

describe("spec.remoteFlagProvider, as an API server takes it", function () {
  this.timeout(60_000);
  const cluster = sharedCluster();
  let namespace: string;
  before(async () => {
    namespace = await cluster().createNamespace();
  });

  async function put(remoteFlagProvider: object, more: object = {}): Promise<ApiResponse> {
    const metadata = { name: "flags", namespace };
    const body = {
      ...{ apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlag", metadata },
      spec: { remoteFlagProvider, ...more },
    };
    const path = `${featureFlagPath(namespace, "flags")}?fieldManager=test&force=true`;
    return cluster().api.request("PATCH", path, { contentType: "application/apply-patch+yaml", body });
  }

  const stored = ({ status, text }: ApiResponse): unknown => {
    expect(status, text).to.be.oneOf([200, 201]);
    return (JSON.parse(text) as { readonly spec: { readonly remoteFlagProvider: unknown } }).spec
      .remoteFlagProvider;
  };
  const least = { type: "http", uri: "https://flags.example.com/shop.json" };
  const secret = { name: "remote", key: "token" };

  it("gets defaults, and keeps every field", async () => {
    expect(stored(await put(least))).to.deep.equal({
      ...least,
      ...{ strategy: "merge", interval: "60s", allowEmpty: false },
    });
    const full = {
      ...{ type: "grpc", uri: "grpcs://flags.example.com:8015", selector: "shop/checkout" },
      ...{ strategy: "replace", interval: "5m", credentials: { secretRef: secret }, caSecretRef: secret },
      allowEmpty: true,
    };
    expect(stored(await put(full))).to.deep.equal(full);
  });

  it("is refused beside spec.rollout", async () => {
    const { status, text } = await put(least, { rollout: {} });
    expect(status).to.equal(422);
    expect(text).to.contain("rollout and remoteFlagProvider exclude each other");
  });

  const refused: Readonly<Record<string, readonly [changes: object, says: string]>> = {
    "another type": [{ type: "ftp" }, "remoteFlagProvider.type"],
    "no address": [{ uri: "flags.example.com" }, "it is an address of https, http, grpcs or grpc"],
    "a password in the address": [{ uri: "https://u:p@flags.example.com" }, "without a user"],
    "an address of another type": [{ uri: "grpcs://flags.example.com" }, "an endpoint of the type grpc has"],
    "gRPC at an address of HTTP": [{ type: "grpc" }, "an endpoint of the type grpc has"],
    "a selector of a document": [{ selector: "a" }, "a document over HTTP has no selector"],
    "questions without a pause": [{ interval: "1s" }, "it is a duration of 5s to 24h"],
    "a pause of days": [{ interval: "25h" }, "it is a duration of 5s to 24h"],
    "no duration": [{ interval: "soon" }, "it is a duration of 5s to 24h"],
    "another strategy": [{ strategy: "both" }, "remoteFlagProvider.strategy"],
    "a Secret without a key": [{ credentials: { secretRef: { name: "a" } } }, "secretRef.key"],
  };
  for (const [what, [changes, says]] of Object.entries(refused))
    it(`refuses ${what}, and says where`, async () => {
      const { status, text } = await put({ ...least, ...changes });
      expect(status).to.equal(422);
      expect(text).to.contain("spec.remoteFlagProvider").and.contain(says);
    });
});

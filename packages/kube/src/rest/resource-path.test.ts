import { expect } from "chai";
import { collectionPath, objectPath, queryOf, selecting } from "./resource-path.js";

const flags = { group: "core.openfeature.dev", version: "v1beta1", plural: "featureflags" };
const pods = { group: "", version: "v1", plural: "pods" };

describe("resource paths", () => {
  it("are those of the core group and of others, with and without a namespace", () => {
    expect(collectionPath({ type: pods })).to.equal("/api/v1/pods");
    expect(collectionPath({ type: pods, namespace: "demo", name: "x" })).to.equal(
      "/api/v1/namespaces/demo/pods",
    );
    expect(collectionPath({ type: flags })).to.equal("/apis/core.openfeature.dev/v1beta1/featureflags");
    expect(objectPath({ type: flags, namespace: "demo" }, "a")).to.equal(
      "/apis/core.openfeature.dev/v1beta1/namespaces/demo/featureflags/a",
    );
    expect(objectPath({ type: pods, namespace: "demo" }, "a", "status")).to.equal(
      "/api/v1/namespaces/demo/pods/a/status",
    );
  });

  it("encode every segment, so that no name changes the path", () => {
    expect(objectPath({ type: pods, namespace: "../x" }, "a/b?c#d")).to.equal(
      "/api/v1/namespaces/..%2Fx/pods/a%2Fb%3Fc%23d",
    );
  });

  it("leave undefined values out of queries", () => {
    expect(queryOf({})).to.equal("");
    expect(queryOf({ limit: 5, watch: true, continue: undefined, labelSelector: "a=b,c" })).to.equal(
      "?limit=5&watch=true&labelSelector=a%3Db%2Cc",
    );
  });

  it("select one object by name, in addition to another field selector", () => {
    expect(selecting({ type: pods }, { limit: 1 })).to.deep.equal({ limit: 1 });
    expect(selecting({ type: pods, name: "a" }, { limit: 1 })).to.deep.equal({
      limit: 1,
      fieldSelector: "metadata.name=a",
    });
    expect(selecting({ type: pods, name: "a" }, { fieldSelector: "spec.nodeName=n" })).to.deep.equal({
      fieldSelector: "metadata.name=a,spec.nodeName=n",
    });
  });

  it("select objects by labels, unless the selector is empty", () => {
    expect(selecting({ type: pods, labelSelector: "app=x" }, { limit: 1 })).to.deep.equal({
      limit: 1,
      labelSelector: "app=x",
    });
    expect(selecting({ type: pods, labelSelector: "" }, { limit: 1 })).to.deep.equal({ limit: 1 });
  });
});

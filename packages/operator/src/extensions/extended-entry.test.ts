import { expect } from "chai";
import type { ExtensionObject } from "@bunting/extension";
import type { InjectionEntry } from "../api/injection.js";
import { withDigest } from "../desired/entry-digest.js";
import { extendedEntry, sidecarObject } from "./extended-entry.js";

const resources = { requests: { cpu: "20m", memory: "32Mi" }, limits: { memory: "64Mi" } };
const container = { name: "flagd", image: "agent:1", args: ["start"], env: [], resources } as const;
const both = { cpu: "20m", memory: "64Mi" };
const common = {
  origin: "0123456789abcdef",
  revision: "1",
  volumes: [],
  env: [],
  mounts: [],
  imagePullSecrets: [],
  annotations: { "example.com/a": "1" },
};
const guaranteed = { ...container, resources: { requests: both, limits: both } };
const entry: InjectionEntry = withDigest({ ...common, container, guaranteed });
const ofInProcess = withDigest(common);

describe("extendedEntry", () => {
  const sidecar = sidecarObject("storefront", "shop", entry);

  function withContainer(changes: object): ExtensionObject {
    return { ...sidecar, spec: { container: { ...container, ...changes } } };
  }

  function extended(object: ExtensionObject, before = entry): InjectionEntry {
    const result = extendedEntry(before, object);
    if (result.kind === "unusable") throw new Error(result.reason);
    return result.entry;
  }

  function reason(object: object, before = entry): string {
    const result = extendedEntry(before, object as ExtensionObject);
    return result.kind === "unusable" ? result.reason : "";
  }

  it("is the same entry for the object that was asked about", () => {
    expect(extended(sidecar)).to.deep.equal(entry);
    expect(extended(sidecarObject("config", "shop", ofInProcess), ofInProcess)).to.deep.equal(ofInProcess);
  });

  it("has the new resources, also for Pods of the class Guaranteed, and another digest", () => {
    const made = extended(withContainer({ resources: { ...resources, limits: { memory: "128Mi" } } }));
    expect(made.container?.resources).to.deep.equal({ ...resources, limits: { memory: "128Mi" } });
    const raised = { cpu: "20m", memory: "128Mi" };
    expect(made.guaranteed?.resources).to.deep.equal({ requests: raised, limits: raised });
    expect(made.digest).not.to.equal(entry.digest);
  });

  it("has the new annotations, and the revision of another image", () => {
    const { metadata } = sidecar;
    const annotated = extended({ ...sidecar, metadata: { ...metadata, annotations: { b: "2" } } });
    expect(annotated.annotations).to.deep.equal({ b: "2" });
    expect(extended(withContainer({ image: "agent:2" })).revision).to.equal("2");
  });

  it("may have any names that annotations of Pods have", () => {
    const { metadata } = sidecar;
    for (const name of ["a", "Team_1.x", "example.com/Team", `${"x".repeat(63)}.example/${"y".repeat(63)}`]) {
      const annotations = { [name]: "1" };
      expect(reason({ ...sidecar, metadata: { ...metadata, annotations } }), name).to.equal("");
    }
  });

  it("is unusable if it has grown so much that there is no room for it", () => {
    const { metadata } = sidecar;
    const annotated = (characters: number): object => ({
      ...sidecar,
      metadata: { ...metadata, annotations: { ...entry.annotations, a: "x".repeat(characters) } },
    });
    expect(reason(annotated(65_000))).to.equal("");
    expect(reason(annotated(66_000))).to.contain("grow by 64 KB");
    expect(reason(withContainer({ args: ["x".repeat(66_000)] }))).to.contain("grow by 64 KB");
  });

  it("mends resources with which Pods would be refused, and says so", () => {
    const less = { requests: { memory: "64Mi" }, limits: { memory: "32Mi" } };
    const result = extendedEntry(entry, withContainer({ resources: less }));
    if (result.kind === "unusable") throw new Error(result.reason);
    expect(result.entry.container?.resources).to.deep.equal({
      requests: { memory: "64Mi" },
      limits: { memory: "64Mi" },
    });
    expect(result.remarks).to.have.length(1);
  });

  it("is unusable with what Pods would not get, or would be refused with", () => {
    const { metadata } = sidecar;
    const hostPath = { volumes: [{ name: "root", hostPath: { path: "/" } }] };
    expect(reason({ ...sidecar, spec: { ...sidecar.spec, ...hostPath } })).to.contain("no spec.volumes");
    expect(reason({ ...sidecar, metadata: { ...metadata, labels: {} } })).to.contain("no metadata.labels");
    expect(reason({ ...sidecar, metadata: { ...metadata, annotations: { a: 1 } } })).to.contain("is a text");
    for (const name of ["two words", "a/b/c", "/a", "a/", "-a", "x".repeat(64), `${"x".repeat(254)}/a`, ""]) {
      const annotations = { [name]: "1" };
      expect(reason({ ...sidecar, metadata: { ...metadata, annotations } }), name).to.contain("be called");
    }
    for (const name of ["a..b/c", "a.-b/c", "a-.b/c", ".a/b"]) {
      const annotations = { [name]: "1" };
      expect(reason({ ...sidecar, metadata: { ...metadata, annotations } }), name).to.contain("be called");
    }
    for (const name of [
      "kubernetes.io/config.mirror",
      "scheduler.alpha.kubernetes.io/tolerations",
      "controller.kubernetes.io/pod-deletion-cost",
      "container.apparmor.security.beta.kubernetes.io/flagd",
      "seccomp.security.alpha.kubernetes.io/pod",
    ]) {
      const annotations = { [name]: "unconfined" };
      expect(reason({ ...sidecar, metadata: { ...metadata, annotations } }), name).to.contain("decide about");
    }
    expect(reason({ ...sidecar, spec: {} })).to.contain("neither added");
    expect(reason(sidecar, ofInProcess)).to.contain("neither added");
    expect(reason({ ...sidecar, spec: { container: [] } })).to.contain("is an object");
    expect(reason(withContainer({ name: "other" }))).to.contain("is called flagd");
    for (const image of ["", " agent:1", "agent:1 ", "agent:1\n", "Agent:1", "--help", "x".repeat(5_000)])
      expect(reason(withContainer({ image })), JSON.stringify(image)).to.contain("has an image");
    expect(reason(withContainer({ env: {} }))).to.contain("env is a list");
    expect(reason(withContainer({ resources: { limits: { cpu: {} } } }))).to.contain(
      "has requests and limits",
    );
  });
});

import { expect } from "chai";
import type { Container, PodManifest } from "../api/pod-manifest.js";
import { inject } from "./inject.js";
import { fullEntry, inProcessEntry } from "./injection-entry.fixture.js";
import { podPatch, type PatchOperation } from "./patch.js";

/** A patch's effect, by RFC 6902; it does not change the value. */
function applied(value: unknown, operations: readonly PatchOperation[]): unknown {
  const result = { root: structuredClone(value) } as Record<string, unknown>;
  for (const operation of operations) {
    const path = operation.path.split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = path.pop() ?? "";
    const at = [...(path.length === 0 ? [] : ["root"]), ...path.slice(1)];
    const parent = at.reduce<unknown>((from, part) => (from as Record<string, unknown>)[part], result);
    if (Array.isArray(parent)) {
      const removed = operation.op === "add" ? 0 : 1;
      parent.splice(Number(last), removed, ...(operation.op === "remove" ? [] : [operation.value]));
    } else {
      const record = parent as Record<string, unknown>;
      if (operation.op === "remove") Reflect.deleteProperty(record, last);
      else record[last === "" ? "root" : last] = operation.value;
    }
  }
  return result["root"];
}

describe("podPatch", () => {
  const app: Container = { name: "app", image: "app" };
  const pod = (containers: readonly Container[], rest: object = {}): PodManifest => ({
    metadata: { name: "shop", annotations: { "openfeature.dev/enabled": "true" } },
    spec: { containers, ...rest },
  });

  it("is empty for equal Pods", () => {
    expect(podPatch(pod([app]), pod([{ ...app }]))).to.deep.equal([]);
  });

  it("inserts the sidecar where it belongs, and says nothing of the other containers", () => {
    const before = pod([app], { initContainers: [{ name: "istio-init" }, { name: "migrate" }] });
    const after = pod([app], {
      initContainers: [{ name: "istio-init" }, { name: "flagd" }, { name: "migrate" }],
    });
    expect(podPatch(before, after)).to.deep.equal([
      { op: "add", path: "/spec/initContainers/1", value: { name: "flagd" } },
    ]);
  });

  it("escapes names, and replaces, adds and removes fields", () => {
    const before: PodManifest = { ...pod([app]), metadata: { annotations: { "a/b~c": "1", old: "x" } } };
    const after: PodManifest = { ...pod([app]), metadata: { annotations: { "a/b~c": "2" }, labels: {} } };
    expect(podPatch(before, after)).to.deep.equal([
      { op: "replace", path: "/metadata/annotations/a~1b~0c", value: "2" },
      { op: "remove", path: "/metadata/annotations/old" },
      { op: "add", path: "/metadata/labels", value: {} },
    ]);
  });

  const lists: readonly (readonly Container[])[] = [
    [],
    [app],
    [app, { name: "second" }],
    [{ name: "second" }, app],
    [
      { ...app, image: "other" },
      { name: "third", env: [{ name: "A", value: "1" }] },
    ],
    [{ name: "first" }, app, { name: "second" }, { name: "third" }],
    [{ name: "third", env: [{ name: "B" }, { name: "A", value: "2" }] }],
  ];
  it("turns any of these Pods into any other", () => {
    for (const before of lists) {
      for (const after of lists) {
        const [from, to] = [pod(before), pod(after, { volumes: [{ name: "v" }] })];
        expect(applied(from, podPatch(from, to))).to.deep.equal(to);
      }
    }
  });

  it("turns a Pod into the injected one", () => {
    const before = pod([app, { ...app, name: "second", env: [{ name: "FLAGD_HOST", value: "h" }] }]);
    for (const entry of [fullEntry, inProcessEntry]) {
      const result = inject(before, entry, "webhook");
      if (result.kind !== "injected") throw new Error(result.reason);
      expect(applied(before, podPatch(before, result.pod))).to.deep.equal(result.pod);
    }
  });
});

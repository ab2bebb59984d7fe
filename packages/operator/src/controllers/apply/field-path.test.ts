import { expect } from "chai";
import { withoutField } from "./field-path.js";

const object = {
  metadata: { labels: { app: "proxy", "app.kubernetes.io/version": "v1", "app.kubernetes.io": "odd" } },
  spec: {
    replicas: 2,
    finalizers: ["a", 'b"]'],
    containers: [
      { name: "first", image: "a" },
      {
        name: "second",
        ports: [
          { containerPort: 8015, protocol: "UDP" },
          { containerPort: 8015, protocol: "TCP" },
        ],
      },
    ],
  },
};

describe("withoutField", () => {
  for (const [path, expected] of [
    [".spec.replicas", { ...object, spec: { ...object.spec, replicas: undefined } }],
    [
      ".metadata.labels.app.kubernetes.io/version",
      { ...object, metadata: { labels: { app: "proxy", "app.kubernetes.io": "odd" } } },
    ],
    [
      ".metadata.labels.app.kubernetes.io",
      { ...object, metadata: { labels: { app: "proxy", "app.kubernetes.io/version": "v1" } } },
    ],
    [
      '.spec.containers[name="first"].image',
      { ...object, spec: { ...object.spec, containers: [{ name: "first" }, object.spec.containers[1]] } },
    ],
    [
      '.spec.containers[name="first"]',
      { ...object, spec: { ...object.spec, containers: [object.spec.containers[1]] } },
    ],
    [
      '.spec.containers[name="second"].ports[containerPort=8015,protocol="TCP"]',
      {
        ...object,
        spec: {
          ...object.spec,
          containers: [
            object.spec.containers[0],
            { name: "second", ports: [{ containerPort: 8015, protocol: "UDP" }] },
          ],
        },
      },
    ],
    ['.spec.finalizers[="b\\"]"]', { ...object, spec: { ...object.spec, finalizers: ["a"] } }],
    [".spec.finalizers[0]", { ...object, spec: { ...object.spec, finalizers: ['b"]'] } }],
  ] as const) {
    it(`leaves out ${path}, and nothing else`, () => {
      const before = structuredClone(object);
      expect(withoutField(object, path)).to.deep.equal(JSON.parse(JSON.stringify(expected)));
      expect(object, "the object itself").to.deep.equal(before);
    });
  }

  for (const path of [
    ".spec.paused",
    ".spec.replicas.deep",
    '.spec.containers[name="third"].image',
    ".spec.finalizers[7]",
    ".spec.containers[name=unquoted]",
    "spec.replicas",
    ".spec.containers",
    "",
  ]) {
    it(`finds ${path === "" ? "the empty path" : path} only if it is there`, () => {
      expect(withoutField(object, path) === undefined).to.equal(path !== ".spec.containers");
    });
  }

  it("takes a name with a dot for two names where only those are there", () => {
    expect(withoutField({ a: { b: 1 } }, ".a.b")).to.deep.equal({ a: {} });
    expect(withoutField({ a: { b: 1 }, "a.c": 1 }, ".a.b")).to.deep.equal({ a: {}, "a.c": 1 });
    expect(withoutField({ a: { b: { c: 1 } }, "a.b": 1 }, ".a.b.c")).to.deep.equal({
      a: { b: {} },
      "a.b": 1,
    });
  });
});

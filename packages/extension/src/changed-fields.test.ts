import { expect } from "chai";
import fc from "fast-check";
import type { JsonValue } from "@bunting/protocol";
import { changedFields, isFixedField, pointerStep, unlistedFields } from "./changed-fields.js";
import { proxyDeployment, sidecarObject } from "./extension-request.fixture.js";
import type { ExtensionObject } from "./extension-request.js";
import { mapContainers, mapPodTexts, mapTexts } from "./pod-parts.js";

describe("changedFields", () => {
  it("names the innermost fields that differ", () => {
    const before = { a: { b: 1, c: 2 }, list: [{ x: 1 }, 2] };
    const cases: readonly (readonly [JsonValue, readonly string[]])[] = [
      [before, []],
      [{ ...before, a: { b: 1, c: 3 } }, ["/a/c"]],
      [{ ...before, a: { b: 1 } }, ["/a/c"]],
      [{ ...before, "d/e~f": { g: { h: 1 }, i: {} } }, ["/d~1e~0f/g/h", "/d~1e~0f/i"]],
      [{ ...before, a: null }, ["/a", "/a/b", "/a/c"]],
      [{ ...before, list: [{ x: 2 }, 2] }, ["/list/0/x"]],
      [{ ...before, list: [{ x: 1 }, 2, 3, 4] }, ["/list/-"]],
      [{ ...before, list: [{ x: 1 }] }, ["/list"]],
      [{ ...before, list: { x: 1 } }, ["/list", "/list/x"]],
      [
        JSON.parse(
          `{"a":{"b":1,"c":2},"list":[{"x":1},2],"constructor":{},"__proto__":{"y":1}}`,
        ) as JsonValue,
        ["/constructor", "/__proto__/y"],
      ],
    ];
    for (const [after, fields] of cases)
      expect(changedFields(before, after), JSON.stringify(after)).to.deep.equal(fields);
  });

  it("names a field if and only if the values differ", () => {
    const pair = fc.tuple(fc.jsonValue(), fc.jsonValue());
    fc.assert(
      fc.property(pair, ([a, b]) => {
        // As they arrive: without -0.
        const [before, after] = JSON.parse(JSON.stringify([a, b])) as [JsonValue, JsonValue];
        expect(changedFields(before, before)).to.deep.equal([]);
        let isEqual = true;
        try {
          expect(after).to.deep.equal(before);
        } catch {
          isEqual = false;
        }
        expect(changedFields(before, after).length === 0).to.equal(isEqual);
      }),
      { seed: 7, numRuns: 500 },
    );
  });
});

describe("unlistedFields", () => {
  const put = (): Readonly<Record<string, string>> => ({ b: "2" });
  const deployment = proxyDeployment();
  const withContainer = (change: object): ExtensionObject =>
    mapContainers(deployment, (container) => ({ ...container, ...change }));

  it("allows labels, annotations and resources by default, of the object and its Pods", () => {
    for (const field of ["labels", "annotations"] as const) {
      expect(unlistedFields(deployment, mapTexts(deployment, field, put))).to.deep.equal([]);
      expect(unlistedFields(deployment, mapPodTexts(deployment, field, put))).to.deep.equal([]);
    }
    expect(unlistedFields(deployment, withContainer({ resources: { limits: { cpu: "1" } } }))).to.deep.equal(
      [],
    );
    const sidecar = mapContainers(sidecarObject(), (container) => ({ ...container, resources: {} }));
    expect(unlistedFields(sidecarObject(), sidecar)).to.deep.equal([]);
  });

  it("names everything else", () => {
    const changes: Readonly<Record<string, ExtensionObject>> = {
      "/spec/template/spec/containers/0/image": withContainer({ image: "other:1" }),
      "/spec/template/spec/containers/0/securityContext/privileged": withContainer({
        securityContext: { privileged: true },
      }),
      "/spec/replicas": {
        ...deployment,
        spec: { ...(deployment["spec"] as object), replicas: 1 },
      },
      "/spec/containers": {
        ...deployment,
        spec: { ...(deployment["spec"] as object), containers: [] },
      },
    };
    for (const [field, after] of Object.entries(changes))
      expect(unlistedFields(deployment, after)).to.include(field);
  });

  it("names annotations and labels by which clouds give rights, unless they are listed", () => {
    const account = { ...deployment, kind: "ServiceAccount" };
    for (const name of [
      "eks.amazonaws.com/role-arn",
      "iam.gke.io/gcp-service-account",
      "azure.workload.identity/client-id",
    ]) {
      const mighty = mapTexts(account, "annotations", (texts) => ({ ...texts, [name]: "admin" }));
      const pointer = `/metadata/annotations/${pointerStep(name)}`;
      expect(unlistedFields(account, mighty)).to.deep.equal([pointer]);
      expect(unlistedFields(account, mighty, [pointer])).to.deep.equal([]);
    }
    const used = (texts: object): Readonly<Record<string, string>> => ({
      ...texts,
      "azure.workload.identity/use": "true",
    });
    expect(unlistedFields(deployment, mapPodTexts(deployment, "labels", used))).to.have.length(1);
  });

  it("names annotations and labels by which webhooks and nodes make a Pod mightier, or clouds do, unless they are listed", () => {
    for (const name of [
      "iam.amazonaws.com/role",
      "Iam.AmazonAWS.com/role",
      "aadpodidbinding",
      "k8s.aliyun.com/eci-ram-role-name",
      "sidecar.istio.io/userVolume",
      "config.linkerd.io/proxy-image",
      "vault.hashicorp.com/role",
      "dapr.io/sidecar-image",
      "openshift.io/required-scc",
      "cdi.k8s.io/gpu",
      "devices.nri.io/container.proxy",
      "io.kubernetes.cri-o.Devices",
      "io.katacontainers.config.hypervisor.path",
      "k8s.v1.cni.cncf.io/networks",
      "nginx.ingress.kubernetes.io/server-snippet",
      "nginx.org/location-snippets",
    ])
      for (const field of ["labels", "annotations"] as const) {
        const mighty = mapPodTexts(deployment, field, (texts) => ({ ...texts, [name]: "x" }));
        const pointer = `/spec/template/metadata/${field}/${pointerStep(name)}`;
        expect(unlistedFields(deployment, mighty)).to.deep.equal([pointer]);
        expect(unlistedFields(deployment, mighty, [pointer])).to.deep.equal([]);
      }
    for (const name of ["example.com/iam.amazonaws.com", "team", "prometheus.io/scrape", "xdapr.io/a"]) {
      const usual = mapPodTexts(deployment, "annotations", (texts) => ({ ...texts, [name]: "x" }));
      expect(unlistedFields(deployment, usual), name).to.deep.equal([]);
    }
  });

  it("names resources that are devices of the node, unless they are listed", () => {
    const field = "/spec/template/spec/containers/0/resources";
    const devices = withContainer({
      resources: {
        limits: { cpu: "1", "hugepages-2Mi": "4Mi", "vendor.example/fuse": "1" },
        claims: [{ name: "gpu" }],
      },
    });
    const unlisted = unlistedFields(deployment, devices).filter((each) => each.startsWith(field));
    expect(unlisted).to.deep.equal([`${field}/limits/vendor.example~1fuse`, `${field}/claims`]);
    expect(unlistedFields(deployment, devices, ["/spec/template/spec/containers"])).to.deep.equal([]);
  });

  it("names texts that are none", () => {
    const odd = mapTexts(deployment, "labels", (texts) => ({ ...texts, a: { b: "c" } }));
    expect(unlistedFields(deployment, odd)).to.deep.equal(["/metadata/labels/a/b"]);
  });

  it("allows nobody to give Pods finalizers, whatever is listed", () => {
    const { spec } = deployment as unknown as { spec: { template: { metadata: object } } };
    const template = {
      ...spec.template,
      metadata: { ...spec.template.metadata, finalizers: ["example.com/x"] },
    };
    const held = { ...deployment, spec: { ...spec, template } } as unknown as ExtensionObject;
    expect(unlistedFields(deployment, held, ["/spec"])).to.deep.equal(["/spec/template/metadata/finalizers"]);
  });

  it("names annotations that stand for a security context, unless they are listed", () => {
    for (const name of [
      "container.apparmor.security.beta.kubernetes.io/proxy",
      "seccomp.security.alpha.kubernetes.io/pod",
    ]) {
      const loose = mapPodTexts(deployment, "annotations", (texts) => ({ ...texts, [name]: "unconfined" }));
      expect(unlistedFields(deployment, loose)).to.have.length(1);
      expect(unlistedFields(deployment, loose, ["/spec/template/metadata/annotations"])).to.deep.equal([]);
    }
  });

  it("allows what is listed, and nothing beside it", () => {
    const longer = JSON.parse(
      JSON.stringify(deployment).replace(
        '"containers":[',
        '"containers":[{"name":"proxy","image":"proxy:1","resources":{"limits":{"memory":"64Mi"}}},',
      ),
    ) as ExtensionObject;
    const further = ["/spec/template/spec/containers/-"];
    // Put before the others, it has changed each of them.
    expect(unlistedFields(deployment, longer, further)).to.not.deep.equal([]);
    const appended = JSON.parse(
      JSON.stringify(deployment).replace('"image":"other:1"}]', '"image":"other:1"},{"name":"shipper"}]'),
    ) as ExtensionObject;
    expect(unlistedFields(deployment, appended, further)).to.deep.equal([]);
    expect(unlistedFields(deployment, appended)).to.deep.equal(further);
    const replaced = JSON.parse(JSON.stringify(appended).replace('"shipper"', '"proxy"')) as ExtensionObject;
    expect(unlistedFields(deployment, replaced, further)).to.deep.equal(["/spec/template/spec/containers"]);
    expect(unlistedFields(deployment, mapTexts(deployment, "labels", put), further)).to.have.length(2);
  });

  it("allows nobody to change which object it is, or whose", () => {
    const renamed = {
      ...deployment,
      kind: "DaemonSet",
      metadata: { ...deployment.metadata, name: "x", ownerReferences: [] },
    };
    const fields = ["/kind", "/metadata/name", "/metadata/ownerReferences"];
    expect(unlistedFields(deployment, renamed, ["/kind", "/metadata", ""])).to.deep.equal(fields);
    expect(fields.every(isFixedField)).to.equal(true);
    for (const name of [
      "bunting.dev/injected",
      "rollout.bunting.dev/x",
      "openfeature.dev/enabled",
      "openfeature.io/inline-flags",
      "openfeature.agent/standing-orders-resource",
      "app.kubernetes.io/managed-by",
    ])
      for (const map of [mapTexts, mapPodTexts])
        for (const field of ["labels", "annotations"] as const) {
          const marked = map(deployment, field, (texts) => ({ ...texts, [name]: "x" }));
          for (const mutates of [undefined, [""]])
            expect(unlistedFields(deployment, marked, mutates), name).to.have.length(1);
        }
    for (const name of [
      "notbunting.dev/x",
      "bunting.dev.example.com/x",
      "notopenfeature.io/x",
      "app.kubernetes.io/managed-by-us",
    ])
      expect(
        unlistedFields(
          deployment,
          mapTexts(deployment, "labels", (texts) => ({ ...texts, [name]: "x" })),
        ),
      ).to.deep.equal([]);
    const marked = mapTexts(deployment, "labels", (texts) => ({ ...texts, "bunting.dev/a": "1" }));
    for (const labels of [null, [], "x"]) {
      const bare = { ...marked, metadata: { ...marked.metadata, labels } };
      expect(unlistedFields(marked, bare)).to.include("/metadata/labels/bunting.dev~1a");
    }
    expect(isFixedField("/metadata/names")).to.equal(false);
  });
});

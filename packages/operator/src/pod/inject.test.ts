import { expect } from "chai";
import type { InjectionEntry } from "../api/injection.js";
import type { Container, PodManifest, PodMetadata, PodSpec } from "../api/pod-manifest.js";
import { inject, markNotInjected } from "./inject.js";
import { fullEntry, inProcessEntry, portEntry } from "./injection-entry.fixture.js";

const evictable = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";
const app: Container = { name: "app", image: "app" };
const annotations = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "shop" };

function pod(spec: Partial<PodSpec> = {}, metadata: PodMetadata = {}): PodManifest {
  return {
    metadata: { name: "shop", ...metadata, annotations: { ...annotations, ...metadata.annotations } },
    spec: { containers: [app], serviceAccountName: "shop", ...spec },
  };
}

function injected(of: PodManifest, entry: InjectionEntry = fullEntry): PodManifest {
  const result = inject(of, entry, "webhook");
  if (result.kind !== "injected") throw new Error(`not injected: ${result.reason}`);
  return result.pod;
}

const named = (...names: readonly string[]): Container[] => names.map((name) => ({ ...app, name }));
const namesOf = (containers: readonly { readonly name: string }[] = []): string[] =>
  containers.map(({ name }) => name);

describe("inject", () => {
  it("adds everything of the entry, and leaves the rest as it is", () => {
    const before = pod({ priority: 7 }, { labels: { app: "shop" } });
    expect(injected(before)).to.deep.equal({
      metadata: {
        name: "shop",
        labels: { app: "shop", "bunting.dev/agent": "1.0.0", "bunting.dev/injected-by": "webhook" },
        annotations: {
          ...annotations,
          [evictable]: "bunting-cache,bunting-socket",
          "openfeature.dev/allowkubernetessync": "true",
          "bunting.dev/injected": "webhook 0123456789abcdef",
        },
      },
      spec: {
        containers: [{ ...app, env: fullEntry.env, volumeMounts: fullEntry.mounts }],
        initContainers: [fullEntry.container],
        serviceAccountName: "shop",
        volumes: fullEntry.volumes,
        imagePullSecrets: [{ name: "registry" }],
        priority: 7,
      },
    });
    expect(before).to.deep.equal(pod({ priority: 7 }, { labels: { app: "shop" } }));
  });

  it("adds its volumes to those that the Pod's owner lets go, once", () => {
    const listOf = (own: string, entry = fullEntry): string | undefined =>
      injected(pod({}, { annotations: { [evictable]: own } }), entry).metadata.annotations?.[evictable];
    expect(listOf("scratch")).to.equal("scratch,bunting-cache,bunting-socket");
    expect(listOf("")).to.equal("bunting-cache,bunting-socket");
    const copied = "bunting-cache,bunting-socket,scratch";
    expect(listOf(copied)).to.equal(copied);
    expect(listOf("scratch", inProcessEntry)).to.equal("scratch");
  });

  it("leaves annotations as they are that a Pod has of its own, but for those of injection", () => {
    const given = { "prometheus.io/port": "8014", "example.com/team": "shop", "openfeature.dev/x": "true" };
    const own = { "prometheus.io/port": "9090", "openfeature.dev/x": "false" };
    const { metadata } = injected(pod({}, { annotations: own }), { ...portEntry, annotations: given });
    expect(metadata.annotations).to.include({ ...given, "prometheus.io/port": "9090" });
  });

  it("gives in-process applications variables, and neither sidecar nor label", () => {
    const { metadata, spec } = injected(pod(), inProcessEntry);
    expect(metadata.labels).to.equal(undefined);
    expect(metadata.annotations?.["bunting.dev/injected"]).to.equal("webhook 00112233445566aa");
    expect(spec.initContainers).to.equal(undefined);
    expect(spec.containers[0]?.env).to.deep.equal(inProcessEntry.env);
    expect(namesOf(spec.volumes)).to.deep.equal(["bunting-identity"]);
  });

  it("puts the sidecar behind the containers of a mesh that lead, and before all others", () => {
    const meshes = [
      ...["istio-validation", "istio-init", "istio-proxy"],
      ...["linkerd-init", "linkerd-network-validator", "linkerd-proxy"],
    ];
    for (const [before, after] of [
      [["migrate"], ["flagd", "migrate"]],
      [
        ["migrate", "istio-init"],
        ["flagd", "migrate", "istio-init"],
      ],
      ...meshes.map(
        (name) =>
          [
            [name, "migrate"],
            [name, "flagd", "migrate"],
          ] as const,
      ),
      [meshes, [...meshes, "flagd"]],
    ] as const) {
      expect(namesOf(injected(pod({ initContainers: named(...before) })).spec.initContainers)).to.deep.equal(
        after,
      );
    }
  });

  it("gives variables and mounts to the containers that run after the sidecar, and overrides none", () => {
    const own = { ...app, env: [{ name: "FLAGD_HOST", value: "own" }] };
    const mounted = { ...app, name: "mounted", volumeMounts: [{ name: "x", mountPath: "/run/openfeature" }] };
    const { containers, initContainers = [] } = injected(
      pod({ containers: [own, mounted], initContainers: named("istio-init", "migrate") }),
    ).spec;
    const [first, second] = containers;
    expect(first?.env).to.deep.equal([
      { name: "FLAGD_HOST", value: "own" },
      ...fullEntry.env.filter(({ name }) => name !== "FLAGD_HOST"),
    ]);
    expect(second?.volumeMounts).to.deep.equal(mounted.volumeMounts);
    const [mesh, sidecar, migrate] = initContainers;
    expect([mesh?.env, sidecar?.env, migrate?.env]).to.deep.equal([
      undefined,
      fullEntry.container?.env,
      fullEntry.env,
    ]);
    expect(migrate?.volumeMounts).to.deep.equal(fullEntry.mounts);
  });

  it("changes nothing the second time, but completes containers that came in between", () => {
    for (const entry of [fullEntry, inProcessEntry]) {
      const once = injected(pod({ initContainers: named("migrate") }), entry);
      const again = inject(once, entry, "policy");
      expect(again).to.deep.equal({ kind: "injected", pod: once });
      const grown = {
        ...once,
        spec: { ...once.spec, containers: [...once.spec.containers, ...named("late")] },
      };
      expect(injected(grown, entry).spec.containers[1]?.env).to.deep.equal(entry.env);
    }
  });

  it("adds no volume, Secret or token that would make the Pod invalid", () => {
    const own = { name: "bunting-socket", hostPath: { path: "/run" } };
    const { spec } = injected(
      pod({ volumes: [own], imagePullSecrets: [{ name: "registry" }], serviceAccountName: "" }),
    );
    expect(namesOf(spec.volumes)).to.deep.equal(["bunting-socket", "bunting-cache", "bunting-identity"]);
    expect(spec.volumes?.[0]).to.equal(own);
    expect(spec.imagePullSecrets).to.deep.equal([{ name: "registry" }]);
    expect(JSON.stringify(spec.volumes)).to.contain("bunting-ca").and.not.contain("serviceAccountToken");
  });

  it("takes back the marks of a Pod that this one was copied from", () => {
    const copied = pod(
      {},
      { annotations: { "bunting.dev/not-injected": "Windows", "bunting.dev/injected": "x" } },
    );
    expect(injected(copied).metadata.annotations).to.not.have.property("bunting.dev/not-injected");
    expect(injected(copied).metadata.annotations?.["bunting.dev/injected"]).to.match(/^webhook /);
  });

  const port = (containerPort: number, protocol?: string): Partial<PodSpec> => ({
    containers: [{ ...app, ports: [{ containerPort, ...(protocol === undefined ? {} : { protocol }) }] }],
  });
  for (const [what, spec, reason] of [
    ["the network of its node", { hostNetwork: true }, "HostNetwork"],
    ["Windows", { os: { name: "windows" } }, "Windows"],
    ["a node with Windows", { nodeSelector: { "kubernetes.io/os": "windows" } }, "Windows"],
    ["a container flagd", { containers: named("app", "flagd") }, "OwnContainer"],
    ["an init container flagd", { initContainers: named("flagd") }, "OwnContainer"],
    ["the sidecar's port", port(8013), "PortTaken"],
    ["the sidecar's port for management", port(8014), "PortTaken"],
    ["the sidecar's port for OFREP", port(8016, "TCP"), "PortTaken"],
    ["the sidecar's port for synchronisation", { initContainers: port(8015).containers ?? [] }, "PortTaken"],
  ] as const) {
    it(`gives no sidecar to a Pod with ${what}, but variables all the same`, () => {
      expect(inject(pod(spec), portEntry, "webhook")).to.deep.equal({ kind: "not-injected", reason });
      expect(inject(pod(spec), inProcessEntry, "webhook").kind).to.equal("injected");
    });
  }

  it("gives one to a Pod with the network of its node if its entry is for such Pods, unless something else is in the way", () => {
    const entry = { ...portEntry, hostNetwork: true } as const;
    expect(inject(pod({ hostNetwork: true }), entry, "webhook").kind).to.equal("injected");
    const taken = { ...port(8013), hostNetwork: true };
    expect(inject(pod(taken), entry, "webhook")).to.include({ reason: "PortTaken" });
  });

  it("gives a sidecar to Pods with other ports and systems", () => {
    for (const spec of [
      port(8017),
      port(8013, "UDP"),
      { hostNetwork: false, os: { name: "linux" }, nodeSelector: { "kubernetes.io/os": "linux" } },
    ]) {
      expect(inject(pod(spec), portEntry, "webhook").kind).to.equal("injected");
    }
    // Nothing listens on the port where there is a socket.
    expect(inject(pod(port(8013)), fullEntry, "webhook").kind).to.equal("injected");
    expect(inject(pod(port(8014)), fullEntry, "webhook").kind).to.equal("not-injected");
  });

  it("gives nothing to a Pod that could not be stored with it, however many containers were written", () => {
    const env = Array.from({ length: 10_000 }, (_, index) => ({ name: `V${index}`, value: "" }));
    const result = { kind: "not-injected", reason: "TooLarge" };
    for (const entry of [fullEntry, inProcessEntry]) {
      const large = { ...entry, env };
      expect(inject(pod({ containers: named("a", "b", "c") }), large, "webhook").kind).to.equal("injected");
      const containers = Array.from({ length: 20_000 }, () => app);
      expect(inject(pod({ containers }), large, "webhook")).to.deep.equal(result);
      expect(inject(pod({ initContainers: containers }), large, "webhook")).to.deep.equal(result);
      expect(inject(pod({ containers: [{ ...app, env }] }), large, "webhook").kind).to.equal("injected");
    }
  });

  it("leaves Pods that mirror static ones as they are", () => {
    const mirror = pod({}, { annotations: { "kubernetes.io/config.mirror": "4f" } });
    const result = { kind: "not-injected", reason: "MirrorPod" };
    expect(inject(mirror, inProcessEntry, "webhook")).to.deep.equal(result);
    expect(inject(mirror, fullEntry, "webhook")).to.deep.equal(result);
    expect(markNotInjected(mirror, "MirrorPod")).to.equal(mirror);
  });
});

describe("markNotInjected", () => {
  it("says why on the Pod", () => {
    expect(markNotInjected(pod(), "HostNetwork").metadata.annotations).to.deep.equal({
      ...annotations,
      "bunting.dev/not-injected": "HostNetwork",
    });
  });
});

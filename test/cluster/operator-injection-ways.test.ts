import { expect } from "chai";
import { evictableVolumesAnnotation } from "@bunting/operator/internal/api/names.js";
import type {
  Container,
  PodManifest,
  PodMetadata,
  PodSpec,
} from "@bunting/operator/internal/api/pod-manifest.js";
import {
  bareEntry,
  fullEntry,
  inProcessEntry,
  portEntry,
} from "@bunting/operator/internal/pod/injection-entry.fixture.js";
import { eventually } from "../support/event-queue.js";
import { modelSeeds } from "../support/seed.js";
import { seededRandom } from "../support/seeded-random.js";
import { admitted as admittedBy, expectEqualWays as equalWays } from "./support/equal-ways.js";
import { randomPod } from "./support/random-pod.js";
import { InjectionWorlds, restrictedSpec, type InjectionWorld } from "./support/injection-world.js";
import type { PolicyObject } from "./support/test-policies.js";
import { sharedCluster } from "./support/use-cluster.js";

const app: Container = { name: "app", image: "shop.example/app" };
const whole = { limits: { cpu: "1", memory: "1Gi" } };
const entries = {
  format: 1 as const,
  sources: {
    full: fullEntry,
    ports: portEntry,
    bare: bareEntry,
    node: { ...portEntry, hostNetwork: true as const, digest: "node" },
    ";featureflag:a, team/b": { ...portEntry, digest: "flags" },
    "full;featureflag:a": { ...fullEntry, digest: "both" },
    "full;order:a": { ...fullEntry, digest: "order" },
  },
  inProcess: { variables: inProcessEntry, full: { ...inProcessEntry, digest: "other" } },
};

/** What a test says of a Pod; the rest is as of any Pod. */
interface Case {
  readonly spec?: Partial<PodSpec>;
  readonly metadata?: PodMetadata;
  /** The FeatureFlagSource; `full` unless it matters. */
  readonly source?: "full" | "ports" | "node";
}

const mirror = { "kubernetes.io/config.mirror": "4f5e" };
const cases: Readonly<Record<string, Case>> = {
  "a Pod of one container": {},
  "a Pod with a ServiceAccount": { spec: { serviceAccountName: "shop" } },
  "two containers": { spec: { containers: [app, { ...app, name: "second" }] } },
  "a name that the API server makes": { metadata: { generateName: "app-", labels: { app: "shop" } } },
  "an init container": { spec: { initContainers: [{ ...app, name: "migrate" }] } },
  "a mesh that leads": {
    spec: {
      initContainers: [
        { ...app, name: "istio-validation" },
        { ...app, name: "istio-init" },
        { ...app, name: "istio-proxy", restartPolicy: "Always" },
        { ...app, name: "migrate" },
      ],
    },
  },
  "init containers of a mesh alone": {
    spec: {
      initContainers: ["linkerd-init", "linkerd-network-validator", "linkerd-proxy"].map((name) => ({
        ...app,
        name,
      })),
    },
  },
  "a mesh that is not in front": {
    spec: { initContainers: ["first", "istio-init"].map((name) => ({ ...app, name })) },
  },
  "the class Guaranteed": { spec: { containers: [{ ...app, resources: whole }] } },
  "the class Guaranteed, in other words": {
    spec: {
      containers: [
        {
          ...app,
          resources: {
            limits: { cpu: "1000m", memory: "1Gi" },
            requests: { cpu: "1", memory: "1073741824" },
          },
        },
      ],
    },
  },
  "one container of two without limits": {
    spec: {
      containers: [
        { ...app, resources: whole },
        { ...app, name: "second" },
      ],
    },
  },
  "an init container without limits": {
    spec: { containers: [{ ...app, resources: whole }], initContainers: [{ ...app, name: "migrate" }] },
  },
  "requests below the limits": {
    spec: { containers: [{ ...app, resources: { ...whole, requests: { cpu: "500m" } } }] },
  },
  "a limit of nothing": {
    spec: { containers: [{ ...app, resources: { limits: { cpu: "0", memory: "1Gi" } } }] },
  },
  "resources of the whole Pod": { spec: { resources: { limits: { cpu: "1", memory: "32Mi" } } } },
  "requests of the whole Pod": {
    spec: {
      resources: { requests: { cpu: "10m" } },
      containers: [{ ...app, resources: { requests: { cpu: "10m" } } }],
    },
  },
  "variables that the application has": {
    spec: {
      containers: [
        {
          ...app,
          env: [
            { name: "FLAGD_HOST", value: "elsewhere" },
            { name: "OTHER", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          ],
        },
      ],
    },
  },
  "all variables": {
    spec: {
      containers: [
        { ...app, env: [...fullEntry.env, ...inProcessEntry.env.slice(1)].map(({ name }) => ({ name })) },
      ],
    },
  },
  "a mount at the same path": {
    spec: {
      volumes: [{ name: "own", emptyDir: {} }],
      containers: [
        {
          ...app,
          volumeMounts: [
            { name: "own", mountPath: "/run/openfeature" },
            { name: "own", mountPath: "/other", readOnly: true },
          ],
        },
      ],
    },
  },
  "a volume of the same name": {
    spec: {
      volumes: [
        { name: "bunting-socket", emptyDir: {} },
        { name: "config", configMap: { name: "c", defaultMode: 256 } },
      ],
    },
  },
  "Secrets for registries": { spec: { imagePullSecrets: [{ name: "own" }] } },
  "the same Secret": { spec: { imagePullSecrets: [{ name: "registry" }] } },
  "a port of its own": { spec: { containers: [{ ...app, ports: [{ containerPort: 8080, name: "http" }] }] } },
  "a port that the sidecar has not, because of its socket": {
    spec: { containers: [{ ...app, ports: [{ containerPort: 8013 }] }] },
  },
  "the sidecar's port by UDP": {
    spec: { containers: [{ ...app, ports: [{ containerPort: 8013, protocol: "UDP" }] }] },
    source: "ports",
  },
  "the sidecar's port": {
    spec: { containers: [{ ...app, ports: [{ containerPort: 8013 }] }] },
    source: "ports",
  },
  "the sidecar's port for OFREP": { spec: { containers: [{ ...app, ports: [{ containerPort: 8016 }] }] } },
  "the sidecar's port for synchronisation": {
    spec: { initContainers: [{ ...app, name: "early", ports: [{ containerPort: 8015 }] }] },
  },
  "the network of the node": { spec: { hostNetwork: true } },
  "the network of the node, and an entry for that": { spec: { hostNetwork: true }, source: "node" },
  "a port of the node that the sidecar has": {
    spec: { hostNetwork: true, containers: [{ ...app, ports: [{ containerPort: 8016 }] }] },
    source: "node",
  },
  Windows: { spec: { os: { name: "windows" } } },
  "nodes with Windows": { spec: { nodeSelector: { "kubernetes.io/os": "windows" } } },
  "nodes with Linux": { spec: { nodeSelector: { "kubernetes.io/os": "linux" }, os: { name: "linux" } } },
  "a container flagd of its own": { spec: { containers: [app, { ...app, name: "flagd" }] } },
  "an init container flagd of its own": {
    spec: { initContainers: [{ ...app, name: "flagd", restartPolicy: "Always" }] },
  },
  "a mark, and a container flagd between others": {
    spec: { initContainers: ["first", "flagd", "last"].map((name) => ({ ...app, name })) },
    metadata: { annotations: { "bunting.dev/injected": "policy old" } },
  },
  "the marks of a Pod that it was copied from": {
    metadata: {
      annotations: {
        "bunting.dev/injected": "webhook old",
        "bunting.dev/not-injected": "HostNetwork",
        other: "x",
      },
      labels: { "bunting.dev/agent": "old" },
    },
  },
  "volumes that its owner lets go": {
    metadata: { annotations: { [evictableVolumesAnnotation]: "scratch" } },
  },
  "an empty list of such volumes": { metadata: { annotations: { [evictableVolumesAnnotation]: "" } } },
  "a list that was copied from an injected Pod": {
    metadata: {
      annotations: { [evictableVolumesAnnotation]: "scratch,bunting-cache,bunting-socket,more" },
    },
  },
  "a Pod that mirrors a static one": { spec: { nodeName: "node" }, metadata: { annotations: mirror } },
};

/** A policy that adds a container, as meshes do: nobody says whether it comes before or after ours. */
function addingContainer(name: string): readonly PolicyObject[] {
  const apiVersion = "admissionregistration.k8s.io/v1";
  const resourceRules = [
    { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] },
  ];
  const expression = `object.spec.containers.exists(c, c.name == '${name}') ? [] : [JSONPatch{op: 'add',
    path: '/spec/containers/-', value: Object.spec.containers.item{name: '${name}', image: 'shop.example/app'}}]`;
  const mutations = [{ patchType: "JSONPatch", jsonPatch: { expression } }];
  const spec = {
    matchConstraints: { resourceRules },
    failurePolicy: "Fail",
    reinvocationPolicy: "IfNeeded",
    mutations,
  };
  return [
    { apiVersion, kind: "MutatingAdmissionPolicy", metadata: { name }, spec },
    { apiVersion, kind: "MutatingAdmissionPolicyBinding", metadata: { name }, spec: { policyName: name } },
  ];
}

/** The spec with lists whose order depends on what was lost in one order. */
function sorted({ volumes = [], ...spec }: PodSpec): PodSpec {
  const inOrder = (container: Container): Container => ({
    ...container,
    env: [...(container.env ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1)),
  });
  return {
    ...spec,
    volumes: [...volumes].sort((a, b) => (a.name < b.name ? -1 : 1)),
    containers: spec.containers.map(inOrder),
    initContainers: (spec.initContainers ?? []).map(inOrder),
  };
}

describe("injection by the API server's policy and by inject()", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let worlds: InjectionWorlds;
  let world: InjectionWorld;

  before(async () => {
    worlds = await InjectionWorlds.create(cluster());
    world = await worlds.world(entries);
  });
  after(() => worlds.policies.remove());

  /** The Pod with the annotations that ask for an entry. */
  function asking(annotation: string, text: string, { spec = {}, metadata = {} }: Case): PodManifest {
    const annotations = {
      ...metadata.annotations,
      "openfeature.dev/enabled": "true",
      [`openfeature.dev/${annotation}`]: text,
    };
    const name = metadata.generateName === undefined ? { name: "app" } : {};
    return {
      metadata: { ...name, ...metadata, annotations },
      spec: { containers: [app], ...spec },
    };
  }

  const admitted = (pod: PodManifest): PodManifest => admittedBy(pod, entries);
  /** Both ways make the same Pod, which is returned. */
  const expectEqualWays = (pod: PodManifest, where = world): Promise<PodManifest> =>
    equalWays(pod, entries, worlds, where);

  for (const [what, each] of Object.entries(cases)) {
    it(`makes the same of ${what}, and nothing more of the result`, async () => {
      for (const pod of [
        asking("featureflagsource", each.source ?? "full", each),
        asking("inprocessconfiguration", "variables", each),
      ]) {
        const made = await expectEqualWays(pod);
        expect(await expectEqualWays(made)).to.deep.equal(made);
        expect(admitted(made)).to.deep.equal(made);
      }
    });
  }

  it("makes the same of a Pod that names FeatureFlags, alone or beside a FeatureFlagSource", async () => {
    const digestOf = ({ metadata }: PodManifest): string | undefined =>
      metadata.annotations?.["bunting.dev/injected"];
    const alone = asking("featureflag", "a, team/b", {});
    const both = asking("featureflag", "a", {
      metadata: { annotations: { "openfeature.dev/featureflagsource": "full" } },
    });
    const before = asking("featureflag", "a, team/b", {
      metadata: { annotations: { "openfeature.dev/inprocessconfiguration": "full" } },
    });
    for (const [pod, digest] of [
      [alone, "flags"],
      [both, "both"],
      [before, "flags"],
    ] as const) {
      const made = await expectEqualWays(pod);
      expect(digestOf(made)).to.equal(`policy ${digest}`);
      expect(await expectEqualWays(made)).to.deep.equal(made);
    }
    const unknown = await expectEqualWays(asking("featureflag", "other", {}));
    expect(digestOf(unknown)).to.equal(undefined);
  });

  it("leaves a standing order by an older name to the webhook", async () => {
    for (const order of ["openfeature.io/standingorder", "openfeature.agent/standing-orders-resource"]) {
      const pod = asking("featureflagsource", "full", { metadata: { annotations: { [order]: "a" } } });
      const made = await worlds.create(world.injecting, pod);
      expect(made).to.deep.equal(await worlds.create(world.plain, pod));
      expect(admitted(pod).metadata.annotations?.["bunting.dev/injected"]).to.equal("policy order");
    }
  });

  it("mutates a Pod once, though the API server shows it to the policy again", async () => {
    const mutationsOf = async (pod: PodManifest): Promise<number> => {
      const before = await worlds.policies.mutations();
      await worlds.create(world.injecting, pod);
      return (await worlds.policies.mutations()) - before;
    };
    const init = ["istio-init", "migrate"].map((name) => ({ ...app, name }));
    const own = { ...app, env: [{ name: "FLAGD_HOST", value: "elsewhere" }] };
    for (const pod of [
      asking("featureflagsource", "full", {}),
      asking("featureflagsource", "full", { spec: { containers: [own], initContainers: init } }),
      asking("inprocessconfiguration", "variables", { spec: { containers: [own] } }),
    ])
      expect(await mutationsOf(pod)).to.equal(1);
    const made = await worlds.create(world.injecting, asking("featureflagsource", "full", {}));
    expect(await mutationsOf(made)).to.equal(0);
  });

  it("gives a Pod that was copied from an injected one whatever it has lost since", async () => {
    const { metadata, spec } = await expectEqualWays(
      asking("featureflagsource", "full", { spec: { initContainers: [{ ...app, name: "migrate" }] } }),
    );
    const without = (container: Container | undefined, field: "env" | "volumeMounts"): Container => ({
      ...app,
      ...container,
      [field]: [],
    });
    const { containers, initContainers = [] } = spec;
    const [sidecar, migrate] = initContainers;
    const losses: Readonly<Record<string, Partial<PodSpec>>> = {
      "a volume": { volumes: spec.volumes?.slice(0, 2) ?? [] },
      "a Secret": { imagePullSecrets: [] },
      "a variable": { containers: [{ ...without(containers[0], "env"), env: fullEntry.env.slice(1) }] },
      "a mount": { containers: [without(containers[0], "volumeMounts")] },
      "an init container's variables": {
        initContainers: [sidecar ?? app, without(migrate, "env")],
      },
      "an init container's mount": {
        initContainers: [sidecar ?? app, without(migrate, "volumeMounts")],
      },
      "the sidecar": { initContainers: [migrate ?? app] },
    };
    for (const [what, lost] of Object.entries(losses)) {
      const copy = { metadata, spec: { ...spec, ...lost } };
      // Without the policy, the API server refuses a Pod that mounts a volume which it has not.
      const completed = await worlds.create(world.injecting, copy);
      expect(sorted(completed.spec), what).to.deep.equal(sorted(spec));
      expect(await worlds.create(world.plain, admitted(copy)), what).to.deep.equal(completed);
    }
  });

  it("gives a Pod without a sidecar its variables in front of a container that is called as one", async () => {
    const names = ["istio-init", "migrate", "flagd"];
    const spec = { initContainers: names.map((name) => ({ ...app, name })) };
    const made = await expectEqualWays(asking("inprocessconfiguration", "variables", { spec }));
    const [mesh = app, migrate = app, flagd = app] = made.spec.initContainers ?? [];
    const lost = { ...made.spec, initContainers: [mesh, { ...migrate, env: [] }, flagd] };
    expect(await expectEqualWays({ ...made, spec: lost })).to.deep.equal(made);
  });

  const later: Container = { ...app, name: "later" };
  it("completes containers that came after the sidecar", async () => {
    const made = await expectEqualWays(asking("featureflagsource", "full", {}));
    const { containers, initContainers = [] } = made.spec;
    const mesh: Container = { ...app, name: "istio-proxy", restartPolicy: "Always" };
    const grown = {
      ...made,
      spec: {
        ...made.spec,
        containers: [later, ...containers],
        initContainers: [mesh, ...initContainers, { ...later, name: "last" }],
      },
    };
    const { spec } = await expectEqualWays(grown);
    const variables = [...(spec.initContainers ?? []), ...spec.containers].map(
      ({ name, env = [] }) => `${name} ${env.length}`,
    );
    expect(variables).to.deep.equal(["istio-proxy 0", "flagd 3", "last 4", "later 4", "app 4"]);
  });

  it("completes containers that others add after it, in the same request", async () => {
    const others = await InjectionWorlds.create(cluster());
    try {
      const { injecting } = await others.world(entries);
      for (const name of ["aa", "zz"])
        for (const object of addingContainer(name)) await others.policies.add(object);
      const pod = asking("featureflagsource", "full", {});
      const variablesOf = async (): Promise<Readonly<Record<string, number>>> => {
        const { containers } = (await others.create(injecting, pod)).spec;
        return Object.fromEntries(containers.map(({ name, env = [] }) => [name, env.length]));
      };
      const isAdded = async (): Promise<boolean> => Object.keys(await variablesOf()).length === 3;
      await eventually(isAdded, "others add their containers");
      expect(await variablesOf()).to.deep.equal({ app: 4, aa: 4, zz: 4 });
    } finally {
      await others.policies.remove();
    }
  });

  const large = (containers: number, variables: number): Case => {
    const env = Array.from({ length: variables }, (_, index) => ({ name: `V${index}` }));
    const names = Array.from({ length: containers }, (_, index) => `app-${index}`);
    return { spec: { containers: names.map((name) => ({ ...app, name, env })) } };
  };
  it("makes the same of a Pod that is larger than people write", async () => {
    const { spec } = await expectEqualWays(asking("featureflagsource", "full", large(40, 100)));
    expect(spec.containers.map(({ env = [] }) => env.length)).to.deep.equal(Array(40).fill(104));
  });

  it("does nothing by halves of a Pod that is too large to be checked, and leaves it to the webhook", async () => {
    const pod = asking("featureflagsource", "full", large(100, 1_000));
    const { injecting, plain } = world;
    expect(await worlds.create(injecting, pod)).to.deep.equal(await worlds.create(plain, pod));
  });

  it("leaves a Pod that asks for both to its FeatureFlagSource", async () => {
    const annotations = { "openfeature.dev/inprocessconfiguration": "full" };
    const made = await expectEqualWays(asking("featureflagsource", "full", { metadata: { annotations } }));
    expect(made.metadata.annotations?.["bunting.dev/injected"]).to.equal(`policy ${fullEntry.digest}`);
  });

  it("takes texts as they are", async () => {
    for (const text of ["", " full", "full,bare", "toString", "__proto__"]) {
      const made = await expectEqualWays(asking("featureflagsource", text, {}));
      expect(made.spec.initContainers).to.equal(undefined);
      expect(made.metadata.annotations).to.not.have.property("bunting.dev/injected");
    }
  });

  it("leaves Pods alone that are not enabled by the very word", async () => {
    for (const word of ["True", "yes", ""]) {
      const annotations = { "openfeature.dev/enabled": word, "openfeature.dev/featureflagsource": "full" };
      const pod = { metadata: { name: "app", annotations }, spec: { containers: [app] } };
      const { injecting, plain } = world;
      expect(await worlds.create(injecting, pod)).to.deep.equal(await worlds.create(plain, pod));
    }
  });

  it("makes Pods that a namespace of the standard `restricted` accepts", async () => {
    const restricted = await worlds.world(entries, { "pod-security.kubernetes.io/enforce": "restricted" });
    for (const [annotation, text] of [
      ["featureflagsource", "full"],
      ["inprocessconfiguration", "variables"],
    ] as const) {
      const made = await expectEqualWays(asking(annotation, text, { spec: restrictedSpec }), restricted);
      expect(made.metadata.annotations?.["bunting.dev/injected"]).to.match(/^policy /);
    }
  });

  it("leaves an Injection of another format to the webhook", async () => {
    const other = await worlds.world(entries);
    const pod = asking("featureflagsource", "full", {});
    const withFormat = async (format: number): Promise<void> => {
      await cluster().api.patch(
        `/apis/bunting.dev/v1alpha1/namespaces/${other.injecting}/injections/bunting`,
        { spec: { format } },
      );
    };
    const isInjected = async (): Promise<boolean> =>
      (await worlds.create(other.injecting, pod)).spec.initContainers !== undefined;
    expect(await isInjected()).to.equal(true);
    await withFormat(2);
    await eventually(async () => !(await isInjected()), "the policy skips the Injection");
    await withFormat(1);
    await eventually(isInjected, "the policy obeys the Injection");
  });

  it("obeys entries of an older and of a newer operator, side by side in one Injection", async () => {
    const older = fullEntry;
    const ours = { ...fullEntry, origin: "0123", hostNetwork: true as const };
    const newer = { ...ours, later: [{ field: "of which this policy knows nothing" }] };
    const mixed = await worlds.world({ ...entries, sources: { ours, older, newer } });
    const [now, ...others] = await Promise.all(
      ["ours", "older", "newer"].map((text) =>
        worlds.create(mixed.injecting, asking("featureflagsource", text, {})),
      ),
    );
    expect(now?.spec.initContainers?.map(({ name }) => name)).to.include("flagd");
    for (const { spec } of others) expect(spec).to.deep.equal(now?.spec);
  });

  for (const seed of modelSeeds(2)) {
    it(`makes the same of any Pod (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const seen = new Set<string>();
      for (let step = 0; step < 100; step++) {
        const [annotation, text] =
          random() < 0.8
            ? ["featureflagsource", ["full", "ports", "bare"][Math.floor(random() * 3)] ?? ""]
            : ["inprocessconfiguration", "variables"];
        const pod = asking(annotation, text, randomPod(random));
        const made = await expectEqualWays(pod).catch((error: unknown) => {
          throw new Error(`step ${step}: ${JSON.stringify(pod)}`, { cause: error });
        });
        expect(admitted(made), `step ${step}`).to.deep.equal(made);
        const { annotations = {} } = made.metadata;
        seen.add(annotations["bunting.dev/not-injected"] ?? annotations["bunting.dev/injected"] ?? "");
      }
      // The model is not one of Pods that are all left alone.
      expect([...seen].sort()).to.include.members([
        ...["HostNetwork", "OwnContainer", "PortTaken", "Windows", "webhook earlier"],
        ...[`policy ${fullEntry.digest}`, `policy ${portEntry.digest}`, `policy ${inProcessEntry.digest}`],
      ]);
    });
  }
});

import { openFeatureApiVersion, type Flagd, type FlagdSpec } from "@bunting/featureflags/resources";
import type { FeatureFlagSourceSpec } from "@bunting/featureflags/resources";
import { expect } from "chai";
import { planSources, type SourceRules } from "../../sources/source-plan.js";
import { flagdObjects, type FlagdObjects } from "./flagd-objects.js";
import type { FlagdSettings } from "./flagd-settings.js";

const settings: FlagdSettings = {
  image: "registry.example/flagd:v7",
  ports: { evaluation: 8013, ofrep: 8016, sync: 8015, management: 8014 },
  resources: { limits: { memory: "64Mi" } },
  pod: { labels: {}, annotations: {}, imagePullSecrets: [] },
};
const rules: SourceRules = {
  namespace: "shop",
  proxyAddress: "proxy:8015",
  providerKubernetes: "proxy",
  crossNamespace: "deny",
  defaults: {},
};
const labels = {
  app: "sample",
  "app.kubernetes.io/name": "sample",
  "app.kubernetes.io/managed-by": "open-feature-operator",
  "app.kubernetes.io/version": "v7",
};

interface Change {
  readonly spec?: Partial<FlagdSpec>;
  readonly source?: Partial<FeatureFlagSourceSpec>;
  readonly settings?: Partial<FlagdSettings>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly choosesUser?: boolean;
}

function objectsOf(change: Change = {}): FlagdObjects {
  const flagd: Flagd = {
    apiVersion: openFeatureApiVersion,
    kind: "Flagd",
    metadata: { name: "sample", namespace: "shop", uid: "u", annotations: change.annotations ?? {} },
    spec: { featureFlagSource: "end-to-end", ...change.spec },
  };
  const spec = { sources: [{ source: "flags", provider: "kubernetes" }], ...change.source };
  const metadata = { name: "end-to-end", namespace: "shop" };
  const source = { apiVersion: openFeatureApiVersion, kind: "FeatureFlagSource", metadata, spec } as const;
  const catalogue = { featureFlagSource: () => source, flagReaders: () => undefined };
  const planning = planSources("end-to-end", catalogue, rules);
  if (planning.kind === "refused") throw new Error(planning.problems[0]?.message);
  const { choosesUser = true } = change;
  return flagdObjects({
    flagd,
    plan: planning.plan,
    settings: { ...settings, ...change.settings },
    choosesUser,
  });
}

type Fields = Readonly<Record<string, unknown>>;
const specOf = (object: Fields): Fields => object["spec"] as Fields;

function templateOf(change?: Change): {
  readonly metadata: Fields;
  readonly spec: Fields & { readonly containers: readonly [Fields] };
} {
  return specOf(objectsOf(change).deployment)["template"] as ReturnType<typeof templateOf>;
}

const containerOf = (change?: Change): Fields => templateOf(change).spec.containers[0];

describe("the objects of a Flagd", () => {
  it("have its name, its labels and it as their owner", () => {
    const { deployment, service, ingress, route } = objectsOf();
    const owner = { apiVersion: openFeatureApiVersion, kind: "Flagd", name: "sample", uid: "u" };
    for (const { metadata } of [deployment, service, ingress.object, route.object])
      expect(metadata).to.deep.include({
        name: "sample",
        namespace: "shop",
        labels,
        ownerReferences: [owner],
      });
    expect(deployment.metadata.annotations).to.deep.equal({ "bunting.dev/replicas": "1" });
    for (const { metadata } of [service, ingress.object, route.object])
      expect(metadata).to.not.have.property("annotations");
  });

  it("have one replica, unless it says how many, and its ServiceAccount", () => {
    expect(specOf(objectsOf().deployment)).to.deep.include({
      replicas: 1,
      selector: { matchLabels: { app: "sample" } },
    });
    expect(specOf(objectsOf({ spec: { replicas: 3 } }).deployment)).to.include({ replicas: 3 });
    expect(templateOf().spec).to.not.have.any.keys("imagePullSecrets", "volumes");
    for (const spec of [{}, { serviceAccountName: "" }])
      expect(templateOf({ spec }).spec).to.include({ serviceAccountName: "", serviceAccount: "" });
    expect(templateOf({ spec: { serviceAccountName: "reader" } }).spec).to.include({
      serviceAccountName: "reader",
      serviceAccount: "reader",
    });
  });

  it("serve at the Service's ports, whatever those of sidecars are", () => {
    const change = { source: { port: 8888, managementPort: 9999, ofrepPort: 7777 } };
    const { ports, args, env, livenessProbe } = containerOf(change);
    expect(ports).to.deep.equal([
      { name: "management", containerPort: 8014, protocol: "TCP" },
      { name: "flagd", containerPort: 8013, protocol: "TCP" },
      { name: "ofrep", containerPort: 8016, protocol: "TCP" },
      { name: "sync", containerPort: 8015, protocol: "TCP" },
    ]);
    expect(args).to.deep.equal([
      ...["start", "--management-port", "8014", "--port", "8013", "--sources"],
      '[{"uri":"proxy:8015","provider":"grpc","selector":"core.openfeature.dev/shop/flags"}]',
      ...["--ofrep-port", "8016"],
    ]);
    expect(livenessProbe).to.have.nested.property("httpGet.port", 8014);
    // As upstream's own test has them; arguments win over variables.
    expect(env).to.deep.equal([
      { name: "FLAGD_MANAGEMENT_PORT", value: "9999" },
      { name: "FLAGD_PORT", value: "8888" },
      { name: "FLAGD_EVALUATOR", value: "json" },
      { name: "FLAGD_LOG_FORMAT", value: "json" },
      { name: "FLAGD_RESOLVER", value: "rpc" },
    ]);
  });

  it("serve at other ports if the operator says so", () => {
    const ports = { evaluation: 1, ofrep: 2, sync: 3, management: 4 };
    expect(containerOf({ settings: { ports } })["args"]).to.include.members(["--sync-port", "3"]);
    const service = specOf(objectsOf({ settings: { ports } }).service)["ports"] as readonly Fields[];
    expect(
      service.map(({ name, port, targetPort, appProtocol }) => [name, port, targetPort, appProtocol]),
    ).to.deep.equal([
      ["flagd", 1, 1, "grpc"],
      ["ofrep", 2, 2, "http"],
      ["sync", 3, 3, "grpc"],
      ["metrics", 4, 4, "http"],
    ]);
  });

  it("run a container, not a sidecar, that passes the Pod Security Standard", () => {
    const container = containerOf({ source: { envVars: [{ name: "A", value: "b" }] } });
    expect(container).to.include({ name: "flagd", image: "registry.example/flagd:v7" });
    expect(container).to.not.have.any.keys("restartPolicy", "volumeMounts");
    expect(container["resources"]).to.deep.equal({ limits: { memory: "64Mi" } });
    expect(container["securityContext"]).to.include({ runAsUser: 65532, readOnlyRootFilesystem: true });
    expect(containerOf({ choosesUser: false })["securityContext"]).to.not.have.property("runAsUser");
    expect(container["env"]).to.deep.include({ name: "FLAGD_A", value: "b" });
  });

  it("have what its source says of flagd's own settings", () => {
    const source = { keepAliveMinTime: "30s", debugLogging: true, probesEnabled: false };
    const container = containerOf({ source });
    expect(container["env"]).to.deep.include({ name: "FLAGD_KEEP_ALIVE_MIN_TIME", value: "30s" });
    expect(container["args"]).to.include("--debug");
    expect(container).to.not.have.any.keys("startupProbe", "readinessProbe", "livenessProbe");
  });

  it("have no socket, and say so", () => {
    const change = { source: { socketPath: "/run/openfeature/flagd.sock" } };
    expect(JSON.stringify(templateOf(change))).to.not.contain("flagd.sock");
    expect(objectsOf(change).problems.map(({ reason }) => reason)).to.deep.equal(["InvalidSetting"]);
  });

  it("have the files of its source, and no cache", () => {
    const change = { source: { sources: [{ source: "flags", provider: "file" }] } };
    const { volumes } = templateOf(change).spec;
    const name = (volumes as readonly { readonly name: string }[])[0]?.name;
    expect(name).to.match(/^bunting-flags-[0-9a-f]{16}$/);
    expect(volumes).to.deep.equal([{ name, configMap: { name: "flags", optional: true } }]);
    expect(containerOf(change)["volumeMounts"]).to.deep.equal([
      { name, mountPath: "/etc/flagd/shop_flags", readOnly: true },
    ]);
  });

  it("have the labels, annotations and secrets of all the operator's Pods, but select by their own", () => {
    const pod = {
      labels: { team: "flags", app: "other" },
      annotations: { a: "b" },
      imagePullSecrets: ["one"],
    };
    const { metadata, spec } = templateOf({ settings: { pod } });
    expect(metadata).to.deep.equal({ labels: { team: "flags", ...labels }, annotations: { a: "b" } });
    expect(spec).to.deep.include({ imagePullSecrets: [{ name: "one" }] });
  });

  it("have a Service of its type, with its annotations but those of tools", () => {
    const annotations = {
      "service.beta.kubernetes.io/aws-load-balancer-type": "nlb",
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
      "meta.helm.sh/release-name": "r",
      "argocd.argoproj.io/tracking-id": "t",
      "kustomize.toolkit.fluxcd.io/prune": "p",
    };
    const { service } = objectsOf({ annotations, spec: { serviceType: "LoadBalancer" } });
    expect(service.metadata.annotations).to.deep.equal({
      "service.beta.kubernetes.io/aws-load-balancer-type": "nlb",
    });
    expect(specOf(service)).to.deep.include({ type: "LoadBalancer", selector: { app: "sample" } });
    expect(specOf(objectsOf().service)).to.include({ type: "ClusterIP" });
  });

  it("have an Ingress if it is enabled, with three paths for each host", () => {
    expect(objectsOf().ingress.isWanted).to.equal(false);
    expect(objectsOf({ spec: { ingress: { hosts: ["a"] } } }).ingress.isWanted).to.equal(false);
    const tls = [{ hosts: ["a"], secretName: "s" }];
    const { ingress } = objectsOf({
      spec: {
        ingress: {
          enabled: true,
          hosts: ["a", "b"],
          annotations: { x: "y" },
          tls,
          ingressClassName: "nginx",
        },
      },
    });
    expect(ingress.isWanted).to.equal(true);
    expect(ingress.object.metadata.annotations).to.deep.equal({ x: "y" });
    const path = (value: string, number: number): object => ({
      path: value,
      pathType: "Prefix",
      backend: { service: { name: "sample", port: { number } } },
    });
    const paths = [
      path("/flagd.evaluation.v1.Service", 8013),
      path("/ofrep", 8016),
      path("/flagd.sync.v1.Service", 8015),
    ];
    expect(specOf(ingress.object)).to.deep.equal({
      ingressClassName: "nginx",
      tls,
      rules: [
        { host: "a", http: { paths } },
        { host: "b", http: { paths } },
      ],
    });
  });

  it("have an Ingress with the paths that it says", () => {
    const { ingress } = objectsOf({
      spec: {
        ingress: {
          ...{ enabled: true, hosts: ["a"], pathType: "ImplementationSpecific" },
          ...{ flagdPath: "/f", ofrepPath: "/o", syncPath: "/s" },
        },
      },
    });
    const [rule] = specOf(ingress.object)["rules"] as readonly { http: { paths: readonly Fields[] } }[];
    expect(rule?.http.paths.map(({ path, pathType }) => `${String(path)} ${String(pathType)}`)).to.deep.equal(
      ["/f ImplementationSpecific", "/o ImplementationSpecific", "/s ImplementationSpecific"],
    );
    expect(specOf(ingress.object)).to.not.have.any.keys("tls", "ingressClassName");
  });

  it("have an HTTPRoute if it is enabled", () => {
    expect(objectsOf({ spec: { gatewayApiRoutes: { parentRefs: [] } } }).route.isWanted).to.equal(false);
    const { route } = objectsOf({
      spec: {
        gatewayApiRoutes: {
          ...{ enabled: true, hosts: ["flags.example"], annotations: { x: "y" } },
          parentRefs: [{ name: "gateway", namespace: "edge" }],
        },
      },
    });
    expect(route.isWanted).to.equal(true);
    expect(route.object.metadata.annotations).to.deep.equal({ x: "y" });
    const { rules: routed, ...rest } = specOf(route.object);
    expect(rest).to.deep.equal({
      hostnames: ["flags.example"],
      parentRefs: [
        { group: "gateway.networking.k8s.io", kind: "Gateway", name: "gateway", namespace: "edge" },
      ],
    });
    const rule = (value: string, port: number): object => ({
      matches: [{ path: { type: "PathPrefix", value } }],
      backendRefs: [{ group: "", kind: "Service", name: "sample", namespace: "shop", port, weight: 1 }],
    });
    expect(routed).to.deep.equal([
      rule("/ofrep", 8016),
      rule("/flagd.evaluation.v1.Service", 8013),
      rule("/flagd.sync.v1.Service", 8015),
    ]);
  });

  describe("with a podTemplate", () => {
    const podTemplate = {
      labels: { team: "flags", app: "other" },
      annotations: { "example.org/cost": "7" },
      nodeSelector: { pool: "system" },
      affinity: { podAntiAffinity: {} },
      tolerations: [{ key: "system", operator: "Exists" }],
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" },
        { maxSkew: 2, labelSelector: { matchLabels: { a: "b" } } },
      ],
      resources: { requests: { cpu: "250m" }, limits: { memory: "128Mi" } },
      priorityClassName: "system-cluster-critical",
    };

    it("have Pods with its fields, which the Service finds all the same", () => {
      const { metadata, spec } = templateOf({ spec: { podTemplate } });
      expect(metadata["labels"]).to.deep.equal({ team: "flags", ...labels });
      expect(metadata["annotations"]).to.deep.equal(podTemplate.annotations);
      const { nodeSelector, affinity, tolerations, priorityClassName } = podTemplate;
      expect(spec).to.deep.include({ nodeSelector, affinity, tolerations, priorityClassName });
      const [first, second] = spec["topologySpreadConstraints"] as [Fields, Fields];
      expect(first["labelSelector"]).to.deep.equal({ matchLabels: { app: "sample" } });
      expect(second["labelSelector"]).to.deep.equal({ matchLabels: { a: "b" } });
    });

    it("have its resources in place of the source's, mended in the same way", () => {
      const source = { resources: { limits: { memory: "1Gi" } } };
      expect(containerOf({ spec: { podTemplate }, source })["resources"]).to.deep.equal(
        podTemplate.resources,
      );
      const resources = { limits: { memory: "much" } };
      expect(objectsOf({ spec: { podTemplate: { resources } } }).problems[0]?.message).to.include("much");
    });

    it("stay the same with one that is empty", () => {
      expect(objectsOf({ spec: { podTemplate: {} } })).to.deep.equal(objectsOf());
    });
  });

  it("have the annotations of the Service on the Service alone, before those of the Flagd", () => {
    const annotations = { "example.org/lb": "external", "example.org/other": "x" };
    const serviceAnnotations = { "example.org/lb": "internal" };
    const { service, deployment } = objectsOf({ annotations, spec: { serviceAnnotations } });
    expect(service.metadata.annotations).to.deep.equal({ ...annotations, ...serviceAnnotations });
    expect(deployment.metadata.annotations).to.not.have.property("example.org/lb");
  });

  describe("with autoscaling", () => {
    const scaled = (autoscaling: NonNullable<FlagdSpec["autoscaling"]>, replicas?: number): FlagdObjects =>
      objectsOf({ spec: { autoscaling, ...(replicas === undefined ? {} : { replicas }) } });
    const metricsOf = ({ autoscaler }: FlagdObjects): unknown => specOf(autoscaler.object)["metrics"];
    const resource = (name: string, averageUtilization: number): object => ({
      type: "Resource",
      resource: { name, target: { type: "Utilization", averageUtilization } },
    });

    it("have an autoscaler of the Deployment, which goes by 80 % of the CPU unless told otherwise", () => {
      const objects = scaled({ maxReplicas: 5 });
      expect(objects.autoscaler.isWanted).to.equal(true);
      expect(specOf(objects.autoscaler.object)).to.deep.include({
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "sample" },
        minReplicas: 1,
        maxReplicas: 5,
      });
      expect(metricsOf(objects)).to.deep.equal([resource("cpu", 80)]);
      const memory = { maxReplicas: 5, targetMemoryUtilizationPercentage: 70 };
      expect(metricsOf(scaled(memory))).to.deep.equal([resource("memory", 70)]);
      expect(metricsOf(scaled({ ...memory, targetCPUUtilizationPercentage: 60 }))).to.deep.equal([
        resource("cpu", 60),
        resource("memory", 70),
      ]);
      expect(objectsOf().autoscaler.isWanted).to.equal(false);
    });

    it("begin with the replicas of the Flagd, within the autoscaler's bounds", () => {
      const replicasOf = (min: number, max: number, replicas?: number): unknown =>
        specOf(scaled({ minReplicas: min, maxReplicas: max }, replicas).deployment)["replicas"];
      expect(replicasOf(2, 5)).to.equal(2);
      expect(replicasOf(2, 5, 4)).to.equal(4);
      expect(replicasOf(2, 5, 9)).to.equal(5);
    });

    it("ask for no other number when the bounds change", () => {
      const annotationsOf = (max: number): unknown =>
        scaled({ maxReplicas: max }).deployment.metadata.annotations;
      expect(annotationsOf(3)).to.deep.equal(annotationsOf(4));
      expect(annotationsOf(3)).to.not.deep.equal(objectsOf().deployment.metadata.annotations);
    });
  });
});

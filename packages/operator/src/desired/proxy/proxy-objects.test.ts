import { readFileSync } from "node:fs";
import path from "node:path";
import { baseManifest } from "@bunting/test/support/base-manifest.js";
import { expect } from "chai";
import type { DesiredObject } from "../desired-object.js";
import { proxyObjects } from "./proxy-objects.js";
import type { ProxySettings } from "./proxy-settings.js";

const root = path.join(import.meta.dirname, "../../../../..");

const settings: ProxySettings = {
  namespace: "flags",
  image: "registry.example/proxy:v7",
  replicas: 2,
  ports: { sync: 8015, management: 8016 },
  debugLogging: false,
  options: {},
  pod: {
    serviceAccountName: "open-feature-operator-flagd-proxy",
    labels: {},
    annotations: {},
    imagePullSecrets: [],
  },
  tellsAgents: false,
  hasNetworkPolicy: true,
};
const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "operator", uid: "u" };

type Spec = Readonly<Record<string, unknown>>;

/** By kind. */
function objectsOf(
  change: Partial<ProxySettings> = {},
  annotations = {},
): Readonly<Record<string, DesiredObject & { readonly spec: Spec }>> {
  const image = change.image ?? settings.image;
  const { deployment, others } = proxyObjects({ ...settings, ...change }, { image, annotations }, owner);
  return Object.fromEntries(
    [deployment, ...others].map((object) => [object.kind, object as DesiredObject & { spec: Spec }]),
  );
}

function podOf(change: Partial<ProxySettings> = {}): {
  readonly metadata: { readonly labels: object; readonly annotations?: object };
  readonly spec: Spec & { readonly containers: readonly [Spec] };
} {
  return objectsOf(change)["Deployment"]?.spec["template"] as ReturnType<typeof podOf>;
}

const argumentsOf = (change: Partial<ProxySettings>): unknown => podOf(change).spec.containers[0]["args"];

/** With the names of ports and labels that the open-feature-operator's objects have. */
function withStockNames(spec: unknown): unknown {
  return JSON.parse(
    JSON.stringify(spec)
      .replaceAll('"app.kubernetes.io/name":"bunting-proxy"', JSON.stringify(selector).slice(1, -1))
      .replaceAll('"port":"sync"', '"port":"port"')
      .replaceAll('"port":"management"', '"port":"management-port"')
      .replaceAll('"name":"sync"', '"name":"port","protocol":"TCP"')
      .replaceAll('"name":"management"', '"name":"management-port","protocol":"TCP"')
      .replaceAll('"name":"proxy"', '"imagePullPolicy":"IfNotPresent","name":"flagd-proxy"'),
  ) as unknown;
}

const selector = {
  "app.kubernetes.io/name": "flagd-proxy",
  "app.kubernetes.io/managed-by": "open-feature-operator",
};

describe("the objects of the proxy", () => {
  it("give the proxy the tokens of those who may ask for agents, which it can do without", () => {
    const { spec } = podOf({ tellsAgents: true });
    const [container] = spec.containers;
    expect(container["env"]).to.deep.equal([
      { name: "BUNTING_STATUS_TOKEN_FILE", value: "/var/run/secrets/bunting.dev/status/tokens" },
    ]);
    const [{ name, ...mount }] = container["volumeMounts"] as [{ name: string }];
    expect(mount).to.deep.equal({ mountPath: "/var/run/secrets/bunting.dev/status", readOnly: true });
    expect(spec["volumes"]).to.deep.equal([
      { name, secret: { secretName: "flagd-proxy-status", optional: true } },
    ]);
    expect(
      argumentsOf({ tellsAgents: true }),
      "arguments are those of the open-feature-operator",
    ).to.deep.equal(argumentsOf({}));
  });

  it("give the proxy the address of Redis, and the files of its Secret that it is to have", () => {
    const { spec } = podOf({ redis: { name: "redis", files: ["password", "ca.crt"] }, tellsAgents: true });
    const [container] = spec.containers;
    const directory = "/etc/bunting/backplane";
    expect((container["env"] as object[]).slice(1)).to.deep.equal([
      { name: "BUNTING_BACKPLANE", valueFrom: { secretKeyRef: { name: "redis", key: "address" } } },
      { name: "BUNTING_BACKPLANE_PASSWORD_FILE", value: `${directory}/password` },
      { name: "BUNTING_BACKPLANE_CA_FILE", value: `${directory}/ca.crt` },
    ]);
    const items = ["password", "ca.crt"].map((key) => ({ key, path: key }));
    expect((spec["volumes"] as object[]).slice(1)).to.deep.equal([
      { name: "redis", secret: { secretName: "redis", items } },
    ]);
    expect((container["volumeMounts"] as object[]).slice(1)).to.deep.equal([
      { name: "redis", mountPath: directory, readOnly: true },
    ]);
    expect(container["args"]).to.deep.equal(argumentsOf({}));
  });

  it("leave the user to OpenShift, which refuses Pods that name one", () => {
    const securityOf = (change: Partial<ProxySettings>): unknown => podOf(change).spec["securityContext"];
    expect(securityOf({})).to.include({ runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532 });
    expect(securityOf({ choosesUser: false })).to.deep.equal({
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
  });

  it("serve plaintext as before unless they are told whom to serve", () => {
    expect(podOf({ access: "plain", authorizesAll: true })).to.deep.equal(podOf());
  });

  it("serve TLS and tokens beside all others, or alone, and say on each Pod which", () => {
    const files = ["--tls-cert-path=/etc/bunting/tls/tls.crt", "--tls-key-path=/etc/bunting/tls/tls.key"];
    const plain = argumentsOf({}) as string[];
    const both = podOf({ access: "both" });
    expect(both.metadata.annotations).to.deep.equal({ "bunting.dev/proxy-access": "both" });
    expect(argumentsOf({ access: "both" })).to.deep.equal([
      ...plain,
      "--tls=both",
      ...files,
      "--auth=optional",
    ]);
    const secured = podOf({ access: "secured" });
    expect(secured.metadata.annotations).to.deep.equal({ "bunting.dev/proxy-access": "secured" });
    expect(argumentsOf({ access: "secured" })).to.deep.equal([
      ...plain,
      "--tls=on",
      ...files,
      "--auth=token",
    ]);
    const items = ["tls.crt", "tls.key"].map((key) => ({ key, path: key }));
    expect(both.spec["volumes"]).to.deep.equal([
      { name: "tls", secret: { secretName: "flagd-proxy-tls", items } },
    ]);
    expect(both.spec.containers[0]["volumeMounts"]).to.deep.equal([
      { name: "tls", mountPath: "/etc/bunting/tls", readOnly: true },
    ]);
  });

  it("let callers with a token read all where sidecars are given FeatureFlags that nobody has shared", () => {
    const lastOf = (change: Partial<ProxySettings>): unknown => (argumentsOf(change) as string[]).at(-1);
    expect(lastOf({ access: "both", authorizesAll: true })).to.equal("--authorize=all");
    const options = { authorize: "rbac" };
    expect(lastOf({ access: "both", authorizesAll: true, options })).to.equal("--authorize=rbac");
    expect(argumentsOf({ access: "both", authorizesAll: true, options })).to.not.include("--authorize=all");
  });

  it("have no volume for a Redis that wants no more than its address", () => {
    const { spec } = podOf({ redis: { name: "redis", files: [] } });
    expect(spec).to.not.have.property("volumes");
    expect(spec.containers[0]["env"]).to.have.lengthOf(1);
    expect(spec.containers[0]).to.not.have.property("volumeMounts");
  });

  it("have the names, labels and selectors of the open-feature-operator's", () => {
    const fixture = path.join(root, "test/fixtures/stock-operator/proxy-objects-managed-fields.json");
    const { items } = JSON.parse(readFileSync(fixture, "utf8")) as { items: readonly DesiredObject[] };
    expect(items.map(({ kind }) => kind)).to.deep.equal(["Deployment", "Service", "PodDisruptionBudget"]);
    for (const stock of items) {
      const ours = objectsOf({ image: "registry.example/proxy:v0.9.4" })[stock.kind];
      const [stockSpec, spec] = [stock["spec"] as Spec, ours?.spec ?? {}];
      expect(ours?.apiVersion).to.equal(stock.apiVersion);
      expect(ours?.metadata.name).to.equal(stock.metadata.name);
      expect(ours?.metadata.labels).to.deep.equal(stock.metadata.labels);
      expect(spec["selector"]).to.deep.equal(stockSpec["selector"]);
      expect(spec["ports"]).to.deep.equal(stockSpec["ports"]);
      const [stockPod, pod] = [stockSpec["template"], spec["template"]] as ReturnType<typeof podOf>[];
      expect(pod?.metadata.labels).to.deep.equal(stockPod?.metadata.labels);
      for (const field of ["name", "args", "ports"])
        expect(pod?.spec.containers[0][field]).to.deep.equal(stockPod?.spec.containers[0][field]);
      expect(pod?.spec["serviceAccountName"]).to.equal(stockPod?.spec["serviceAccountName"]);
    }
  });

  it("belong to the operator's Deployment, in its namespace", () => {
    const objects = Object.values(objectsOf());
    expect(objects).to.have.lengthOf(4);
    for (const { metadata } of objects)
      expect(metadata).to.deep.include({ namespace: "flags", ownerReferences: [owner] });
    const { deployment } = proxyObjects(settings, { image: "p", annotations: {} }, undefined);
    expect(deployment.metadata).to.not.have.property("ownerReferences");
  });

  it("have Pods as those of the Helm chart and of deploy/kustomize", () => {
    const chart = withStockNames(baseManifest("deployment.yaml").spec) as ReturnType<typeof podOf> & Spec;
    const { template, strategy, replicas } = chart as unknown as Readonly<Record<string, unknown>>;
    const pod = (template as ReturnType<typeof podOf>).spec;
    const [container] = pod.containers;
    const ours = podOf();
    const [ourContainer] = ours.spec.containers;
    // Which image, what the arguments are and whose token it has is decided elsewhere.
    const deciding = { image: container["image"], args: container["args"] };
    expect({ ...ourContainer, ...deciding }).to.deep.equal(container);
    const { serviceAccountName } = pod;
    expect({ ...ours.spec, serviceAccountName, containers: [] }).to.deep.equal({ ...pod, containers: [] });
    expect(objectsOf()["Deployment"]?.spec).to.deep.include({ strategy, replicas });
  });

  it("let in and out what those of deploy/kustomize do, and the operator to the metrics", () => {
    const expected = withStockNames(baseManifest("network-policy.yaml").spec) as {
      readonly ingress: readonly { readonly from: object[] }[];
    };
    expected.ingress[1]?.from.push({
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "flags" } },
    });
    const spec = objectsOf()["NetworkPolicy"]?.spec;
    expect(spec).to.deep.equal(expected);
    expect((spec as { egress: unknown }).egress).to.deep.include({
      ports: [443, 6443, 8443, 16443].map((number) => ({ port: number, protocol: "TCP" })),
    });
  });

  it("let in everybody where sidecars are in Pods with addresses of nodes, which are of no namespace", () => {
    const [sync, management] = objectsOf({ hasNodeClients: true })["NetworkPolicy"]?.spec[
      "ingress"
    ] as object[];
    expect(sync).to.deep.equal({ ports: [{ port: "port", protocol: "TCP" }] });
    const [, asBefore] = objectsOf()["NetworkPolicy"]?.spec["ingress"] as object[];
    expect(management).to.deep.equal(asBefore);
  });

  it("let the operator ask for agents where it has the address of a node", () => {
    const [sync, management] = objectsOf({ isOnNode: true })["NetworkPolicy"]?.spec["ingress"] as object[];
    expect(management).to.deep.equal({ ports: [{ port: "management-port", protocol: "TCP" }] });
    const [asBefore] = objectsOf()["NetworkPolicy"]?.spec["ingress"] as object[];
    expect(sync).to.deep.equal(asBefore);
  });

  it("leave the way out open where options name others to call", () => {
    for (const change of [
      { options: { backplane: "redis://r:6379/0" } },
      { options: { source: "upstream:other:8015" } },
      { options: { "remote-hosts": "flags.example.com" } },
      { redis: { name: "redis", files: [] } },
    ]) {
      const spec = objectsOf(change)["NetworkPolicy"]?.spec;
      expect(spec).to.deep.include({ policyTypes: ["Ingress"] });
      expect(spec).to.not.have.property("egress");
    }
  });

  it("have no NetworkPolicy where none is asked for, and say which that would be", () => {
    const change = { ...settings, hasNetworkPolicy: false };
    const { others, unwanted } = proxyObjects(change, { image: "p", annotations: {} }, owner);
    expect(others.map(({ kind }) => kind)).to.deep.equal(["Service", "PodDisruptionBudget"]);
    expect(unwanted.map(({ kind, metadata: { name } }) => `${kind} ${name}`)).to.deep.equal([
      "NetworkPolicy flagd-proxy",
    ]);
    expect(proxyObjects(settings, { image: "p", annotations: {} }, owner).unwanted).to.deep.equal([]);
  });

  it("pass on the ports, in arguments only where they are not the proxy's own", () => {
    const ports = { sync: 9015, management: 9016 };
    expect(argumentsOf({ ports })).to.deep.equal(["start", "--management-port", "9016", "--port", "9015"]);
    expect(podOf({ ports }).spec.containers[0]["ports"]).to.deep.equal([
      { name: "port", containerPort: 9015, protocol: "TCP" },
      { name: "management-port", containerPort: 9016, protocol: "TCP" },
    ]);
    expect(objectsOf({ ports })["Service"]?.spec["ports"]).to.deep.equal([
      { name: "flagd-proxy", port: 9015, targetPort: 9015, protocol: "TCP", appProtocol: "grpc" },
    ]);
  });

  it("pass on debug and further options, in the order of their names", () => {
    const options = { "log-format": "json", "deletion-policy": "empty" };
    expect(argumentsOf({ debugLogging: true, options })).to.deep.equal([
      ...["start", "--management-port", "8016", "--debug"],
      ...["--deletion-policy=empty", "--log-format=json"],
    ]);
  });

  it("have as much time to end as the options for that take", () => {
    const graceOf = (options: Readonly<Record<string, string>>): unknown =>
      podOf({ options }).spec["terminationGracePeriodSeconds"];
    expect(graceOf({})).to.equal(15);
    expect(graceOf({ "drain-delay": "0", "drain-window": "1m500ms" })).to.equal(68);
    expect(() => graceOf({ "drain-delay": "soon" })).to.throw("expected a duration");
  });

  it("have the labels, annotations and secrets of all the operator's Pods, but select by their own", () => {
    const pod = podOf({
      pod: {
        serviceAccountName: "proxy",
        labels: { team: "flags", app: "other", "app.kubernetes.io/name": "other" },
        annotations: { "example.org/a": "b" },
        imagePullSecrets: ["one", "two"],
      },
    });
    expect(pod.metadata).to.deep.equal({
      labels: { team: "flags", app: "flagd-proxy", ...selector, "app.kubernetes.io/version": "v7" },
      annotations: { "example.org/a": "b" },
    });
    expect(pod.spec).to.deep.include({
      serviceAccountName: "proxy",
      imagePullSecrets: [{ name: "one" }, { name: "two" }],
    });
  });

  it("keep half of the replicas while nodes are drained, and no node where others have scaled it to a single one", () => {
    const spec = objectsOf()["PodDisruptionBudget"]?.spec;
    // Kubernetes rounds it up: of one replica one may go, of five three.
    expect(spec).to.include({ maxUnavailable: "50%", minAvailable: null });
    expect(objectsOf({ replicas: 5 })["PodDisruptionBudget"]?.spec).to.deep.equal(spec);
  });

  it("tell service meshes that calls are gRPC where they are plaintext, TLS where nothing else is served, and nothing where both are", () => {
    const told = (["plain", "both", "secured"] as const).map((access) => {
      const [port] = objectsOf({ access })["Service"]?.spec["ports"] as readonly [Spec];
      return port["appProtocol"];
    });
    expect(told).to.deep.equal(["grpc", undefined, "https"]);
  });

  it("have the annotations of the rollout, if there are some", () => {
    const annotations = { "bunting.dev/available-image": "p:1" };
    expect(objectsOf({}, annotations)["Deployment"]?.metadata.annotations).to.deep.equal(annotations);
    expect(objectsOf()["Deployment"]?.metadata).to.not.have.property("annotations");
  });
});

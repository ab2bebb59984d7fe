import { X509Certificate } from "node:crypto";
import type { KubeObject } from "@bunting/kube";
import { injectionType } from "@bunting/operator/internal/api/injection.js";
import { operatorOptionTable } from "@bunting/operator/internal/options.js";
import type { SecurityTarget } from "@bunting/operator/internal/desired/proxy-security/security-state.js";
import { proxySecurityArguments } from "@bunting/operator/internal/desired/proxy-security/proxy-tls.js";
import { readSecurity } from "@bunting/operator/internal/controllers/security/stored-security.js";
import * as operatorParts from "@bunting/operator/internal/wiring/operator-parts.js";
import type { OperatorWiring } from "@bunting/operator/internal/wiring/operator-wiring.js";
import { proxySecurity, type ProxySecurity } from "@bunting/operator/internal/wiring/proxy-security.js";
import { readOptions, runComponents } from "@bunting/runtime";
import { expect } from "chai";
import { proxySources, startAgent, type AgentProcess } from "../support/agent-process.js";
import { ClockOfToday } from "../support/clock-of-today.js";
import { eventually, lookMs, patienceMs } from "../support/event-queue.js";
import { freePort } from "../support/free-port.js";
import { startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";
import { OperatorWorld } from "./support/operator-world.js";
import { sharedCluster } from "./support/use-cluster.js";

const configMaps = { group: "", version: "v1", plural: "configmaps" };
const secrets = { group: "", version: "v1", plural: "secrets" };
const pods = { group: "", version: "v1", plural: "pods" };

const dataOf = (object: KubeObject): Readonly<Record<string, string>> =>
  (object as { readonly data?: Readonly<Record<string, string>> }).data ?? {};

describe("the security of the operator's proxy on a real API server", function () {
  this.timeout(240_000);
  const cluster = sharedCluster();
  let world: OperatorWorld;
  let clock: ClockOfToday;
  let security: ProxySecurity;
  let stop: AbortController;
  let running: Promise<unknown>;

  beforeEach(async () => {
    world = await OperatorWorld.start(cluster());
    clock = new ClockOfToday();
  });

  afterEach(async () => {
    stop.abort();
    await running;
    await world.stop();
  });

  async function lead(target: SecurityTarget, ...further: readonly string[]): Promise<void> {
    const { namespace, connected, watches, logger, metrics } = world;
    const argv = [`--namespace=${namespace}`, `--proxy-security=${target}`, ...further];
    const { options } = await readOptions(operatorOptionTable, { argv, env: {}, readsConfig: false });
    const context = { clock, logger, metrics };
    const wiring: OperatorWiring = {
      ...{ options, parts: operatorParts, context, watches, cluster: connected, instance: "operator-1" },
      // Pods and Injections of other tests are not looked at.
      served: [namespace],
    };
    security = proxySecurity(wiring, world.events);
    security.maps.asks(namespace, true);
    security.maps.complete();
    stop = new AbortController();
    const { signal } = stop;
    running = runComponents(security.leading(), signal, { stopTimeoutMs: 5_000 });
  }

  /** Time goes on until the state is so. */
  async function until(
    isSo: (data: ReturnType<typeof readSecurity>) => boolean,
    what: string,
  ): Promise<void> {
    const isMet = (object: KubeObject): boolean => isSo(readSecurity(object));
    await world.until(configMaps, "bunting-proxy-security", isMet, what, () => clock.advance(2_000));
  }

  function createPod(name: string, container: object, metadata: object = {}): Promise<KubeObject> {
    const { namespace, connected, signal } = world;
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { ...metadata, name, namespace },
      spec: { containers: [{ name: "flagd", image: "agent:1", ...container }] },
    };
    return connected.client.create({ type: pods, namespace }, pod, signal);
  }

  it("makes what sidecars verify the proxy by, has it serve both, and serve them alone when the last plain Pod is gone", async () => {
    const { namespace, connected, signal } = world;
    const args = ["start", `--uri=flagd-proxy-svc.${namespace}.svc.cluster.local:8015`];
    await createPod("old", { args });
    await lead("on");
    await until((of) => of?.waitsFor.includes(`${namespace}/old`) === true, "the plain Pod is named");
    expect(security.access()).to.equal("both");
    const secret = await world.until(secrets, "flagd-proxy-tls", () => true, "there is a certificate");
    const authority = await world.until(configMaps, "bunting-ca", () => true, "there is an authority");
    const leaf = new X509Certificate(Buffer.from(dataOf(secret)["tls.crt"] ?? "", "base64"));
    const issuer = new X509Certificate(dataOf(authority)["ca.crt"] ?? "");
    expect(leaf.verify(issuer.publicKey)).to.equal(true);
    expect(leaf.checkHost(`flagd-proxy-svc.${namespace}.svc.cluster.local`)).to.be.a("string");
    await connected.client.delete({ type: pods, namespace, name: "old" }, signal, {
      query: { gracePeriodSeconds: 0 },
    });
    await until((of) => of?.state === "closing" || of?.state === "on", "the proxy is closed");
    await until((of) => of?.state === "on" && security.access() === "secured", "the proxy is secured");
  });

  it("waits for an Injection that gives new Pods what they had before, and puts the authority back where others delete it", async () => {
    const { namespace, connected, signal } = world;
    const args = ["start", "--uri=flagd-proxy-svc.flags:8015"];
    const entry = { digest: "a", revision: "1", volumes: [], env: [], mounts: [], imagePullSecrets: [] };
    const injection = {
      apiVersion: "bunting.dev/v1alpha1",
      kind: "Injection",
      metadata: { name: "bunting", namespace },
      spec: {
        format: 1,
        sources: { flags: { ...entry, annotations: {}, container: { name: "flagd", args } } },
      },
    };
    await connected.client.create({ type: injectionType, namespace }, injection, signal);
    await lead("on");
    await until((of) => of?.waitsFor.includes("Injections") === true, "it waits for Injections");
    const { metadata } = await world.until(configMaps, "bunting-ca", () => true, "there is an authority");
    await connected.client.delete({ type: configMaps, namespace, name: "bunting-ca" }, signal);
    const isAnother = (of: KubeObject): boolean => of.metadata.uid !== metadata.uid;
    await world.until(configMaps, "bunting-ca", isAnother, "there is another one");
    await connected.client.delete({ type: injectionType, namespace, name: "bunting" }, signal);
    await until((of) => of?.state === "on", "the proxy is secured");
  });

  it("goes on without a tenant who keeps a plain Pod for ever, once its namespace is excepted", async () => {
    const { namespace } = world;
    await createPod("for-ever", { args: ["start", `--uri=flagd-proxy-svc.${namespace}:8015`] });
    await lead("on");
    await until((of) => of?.waitsFor.includes(`${namespace}/for-ever`) === true, "the Pod is named");
    stop.abort();
    await running;
    await lead("on", `--proxy-security-except=${namespace}`);
    await until((of) => of?.state === "on", "the proxy is secured");
  });

  it("waits for no Pod that was deleted before it had a node, though a tenant's finalizer keeps it", async () => {
    const { namespace, connected, signal } = world;
    const args = ["start", `--uri=flagd-proxy-svc.${namespace}:8015`];
    await createPod("kept", { args }, { finalizers: ["tenant.example/never"] });
    await connected.client.delete({ type: pods, namespace, name: "kept" }, signal);
    expect((await world.find(pods, "kept"))?.metadata["deletionTimestamp"]).to.be.a("string");
    try {
      await lead("on");
      await until((of) => of?.state === "on", "the proxy is secured");
    } finally {
      await world.edit(pods, "kept", { metadata: { finalizers: null } });
    }
  });

  it("puts right what a tenant forges, also what can't be changed, and takes nothing from it for others", async () => {
    const { connected, signal } = world;
    const { client } = connected;
    const tenant = await cluster().createNamespace();
    const inTenant = async (name: string): Promise<KubeObject | undefined> =>
      client.get({ type: configMaps, namespace: tenant, name }, signal).catch(() => undefined);
    const forged = { "ca.crt": "-----BEGIN CERTIFICATE-----\nforged\n-----END CERTIFICATE-----\n" };
    await client.create(
      { type: configMaps, namespace: tenant },
      { metadata: { name: "bunting-ca" }, data: forged, immutable: true },
      signal,
    );
    for (const name of ["bunting-proxy-ca", "flagd-proxy-tls"])
      await client.create(
        { type: secrets, namespace: tenant },
        { metadata: { name }, data: { "tls.crt": "eA==", authorities: "eA==" } },
        signal,
      );
    await lead("mixed");
    security.maps.asks(tenant, true);
    await until((of) => of?.state === "mixed", "nobody waits for the tenant");
    const ours = await world.until(configMaps, "bunting-ca", () => true, "there is an authority");
    const isRight = async (): Promise<boolean> => {
      clock.advance(1_000);
      const found = await inTenant("bunting-ca");
      return found !== undefined && dataOf(found)["ca.crt"] === dataOf(ours)["ca.crt"];
    };
    await eventually(isRight, "the tenant's is right", patienceMs, lookMs);
    for (const patch of [
      { data: forged },
      { metadata: { labels: null }, data: forged },
      { data: forged, immutable: true },
    ]) {
      await client.patch({ type: configMaps, namespace: tenant, name: "bunting-ca" }, "merge", patch, signal);
      await eventually(isRight, `${JSON.stringify(patch)} is put right`, patienceMs, lookMs);
    }
    expect(dataOf((await world.find(configMaps, "bunting-ca")) ?? ours)).to.deep.equal(dataOf(ours));
  });

  it("lets sidecars read before, during and after the change by what it makes, and plain ones until it is closed", async () => {
    const { namespace } = world;
    const files = new TempDirectory();
    const started: { readonly process: ServiceProcess }[] = [];
    try {
      const old = await createPod("old", { args: ["start", `--uri=flagd-proxy-svc.${namespace}:8015`] });
      await lead("on");
      const secret = await world.until(secrets, "flagd-proxy-tls", () => true, "there is a certificate");
      const authority = await world.until(configMaps, "bunting-ca", () => true, "there is an authority");
      for (const name of ["tls.crt", "tls.key"])
        files.replace(name, Buffer.from(dataOf(secret)[name] ?? "", "base64").toString());
      files.replace("ca.crt", dataOf(authority)["ca.crt"] ?? "");
      const workload = await cluster().createServiceAccountToken(namespace, "workload");
      files.replace("token", await workload.requestToken({ audiences: ["bunting"] }));
      await cluster().putFeatureFlag(namespace, "flags", versioned(1));

      const account = await cluster().createServiceAccountToken(namespace, "proxy");
      await cluster().grantStockRole(account);
      const port = await freePort();
      const proxyWith = async (access: "both" | "secured"): Promise<ProxyProcess> => {
        const args = proxySecurityArguments(access, false).map((arg) =>
          arg.replace("/etc/bunting/tls", files.path),
        );
        const proxy = await startProxyInPod(account, [`--port=${port}`, ...args]);
        started.push(proxy);
        return proxy;
      };
      /** A sidecar, which knows the proxy by its Service's name. */
      const sidecar = async (env: Record<string, string>): Promise<AgentProcess> => {
        const uri = `envoy://127.0.0.1:${port}/flagd-proxy-svc.${namespace}.svc.cluster.local`;
        const agent = await startAgent(proxySources(uri, `core.openfeature.dev/${namespace}/flags`), { env });
        started.push(agent);
        return agent;
      };

      const both = await proxyWith("both");
      const plain = await sidecar({});
      const secured = await sidecar({
        BUNTING_CA_FILE: files.file("ca.crt"),
        BUNTING_TOKEN_FILE: files.file("token"),
      });
      for (const agent of [plain, secured])
        await eventually(async () => (await versionAt(agent)) === 1, "both are served", 60_000);
      const { connected, signal } = world;
      await connected.client.delete({ type: pods, namespace, name: old.metadata.name }, signal, {
        query: { gracePeriodSeconds: 0 },
      });
      await until((of) => of?.state === "closing" || of?.state === "on", "the proxy is to be closed");
      await both.process.stop();
      await proxyWith("secured");
      await cluster().putFeatureFlag(namespace, "flags", versioned(2));
      await eventually(async () => (await versionAt(secured)) === 2, "the sidecar has the edit", 60_000);
      // It is asked after the other has the edit, and still answers from what it had.
      expect(await versionAt(plain)).to.equal(1);
    } finally {
      await Promise.all(started.map(({ process }) => process.stop("SIGKILL")));
      files.remove();
    }
  });
});

function versioned(value: number): { flags: Record<string, unknown> } {
  return { flags: { version: { state: "ENABLED", variants: { v: value }, defaultVariant: "v" } } };
}

async function versionAt({ ofrep }: AgentProcess): Promise<unknown> {
  const response = await fetch(`${ofrep}/ofrep/v1/evaluate/flags/version`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  return ((await response.json()) as { readonly value?: unknown }).value;
}

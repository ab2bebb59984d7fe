import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { redisFileOptions, type RedisFile } from "@bunting/operator/internal/desired/proxy/proxy-redis.js";
import { proxyDeployment } from "@bunting/operator/internal/desired/proxy/proxy-deployment.js";
import { proxyOptionTable } from "@bunting/proxy/internal/options.js";
import { readOptions } from "@bunting/runtime";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { startProxyInPod } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import { TempDirectory } from "../support/temp-directory.js";

interface Container {
  readonly args: readonly string[];
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
  }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}
interface PodSpec {
  readonly containers: readonly [Container];
  readonly volumes: readonly {
    readonly name: string;
    readonly secret: {
      readonly secretName: string;
      readonly items: readonly { readonly key: string; readonly path: string }[];
    };
  }[];
}

function podOf(files: readonly RedisFile[]): PodSpec {
  const deployment = proxyDeployment(
    {
      namespace: "flags",
      image: "p:1",
      replicas: 1,
      ports: { sync: 8015, management: 8016 },
      debugLogging: false,
      options: {},
      pod: { serviceAccountName: "p", labels: {}, annotations: {}, imagePullSecrets: [] },
      tellsAgents: false,
      hasNetworkPolicy: true,
      redis: { name: "redis", files },
    },
    "p:1",
    {},
  );
  return (deployment["spec"] as { readonly template: { readonly spec: PodSpec } }).template.spec;
}

/** The variables as a kubelet makes them, and the volumes below a directory. */
function asKubelet(pod: PodSpec, secret: Readonly<Record<string, string>>, root: string) {
  const [{ env, volumeMounts }] = pod.containers;
  for (const { name, mountPath } of volumeMounts) {
    mkdirSync(path.join(root, mountPath), { recursive: true });
    const volume = pod.volumes.find((each) => each.name === name)?.secret;
    for (const { key, path: file } of volume?.items ?? [])
      writeFileSync(path.join(root, mountPath, file), secret[key] ?? "");
  }
  return Object.fromEntries(
    env.map(({ name, value, valueFrom }) => [
      name,
      value === undefined ? (secret[valueFrom?.secretKeyRef.key ?? ""] ?? "") : path.join(root, value),
    ]),
  );
}

describe("the proxy that the operator gives a Secret about Redis", function () {
  this.timeout(60_000);
  const cleanUps: (() => unknown)[] = [];
  before(function () {
    needsRedisServer(this);
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });

  it("has each of its keys where the proxy looks for it", async () => {
    const files = Object.keys(redisFileOptions) as RedisFile[];
    const secret = { address: "rediss://redis.example:6379/1" };
    const directory = new TempDirectory();
    cleanUps.push(() => directory.remove());
    const env = asKubelet(podOf(files), secret, directory.path);
    const { options } = await readOptions(proxyOptionTable, { argv: [], env, refusesUnknownVariables: true });
    expect(options.backplane).to.equal(secret.address);
    for (const [option, file] of [
      ["backplaneUserFile", "user"],
      ["backplanePasswordFile", "password"],
      ["backplaneSentinelUserFile", "sentinel-user"],
      ["backplaneSentinelPasswordFile", "sentinel-password"],
      ["backplaneCaFile", "ca.crt"],
      ["backplaneCertFile", "tls.crt"],
      ["backplaneTlsKeyFile", "tls.key"],
      ["backplaneKeyFile", "signing-keys"],
    ] as const)
      expect(path.basename(options[option]), option).to.equal(file);
  });

  it("shares the Redis that lets in only the Secret's user, and shows the password nowhere", async () => {
    const password = "a-password-of-redis";
    const redis = await RedisServer.start(
      ...["--user", "default", "off"],
      ...["--user", "bunting", "on", `>${password}`, "~*", "&*", "+@all"],
    );
    cleanUps.push(() => redis.stop());
    const api = await FaultyApiServer.start();
    cleanUps.push(() => api.stop());
    const directory = new TempDirectory();
    cleanUps.push(() => directory.remove());
    const pod = podOf(["user", "password"]);
    const secret = { address: `redis://127.0.0.1:${redis.port}/0`, user: "bunting", password };
    const env = asKubelet(pod, secret, directory.path);
    const account = directory.file("account");
    mkdirSync(account);
    writeFileSync(path.join(account, "ca.crt"), api.ca);
    writeFileSync(path.join(account, "token"), "token");
    const environment = {
      ...env,
      KUBERNETES_SERVICE_HOST: "127.0.0.1",
      KUBERNETES_SERVICE_PORT: String(api.port),
    };
    const proxy = await startProxyInPod({ directory: account, environment });
    cleanUps.push(() => proxy.process.stop());
    const isConnected = async (): Promise<boolean> =>
      (await readMetric(proxy.management, 'bunting_proxy_backplane_state{state="connected"}', 0)) === 1;
    await eventually(isConnected, "the replica is connected", 30_000);
    const status = await (await fetch(`${proxy.management}/status`)).text();
    const shown = JSON.stringify([pod, env, proxy.process.child.spawnargs]) + proxy.process.output + status;
    expect(shown).to.not.include(password);
  });
});

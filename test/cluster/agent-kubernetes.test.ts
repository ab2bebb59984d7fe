import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { faults, status, watchExpired } from "../support/faulty-api-server/index.js";
import { FaultyPath } from "./support/faulty-path.js";
import { flagSpec } from "./support/proxy-under-test.js";
import type { ServiceAccount } from "./support/service-account.js";
import { sharedCluster } from "./support/use-cluster.js";

/*
 * An agent as the stock operator starts it by default (SIDECAR_SYNC_PROVIDER=kubernetes): it watches its FeatureFlag itself, on a real API
 * server, with the path to it failing as in watch-faults.test.ts.
 */
describe("an agent that watches its FeatureFlag itself", function () {
  this.timeout(120_000);
  const cluster = sharedCluster();
  let namespace: string;
  let account: ServiceAccount;
  let path: FaultyPath;
  let agent: AgentProcess | undefined;
  beforeEach(async () => {
    namespace = await cluster().createNamespace();
    account = await cluster().createServiceAccountToken(namespace, "workload");
    path = await FaultyPath.start(cluster());
  });
  afterEach(async () => {
    await agent?.process.stop("SIGKILL");
    agent = undefined;
    await path.close();
  });

  async function start(...args: readonly string[]): Promise<AgentProcess> {
    const { directory, environment } = path.pod(account);
    const sources = JSON.stringify([{ uri: `${namespace}/checkout`, provider: "kubernetes" }]);
    agent = await startAgent(["--sources", sources, "--service-account-directory", directory, ...args], {
      env: environment,
    });
    return agent;
  }

  const put = (version: number): Promise<void> =>
    cluster()
      .putFeatureFlag(namespace, "checkout", flagSpec(version))
      .then(() => undefined);

  async function value(): Promise<unknown> {
    const response = await fetch(`${agent?.ofrep ?? ""}/ofrep/v1/evaluate/flags/version`, { method: "POST" });
    return ((await response.json()) as { readonly value?: unknown }).value;
  }

  const serves = (expected: unknown): Promise<void> =>
    eventually(async () => (await value()) === expected, `the value ${String(expected)}`, 60_000);

  const readiness = async (): Promise<string> => (await fetch(`${agent?.management ?? ""}/readyz`)).text();

  it("follows it from before it exists through edits, deletion and re-creation", async () => {
    await cluster().grantStockRole(account);
    const { management, process } = await start();
    await eventually(() => isReady(management), "ready without flags");
    expect(await readiness()).to.contain(`there is no FeatureFlag ${namespace}/checkout`);
    for (const version of [1, 2, 3]) {
      await put(version);
      await serves(version);
    }
    expect(process.output).to.contain("with bunting-proxy (provider grpc) one watch serves all Pods");
    await cluster().deleteFeatureFlag(namespace, "checkout");
    await eventually(async () => (await readiness()).includes("was deleted"), "the deletion");
    expect(await value()).to.equal(3);
    await put(4);
    await serves(4);
    expect(cluster().openWatches(account)).to.have.length(1);
  });

  it("empties it after the grace if the deletion policy says so", async () => {
    await cluster().grantStockRole(account);
    await put(1);
    await start("--deletion-policy", "empty", "--deletion-grace", "1s");
    await serves(1);
    await cluster().deleteFeatureFlag(namespace, "checkout");
    await serves(undefined);
    await put(2);
    await serves(2);
  });

  it("says which permission is missing, and works as soon as it is granted", async () => {
    await put(1);
    const { management, process } = await start();
    const line = await process.nextLog(
      "the source refuses this agent, or its credentials can't be read; retrying",
    );
    expect(line["error"]).to.contain(`get, list and watch featureflags in the namespace ${namespace}`);
    expect(await isReady(management)).to.equal(false);
    await cluster().grantStockRole(account);
    await serves(1);
    expect(await isReady(management)).to.equal(true);
  });

  it("serves on when its permission is taken away, says what is missing, and misses nothing once it is back", async () => {
    await cluster().grantStockRole(account);
    await put(1);
    const { management } = await start("--stale-after", "1s");
    await serves(1);
    await cluster().deleteStockRole(account);
    // A watch that is open stays open: what counts is the next one.
    path.tcp.cut();
    await eventually(
      async () =>
        (await readiness()).includes(
          "the credentials are those of the Pod's ServiceAccount; allow this user to get, list and watch",
        ),
      "the missing permission",
    );
    await put(2);
    await eventually(async () => (await readiness()).startsWith("ready, but flags are stale"), "staleness");
    expect(await value()).to.equal(1);
    expect(await isReady(management)).to.equal(true);
    await cluster().grantStockRole(account);
    await serves(2);
    expect(await readiness()).to.match(/^ready\n/);
  });

  const expired = watchExpired(1, 2);
  const strikes: Readonly<Record<string, () => void | Promise<void>>> = {
    "the connection is cut": () => path.tcp.cut(),
    "the API server is away": async () => {
      await path.tcp.refuse(true);
      path.tcp.cut();
      setTimeout(() => void path.tcp.refuse(false), 1_500);
    },
    "the watch is given up with 410": () => path.http2.watches().forEach((watch) => watch.error(expired)),
    "opening it is answered 410": () => {
      path.http2.fault({ kind: "watch" }, faults.answer(410, expired), 2);
      path.tcp.cut();
    },
    "opening it is throttled": () => {
      const throttled = status(429, "TooManyRequests", "storage is (re)initializing", {
        retryAfterSeconds: 1,
      });
      path.http2.fault({}, faults.answer(429, throttled, { "retry-after": "1" }), 2);
      path.tcp.cut();
    },
    "the watch ends in good order": () => path.http2.watches().forEach((watch) => watch.end()),
    "the connection is to be closed (GOAWAY)": () => path.http2.goAway(),
  };

  for (const [what, strike] of Object.entries(strikes)) {
    it(`misses no edit while ${what}, nor after it`, async () => {
      await cluster().grantStockRole(account);
      await put(1);
      await start();
      await serves(1);
      await strike();
      await put(2);
      await serves(2);
      await put(3);
      await serves(3);
    });
  }

  it("reads a renewed token once the old one is refused", async () => {
    await cluster().grantStockRole(account);
    await put(1);
    await start();
    await serves(1);
    await account.delete();
    // The API server accepts it for some more seconds, also for another watch.
    let cutMs = 0;
    await eventually(
      async () => {
        if (path.http2.watches().length > 0 && Date.now() - cutMs > 1_000) {
          path.tcp.cut();
          cutMs = Date.now();
        }
        return (await readiness()).includes("401");
      },
      "the refusal of the old token",
      90_000,
    );
    expect(await value()).to.equal(1);
    await account.create();
    await account.rotate();
    await put(2);
    await serves(2);
  });
});

import { setTimeout as delay } from "node:timers/promises";
import type { SecurityTarget } from "@bunting/operator/internal/desired/proxy-security/security-state.js";
import { ProxyUse } from "@bunting/operator/internal/controllers/proxy/proxy-use.js";
import {
  readSecurity,
  type StoredSecurity,
} from "@bunting/operator/internal/controllers/security/stored-security.js";
import { operatorOptionTable } from "@bunting/operator/internal/options.js";
import { deployedProxy } from "@bunting/operator/internal/wiring/deployed-proxy.js";
import * as operatorParts from "@bunting/operator/internal/wiring/operator-parts.js";
import type { OperatorWiring } from "@bunting/operator/internal/wiring/operator-wiring.js";
import { proxySecurity } from "@bunting/operator/internal/wiring/proxy-security.js";
import { readOptions, runComponents, systemClock } from "@bunting/runtime";
import { expect } from "chai";
import { ClockOfToday } from "../support/clock-of-today.js";
import { eventually, lookMs } from "../support/event-queue.js";
import { TempDirectory } from "../support/temp-directory.js";
import { AskingApplication } from "./support/asking-application.js";
import { OperatorWorld } from "./support/operator-world.js";
import { PlayedProxies } from "./support/played-proxies.js";
import { freshCluster } from "./support/use-cluster.js";

const configMaps = { group: "", version: "v1", plural: "configmaps" };
const editEveryMs = 200;

/**
 * The operator's controllers, the API server's Deployment, two real replicas of the proxy, and real sidecars that are asked all the time, while flags are edited.
 * Only the kubelet and time are the test's.
 */
describe("the security of the operator's proxy, switched on and off again while flags are asked for and edited", function () {
  this.timeout(240_000);
  // Before the cluster goes: hooks run in this order.
  after(async () => {
    over.abort();
    await editing;
    await Promise.all(applications.map((each) => each.stop()));
    stop.abort();
    await running;
    await proxies.stop();
    await world.stop();
    identity.remove();
  });

  const cluster = freshCluster({
    controllerManager: true,
    controllers: ["deployment-controller", "replicaset-controller"],
  });
  let world: OperatorWorld;
  let clock: ClockOfToday;
  let proxies: PlayedProxies;
  let identity: TempDirectory;
  let version = 0;
  let stop: AbortController;
  let running: Promise<unknown>;
  let editing: Promise<void>;
  const over = new AbortController();
  /** Those that run, and all that there ever were. */
  let applications: AskingApplication[] = [];
  const all: AskingApplication[] = [];

  before(async () => {
    world = await OperatorWorld.start(cluster());
    clock = new ClockOfToday();
    identity = new TempDirectory();
    const { namespace } = world;
    const account = await cluster().createServiceAccountToken(namespace, "proxy");
    await cluster().grantStockRole(account);
    proxies = await PlayedProxies.start(cluster(), account);
    const workload = await cluster().createServiceAccountToken(namespace, "workload");
    identity.replace("token", await workload.requestToken({ audiences: ["bunting"] }));
    await edit();
    editing = keepEditing();
    await lead("off");
  });
  async function edit(): Promise<void> {
    const flag = { state: "ENABLED", variants: { v: ++version }, defaultVariant: "v" };
    await cluster().putFeatureFlag(world.namespace, "flags", { flags: { version: flag } });
  }

  async function keepEditing(): Promise<void> {
    while (!over.signal.aborted) {
      // One that fails is followed by another one.
      await edit().catch(() => undefined);
      await delay(editEveryMs);
    }
  }

  /** Another replica of the operator leads, with this option. */
  async function lead(target: SecurityTarget): Promise<void> {
    const { namespace, connected, watches, logger, metrics } = world;
    const argv = [
      `--namespace=${namespace}`,
      ...["--proxy=always", "--proxy-service-account=proxy", `--proxy-security=${target}`],
    ];
    const { options } = await readOptions(operatorOptionTable, { argv, env: {}, readsConfig: false });
    const context = { clock, logger, metrics };
    const parts = operatorParts;
    const wiring: OperatorWiring = {
      ...{ options, parts, context, watches, served: undefined },
      ...{ instance: target, cluster: connected },
    };
    const security = proxySecurity(wiring, world.events);
    const deployed = deployedProxy(
      // Rollouts take the time that they take.
      { ...wiring, context: { ...context, clock: systemClock } },
      {
        security,
        events: world.events,
        use: new ProxyUse("always"),
        owner: () => Promise.resolve(undefined),
        injections: { proxyEntered: () => undefined },
        extensions: { applier: (applier) => applier, listen: () => () => undefined },
      },
    );
    security.maps.asks(namespace, true);
    security.maps.complete();
    stop = new AbortController();
    const { signal } = stop;
    running = runComponents([...security.leading(), ...deployed()], signal, { stopTimeoutMs: 5_000 });
  }

  async function leadAnew(target: SecurityTarget): Promise<void> {
    stop.abort();
    await running;
    await lead(target);
  }

  /** Time goes on until the state is so. */
  async function until(isSo: (of: StoredSecurity) => boolean, what: string): Promise<void> {
    const isMet = (object: Parameters<typeof readSecurity>[0]): boolean => {
      const security = readSecurity(object);
      return security !== undefined && isSo(security);
    };
    await eventually(
      async () => {
        clock.advance(2_000);
        const object = await world.find(configMaps, "bunting-proxy-security");
        return object !== undefined && isMet(object);
      },
      what,
      60_000,
      lookMs,
    );
  }

  /** Two applications in place of those that run: the new ones answer before the old ones go. */
  async function replaceApplications(access: "plain" | "secured"): Promise<void> {
    const { namespace } = world;
    const env: Readonly<Record<string, string>> =
      access === "plain"
        ? {}
        : { BUNTING_CA_FILE: identity.file("ca.crt"), BUNTING_TOKEN_FILE: identity.file("token") };
    const target = `envoy://127.0.0.1:${proxies.port}/flagd-proxy-svc.${namespace}.svc.cluster.local`;
    const asked = { target, flags: `${namespace}/flags`, env };
    const before = applications;
    applications = [];
    for (let index = 0; index < 2; index++) {
      const name = `${access}-${all.length}`;
      const started = await AskingApplication.start(cluster(), { namespace, name }, asked);
      applications.push(started);
      all.push(started);
    }
    await expectAllFollow();
    for (const each of before) await each.stop();
  }

  /** Each gets an edit that is made after now. */
  async function expectAllFollow(): Promise<void> {
    const now = version;
    const follow = (): boolean => applications.every(({ values }) => (values.at(-1) ?? 0) > now);
    await eventually(follow, "all get an edit from after now", 60_000);
  }

  it("serves plaintext at first", async () => {
    await replaceApplications("plain");
    await eventually(() => proxies.started === 2, "both replicas run", 60_000);
  });

  it("serves both as long as a Pod from before is there, and names it", async () => {
    await leadAnew("on");
    await until(({ state, waitsFor }) => state === "mixed" && waitsFor.includes("/plain-0"), "mixed");
    await expectAllFollow();
  });

  it("serves TLS with tokens alone once all were replaced", async () => {
    const authority = await world.until(configMaps, "bunting-ca", () => true, "there is an authority");
    const { data = {} } = authority as { readonly data?: Readonly<Record<string, string>> };
    identity.replace("ca.crt", data["ca.crt"] ?? "");
    await replaceApplications("secured");
    await until(({ state }) => state === "on", "on");
    await expectAllFollow();
  });

  it("serves both again where it is not wanted any more, as long as a Pod speaks TLS", async () => {
    await leadAnew("off");
    await until(({ state, waitsFor }) => state === "leaving" && waitsFor.includes("/secured-2"), "leaving");
    await expectAllFollow();
  });

  it("serves plaintext alone once all were replaced again, and has lost no answer on the way", async () => {
    await replaceApplications("plain");
    await until(({ state }) => state === "off", "off");
    await expectAllFollow();
    expect(all).to.have.length(6);
    for (const [index, { failures, asked }] of all.entries()) {
      expect(failures, `application ${index}`).to.deep.equal([]);
      expect(asked, `application ${index}`).to.be.greaterThan(10);
    }
    expect(proxies.started, "each state that is served differently has replaced both").to.be.at.least(10);
  });
});

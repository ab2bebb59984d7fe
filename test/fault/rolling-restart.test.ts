import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { isReady, proxySources, startAgent } from "../support/agent-process.js";
import { Evaluating } from "../support/evaluating.js";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { portOf, startProxyInPod, type ProxyProcess } from "../support/proxy-process.js";
import { scaled } from "../support/scale.js";
import { SyncClients, type ClientReport } from "../support/sync-clients.js";
import { TcpSwitch } from "../support/tcp-switch.js";
import { TempDirectory } from "../support/temp-directory.js";

const processes = scaled(4, 1);
const clientsEach = scaled(250, 30);
const agentCount = scaled(10, 2);
/** The defaults at full scale; time enough for clients to go one after the other in the gate. */
const drain = scaled([], ["--drain-delay", "500ms", "--drain-window", "2s"]);
/** How many evaluations each agent answers meanwhile, at least. */
const leastAnswers = scaled(100, 20);
const flag = "version";
/** How often the flags are edited. */
const editEveryMs = 100;

describe("a rolling restart of two proxies", function () {
  this.timeout(300_000);

  let directory: TempDirectory;
  let api: FaultyApiServer;
  let service: TcpSwitch;
  const cleanUps: (() => unknown)[] = [];
  beforeEach(async () => {
    directory = new TempDirectory();
    api = await FaultyApiServer.start();
    service = await TcpSwitch.start();
  });
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    await service.close();
    await api.close();
    directory.remove();
  });

  it("goes unnoticed: no evaluation fails, no agent ends stale or goes backwards", async () => {
    const edits = new Edits(api);
    edits.put();
    let proxies = [await startReplica(), await startReplica()];
    service.setBackends(proxies.map(portOf));

    const target = `127.0.0.1:${service.port}`;
    const input = { count: clientsEach, target, selector: "default/flags", flag };
    const clients = Array.from({ length: processes }, () => new SyncClients(input));
    for (const each of clients) cleanUps.push(() => each.kill());
    const reports = async (): Promise<ClientReport[]> =>
      (await Promise.all(clients.map((each) => each.report()))).flat();
    const allHave = async (what: string): Promise<void> => {
      let behind: number[] = [];
      const isSo = async (): Promise<boolean> => {
        // Each look asks for the reports of all clients.
        await delay(200);
        behind = (await reports()).map(({ last }) => last).filter((last) => last !== edits.version);
        return behind.length === 0;
      };
      await eventually(isSo, what, 120_000).catch((error: unknown) => {
        const held = [...new Set(behind)].join(", ");
        throw new Error(`${String(error)}: ${behind.length} clients hold ${held} and not ${edits.version}`);
      });
    };
    await allHave("every client has the flags");

    const evaluations = await Promise.all(Array.from({ length: agentCount }, () => startEvaluating(target)));
    edits.begin();
    cleanUps.push(() => edits.end());
    for (let index = 0; index < proxies.length; index++) {
      const [old, others] = [proxies[index], proxies.filter((_, each) => each !== index)];
      const next = await startReplica();
      // As in Kubernetes: the new one is among the backends before the old one is stopped.
      service.setBackends([...others, next].map(portOf));
      const exitCode = await old?.process.stop("SIGTERM");
      expect(exitCode, old?.process.output).to.equal(0);
      proxies = proxies.map((each) => (each === old ? next : each));
    }
    edits.end();

    await allHave("every client has the last edit");
    const all = await reports();
    expect(all).to.have.length(processes * clientsEach);
    expect(all.filter(({ backwards }) => backwards.length > 0)).to.deep.equal([]);
    for (const evaluation of evaluations) {
      await eventually(() => evaluation.last === edits.version, "every agent evaluates the last edit");
      await evaluation.end();
      expect(evaluation.failures).to.deep.equal([]);
      expect(evaluation.backwards).to.deep.equal([]);
      expect(evaluation.answers).to.be.greaterThan(leastAnswers);
    }
    await Promise.all(clients.map((each) => each.stop()));
  });

  async function startReplica(): Promise<ProxyProcess> {
    const account = directory.file("account");
    mkdirSync(account, { recursive: true });
    writeFileSync(path.join(account, "ca.crt"), api.ca);
    writeFileSync(path.join(account, "token"), "a-token");
    const environment = { KUBERNETES_SERVICE_HOST: "127.0.0.1", KUBERNETES_SERVICE_PORT: String(api.port) };
    const proxy = await startProxyInPod({ directory: account, environment }, drain);
    cleanUps.push(() => proxy.process.stop("SIGKILL"));
    await eventually(() => isReady(proxy.management), "the proxy is ready");
    return proxy;
  }

  async function startEvaluating(target: string): Promise<Evaluating> {
    const agent = await startAgent(proxySources(target, "default/flags"));
    cleanUps.push(() => agent.process.stop("SIGKILL"));
    await eventually(() => isReady(agent.management), "the agent is ready");
    return new Evaluating(agent.ofrep, flag);
  }
});

/** Edits one FeatureFlag, whose flag holds the number of the edit. */
class Edits {
  readonly #api: FaultyApiServer;
  #timer: NodeJS.Timeout | undefined;
  version = 0;

  constructor(api: FaultyApiServer) {
    this.#api = api;
  }

  put(): void {
    this.version++;
    const flags = { [flag]: { state: "ENABLED", variants: { v: this.version }, defaultVariant: "v" } };
    this.#api.put("default", "flags", { flagSpec: { flags } });
  }

  begin(): void {
    this.#timer = setInterval(() => this.put(), editEveryMs);
  }

  end(): void {
    clearInterval(this.#timer);
  }
}

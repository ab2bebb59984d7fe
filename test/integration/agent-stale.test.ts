import { evaluationV1, evaluationV2 } from "@bunting/protocol";
import { Client, credentials } from "@grpc/grpc-js";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { manifest } from "../support/manifests.js";
import { startProxy, type ProxyProcess } from "../support/proxy-process.js";
import { readMetric } from "../support/read-metric.js";
import type { ServiceProcess } from "../support/service-process.js";
import { TempDirectory } from "../support/temp-directory.js";

type Reasons = Readonly<Record<string, unknown>>;

const local = JSON.stringify({
  flags: { local: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" } },
});

/** An agent with flags of a proxy and of a file, whose proxy is killed and started again. */
describe("bunting-agent with --stale-after", () => {
  let directory: TempDirectory;
  const running: ServiceProcess[] = [];
  const clients: Client[] = [];

  beforeEach(() => {
    directory = new TempDirectory();
    directory.replace("flags.yaml", manifest("flags", 1));
    directory.replace("local.json", local);
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    for (const one of running.splice(0)) await one.stop("SIGKILL");
    directory.remove();
  });

  async function proxyOf(port = "0"): Promise<ProxyProcess> {
    const args = ["--drain-delay", "0", "--drain-window", "0", "--port", port];
    const proxy = await startProxy(directory.path, args);
    running.push(proxy.process);
    return proxy;
  }

  async function agentOf(proxy: string, ...args: readonly string[]): Promise<AgentProcess> {
    const sources = [
      { uri: proxy, provider: "grpc", selector: "default/flags" },
      { uri: directory.file("local.json"), provider: "file" },
    ];
    const agent = await startAgent(["--sources", JSON.stringify(sources), ...args]);
    running.push(agent.process);
    return agent;
  }

  const json = async (url: string, body: object): Promise<Record<string, unknown>> => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as Record<string, unknown>;
  };

  /** What each protocol says of a flag: its reason and its value. */
  async function answersOf(agent: AgentProcess, key: string): Promise<Reasons> {
    const answers: Record<string, unknown> = {};
    const note = (name: string, { reason, value }: Record<string, unknown>): void => {
      answers[name] = [reason, value];
    };
    for (const service of ["flagd.evaluation.v2", "flagd.evaluation.v1", "schema.v1"]) {
      const url = `http://${agent.evaluation}/${service}.Service/ResolveBoolean`;
      note(`Connect ${service}`, await json(url, { flagKey: key, context: {} }));
    }
    note("gRPC v2", await resolve(agent, "v2", key, evaluationV2));
    note("gRPC v1", await resolve(agent, "v1", key, evaluationV1));
    for (const service of ["flagd.evaluation.v1", "schema.v1"]) {
      const all = await json(`http://${agent.evaluation}/${service}.Service/ResolveAll`, { context: {} });
      const { reason, boolValue } = (all["flags"] as Record<string, Record<string, unknown>>)[key] ?? {};
      note(`ResolveAll ${service}`, { reason, value: boolValue });
    }
    const ofrep = `${agent.ofrep}/ofrep/v1/evaluate/flags`;
    note("OFREP", await json(`${ofrep}/${key}`, {}));
    const { flags } = (await json(ofrep, {})) as { flags: readonly Record<string, unknown>[] };
    note("OFREP, all", flags.find((flag) => flag["key"] === key) ?? {});
    return answers;
  }

  function resolve(
    agent: AgentProcess,
    version: "v1" | "v2",
    flagKey: string,
    { ResolveBooleanRequest, ResolveBooleanResponse }: typeof evaluationV1 | typeof evaluationV2,
  ): Promise<Record<string, unknown>> {
    const client = new Client(agent.evaluation, credentials.createInsecure());
    clients.push(client);
    return new Promise((done, fail) => {
      client.makeUnaryRequest(
        `/flagd.evaluation.${version}.Service/ResolveBoolean`,
        (request: { flagKey: string; context: object }) =>
          Buffer.from(ResolveBooleanRequest.encode({ ...request, context: {} }).finish()),
        (bytes) => ResolveBooleanResponse.decode(bytes) as unknown as Record<string, unknown>,
        { flagKey, context: {} },
        (error, answer) => {
          if (error === null && answer !== undefined) done(answer);
          else fail(error ?? new Error("there is no answer"));
        },
      );
    });
  }

  function all(answers: Reasons, reason: string): Reasons {
    return Object.fromEntries(Object.keys(answers).map((name) => [name, [reason, true]]));
  }

  const ready = async ({ management }: AgentProcess): Promise<string> =>
    (await fetch(`${management}/readyz`)).text();

  it("answers STALE on every protocol while the proxy is away, and as before when it is back", async () => {
    const proxy = await proxyOf();
    const agent = await agentOf(proxy.sync, "--stale-after", "300ms");
    await eventually(() => isReady(agent.management), "/readyz");
    const stale = (source: number): Promise<number> =>
      readMetric(agent.management, `bunting_agent_sync_stale{source="${source}"}`);
    const unconfirmed = (): Promise<number> =>
      readMetric(agent.management, 'bunting_agent_sync_unconfirmed_seconds{source="0"}');
    const before = await answersOf(agent, "on-off");
    expect(before).to.deep.equal(all(before, "STATIC"));
    expect([await stale(0), await stale(1), await unconfirmed()]).to.deep.equal([0, 0, 0]);

    await proxy.process.stop("SIGKILL");
    // Not by its log line: on a busy machine there may have been one before the first contact.
    await eventually(async () => (await stale(0)) === 1, "the source is stale");
    const away = await answersOf(agent, "on-off");
    expect(away).to.deep.equal(all(away, "STALE"));
    const other = await answersOf(agent, "local");
    expect(other, "the flags of another source").to.deep.equal(all(other, "STATIC"));
    expect(await stale(1)).to.equal(0);
    expect(await unconfirmed()).to.be.greaterThan(0.29);
    expect((await fetch(`${agent.management}/readyz`)).status).to.equal(200);
    expect(await ready(agent)).to.match(
      /^ready, but flags are stale\nsource 0 .*\(default\/flags\): disconnected .*, answered as STALE: /,
    );

    const port = proxy.sync.split(":").at(-1) ?? "";
    await proxyOf(port);
    await eventually(async () => (await stale(0)) === 0, "the source is back");
    const after = await answersOf(agent, "on-off");
    expect(after).to.deep.equal(all(after, "STATIC"));
    expect(await unconfirmed()).to.equal(0);
    expect(await ready(agent)).to.match(/^ready\n/);
    const edges = agent.process.logs
      .map(({ msg, level }) => `${level} ${msg}`)
      .filter((line) => line.includes("STALE"));
    expect(edges.slice(-2)).to.deep.equal([
      "warn the source has been away, or its newest document refused, for longer than --stale-after: its flags are answered with reason STALE",
      "info the source is back: its flags are no longer answered with reason STALE",
    ]);
  });

  it("answers STALE from its last-known-good while the proxy has never been there", async () => {
    const cache = ["--cache-dir", directory.file("cache")];
    const proxy = await proxyOf();
    const first = await agentOf(proxy.sync, ...cache);
    await eventually(() => isReady(first.management), "/readyz");
    expect(await first.process.stop()).to.equal(0);
    await proxy.process.stop("SIGKILL");

    const agent = await agentOf(proxy.sync, "--stale-after", "100ms", ...cache);
    await agent.process.nextLog(
      "the source has been away, or its newest document refused, for longer than --stale-after: its flags are answered with reason STALE",
    );
    const answers = await answersOf(agent, "on-off");
    expect(answers).to.deep.equal(all(answers, "STALE"));
  });
});

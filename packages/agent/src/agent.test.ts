import { readdirSync } from "node:fs";
import { buntingSyncV1, type FlagDocument } from "@bunting/protocol";
import { createLogger, readOptions, type Clock } from "@bunting/runtime";
import { Client, credentials } from "@grpc/grpc-js";
import { expect } from "chai";
import { once } from "node:events";
import { EventQueue, eventually } from "@bunting/test/support/event-queue.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { createAgent } from "./agent.js";
import { agentOptionTable } from "./options.js";
import { BuntingServer, topic, versionOf } from "./sync/bunting-server.fixture.js";

const on = { state: "ENABLED", variants: { on: true }, defaultVariant: "on" };
const one: FlagDocument = { flags: { a: on } };
const two: FlagDocument = { flags: { a: on, b: on } };
const version = { uid: "u-1", generation: "7", resourceVersion: "4711" };

interface LogLine {
  readonly msg: string;
  readonly service?: string;
  readonly port?: number;
}

/** What the wiring owes bunting.sync.v1: the version goes from the stream to the store and the disk, and back. */
describe("an agent of bunting.sync.v1", () => {
  let cache: TempDirectory;
  let server: BuntingServer;
  let target: string;
  let stops: (() => Promise<void>)[];
  beforeEach(async () => {
    cache = new TempDirectory();
    server = new BuntingServer();
    target = await server.start();
    stops = [];
  });
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
    await server.stop();
    cache.remove();
  });

  async function start(
    sources: readonly object[] = [{ uri: target, provider: "grpc", selector: topic }],
    clock?: Clock,
  ): Promise<{
    readonly management: string;
    readonly ofrep: () => Promise<string>;
    readonly evaluation: () => Promise<string>;
    readonly stop: () => Promise<void>;
  }> {
    const lines = new EventQueue<LogLine>();
    const logger = createLogger(
      { format: "json", debug: false },
      { write: (line) => lines.push(JSON.parse(line) as LogLine) },
    );
    const free = ["--port", "0", "--management-port", "0", "--sync-port", "0", "--ofrep-port", "0"];
    const argv = [
      "--host",
      "127.0.0.1",
      ...free,
      "--sources",
      JSON.stringify(sources),
      "--cache-dir",
      cache.path,
    ];
    const { options } = await readOptions(agentOptionTable, { argv, env: {} });
    const abort = new AbortController();
    const running = createAgent(options, logger, clock).run(abort.signal);
    const stop = (): Promise<void> => {
      abort.abort();
      return running;
    };
    stops.push(stop);
    const portOf = async (wanted: string): Promise<string> => {
      const { port } = await lines.nextMatching(({ service }) => service === wanted, `the port of ${wanted}`);
      return `http://127.0.0.1:${port ?? 0}`;
    };
    return {
      management: await portOf("management"),
      ofrep: () => portOf("ofrep"),
      evaluation: () => portOf("evaluation"),
      stop,
    };
  }

  const text = async (url: string): Promise<string> => (await fetch(url)).text();

  it("offers after a restart the version on disk, and names again the flags that it can't serve", async () => {
    const bad: FlagDocument = { flags: { ...one.flags, bad: { ...on, defaultVariant: "none" } } };
    const first = await start();
    const stream = await server.nextStream();
    expect((await stream.subscribed()).held).to.equal(undefined);
    await stream.snapshot(bad, version);
    await first.stop();
    const { management } = await start();
    const again = await server.nextStream();
    expect((await again.subscribed()).held).to.deep.equal(versionOf(bad, version));
    // Once the ports have waited for the source.
    await eventually(async () => (await text(`${management}/readyz`)).startsWith("ready"), "/readyz");
    expect(await text(`${management}/readyz`)).to.match(
      /^ready, but flags may be stale\n.*, flags from disk, resourceVersion \d+, digest \w{64}; the flag "bad" is rejected: .+\n$/,
    );
    again.send({ unchanged: { topic, version: versionOf(bad, { ...version, resourceVersion: "4712" }) } });
    expect((await again.next("ack")).rejectedFlags.map(({ key }) => key)).to.deep.equal(["bad"]);
    const body = await text(`${management}/readyz`);
    expect(body).to.match(
      /connected for \d+ s \(bunting\.sync\.v1\), newest flags \d+ s old, resourceVersion 4712, digest \w{64}; the flag "bad" is rejected: .+\n$/,
    );
    const metrics = await text(`${management}/metrics`);
    for (const line of [
      'bunting_agent_sync_protocol{source="0",protocol="bunting.sync.v1"} 1',
      'bunting_agent_sync_protocol{source="0",protocol="flagd.sync.v1"} 0',
      'bunting_agent_sync_messages_total{source="0",kind="unchanged"} 1',
    ])
      expect(metrics).to.contain(line);
    await stops.pop()?.();
    await start();
    const last = await server.nextStream();
    expect((await last.subscribed()).held?.resourceVersion).to.equal("4712");
  });

  /** Runs an agent until its flags are on disk. */
  async function keepOnDisk(): Promise<void> {
    const { stop } = await start();
    const stream = await server.nextStream();
    await stream.subscribed();
    await stream.snapshot(one, version);
    await eventually(() => readdirSync(cache.path).length === 1, "the file");
    await stop();
  }

  it("opens its ports with the flags that its source has now, and not with those on disk before", async () => {
    await keepOnDisk();
    // Its time stands still, so the ports wait for the source without end.
    const { management } = await start(undefined, new ManualClock());
    const again = await server.nextStream();
    expect((await again.subscribed()).held).to.deep.equal(versionOf(one, version));
    expect(await text(`${management}/readyz`)).to.contain("the ports for applications are not open");
    await again.snapshot(two, { ...version, resourceVersion: "4712" });
    await eventually(async () => (await text(`${management}/readyz`)).startsWith("ready"), "/readyz");
    expect(await text(`${management}/readyz`)).to.contain("resourceVersion 4712");
  });

  it("opens its ports at once with the flags on disk if its source can't be reached", async () => {
    await keepOnDisk();
    await server.stop();
    const { management } = await start(undefined, new ManualClock());
    await eventually(async () => (await text(`${management}/readyz`)).startsWith("ready"), "/readyz");
    expect(await text(`${management}/readyz`)).to.contain("flags from disk, resourceVersion 4711");
  });

  it("names a flag whose evaluations fail since it was removed, in a second ack", async () => {
    const { ofrep } = await start();
    const stream = await server.nextStream();
    await stream.subscribed();
    await stream.snapshot(two, version);
    const evaluate = `${await ofrep()}/ofrep/v1/evaluate/flags/b`;
    const ask = async (): Promise<number> => {
      const response = await fetch(evaluate, {
        method: "POST",
        body: "{}",
        headers: { "content-type": "application/json" },
      });
      await response.text();
      return response.status;
    };
    expect(await ask()).to.equal(200);
    await stream.snapshot(one, { ...version, resourceVersion: "4712" });
    for (let time = 0; time < 5; time++) expect(await ask()).to.equal(404);
    const { rejectedFlags } = await stream.next("ack");
    expect(rejectedFlags.map(({ key }) => key)).to.deep.equal(["b"]);
    expect(rejectedFlags[0]?.reason).to.match(/^its evaluations fail .* with FLAG_NOT_FOUND$/);
  });

  it("removes from disk a topic that was deleted with the policy empty, and is ready without flags", async () => {
    const first = await start();
    const stream = await server.nextStream();
    await stream.subscribed();
    await stream.snapshot(one, version);
    await eventually(() => readdirSync(cache.path).length === 1, "the file");
    const policy = buntingSyncV1.DeletionPolicy.DELETION_POLICY_EMPTY;
    stream.send({ deleted: { topic, policy } });
    await eventually(() => readdirSync(cache.path).length === 0, "no file");
    await first.stop();
    expect(readdirSync(cache.path)).to.deep.equal([]);
    const { management } = await start();
    const again = await server.nextStream();
    expect((await again.subscribed()).held).to.equal(undefined);
    expect((await fetch(`${management}/readyz`)).status).to.equal(412);
    again.send({ deleted: { topic, policy } });
    await eventually(async () => (await fetch(`${management}/readyz`)).status === 200, "ready");
    expect(await text(`${management}/readyz`)).to.contain(`the FeatureFlag ${topic} was deleted`);
  });

  it("is ready once a topic is known to be missing, says so, and takes its flags when they come", async () => {
    const { management } = await start();
    const stream = await server.nextStream();
    await stream.subscribed();
    expect((await fetch(`${management}/readyz`)).status).to.equal(412);
    stream.send({ missing: { topic } });
    await eventually(async () => (await fetch(`${management}/readyz`)).status === 200, "ready");
    expect(await text(`${management}/readyz`)).to.match(
      new RegExp(`^ready, but without flags of ${topic}\n.*no flags yet: there is no FeatureFlag ${topic}`),
    );
    expect(await text(`${management}/metrics`)).to.contain('bunting_agent_sync_empty{source="0"} 1');
    await stream.snapshot(one, version);
    expect(await text(`${management}/readyz`)).to.match(/^ready\n/);
    expect(await text(`${management}/metrics`)).to.contain('bunting_agent_sync_empty{source="0"} 0');
  });

  it("is ready although one of its sources is of a kind that it does not have, and says so", async () => {
    const { management } = await start([
      { uri: "s3://bucket/flags.json", provider: "s3" },
      { uri: target, provider: "grpc", selector: topic },
    ]);
    const stream = await server.nextStream();
    await stream.subscribed();
    expect((await fetch(`${management}/readyz`)).status).to.equal(412);
    await stream.snapshot(one, version);
    await eventually(async () => (await fetch(`${management}/readyz`)).status === 200, "ready");
    expect(await text(`${management}/readyz`)).to.match(
      /source 0 s3:.*provider s3 is not supported; there are file/,
    );
    const metrics = await text(`${management}/metrics`);
    expect(metrics).to.contain('bunting_agent_sync_failures_total{source="0",reason="unsupported"} 1');
    expect(metrics).to.contain('bunting_agent_sync_connected{source="1"} 1');
  });

  it("keeps on disk a topic that was deleted with the policy keep", async () => {
    const first = await start();
    const stream = await server.nextStream();
    await stream.subscribed();
    await stream.snapshot(one, version);
    stream.send({ deleted: { topic, policy: buntingSyncV1.DeletionPolicy.DELETION_POLICY_KEEP } });
    stream.send({ unchanged: { topic, version: versionOf(one, version) } });
    await stream.next("ack");
    await first.stop();
    await start();
    const again = await server.nextStream();
    expect((await again.subscribed()).held).to.deep.equal(versionOf(one, version));
  });

  it("counts the open calls of gRPC among the requests that are being answered", async () => {
    const { management, evaluation } = await start();
    const stream = await server.nextStream();
    await stream.subscribed();
    await stream.snapshot(one, version);
    const client = new Client((await evaluation()).replace("http://", ""), credentials.createInsecure());
    const path = "/flagd.evaluation.v2.Service/EventStream";
    const asBytes = (bytes: Buffer): Buffer => bytes;
    const call = client.makeServerStreamRequest(path, asBytes, asBytes, Buffer.alloc(0));
    call.on("error", () => undefined);
    await once(call, "data");
    const active = async (): Promise<string | undefined> =>
      new RegExp(`^http_server_active_requests\\{.*http_route="${path}".*\\} (.+)$`, "m").exec(
        await text(`${management}/metrics`),
      )?.[1];
    expect(await active()).to.equal("1");
    call.cancel();
    await eventually(async () => (await active()) === "0", "the end of the call");
    client.close();
  });
});

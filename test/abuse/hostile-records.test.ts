import { gzipSync } from "node:zlib";
import { needsRedisServer, RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { Stops } from "@bunting/backplane/internal/replica.fixture.js";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { readMetric } from "../support/read-metric.js";
import { Replica } from "../support/replica.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { Vitals } from "./support/vitals.js";

/** As those of hostile-upstream.test.ts: the attacks are as small as this heap allows. */
const heap = { NODE_OPTIONS: "--max-old-space-size=96" };
const maxGrowthMebibytes = 240;
const liveWithinMs = 5_000;

const flagOf = (value: string): Buffer =>
  Buffer.from(`{"flags":{"f":{"state":"ENABLED","variants":{"a":${value}},"defaultVariant":"a"}}}`);

/** What those can do to a replica who may write to Redis, but not to the API server. */
describe("a proxy in whose Redis records are hostile", () => {
  const stops = new Stops();
  before(function () {
    needsRedisServer(this);
  });
  afterEach(() => stops.stop());

  for (const [what, count, document, unpacked, code] of [
    ["of two million objects", 24, flagOf(`[${"{},".repeat(2_000_000)}{}]`), 0, "record_no_room"],
    ["nested five million levels deep", 24, flagOf("[".repeat(5e6) + "]".repeat(5e6)), 0, "record_malformed"],
    ["that unpack to more than they say", 24, flagOf(`"${"x".repeat(100e6)}"`), 15e6, "record_malformed"],
  ] as const)
    it(`refuses ${count} documents ${what}, and serves what the API server has`, async () => {
      const redis = stops.add(await RedisServer.start());
      const api = await FaultyApiServer.start();
      stops.later(() => api.close());
      const names = Array.from({ length: count }, (_, index) => `t${index}`);
      const packed = gzipSync(document);
      // Somebody else seems to be the owner.
      await redis.command("HSET", "bunting:2:lease", "holder", "planted", "fence", 99);
      await redis.command("PEXPIRE", "bunting:2:lease", 600_000);
      for (const name of names) {
        api.put("demo", name, { flagSpec: { flags: { f: { state: "ENABLED" } } } });
        const topic = `demo/${name}`;
        const at = { epoch: 99, kind: "document" };
        const head = { format: 1, topic, ...at, resourceVersion: "9", bytes: unpacked || document.length };
        const body = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), packed]);
        const fields = { fence: 99, ...at, version: "9", body, signature: "", confirmed: Date.now() };
        await redis.command("HSET", `bunting:2:record:${topic}`, ...Object.entries(fields).flat());
      }
      const replica = await Replica.start({ name: "replica", api, redisPort: redis.port, env: heap });
      stops.later(() => replica.stop().then(() => undefined));
      const { management, process, sync } = replica.proxy;
      const vitals = new Vitals(process.pid);
      stops.later(() => vitals.stop());
      const client = new StockSyncClient(sync);
      stops.later(() => client.close());
      const subscriptions = names.map((name) => client.subscribe({ selector: `demo/${name}` }));
      for (const { messages } of subscriptions)
        expect((await messages.nextEvent("what the API server has")).flags["f"]).to.have.property("state");
      const refused = (): Promise<number> =>
        readMetric(management, `bunting_proxy_backplane_refused_records_total{code="${code}"}`, 0);
      await eventually(async () => (await refused()) >= count, "all records");
      const signal = AbortSignal.timeout(liveWithinMs);
      expect((await fetch(`${management}/healthz`, { signal })).status).to.equal(200);
      vitals.expectWithinContainer(maxGrowthMebibytes);
      expect(process.output).to.contain("this replica watches the topic for itself");
    });
});

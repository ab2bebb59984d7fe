import { SharedRedis, needsRedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { Stops } from "@bunting/backplane/internal/replica.fixture.js";
import { expect } from "chai";
import { eventually } from "../support/event-queue.js";
import { FaultyApiServer } from "../support/faulty-api-server/index.js";
import { MeddlingRedis } from "../support/meddling-redis.js";
import { readMetric } from "../support/read-metric.js";
import { Replica } from "../support/replica.js";
import { modelSeeds } from "../support/seed.js";
import { seededRandom } from "../support/seeded-random.js";
import { StockSyncClient, type SyncMessage, type SyncSubscription } from "../support/stock-sync-client.js";
import { blunt, madeUp, madeUpRecords, mixed } from "./support/lies-of-redis.js";
import { Vitals } from "./support/vitals.js";

const heap = { NODE_OPTIONS: "--max-old-space-size=96" };
const maxGrowthMebibytes = 150;
const liveWithinMs = 5_000;
/** So many that each of two replicas watches some of them for both. */
const topics = ["a", "b", "c", "d", "e", "f", "g", "h"].map((name) => `team-${name}/flags`);
const quick = ["--backplane-lease", "1s", "--backplane-stable", "100ms"];

/** Two replicas, of which one is told lies in place of what Redis answers. */
describe("a proxy whose Redis lies", () => {
  const stops = new Stops();
  const shared = new SharedRedis();
  let api: FaultyApiServer;
  let meddling: MeddlingRedis;
  let misled: Replica;
  let vitals: Vitals;
  let subscriptions: readonly SyncSubscription[];
  /** The flag's value that each of them has. */
  let values: (string | undefined)[];

  before(function () {
    needsRedisServer(this);
  });
  beforeEach(async () => {
    const redis = await shared.next();
    api = await FaultyApiServer.start();
    stops.later(() => api.close());
    edit("at first");
    meddling = stops.add(await MeddlingRedis.start(redis.port));
    const honest = await Replica.start({ name: "honest", api, redisPort: redis.port, args: quick });
    stops.later(() => honest.stop().then(() => undefined));
    misled = await Replica.start({ name: "misled", api, redisPort: meddling.port, args: quick, env: heap });
    stops.later(() => misled.stop().then(() => undefined));
    for (const replica of [honest, misled]) {
      subscribe(replica);
      await haveAll("at first");
    }
    const followed = (replica: Replica) =>
      readMetric(replica.proxy.management, 'bunting_proxy_backplane_topics{role="followed"}');
    await eventually(async () => (await followed(misled)) > 0, "that it follows");
    vitals = new Vitals(misled.proxy.process.pid);
    stops.later(() => vitals.stop());
  });
  afterEach(() => stops.stop());
  after(() => shared.stop());

  function edit(on: string): void {
    for (const topic of topics) {
      const [namespace = "", name = ""] = topic.split("/");
      const flags = { f: { state: "ENABLED", variants: { on }, defaultVariant: "on" } };
      api.put(namespace, name, { flagSpec: { flags } });
    }
  }

  function subscribe({ proxy }: Replica): void {
    const client = new StockSyncClient(proxy.sync);
    stops.later(() => client.close());
    subscriptions = topics.map((selector) => client.subscribe({ selector }));
    values = topics.map(() => undefined);
  }

  /** What subscribers have now satisfies a condition. */
  const eventuallyHave = (isSo: (all: typeof values) => boolean, what: string): Promise<void> =>
    eventually(async () => {
      for (const [index, { messages }] of subscriptions.entries())
        while (messages.size > 0) values[index] = valueOf(await messages.nextEvent());
      return isSo(values);
    }, what);

  const haveAll = (value: string): Promise<void> =>
    eventuallyHave((all) => all.every((one) => one === value), `"${value}" for all`);

  /** It lives, has not grown, and has the newest flags again as soon as Redis tells the truth. */
  async function expectTruth(): Promise<void> {
    meddling.lie = undefined;
    edit("in the end");
    await haveAll("in the end");
    const signal = AbortSignal.timeout(liveWithinMs);
    expect((await fetch(`${misled.proxy.management}/healthz`, { signal })).status).to.equal(200);
    vitals.expectWithinContainer(maxGrowthMebibytes);
  }

  for (const [what, lie] of Object.entries(blunt))
    it(`serves what the API server has, in the memory that it has, while Redis answers ${what}`, async () => {
      meddling.lie = lie;
      edit("meanwhile");
      await haveAll("meanwhile");
      await expectTruth();
    });

  for (const seed of modelSeeds(1))
    it(`does so while each reply is another lie, seed ${seed}`, async () => {
      const random = seededRandom(seed);
      meddling.lie = (...asked) => mixed[Math.floor(random() * mixed.length)]?.(...asked);
      for (const value of ["one", "two", "three"]) {
        edit(value);
        await haveAll(value);
      }
      await expectTruth();
    });

  it("has the flags again after records that nobody wrote, and that no version is after", async () => {
    meddling.lie = madeUpRecords;
    edit("meanwhile");
    await eventuallyHave((all) => all.includes(madeUp), "that it believes them");
    await expectTruth();
    // Those whose lease it has are written so that others can follow again.
    const refused = 'bunting_proxy_backplane_refused_records_total{code="record_malformed"}';
    expect(await readMetric(misled.proxy.management, refused, 0)).to.equal(0);
  });

  it("does not ask without end where reads of announcements don't wait", async () => {
    meddling.neverBlocks = true;
    const before = meddling.timesAsked("xread");
    await eventually(() => meddling.timesAsked("xread") > before, "the end of the read that waits");
    const [beats, reads] = [meddling.timesAsked("beat"), meddling.timesAsked("xread")];
    await eventually(() => meddling.timesAsked("beat") >= beats + 8, "some seconds");
    // It would be some ten thousand.
    expect(meddling.timesAsked("xread") - reads).to.be.within(1, 1_000);
    await expectTruth();
  });
});

function valueOf({ flags }: SyncMessage): string | undefined {
  const flag = flags["f"] as { readonly variants?: { readonly on?: string } } | undefined;
  return flag?.variants?.on;
}

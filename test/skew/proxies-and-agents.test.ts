import { expect } from "chai";
import { readMetric } from "../support/read-metric.js";
import { portOf, type ProxyProcess } from "../support/proxy-process.js";
import type { Version } from "./previous-binaries.js";
import { SkewedWorld } from "./skewed-world.js";

const orders: readonly (readonly [what: string, from: Version, to: Version])[] = [
  ["an upgrade", "previous", "present"],
  ["a rollback", "present", "previous"],
];

/** Real processes of both versions; agents of both read, and an application of each asks all the time. */
describe("proxies and agents of two versions", function () {
  this.timeout(300_000);
  let world: SkewedWorld;
  beforeEach(async () => {
    world = await SkewedWorld.start();
  });
  afterEach(() => world.stop());

  for (const [what, from, to] of orders)
    it(`lose no answer and no edit in ${what} of two proxies, one after the other`, async () => {
      const service = await world.service();
      let proxies = [await world.watching(from), await world.watching(from)];
      service.setBackends(proxies.map(portOf));
      await world.ask("previous", service);
      await world.ask("present", service);
      world.edits.begin();
      await world.edit();
      for (const old of proxies) {
        const next = await world.watching(to);
        const others = proxies.filter((each) => each !== old);
        await world.replace(old, next, service, others);
        proxies = [...others, next];
        await world.edit();
      }
      await world.judge();
      // An acknowledgement of every agent is what convergence is measured by.
      const counts = await Promise.all(proxies.map(convergences));
      expect(counts.reduce((sum, count) => sum + count)).to.be.greaterThan(0);
    });

  it("lose none where two levels of proxies are upgraded and rolled back, first the upper and then the lower", async () => {
    const [upper, lower] = [await world.service(), await world.service()];
    let root = await world.watching("previous");
    upper.setBackends([portOf(root)]);
    let leaf = await world.fed("previous", upper);
    lower.setBackends([portOf(leaf)]);
    await world.ask("previous", lower);
    await world.ask("present", lower);
    world.edits.begin();
    await world.edit();
    for (const version of ["present", "previous"] as const) {
      const nextRoot = await world.watching(version);
      await world.replace(root, nextRoot, upper);
      root = nextRoot;
      await world.edit();
      const nextLeaf = await world.fed(version, upper);
      await world.replace(leaf, nextLeaf, lower);
      leaf = nextLeaf;
      await world.edit();
    }
    await world.judge();
  });

  for (const [what, from, to] of orders)
    it(`have copies on disk that the other version starts from in ${what} of an agent, while the proxy is away`, async () => {
      const service = await world.service();
      const proxy = await world.watching("present");
      service.setBackends([portOf(proxy)]);
      const cache = ["--cache-dir", world.directory("cache")];
      const first = await world.ask(from, service, cache);
      world.edits.begin();
      await world.allHaveTheNewest();
      world.edits.end();
      await world.endAsking();
      service.setBackends([]);
      service.cut();
      expect(await first.process.stop("SIGTERM"), first.process.output).to.equal(0);
      const second = await world.ask(to, service, cache);
      expect(await readMetric(second.management, 'bunting_agent_sync_connected{source="0"}')).to.equal(0);
      service.setBackends([portOf(proxy)]);
      world.edits.begin();
      await world.judge();
    });
});

function convergences({ management }: ProxyProcess): Promise<number> {
  return readMetric(management, 'bunting_proxy_topic_convergence_seconds_count{share="1"}', 0);
}

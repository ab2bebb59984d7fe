import { needsRedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { modelSeeds } from "../support/seed.js";
import { ReplicasModel } from "./replicas/replicas-model.js";

/** REPLICAS_STEPS tries more than a test run has time for. */
const steps = Number(process.env["REPLICAS_STEPS"] ?? 60);

/*
 * Seen to fail with each of these mutations of the product:
 *
 * - Redis does not check the lease and the number of who writes (either of the two suffices here; records.test.ts has a test for each);
 * - an owner goes on after its lease has ended; followers take what is older; who loses a lease closes its watch before another one reads;
 * - announcements are not acted on; an owner's watch, or who follows, ignores deletions; no epoch begins after a restore of etcd;
 * - a replica without Redis does not watch; nothing is said to be stale, or what was stale stays so;
 * - an owner finds a later epoch with an older version in Redis, and waits for its writer, who is gone: that was in the product.
 *
 * What it can't see, because something else mends it, has tests of its own: the order that Redis checks (records.test.ts), the comparison from
 * time to time and gaps in announcements (announcements.test.ts), leases that are given back, questions to owners and
 * what a new owner learns that others want (backplane-source.test.ts), contradictions and stale records (replicated-topic.test.ts), how long a
 * confirmation counts (owner-confirmation.test.ts), and the grace and the confirmation of deletions (topic.test.ts, kubernetes-source.test.ts).
 */

describe("three replicas on one Redis, whatever happens to them, to Redis, to the API server and to the ways between them", function () {
  this.timeout(900_000);
  before(function () {
    needsRedisServer(this);
  });

  for (const seed of modelSeeds(1))
    it(`bring every agent to the last version, through nothing but versions in their order, and watch once in the end (seed ${seed})`, async () => {
      const model = await ReplicasModel.start(seed);
      try {
        for (let step = 0; step < steps; step++) await model.step();
        await model.judge();
      } catch (error) {
        throw new Error(`seed ${seed}:\n${model.story}`, { cause: error });
      } finally {
        await model.close();
      }
    });
});

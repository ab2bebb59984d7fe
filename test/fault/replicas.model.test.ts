import { needsRedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { ReplicasModel } from "./replicas/replicas-model.js";

/** `REPLICAS_SEEDS=5,6,7` tries others, and REPLICAS_STEPS more, than a test run has time for. */
const seeds = (process.env["REPLICAS_SEEDS"] ?? "1").split(",").map(Number);
const steps = Number(process.env["REPLICAS_STEPS"] ?? 60);

describe("three replicas on one Redis, whatever happens to them, to Redis, to the API server and to the ways between them", function () {
  this.timeout(900_000);
  before(function () {
    needsRedisServer(this);
  });

  for (const seed of seeds)
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

import { comparePositions, type RecordPosition } from "@bunting/backplane";
import type { RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { expect } from "chai";

interface Stored extends RecordPosition {
  readonly fence: number;
}

/** What Redis holds of each topic, as who starts just then would read it: until it is emptied, nothing older, and nothing of an older owner. */
export class RedisHistory {
  readonly #redis: RedisServer;
  readonly #topics: readonly string[];
  readonly #last = new Map<string, Stored>();

  constructor(redis: RedisServer, topics: readonly string[]) {
    this.#redis = redis;
    this.#topics = topics;
  }

  emptied(): void {
    this.#last.clear();
  }

  /** Fails if it has gone back since it was looked at before. Redis has to answer. */
  async look(): Promise<void> {
    for (const topic of this.#topics) {
      const fields = ["fence", "epoch", "version"];
      const answer = await this.#redis.command("HMGET", `bunting:2:record:${topic}`, ...fields);
      const [fence, epoch, version] = answer as readonly (string | null)[];
      if (version === null || version === undefined) continue;
      const now = { fence: Number(fence), epoch: Number(epoch), resourceVersion: version };
      const before = this.#last.get(topic) ?? now;
      const what = `${topic} in Redis: ${JSON.stringify(before)}, then ${JSON.stringify(now)}`;
      expect(comparePositions(now, before), `an older version of ${what}`).to.be.at.least(0);
      expect(now.fence, `an older owner of ${what}`).to.be.at.least(before.fence);
      this.#last.set(topic, now);
    }
  }
}

import { sleep, type Clock, type Runnable } from "@bunting/runtime";
import type { BackplaneError } from "../backplane-error.js";
import { fromRedisError } from "../connection/redis-error.js";
import type { RedisConnection } from "../connection/redis-connection.js";
import type { Keys } from "../keys.js";
import { beatScript, mostMembers } from "./beat-script.js";

export interface MembershipOptions {
  readonly connection: Pick<RedisConnection, "evaluate">;
  readonly keys: Keys;
  /** This replica, with a part that is new for each process. */
  readonly member: string;
  /** TTL of a replica without a heartbeat, in ms. */
  readonly memberMs: number;
  readonly clock: Clock;
  /** Called with each heartbeat, with the error if it failed: Redis may accept connections and refuse to work. */
  readonly onBeat?: (failure?: BackplaneError) => void;
}

/** Heartbeats in a TTL. */
const beatsPerLife = 3;
/** The longest TTL that a replica may be configured with. */
const longestMs = 3_600_000;

/** The live replicas, as Redis knows them. */
export class Membership implements Runnable {
  readonly name = "membership";
  readonly #options: MembershipOptions;
  #members: readonly string[] | undefined;
  /** End of the TTL of `#members`, on the monotonic clock of this process. */
  #untilMs = 0;
  #isLeaving = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** The members at the last heartbeat; undefined after its TTL, when Redis is unreachable. */
  get members(): readonly string[] | undefined {
    return this.#options.clock.monotonicMs() < this.#untilMs ? this.#members : undefined;
  }

  /** Sends heartbeats until the signal aborts, then leaves. The connection must outlast it. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, memberMs } = this.#options;
    while (!signal.aborted) {
      // Without Redis the heartbeat fails; the connection logs why.
      await this.beat().catch(() => undefined);
      await sleep(memberMs / beatsPerLife, signal, clock);
    }
    this.#isLeaving = true;
    await this.beat().catch(() => undefined);
  }

  /** Sends a heartbeat and reads the live members. Rejects without Redis. */
  async beat(): Promise<void> {
    const { connection, keys, member, memberMs, clock } = this.#options;
    const sentMs = clock.monotonicMs();
    const [joins, leaves] = this.#isLeaving ? ["", member] : [member, ""];
    const args = [joins, memberMs, leaves, longestMs, mostMembers];
    const names = [keys.members, ...keys.samples];
    const answer = await this.#send(() => connection.evaluate(beatScript, names, args));
    this.#untilMs = sentMs + memberMs;
    this.#members = answer.filter((one) => one !== undefined).sort();
  }

  async #send<Answer>(send: () => Promise<Answer>): Promise<Answer> {
    const { onBeat } = this.#options;
    try {
      const answer = await send();
      onBeat?.();
      return answer;
    } catch (error) {
      onBeat?.(fromRedisError(error));
      throw error;
    }
  }
}

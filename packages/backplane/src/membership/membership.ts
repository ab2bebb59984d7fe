import { sleep, type Clock, type Runnable } from "@bunting/runtime";
import type { BackplaneError } from "../backplane-error.js";
import { fromRedisError } from "../connection/redis-error.js";
import type { RedisConnection } from "../connection/redis-connection.js";
import type { Keys } from "../keys.js";
import { texts } from "../lease/leases.js";
import { beatScript } from "./beat-script.js";

export interface MembershipOptions {
  readonly connection: Pick<RedisConnection, "evaluate">;
  readonly keys: Keys;
  /** This replica, with a part that is new for each process. */
  readonly member: string;
  /** How long a replica counts as live without a beat. */
  readonly memberMs: number;
  readonly clock: Clock;
  /** Called when replicas join or leave, and once at the first beat; in one order, this one included unless it drains. */
  readonly onChange: (members: readonly string[]) => void;
  /** Called with each beat, with the reason if it failed: Redis may take connections and refuse to work. */
  readonly onBeat?: (failure?: BackplaneError) => void;
}

/** Beats for as many times may be lost before a replica counts as gone. */
const beatsPerLife = 3;
/** Longer than any replica may be configured to live without a beat. */
const longestMs = 3_600_000;
const mostMembers = 1_000;

/** The live replicas, as Redis knows them. */
export class Membership implements Runnable {
  readonly name = "membership";
  readonly #options: MembershipOptions;
  #members: readonly string[] | undefined;
  /** Until when what is known counts, on the monotonic clock of this process. */
  #untilMs = 0;
  #isDraining = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** The members at the last beat; undefined if that was too long ago to count, because Redis is away. */
  get members(): readonly string[] | undefined {
    return this.#options.clock.monotonicMs() < this.#untilMs ? this.#members : undefined;
  }

  /** Beats until the signal aborts, and then leaves, so that others take over at once: the connection has to outlast it. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, memberMs } = this.#options;
    while (!signal.aborted) {
      // Without Redis there is nothing to say; the connection says why.
      await this.beat().catch(() => undefined);
      await sleep(memberMs / beatsPerLife, signal, clock);
    }
    await this.drain().catch(() => undefined);
  }

  /** Tells that this replica is live, and learns who else is. Rejects without Redis. */
  async beat(): Promise<void> {
    const { connection, keys, member, memberMs, clock } = this.#options;
    const sentMs = clock.monotonicMs();
    const [joins, leaves] = this.#isDraining ? ["", member] : [member, ""];
    const args = [joins, memberMs, leaves, longestMs, mostMembers];
    const answer = texts(
      await this.#send(() => connection.evaluate(beatScript, [keys.members, ...keys.samples], args)),
    );
    this.#untilMs = sentMs + memberMs;
    this.#take(answer.filter((one) => one !== undefined).sort());
  }

  /** Leaves: nothing more is to be owned by this replica, which goes on to learn who is live. Rejects without Redis. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    await this.beat();
  }

  async #send(send: () => Promise<unknown>): Promise<unknown> {
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

  #take(members: readonly string[]): void {
    const before = this.#members;
    this.#members = members;
    if (before?.join("\n") !== members.join("\n")) this.#options.onChange(members);
  }
}

import { expect } from "chai";
import { noMetrics } from "@bunting/proxy/internal/proxy-metrics.js";
import type { DeletionPolicy } from "@bunting/proxy/internal/topic/tombstone.js";
import { eventually } from "../../support/event-queue.js";
import { ManualClock } from "../../support/manual-clock.js";
import { SyncServer } from "../../support/sync-server.js";
import { TcpSwitch } from "../../support/tcp-switch.js";
import type { FlagHistory } from "./flag-history.js";
import { FollowingSource } from "./following-source.js";

export const ackTimeoutMs = 30_000;
export const lingerMs = 10_000;
export const graceMs = 45_000;

/** One run of a proxy, from its start to its end. */
class Life {
  readonly clock = new ManualClock();
  readonly source: FollowingSource;
  readonly server: SyncServer;
  /** The proxy's own gauges. */
  readonly counts = { streams: 0, subscriptions: 0, heldBack: 0, rejected: 0, heldSubscribers: 0 };

  constructor(history: FlagHistory, deletionPolicy: DeletionPolicy) {
    const { clock, counts } = this;
    this.source = new FollowingSource(history, clock);
    this.server = new SyncServer({
      context: {
        clock,
        metrics: {
          ...noMetrics,
          activeStreams: (delta) => (counts.streams += delta),
          agentSubscriptions: (delta) => (counts.subscriptions += delta),
          heldBack: (delta) => (counts.heldBack += delta),
          rejectedFlags: (delta) => (counts.rejected += delta),
          heldSubscribers: (delta) => (counts.heldSubscribers += delta),
        },
      },
      source: this.source,
      lingerMs,
      ackTimeoutMs,
      deletionGraceMs: graceMs,
      deletionPolicy,
    });
  }

  /** Waits until the proxy has noticed that no client is connected. */
  async deserted(): Promise<void> {
    const { server, counts } = this;
    const isDeserted = (): boolean =>
      server.listener.sessions.size === 0 && [...server.topics.topics()].every(({ size }) => size === 0);
    await eventually(isDeserted, "no session and no subscriber");
    expect(counts).to.deep.equal({
      streams: 0,
      subscriptions: 0,
      heldBack: 0,
      rejected: 0,
      heldSubscribers: 0,
    });
  }

  judgeNothingLeft(): void {
    expect(this.server.topics.size, "topics").to.equal(0);
    expect(this.source.watchCount, "watches").to.equal(0);
    expect(this.clock.pendingTimers, "timers").to.equal(0);
  }
}

/** One of several proxies, behind an address that stays the same, whether the proxy is up or not. */
export class Replica {
  readonly #history: FlagHistory;
  readonly #deletionPolicy: DeletionPolicy;
  readonly #address: TcpSwitch;
  #life: Life | undefined;

  private constructor(history: FlagHistory, deletionPolicy: DeletionPolicy, address: TcpSwitch) {
    this.#history = history;
    this.#deletionPolicy = deletionPolicy;
    this.#address = address;
  }

  static async start(history: FlagHistory, deletionPolicy: DeletionPolicy): Promise<Replica> {
    const replica = new Replica(history, deletionPolicy, await TcpSwitch.start());
    await replica.revive();
    return replica;
  }

  get port(): number {
    return this.#address.port;
  }

  get isUp(): boolean {
    return this.#life !== undefined;
  }

  get source(): FollowingSource | undefined {
    return this.#life?.source;
  }

  /** Starts it anew, without any state. */
  async revive(): Promise<void> {
    if (this.#life !== undefined) return;
    this.#life = new Life(this.#history, this.#deletionPolicy);
    const { port } = await this.#life.server.start();
    this.#address.setBackends([port]);
  }

  /** Ends it without notice: all its connections and its port are gone. */
  async kill(): Promise<void> {
    const life = this.#life;
    if (life === undefined) return;
    this.#life = undefined;
    this.#address.setBackends([]);
    this.#address.cut();
    await life.server.stop();
    await life.deserted();
    life.judgeNothingLeft();
  }

  advance(ms: number): void {
    this.#life?.clock.advance(ms);
  }

  /** To be called when all subscribers have left: what was kept for them expires. */
  async judgeEnd(): Promise<void> {
    await this.#life?.deserted();
    // A topic in grace lingers until it is over, and then once more.
    this.advance(graceMs + 2 * lingerMs);
    this.#life?.judgeNothingLeft();
  }

  async close(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    await this.#address.close();
    await life?.server.stop();
  }
}

import { expect } from "chai";
import {
  callingKey,
  keyLifeMs,
  keyOverlapMs,
  keySettleMs,
  nextWebhookKeys,
  webhookKeysAfterLoss,
  webhookKeysDueMs,
  type OtherAnswerer,
  type WebhookKeys,
} from "./webhook-keys.js";

const startMs = Date.UTC(2026, 0, 1);

/** A leader, which makes the keys A, B, C …, and tells API servers of the one that they are to call by. */
class Leader {
  nowMs = startMs;
  keys: WebhookKeys = [];
  applied: string | undefined;
  other: OtherAnswerer = "gone";
  #made = 0;

  readonly create = (): string => String.fromCharCode(65 + this.#made++);

  look(): void {
    for (;;) {
      const next = nextWebhookKeys(this.keys, this.view);
      if (next === this.keys) return;
      this.keys = next;
    }
  }

  get view(): Parameters<typeof nextWebhookKeys>[1] {
    return { nowMs: this.nowMs, appliedKey: this.applied, other: this.other, create: this.create };
  }

  apply(): void {
    this.applied = callingKey(this.keys);
    this.look();
  }

  wait(ms: number): void {
    this.nowMs += ms;
    this.look();
  }

  get states(): string {
    return this.keys
      .map(
        ({ key, usedMs, toldMs }) => `${key}${toldMs !== undefined ? "!" : usedMs !== undefined ? "+" : ""}`,
      )
      .join(" ");
  }
}

describe("webhook keys", () => {
  let leader: Leader;

  beforeEach(() => {
    leader = new Leader();
    leader.look();
  });

  it("are called by at once where there was none", () => {
    expect([leader.states, callingKey(leader.keys)]).to.deep.equal(["A+", "A"]);
    leader.apply();
    expect(leader.states).to.equal("A!");
    expect(webhookKeysDueMs(leader.keys)).to.equal(startMs + keyLifeMs);
    expect(callingKey([])).to.equal(undefined);
    expect(webhookKeysDueMs([])).to.equal(Infinity);
  });

  it("are replaced with an overlap: replicas hear first, then API servers, and the old one goes last", () => {
    leader.apply();
    leader.wait(keyLifeMs);
    expect([leader.states, callingKey(leader.keys)]).to.deep.equal(["A! B", "A"]);
    expect(webhookKeysDueMs(leader.keys)).to.equal(leader.nowMs + keySettleMs);
    leader.wait(keySettleMs - 1);
    expect(callingKey(leader.keys)).to.equal("A");
    leader.wait(1);
    expect([leader.states, callingKey(leader.keys)]).to.deep.equal(["A! B+", "B"]);
    leader.wait(10 * keyOverlapMs);
    expect(leader.states, "API servers have not been told").to.equal("A! B+");
    leader.apply();
    expect(webhookKeysDueMs(leader.keys)).to.equal(leader.nowMs + keyOverlapMs);
    leader.wait(keyOverlapMs - 1);
    expect(leader.states).to.equal("A! B!");
    leader.wait(1);
    expect(leader.states).to.equal("B!");
  });

  it("go on to be answered when the Secret is lost, however often", () => {
    leader.apply();
    for (let i = 0; i < 10; i++) leader.keys = webhookKeysAfterLoss(leader.keys, leader.view);
    expect(leader.keys).to.have.length(4);
    expect(webhookKeysAfterLoss([], leader.view)).to.deep.equal([]);
  });

  it("always have the one that API servers call by, through two years of losses, late replicas and late applies", () => {
    let replica = leader.keys;
    leader.apply();
    for (let step = 0; leader.nowMs < startMs + 2 * 365 * 86_400_000; step++) {
      // The replica is up to half a minute behind.
      const seen = leader.keys;
      leader.wait(step % 3 === 0 ? 30_000 : 7 * 3_600_000);
      if (step % 301 === 300) leader.keys = webhookKeysAfterLoss(leader.keys, leader.view);
      leader.look();
      replica = step % 3 === 0 ? seen : leader.keys;
      const called = leader.applied ?? "";
      for (const each of [leader.keys, replica])
        expect(
          each.map(({ key }) => key),
          `step ${step}: ${leader.states}`,
        ).to.include(called);
      if (step % 2 === 0) leader.apply();
    }
    expect((leader.keys.at(-1)?.key ?? "") > "F").to.equal(true);
  });

  it("makes none before it is known whether another operator answers, and goes by plain paths while one does", () => {
    const beside = new Leader();
    beside.other = "unknown";
    beside.look();
    expect(beside.states).to.equal("");
    expect(webhookKeysDueMs(beside.keys)).to.equal(Infinity);
    beside.other = "there";
    beside.look();
    expect([beside.states, callingKey(beside.keys)]).to.deep.equal(["+", ""]);
    beside.apply();
    beside.wait(keyOverlapMs);
    expect(beside.states, "as long as it is there").to.equal("!");
    beside.other = "gone";
    beside.look();
    expect([beside.states, callingKey(beside.keys)]).to.deep.equal(["! A", ""]);
    beside.wait(keySettleMs);
    beside.apply();
    expect(beside.states, "both for a while").to.equal("! A!");
    beside.wait(keyOverlapMs);
    expect(beside.states).to.equal("A!");
  });
});

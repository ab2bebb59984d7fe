import { expect } from "chai";
import {
  authoritiesAfterLoss,
  authoritiesDueMs,
  leafLifeMs,
  nextAuthorities,
  settleMs,
  type Authorities,
} from "./authority.js";
import { bundleOf } from "./bundle.js";
import { leafDueMs, nextLeaf, type Leaf } from "./leaf.js";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const startMs = Date.UTC(2026, 0, 1);

/** Authorities with the certificates A, B, C … */
class Leader {
  nowMs = startMs;
  authorities: Authorities = [];
  applied: string | undefined;
  #made = 0;

  /** Everything there is to do at this time. */
  look(): void {
    for (;;) {
      const next = nextAuthorities(this.authorities, {
        nowMs: this.nowMs,
        appliedBundle: this.applied,
        create: () => ({ cert: String.fromCharCode(65 + this.#made++), key: "key" }),
      });
      if (next === this.authorities) return;
      this.authorities = next;
    }
  }

  apply(): void {
    this.applied = bundleOf(this.authorities);
    this.look();
  }

  wait(ms: number): void {
    this.nowMs += ms;
    this.look();
  }

  /** `A retired, B trusted, C new`. */
  get states(): string {
    const stateOf = ({ key, trustedMs }: Authorities[number]): string =>
      key === undefined ? "retired" : trustedMs === undefined ? "new" : "trusted";
    return this.authorities.map((each) => `${each.cert} ${stateOf(each)}`).join(", ");
  }
}

describe("nextAuthorities", () => {
  function rotating(): Leader {
    const leader = new Leader();
    leader.look();
    leader.apply();
    leader.wait(244 * dayMs);
    return leader;
  }

  it("makes one, which is trusted once its bundle was applied, and adds another when two thirds of its life are over", () => {
    const leader = new Leader();
    leader.look();
    expect(leader.states).to.equal("A new");
    leader.wait(dayMs);
    expect(leader.states).to.equal("A new");
    leader.apply();
    expect(leader.states).to.equal("A trusted");
    leader.wait(242 * dayMs);
    expect(leader.states).to.equal("A trusted");
    leader.wait(dayMs);
    expect(leader.states).to.equal("A trusted, B new");
  });

  it("lets the new one issue a minute after its bundle was applied, and not before", () => {
    const leader = rotating();
    leader.wait(10 * dayMs);
    expect(leader.states).to.equal("A trusted, B new");
    leader.apply();
    leader.wait(settleMs - 1);
    expect(leader.states).to.equal("A trusted, B trusted");
    leader.wait(1);
    expect(leader.states).to.equal("A retired, B trusted");
    expect(leader.authorities[0]).to.not.have.property("key");
  });

  it("keeps the old one in the bundle for as long as a certificate of it can live", () => {
    const leader = rotating();
    leader.apply();
    leader.wait(settleMs);
    leader.wait(leafLifeMs);
    expect(bundleOf(leader.authorities)).to.equal("A\nB\n");
    leader.wait(hourMs);
    expect(leader.states).to.equal("B trusted");
  });

  it("ends with a new one even if nobody ever applies a bundle", () => {
    const leader = new Leader();
    leader.look();
    leader.wait(366 * dayMs);
    expect(leader.states).to.equal("B new");
  });

  it("begins again after a loss, with the lost ones still in the bundle, of which there are never many", () => {
    const leader = rotating();
    leader.apply();
    leader.authorities = authoritiesAfterLoss(leader.authorities, leader.nowMs);
    leader.look();
    expect(leader.states).to.equal("A retired, B retired, C new");
    for (let i = 0; i < 10; i++) {
      leader.authorities = authoritiesAfterLoss(leader.authorities, leader.nowMs);
      leader.look();
    }
    expect(leader.authorities).to.have.length(4);
  });

  it("follows one of the future, which nobody accepts, at once: the clock was wrong when it was made", () => {
    const leader = new Leader();
    leader.nowMs = startMs + 400 * dayMs;
    leader.look();
    leader.apply();
    leader.nowMs = startMs;
    leader.look();
    expect(leader.states).to.equal("A trusted, B new");
    leader.apply();
    leader.wait(settleMs);
    expect(leader.states).to.equal("A retired, B trusted");
    expect(
      nextLeaf(leader.authorities, undefined, leader.nowMs, ({ cert, key }) => ({ cert, key }))?.issuer,
    ).to.equal("B");
  });

  it("says when something is due, so that waiting until then changes something", () => {
    const leader = new Leader();
    expect(authoritiesDueMs([])).to.equal(0);
    for (let i = 0; i < 20; i++) {
      leader.look();
      leader.apply();
      const before = leader.authorities;
      const dueMs = authoritiesDueMs(before);
      leader.wait(dueMs - leader.nowMs - 1);
      expect(leader.authorities).to.equal(before);
      leader.wait(1);
      expect(leader.authorities).to.not.equal(before);
    }
  });
});

describe("nextLeaf", () => {
  const issue = ({ cert }: { readonly cert: string }): { cert: string; key: string } => ({
    cert: `leaf of ${cert}`,
    key: "",
  });
  const authority = { validFromMs: startMs, validToMs: startMs + 365 * dayMs };
  const a = { ...authority, cert: "A", key: "a" };
  const b = { ...authority, cert: "B", key: "b" };
  const lost = { ...authority, cert: "A" };
  const trusted = { trustedMs: startMs - settleMs };
  const leafOfA = nextLeaf([a], undefined, startMs, issue);

  it("issues of the only one before anybody was told of it, because there is nothing better", () => {
    expect(leafOfA).to.include({ cert: "leaf of A", issuer: "A", validToMs: startMs + leafLifeMs });
    expect(nextLeaf([], undefined, startMs, issue)).to.equal(undefined);
  });

  it("stays with what it holds until everybody has been told of the new authority for a minute", () => {
    const both = (trustedMs: number) => [
      { ...a, ...trusted },
      { ...b, trustedMs },
    ];
    expect(nextLeaf(both(startMs), leafOfA, startMs + settleMs - 1, issue)).to.equal(leafOfA);
    expect(nextLeaf(both(startMs), leafOfA, startMs + settleMs, issue)?.issuer).to.equal("B");
    expect(nextLeaf([lost, b], leafOfA, startMs + 5 * dayMs, issue)).to.equal(leafOfA);
  });

  it("renews at two thirds of its life, whether its authority is trusted or not", () => {
    for (const each of [a, { ...a, ...trusted }]) {
      expect(nextLeaf([each], leafOfA, startMs + 4 * dayMs, issue)).to.equal(leafOfA);
      const renewed = nextLeaf([each], leafOfA, startMs + 5 * dayMs, issue);
      expect(renewed?.validToMs).to.equal(startMs + 12 * dayMs);
    }
  });

  it("replaces what was issued in the future, by a clock that was wrong", () => {
    for (const each of [a, { ...a, ...trusted }]) {
      const early = nextLeaf([each], undefined, startMs + 30 * dayMs, issue);
      expect(nextLeaf([each], early, startMs + 30 * dayMs - hourMs, issue)).to.equal(early);
      expect(nextLeaf([each], early, startMs + 30 * dayMs - hourMs - 1, issue)).to.not.equal(early);
      const renewed = nextLeaf([each], early, startMs + 20 * dayMs, issue);
      expect(renewed?.validToMs).to.equal(startMs + 27 * dayMs);
    }
  });

  it("takes another authority if its own is unknown, or its certificate has expired", () => {
    expect(nextLeaf([b], leafOfA, startMs, issue)?.issuer).to.equal("B");
    expect(nextLeaf([lost, b], leafOfA, startMs + leafLifeMs, issue)?.issuer).to.equal("B");
  });

  it("keeps its certificate while the authorities are gone", () => {
    expect(nextLeaf([], leafOfA, startMs, issue)).to.equal(leafOfA);
  });

  it("is never one that API servers could not verify, in three years of rotations, losses and late bundles", () => {
    const leader = new Leader();
    const replicas: (Leaf | undefined)[] = [undefined, undefined, undefined];
    leader.look();
    leader.apply();
    for (let step = 0; leader.nowMs < startMs + 3 * 365 * dayMs; step++) {
      // A replica is up to half a minute behind; bundles are applied every third time, and now and then the Secret is lost.
      const seen = leader.authorities;
      leader.wait(step % 2 === 0 ? 30_000 : 11 * hourMs);
      if (step % 997 === 996) leader.authorities = authoritiesAfterLoss(leader.authorities, leader.nowMs);
      leader.look();
      replicas.forEach((held, i) => {
        const authorities = i === 0 ? seen : leader.authorities;
        if (step % (i + 1) === 0) replicas[i] = nextLeaf(authorities, held, leader.nowMs, issue);
      });
      for (const leaf of replicas.filter((each) => each !== undefined)) {
        if (leader.nowMs >= leaf.validToMs) continue;
        expect(leader.applied, `step ${step}: ${leader.states}`).to.contain(leaf.issuer);
      }
      if (step % 3 === 0) leader.apply();
    }
    expect((leader.authorities.at(-1)?.cert ?? "") >= "E").to.equal(true);
  });

  it("says when the next one is due", () => {
    expect(leafDueMs([a], leafOfA, startMs)).to.equal(leafOfA?.renewMs);
    expect(leafDueMs([{ ...b, trustedMs: startMs }], leafOfA, startMs)).to.equal(startMs + settleMs);
    expect(leafDueMs([], undefined, startMs)).to.equal(Infinity);
  });
});

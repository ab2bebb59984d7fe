import { expect } from "chai";
import { connectionBytes } from "./peer-account.js";
import { streamBytes, type OpenAccount } from "@bunting/http2";
import type { Replaceable } from "./eviction-order.js";
import { PeerMemory } from "./peer-memory.js";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

describe("PeerMemory", () => {
  it("sums up what is charged, and drops an account that closes", () => {
    const { memory, open } = peers(100 * mebibyte);
    const first = open("first");
    const second = open("second");
    first.charge(1_000);
    second.charge(500);
    second.release(200);
    expect(memory.bytes).to.equal(2 * connectionBytes + 1_300);
    first.close();
    expect(memory.bytes).to.equal(connectionBytes + 300);
    first.release(1_000);
    first.close();
    expect(memory.bytes).to.equal(connectionBytes + 300);
  });

  it("estimates what requests and connections leave behind when they have ended", () => {
    const { memory, open } = peers(100 * mebibyte);
    const [first, second] = [open("first"), open("second")];
    for (const account of [first, second]) account.begin();
    expect(memory.discardedBytes).to.equal(0);
    first.finish();
    const ofRequest = memory.discardedBytes;
    expect(ofRequest).to.be.at.least(streamBytes);
    first.close();
    first.close();
    expect(memory.discardedBytes).to.equal(ofRequest + connectionBytes);
  });

  it("ends the greediest connection, and only that, when the excess budget is exceeded", async () => {
    const { memory, open, ended } = peers(16 * mebibyte);
    const [modest, greedy] = [open("modest"), open("greedy")];
    modest.charge(100 * kibibyte);
    greedy.charge(8 * mebibyte);
    expect(ended, "in the middle of a charge").to.deep.equal([]);
    await nextTick();
    expect(ended).to.deep.equal(["greedy"]);
    expect(memory.bytes).to.equal(connectionBytes + 100 * kibibyte);
  });

  it("ends the newest of equals, as many as it takes to have some memory to spare", async () => {
    const { open, ended } = peers(16 * mebibyte);
    for (let index = 0; index < 10; index++) open(`peer ${index}`).charge(mebibyte);
    await nextTick();
    expect(ended).to.deep.equal(["peer 9", "peer 8", "peer 7"]);
  });

  it("never ends an idle connection, however many there are, but says that it is full", async () => {
    const { memory, open, ended } = peers(mebibyte);
    const count = Math.floor(mebibyte / connectionBytes);
    for (let index = 0; index < count; index++) {
      expect(memory.isFull, `before ${index}`).to.equal(false);
      open(`idle ${index}`);
    }
    expect(memory.isFull).to.equal(true);
    const holding = open("holding 40 KiB");
    holding.charge(20 * kibibyte);
    await nextTick();
    expect(ended).to.deep.equal(["holding 40 KiB"]);
  });

  it("says for half a minute that a new connection was refused, and not that one has given way", () => {
    let nowMs = 0;
    const memory = new PeerMemory(2.5 * connectionBytes, "idle", mebibyte, () => nowMs);
    const accounts = [memory.open(() => undefined), memory.open(() => undefined)];
    expect(memory.makeRoom(), "an idle one gives way").to.equal(true);
    expect(memory.refusesNew).to.equal(false);
    accounts.push(memory.open(() => undefined));
    for (const account of accounts) account.begin();
    expect(memory.makeRoom()).to.equal(false);
    expect(memory.refusesNew).to.equal(true);
    nowMs += 29_999;
    expect(memory.refusesNew).to.equal(true);
    nowMs += 1;
    expect(memory.refusesNew).to.equal(false);
  });

  it("lets a new connection take the place of an idle one of the address with the most, though all are new", () => {
    const ended: string[] = [];
    const memory = new PeerMemory(4.5 * connectionBytes, "idle");
    const open = (name: string, address: string): OpenAccount => memory.open(() => ended.push(name), address);
    open("honest", "10.0.0.2");
    for (let index = 0; index < 3; index++) open(`flood ${index}`, "10.0.0.1");
    for (let index = 3; index < 6; index++) {
      expect(memory.makeRoom()).to.equal(true);
      open(`flood ${index}`, "10.0.0.1");
    }
    expect(ended).to.deep.equal(["flood 0", "flood 1", "flood 2"]);
  });

  describe("full of connections with requests, which new ones do not replace", () => {
    const budget = 8 * connectionBytes;
    let memory: PeerMemory;
    let ended: string[];
    const open = (address: string, name = address): void =>
      memory.open(() => ended.push(name), address).begin();
    beforeEach(() => {
      memory = new PeerMemory(budget, "idle");
      ended = [];
    });

    it("ends the newest of an address that holds most of it, for one with less than half as much", () => {
      open("honest");
      for (let index = 0; memory.makeRoom("flood"); index++) open("flood", `flood ${index}`);
      expect(ended, "the flood makes no room for itself").to.deep.equal([]);
      const last = memory.bytes;
      expect(memory.makeRoom("other")).to.equal(true);
      expect(ended).to.have.length(1);
      expect(memory.bytes).to.be.below(last);
      const newest = /^flood (\d+)$/.exec(ended[0] ?? "")?.[1];
      open("other");
      expect(memory.makeRoom("other")).to.equal(true);
      expect(ended[1]).to.equal(`flood ${Number(newest) - 1}`);
    });

    it("refuses another of an address with as much, and any if no address holds most of it", () => {
      for (let index = 0; memory.makeRoom(`10.0.0.${index}`); index++) open(`10.0.0.${index}`);
      expect(memory.makeRoom("another")).to.equal(false);
      expect(ended).to.deep.equal([]);
    });

    it("does not let a flood replace the idle connection of an address with less", () => {
      memory.open(() => ended.push("idle"), "honest");
      for (let index = 0; memory.makeRoom("flood"); index++) open("flood", `flood ${index}`);
      expect(ended).to.deep.equal([]);
      expect(memory.makeRoom("other")).to.equal(true);
      expect(ended[0]).to.match(/^flood/);
    });

    it("ends those of the address that holds most of it, when one of another has more to hold", async () => {
      const account = memory.open(() => ended.push("honest"), "honest");
      account.begin();
      for (let index = 0; memory.makeRoom("flood"); index++) open("flood", `flood ${index}`);
      account.charge(connectionBytes);
      await nextTick();
      expect(ended).to.not.include("honest").and.have.length(2);
    });

    it("refuses any where none may be replaced", () => {
      memory = new PeerMemory(budget, "none");
      for (let index = 0; memory.makeRoom("flood"); index++) open("flood", `flood ${index}`);
      expect(memory.makeRoom("other")).to.equal(false);
    });
  });

  it("ends those that are replaceable before ordinary ones, while they hold most of the budget", async () => {
    const { open, ended } = peers(4 * mebibyte, "idle");
    const application = open("an application");
    application.begin();
    application.charge(30 * kibibyte);
    for (let index = 0; index < 160; index++) {
      const account = open(`stream ${index}`);
      account.begin();
      account.beginStream();
    }
    const late = open("late");
    late.begin();
    late.charge(350 * kibibyte);
    await nextTick();
    expect(ended.slice(0, 2)).to.deep.equal(["stream 0", "stream 1"]);
    expect(ended).to.have.length.within(20, 30).and.not.include.members(["an application", "late"]);
  });

  it("gives few ended connections time, and counts what they hold until they have closed", async () => {
    const memory = new PeerMemory(16 * mebibyte);
    const ended: string[] = [];
    const open = (name: string): OpenAccount =>
      memory.open((hasTime) => ended.push(`${name}${hasTime ? " with time" : ""}`));
    const first = open("first");
    first.charge(9 * mebibyte);
    await nextTick();
    open("second").charge(9 * mebibyte);
    await nextTick();
    first.release(8 * mebibyte);
    const third = open("third");
    third.charge(8.5 * mebibyte);
    await nextTick();
    first.close();
    expect(ended).to.deep.equal(["first with time", "second", "third"]);
  });

  it("ends ordinary connections only when the whole budget is exceeded", async () => {
    const { open, ended } = peers(16 * mebibyte);
    for (let index = 0; index < 260; index++) open(`ordinary ${index}`).charge(38 * kibibyte);
    open("one too many").charge(500 * kibibyte);
    await nextTick();
    expect(ended[0]).to.equal("one too many");
    expect(ended).to.have.length(1);
  });

  it("ends the newest of ordinary connections, whichever of them holds more", async () => {
    const { open, ended } = peers(mebibyte);
    open("an application").charge(30 * kibibyte);
    for (let index = 0; index < 30; index++) open(`newer ${index}`).charge(13 * kibibyte);
    await nextTick();
    expect(ended).to.include("newer 29").and.not.include("an application");
  });

  it("lets a connection open as many streams at once as it may hold without being ended", async () => {
    const { memory, open, ended } = peers(8 * mebibyte);
    expect(memory.streamsPerConnection).to.equal(256);
    open("an application").charge(memory.streamsPerConnection * (streamBytes + 2 * kibibyte));
    await nextTick();
    expect(ended).to.deep.equal([]);
  });

  describe("when another connection does not fit", () => {
    const full = (replaceable?: Replaceable): ReturnType<typeof peers> & { accounts: OpenAccount[] } => {
      const ledger = peers(3 * connectionBytes, replaceable);
      return { ...ledger, accounts: ["first", "second", "third"].map((name) => ledger.open(name)) };
    };

    it("ends none unless some are replaceable", () => {
      const { memory, ended } = full();
      expect(memory.makeRoom()).to.equal(false);
      expect(ended).to.deep.equal([]);
    });

    it("ends the one that has been idle for longest", () => {
      const { memory, open, ended, accounts } = full("idle");
      accounts[0]?.begin();
      expect(memory.makeRoom()).to.equal(true);
      expect(ended).to.deep.equal(["second"]);
      open("fourth");
      accounts[0]?.finish();
      expect(memory.makeRoom()).to.equal(true);
      expect(ended).to.deep.equal(["second", "third"]);
    });

    it("ends one that has streams of events only, after those that are idle", () => {
      const { memory, open, ended, accounts } = full("idle");
      const [first, second, third] = accounts;
      for (const account of [first, second]) {
        account?.begin();
        account?.beginStream();
      }
      expect(memory.makeRoom()).to.equal(true);
      expect(ended, "the idle one").to.deep.equal(["third"]);
      third?.close();
      open("fourth").begin();
      first?.begin();
      expect(memory.makeRoom()).to.equal(true);
      expect(ended, "not the one with another request").to.deep.equal(["third", "second"]);
      open("fifth").begin();
      expect(memory.makeRoom()).to.equal(false);
      first?.finish();
      expect(memory.makeRoom()).to.equal(true);
      expect(ended).to.deep.equal(["third", "second", "first"]);
    });

    it("does not end the newest before it could ask, where many have streams of events only", async () => {
      const { memory, open, ended } = peers(32 * (connectionBytes + streamBytes), "idle");
      for (let index = 0; index < 32; index++) {
        const account = open(`stream ${index}`);
        account.begin();
        account.charge(streamBytes);
        account.beginStream();
      }
      expect(memory.makeRoom()).to.equal(true);
      const newest = open("newest");
      newest.charge(2 * streamBytes);
      await Promise.resolve();
      expect(memory.makeRoom()).to.equal(true);
      expect(ended).to.include("stream 1").and.not.include("newest");
    });

    it("ends one of the address that holds the most", () => {
      const ended: string[] = [];
      const memory = new PeerMemory(4 * connectionBytes, "idle");
      for (const [index, address] of ["10.0.0.1", "10.0.0.2", "10.0.0.2", "10.0.0.3"].entries()) {
        const account = memory.open(() => ended.push(`${index} of ${address}`), address);
        if (index !== 3) continue;
        account.begin();
        account.charge(-20_000);
      }
      expect(memory.makeRoom()).to.equal(true);
      expect(ended).to.deep.equal(["1 of 10.0.0.2"]);
    });

    it("ends no request for one, unless any connection is replaceable: then the one that has been busy for longest", () => {
      for (const [replaceable, expected] of [
        ["idle", []],
        ["any", ["second"]],
      ] as const) {
        const { memory, ended, accounts } = full(replaceable);
        for (const index of [1, 0, 2, 1]) accounts[index]?.begin();
        expect(memory.makeRoom()).to.equal(replaceable === "any");
        expect(ended).to.deep.equal(expected);
      }
    });

    it("ends the oldest instead of the greediest over the excess budget, if any connection is replaceable", async () => {
      const { open, ended } = peers(16 * mebibyte, "any");
      for (let index = 0; index < 10; index++) open(`peer ${index}`).charge((1 + index / 100) * mebibyte);
      await nextTick();
      expect(ended).to.deep.equal(["peer 0", "peer 1", "peer 2", "peer 3"].slice(0, ended.length));
      expect(ended.length).to.be.within(3, 4);
    });
  });

  it("reports what was released in large pieces, also by connections that closed", () => {
    const memory = new PeerMemory(100 * 1024 * 1024);
    const reports: number[] = [];
    memory.onReleased((bytes) => reports.push(bytes));
    const account = memory.open(() => undefined);
    for (let index = 0; index < 1_000; index++) {
      account.charge(8_000);
      account.release(8_000);
    }
    expect(reports).to.deep.equal([]);
    account.charge(1_900_000);
    account.release(800_000);
    expect(reports).to.deep.equal([800_000]);
    account.close();
    expect(reports).to.have.length(2);
    expect(reports[1]).to.be.within(1_000_000, 1_100_000);
  });
});

/** A ledger, and the names of the connections that it ended. */
function peers(
  budgetBytes: number,
  replaceable?: Replaceable,
): {
  memory: PeerMemory;
  ended: string[];
  open: (name: string) => OpenAccount;
} {
  const memory = new PeerMemory(budgetBytes, replaceable);
  const ended: string[] = [];
  return { memory, ended, open: (name) => memory.open(() => ended.push(name)) };
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

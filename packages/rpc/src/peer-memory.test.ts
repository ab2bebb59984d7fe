import { expect } from "chai";
import { connectionBytes, PeerMemory, type OpenAccount } from "./peer-memory.js";

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

  it("ends the greediest connection, and only that, when the surplus is exceeded", async () => {
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

  it("ends ordinary connections only when the whole budget is exceeded", async () => {
    const { open, ended } = peers(16 * mebibyte);
    for (let index = 0; index < 260; index++) open(`ordinary ${index}`).charge(38 * kibibyte);
    open("one too many").charge(500 * kibibyte);
    await nextTick();
    expect(ended[0]).to.equal("one too many");
    expect(ended).to.have.length(1);
  });
});

/** A ledger, and the names of the connections that it ended. */
function peers(budgetBytes: number): {
  memory: PeerMemory;
  ended: string[];
  open: (name: string) => OpenAccount;
} {
  const memory = new PeerMemory(budgetBytes);
  const ended: string[] = [];
  return { memory, ended, open: (name) => memory.open(() => ended.push(name)) };
}

function nextTick(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

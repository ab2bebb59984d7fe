import { shapes } from "@bunting/protocol/internal/document-shapes.fixture.js";
import { versionOfDigest } from "@bunting/sync-client/messages";
import { createLogger, systemClock } from "@bunting/runtime";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { FlagIntake } from "./flag-intake.js";
import { FlagStore } from "./flag-store.js";
import { HeapBudget } from "./heap-budget.js";
import { LastKnownGood } from "./last-known-good.js";
import { noStoreMetrics } from "./store-metrics.fixture.js";

const sources = [
  { provider: "grpc", uri: "proxy:8015", selector: "demo/a" },
  { provider: "grpc", uri: "proxy:8015", selector: "demo/b" },
];
const document = Buffer.from('{"flags":{"a":{"variants":{"on":true},"defaultVariant":"on"}}}');
const empty = Buffer.from('{"flags":{}}');
const version = versionOfDigest(Buffer.alloc(32, 1));

describe("FlagIntake", () => {
  let directory: TempDirectory;
  beforeEach(() => {
    directory = new TempDirectory();
  });
  afterEach(() => directory.remove());

  function intakeOf(budget = new HeapBudget(), onRoom = (): void => undefined) {
    const logger = createLogger({ format: "json", debug: false }, { write: () => undefined });
    const store = new FlagStore({
      sources,
      budget,
      context: { logger, metrics: noStoreMetrics },
      onRoom,
    });
    const lastKnownGood = new LastKnownGood({
      maxDocumentBytes: 1_000_000,
      directory: directory.path,
      sources,
      context: { logger, clock: systemClock, metrics: noStoreMetrics },
    });
    const accepted: number[] = [];
    const copies: number[] = [];
    const intake = new FlagIntake({
      store,
      lastKnownGood,
      accepted: (sourceIndex) => accepted.push(sourceIndex),
      loaded: (sourceIndex) => copies.push(sourceIndex),
    });
    return { store, lastKnownGood, accepted, copies, intake };
  }

  async function loaded(): Promise<ReturnType<typeof intakeOf>> {
    const again = intakeOf();
    await again.intake.load();
    return again;
  }

  it("serves what is delivered, keeps it on disk with its version, and loads it at the next start", async () => {
    const { store, lastKnownGood, accepted, intake } = intakeOf();
    expect(intake.deliver({ sourceIndex: 1, bytes: document, version })).to.deep.include({
      rejectedFlags: [],
    });
    expect(store.flag("", "a")).to.include({ sourceIndex: 1 });
    await lastKnownGood.flush();
    const next = await loaded();
    expect(next.store.currentDocument(1)).to.deep.include({ version });
    expect(next.store.currentDocument(0)).to.equal(undefined);
    expect([accepted, next.accepted, next.copies]).to.deep.equal([[1], [], [1]]);
  });

  it("refuses bytes that are not a flag document, and keeps the flags served and the last-known-good copy", async () => {
    const { store, lastKnownGood, accepted, intake } = intakeOf();
    intake.deliver({ sourceIndex: 0, bytes: document, version });
    const result = intake.deliver({ sourceIndex: 0, bytes: Buffer.from("[]"), version });
    expect(result).to.have.property("refusal").that.contains("not a flag document");
    expect(accepted).to.deep.equal([0]);
    expect(store.flag("", "a")).to.not.equal(undefined);
    await lastKnownGood.flush();
    expect((await loaded()).store.currentDocument(0)?.layout.bytes.equals(document)).to.equal(true);
  });

  it("removes the last-known-good copy with a deletion", async () => {
    const { store, lastKnownGood, intake } = intakeOf();
    intake.deliver({ sourceIndex: 0, bytes: document, version });
    await lastKnownGood.flush();
    intake.deliver({ sourceIndex: 0, bytes: empty, isDeletion: true });
    expect(store.flags()).to.deep.equal([]);
    await lastKnownGood.flush();
    const next = await loaded();
    expect(next.copies).to.deep.equal([]);
  });

  it("keeps a version that is confirmed later, with the unchanged document", async () => {
    const { store, lastKnownGood, intake } = intakeOf();
    intake.confirm(0, version);
    intake.deliver({ sourceIndex: 0, bytes: document });
    intake.confirm(0, version);
    expect(store.currentDocument(0)?.version).to.equal(version);
    await lastKnownGood.flush();
    expect((await loaded()).store.currentDocument(0)).to.deep.include({ version });
  });

  describe("with copies of which one leaves the other no room", () => {
    const large = (seed: number): Buffer =>
      Buffer.from(shapes["many flags of nothing"]?.(100_000, seed) ?? "");
    const budget = new HeapBudget(20 * 1024 * 1024);

    beforeEach(async () => {
      const { intake, lastKnownGood } = intakeOf();
      for (const sourceIndex of [0, 1]) intake.deliver({ sourceIndex, bytes: large(sourceIndex) });
      await lastKnownGood.flush();
    });

    it("leaves that one on disk, and serves it once there is room", async () => {
      let hasRoom = false;
      const { intake, store, copies } = intakeOf(budget, () => (hasRoom = true));
      await intake.load();
      expect(copies).to.deep.equal([0]);
      expect(hasRoom).to.equal(false);
      intake.deliver({ sourceIndex: 0, bytes: empty });
      expect(hasRoom).to.equal(true);
      await Promise.all([intake.load(), intake.load(), intake.load()]);
      expect(copies).to.deep.equal([0, 1]);
      expect(store.flags().length).to.be.greaterThan(100);
    });

    it("does not serve it if its source has answered", async () => {
      const { intake, store, copies } = intakeOf(budget);
      await intake.load();
      intake.deliver({ sourceIndex: 0, bytes: empty });
      const loading = intake.load();
      intake.deliver({ sourceIndex: 1, bytes: document });
      await loading;
      expect(copies).to.deep.equal([0]);
      expect(store.flags().map(({ key }) => key)).to.deep.equal(["a"]);
    });
  });
});

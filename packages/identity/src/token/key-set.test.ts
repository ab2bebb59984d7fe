import { expect } from "chai";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { KubeError } from "@bunting/kube";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { eventually } from "@bunting/test/support/event-queue.js";
import { IdentityError } from "../identity-error.js";
import { TestIssuer } from "./issuer.fixture.js";
import { KeySet } from "./key-set.js";
import { clusterKeys, fileKeys, type KeySource, type PublishedKeys } from "./key-source.js";

describe("KeySet", () => {
  const abort: AbortController[] = [];
  let clock: ManualClock;
  let issuers: TestIssuer[];
  let published: TestIssuer[];
  let reads: number;
  /** Reads that are over. */
  let ended: number;
  let failure: Error | undefined;
  let lines: string[];
  let set: KeySet;
  let running: Promise<void>;

  const source: KeySource = {
    name: "the test",
    read: async () => {
      reads++;
      if (failure !== undefined) throw failure;
      return {
        issuer: "https://cluster",
        keySet: { keys: await Promise.all(published.map((issuer) => issuer.jwk())) },
      };
    },
  };

  before(async () => {
    issuers = await Promise.all(["k0", "k1", "k2"].map((kid) => TestIssuer.create(kid)));
  });

  beforeEach(() => {
    clock = new ManualClock();
    published = issuers.slice(0, 1);
    reads = 0;
    ended = 0;
    failure = undefined;
    lines = [];
    const log = (_: unknown, message?: string): void => void lines.push(message ?? "");
    set = new KeySet({
      source,
      issuers: [],
      clock,
      onRead: () => ended++,
      logger: { info: log, warn: log },
    });
  });

  afterEach(async () => {
    for (const each of abort.splice(0)) each.abort();
    await running;
    expect(clock.pendingTimers).to.equal(0);
  });

  async function start(): Promise<void> {
    const controller = new AbortController();
    abort.push(controller);
    running = set.run(controller.signal);
    await settled();
  }

  /** The read that is due is over, and the loop waits again. */
  async function settled(): Promise<void> {
    await nextTurn();
    await eventually(() => ended === reads && clock.pendingTimers === 1, "the wait for the next read");
  }

  async function advance(ms: number): Promise<void> {
    clock.advance(ms);
    await settled();
  }

  function codeOf(found: unknown): Promise<string> {
    return Promise.resolve(found).then(
      () => "found",
      (error: unknown) => (error instanceof IdentityError ? error.code : String(error)),
    );
  }

  it("reads the keys at the start, and the issuer with them", async () => {
    const early = set.find("k0");
    await start();
    expect(await codeOf(early)).to.equal("found");
    expect(set.find("k0")).to.include({ kid: "k0", algorithm: "RS256" });
    expect(set.issuers).to.deep.equal(["https://cluster"]);
    expect(reads).to.equal(1);
  });

  it("reads again when a token names an unknown key, but at most every 5 s", async () => {
    await start();
    published = issuers.slice(0, 2);
    const rotated = set.find("k1");
    const guessed = Array.from({ length: 500 }, (_, index) => codeOf(set.find(`guess-${index}`)));
    await advance(4_999);
    expect(reads).to.equal(1);
    await advance(1);
    expect(reads).to.equal(2);
    expect(await codeOf(rotated)).to.equal("found");
    expect(new Set(await Promise.all(guessed))).to.deep.equal(new Set(["TOKEN_KEY_UNKNOWN"]));
    for (let round = 0; round < 10; round++) {
      const guess = codeOf(set.find(`again-${round}`));
      await advance(5_000);
      expect(await guess).to.equal("TOKEN_KEY_UNKNOWN");
    }
    expect(reads).to.equal(12);
  });

  it("lets only so many wait for unknown keys, and those with known keys not at all", async () => {
    await start();
    const waiting = Array.from({ length: 1_000 }, (_, index) => codeOf(set.find(`guess-${index}`)));
    const refusal =
      /signed with a key that is not known.* read again in (\d) s at the earliest: try again then$/;
    expect(() => set.find("one-more"))
      .to.throw(IdentityError, refusal)
      .with.property("code", "IDENTITY_UNAVAILABLE");
    clock.advance(3_000);
    expect(() => set.find("one-more")).to.throw(/ in 2 s at the earliest/);
    expect(set.find("k0")).to.have.property("kid", "k0");
    await advance(2_000);
    expect(new Set(await Promise.all(waiting))).to.deep.equal(new Set(["TOKEN_KEY_UNKNOWN"]));
    expect(lines.filter((line) => line.includes("can't be read"))).to.deep.equal([]);
  });

  it("says of an unknown key when the keys are read again", async () => {
    await start();
    const refused = Promise.resolve(set.find("guess")).then(
      () => "found",
      (error: unknown) => (error as Error).message,
    );
    await advance(5_000);
    expect(await refused).to.equal(
      "the token is signed with an unknown key, which is none of those that this cluster publishes; they are read again in 5 s at the earliest",
    );
  });

  it("keeps the keys it knows while they can't be read, and lets nobody in whose key it does not know", async () => {
    await start();
    failure = new KubeError("CONNECTION_REFUSED", "nothing listens there");
    const unknown = codeOf(set.find("k1"));
    await advance(5_000);
    expect(await unknown).to.equal("IDENTITY_UNAVAILABLE");
    for (let minutes = 0; minutes < 60; minutes++) await advance(60_000);
    expect(set.find("k0")).to.have.property("kid", "k0");
    expect(lines.filter((line) => line.includes("can't be read"))).to.have.length(1);
    failure = undefined;
    published = issuers.slice(0, 2);
    const back = codeOf(set.find("k1"));
    await advance(60_000);
    expect(await back).to.equal("found");
  });

  it("tries again every 5 s until it knows a key", async () => {
    failure = new Error("down");
    await start();
    const early = codeOf(set.find("k0"));
    await advance(5_000);
    expect(await early).to.equal("IDENTITY_UNAVAILABLE");
    failure = undefined;
    await advance(5_000);
    expect(set.find("k0")).to.have.property("kid", "k0");
  });

  it("answers who asks once it reads no keys any more", async () => {
    await start();
    for (const each of abort) each.abort();
    await running;
    expect(await codeOf(set.find("k1"))).to.equal("IDENTITY_UNAVAILABLE");
    expect(set.find("k0")).to.have.property("kid", "k0");
  });

  it("drops a key that has not been published for ten minutes", async () => {
    published = issuers.slice(0, 2);
    await start();
    published = issuers.slice(1, 2);
    await advance(5_000);
    for (let minutes = 0; minutes < 2; minutes++) await advance(300_000);
    expect(set.has("k0")).to.be.true;
    for (let minutes = 0; minutes < 2; minutes++) await advance(300_000);
    expect(set.has("k0")).to.be.false;
    expect(set.has("k1")).to.be.true;
  });

  it("replaces a key by another that is published under the same id", async () => {
    await start();
    const before = await set.find("k0");
    published = [await TestIssuer.create("k0"), ...issuers.slice(1, 2)];
    const rotated = codeOf(set.find("k1"));
    await advance(5_000);
    expect(await rotated).to.equal("found");
    expect(set.has("k0")).to.equal(true);
    expect(set.has("k0", before.digest)).to.equal(false);
    expect(await set.find("k0")).not.to.equal(before);
  });

  it("accepts only keys that verify and can't sign, and that are strong enough", async () => {
    const [good] = published;
    const jwk = (await good?.jwk()) ?? {};
    const keySet = {
      keys: [
        { kty: "oct", kid: "secret", k: "c2VjcmV0", alg: "HS256" },
        { ...jwk, kid: "encryption", use: "enc" },
        { ...jwk, kid: "symmetric", alg: "HS256" },
        { ...jwk, kid: "weak", n: (jwk.n ?? "").slice(0, 171) },
        { ...jwk, kid: "" },
        { ...jwk, kid: undefined },
        null,
        7,
        { ...jwk, alg: undefined, kid: "usual" },
      ],
    };
    set = new KeySet({
      source: {
        name: "the test",
        read: () => {
          reads++;
          return Promise.resolve({ issuer: undefined, keySet });
        },
      },
      onRead: () => ended++,
      issuers: ["https://a", "https://b"],
      clock,
      logger: { info: () => undefined, warn: () => undefined },
    });
    await start();
    for (const kid of ["secret", "encryption", "symmetric", "weak", ""])
      expect(set.has(kid), kid).to.be.false;
    expect(set.find("usual")).to.include({ algorithm: "RS256" });
    expect(set.issuers).to.deep.equal(["https://a", "https://b"]);
  });
});

describe("the source of keys", () => {
  const { signal } = new AbortController();

  it("is the API server, whose issuer is asked for if none is configured", async () => {
    const asked: string[] = [];
    const client = {
      raw: ({ path: asks }: { readonly path: string }) => {
        asked.push(asks);
        return Promise.resolve(asks.includes("well-known") ? { issuer: "https://cluster" } : { keys: [] });
      },
    };
    expect(await clusterKeys(client, { asksIssuer: true }).read(signal)).to.deep.equal({
      issuer: "https://cluster",
      keySet: { keys: [] },
    } satisfies PublishedKeys);
    expect(asked).to.deep.equal(["/openid/v1/jwks", "/.well-known/openid-configuration"]);
    await clusterKeys(client, { asksIssuer: false }).read(signal);
    expect(asked).to.have.length(3);
  });

  it("says which role is missing where RBAC refuses", async () => {
    const client = { raw: () => Promise.reject(new KubeError("FORBIDDEN", "no")) };
    const error: unknown = await clusterKeys(client, { asksIssuer: true })
      .read(signal)
      .catch((reason: unknown) => reason);
    expect(String(error)).to.include("system:service-account-issuer-discovery");
  });

  it("is a file, which is read anew each time", async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "bunting-keys-"));
    const file = path.join(directory, "jwks.json");
    try {
      await writeFile(file, `{"keys":[1]}`);
      const keys = fileKeys(file);
      expect((await keys.read(signal)).keySet).to.deep.equal({ keys: [1] });
      await writeFile(file, `{"keys"`);
      const error: unknown = await keys.read(signal).catch((reason: unknown) => reason);
      expect(String(error)).to.include("it is not JSON");
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

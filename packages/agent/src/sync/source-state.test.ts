import { createLogger, systemClock } from "@bunting/runtime";
import { expect } from "chai";
import type { SourceConfig } from "./source-config.js";
import { SourceState } from "./source-state.js";
import type { SourceMemory } from "./sync-source.js";
import { noSyncMetrics } from "./sync-metrics.fixture.js";

const config: SourceConfig = {
  provider: "file",
  sourceIndex: 3,
  uri: "flags.json",
  selector: "",
  path: "flags.json",
};

describe("SourceState", () => {
  it("logs one line for each transition, and none for another attempt that ends the same way", () => {
    const { state, lines } = useState();
    for (let i = 0; i < 5; i++) state.failed("UNAVAILABLE", `refused ${i}`);
    expect(lines()).to.deep.equal(["the source is unreachable; retrying"]);
    expect(state.status()).to.include({ state: "connecting", error: "refused 4", lastUpdate: undefined });
    state.failed("NOT_FOUND", "no such flags");
    state.connected();
    state.connected();
    state.documentReceived();
    for (let i = 0; i < 5; i++) state.failed("NOT_FOUND", "gone");
    expect(lines()).to.deep.equal([
      "the source is unreachable; retrying",
      "the source does not have what this agent is configured to ask for; retrying",
      "connected to the source",
      "the source no longer has what this agent is configured to ask for; its last flags are still served while the agent tries again",
    ]);
    expect(state.status()).to.include({ state: "disconnected", error: "gone" });
  });

  it("logs that an outage has ended in something that only people can mend", () => {
    const { state, lines } = useState();
    for (const advice of [undefined, undefined, "trust its authority", "trust its authority"])
      state.failed("unavailable", "gone", advice);
    expect(lines()).to.have.length(2);
    state.failed("unavailable", "gone");
    expect(lines()).to.have.length(2);
  });

  it("logs a refusal once, also where each attempt connects before it is refused", () => {
    const { state, lines } = useState();
    const attempt = (reason: string): void => {
      state.connected();
      state.failed(reason, "no", "name a token");
    };
    for (let i = 0; i < 5; i++) attempt("unauthenticated");
    const refusals = (): number => lines().filter((line) => line.startsWith("the source refuses")).length;
    expect(refusals()).to.equal(1);
    expect(state.status()).to.include({ error: "no", advice: "name a token" });
    state.documentReceived();
    attempt("unauthenticated");
    expect(refusals()).to.equal(2);
    attempt("permission_denied");
    expect(refusals()).to.equal(3);
    state.warned("there is no FeatureFlag");
    attempt("permission_denied");
    expect(refusals()).to.equal(4);
    state.refused("no JSON", { isLogged: true });
    attempt("permission_denied");
    expect(refusals()).to.equal(5);
    state.connected();
    expect(state.status()).to.include({ error: undefined, advice: undefined });
  });

  it("logs a few lines of each kind a minute, with the number left out, and cuts long messages", () => {
    const { state, lines, times, written } = useState();
    for (let i = 0; i < 100; i++) {
      state.failed(i % 2 === 0 ? "UNAVAILABLE" : "INTERNAL", "e".repeat(100_000));
      state.warned(i % 2 === 0 ? "there is no FeatureFlag" : "it was deleted");
    }
    expect(lines()).to.have.length(18);
    expect(written.join("")).to.have.length.below(10_000);
    state.failed("UNAVAILABLE", "e".repeat(100_000));
    expect(state.status().error).to.have.length(500);
    times.monotonicMs = 60_000;
    state.connected();
    expect(written.at(-1)).to.contain("connected to the source").and.contain('"suppressedSinceLast":94');
  });

  it("lets no text of a server begin a line of /readyz, or act on a terminal", () => {
    const { state, written } = useState();
    state.failed("PERMISSION_DENIED", "no\u001b[2J\r\nsource 1: ready\u202e\u009b8m");
    expect(state.status().error).to.equal("no?[2J source 1: ready??8m");
    expect(written.join("")).to.not.match(/[\u202e\u009b]/);
  });

  it("forgets the error when the source is back, and keeps the time of its newest document", () => {
    const { state, times } = useState();
    times.now = 1_000;
    state.documentReceived();
    times.now = 2_000;
    state.failed("UNAVAILABLE", "gone");
    times.now = 3_000;
    state.connected();
    expect(state.status()).to.include({
      state: "connected",
      since: 3_000,
      lastUpdate: 1_000,
      error: undefined,
    });
  });

  it("counts every failure and reports when the source is connected", () => {
    const { state, told } = useState();
    state.failed("UNAVAILABLE", "");
    state.failed("UNAVAILABLE", "");
    state.documentReceived();
    state.failed("OK", "");
    expect(told).to.deep.equal([
      "failed UNAVAILABLE",
      "connected false",
      "failed UNAVAILABLE",
      "connected false",
      "document",
      "connected true",
      "failed OK",
      "connected false",
    ]);
  });

  it("is connected and has answered, but is not in contact, while the newest document is refused, which it logs unless another has", () => {
    const { state, told, lines } = useState(true);
    state.documentReceived();
    told.length = 0;
    state.delivered({ refusal: "no JSON" });
    expect(told).to.deep.equal(["document", "failed refused", "contact false", "answered"]);
    expect(lines()).to.deep.equal(["connected to the source"]);
    state.refused("no YAML", { isLogged: false });
    state.refused("no YAML", { isLogged: false });
    expect(lines()).to.have.length(2);
    expect(state.status()).to.include({ state: "connected" });
    expect(state.status().warning).to.match(/^its newest document is refused: no YAML; /);
    state.documentConfirmed();
    expect(state.status().warning).to.equal(undefined);
    expect(told.at(-1)).to.equal("contact true");
  });

  it("has words for each cause, and says which it is", () => {
    for (const [reason, cause, words] of [
      ["unavailable", "unreachable", /unreachable/],
      ["unauthenticated", "refused", /refuses this agent/],
      ["forbidden", "refused", /refuses this agent/],
      ["unimplemented", "misconfigured", /configured to ask for/],
      ["too_large", "invalid", /can't be used/],
    ] as const) {
      const { state, lines } = useState();
      state.failed(reason, "why");
      expect(lines()[0], reason).to.match(words);
      expect(state.status(), reason).to.include({ cause });
    }
  });

  it("is not in contact while its proxy can't follow the flags, and says so once, with the reason", () => {
    const { state, told, lines } = useState(true);
    state.documentReceived();
    told.length = 0;
    state.proxyLost("refused", "403\nForbidden");
    state.proxyLost("refused", "403\nForbidden");
    expect(told).to.deep.equal(["contact false", "contact false"]);
    expect(state.status()).to.include({
      state: "connected",
      cause: "refused",
      proxyLost: "the proxy is refused where the flags come from: 403 Forbidden",
    });
    state.proxyFollows();
    state.proxyFollows();
    expect(told.slice(2)).to.deep.equal(["contact true"]);
    expect(state.status()).to.include({ cause: undefined, proxyLost: undefined });
    expect(lines().slice(1)).to.deep.equal([
      "the proxy is refused where the flags come from; the last flags, if any, are still served",
      "the proxy follows the flags again",
    ]);
    state.proxyLost("unreachable", "away");
    state.failed("unavailable", "gone");
    expect(state.status()).to.include({ error: "gone", proxyLost: undefined });
    state.proxyFollows();
    expect(told.at(-1), "the source itself is away").to.equal("contact false");
  });

  it("is not in contact with the newest flags either if they come after the word that its proxy can't follow", () => {
    const { state, told } = useState(true);
    state.proxyLost("unreachable", "away");
    told.length = 0;
    state.documentReceived();
    state.documentConfirmed();
    state.warned("there is none");
    expect(told.filter((line) => line.startsWith("contact"))).to.deep.equal(Array(3).fill("contact false"));
    state.proxyFollows();
    expect(told.at(-1)).to.equal("contact true");
  });

  it("says once why no stream with a newer token begins, however often it is tried, and again after one has", () => {
    const { state, written } = useState();
    const warnings = (): number => written.filter((line) => line.includes("does not begin")).length;
    for (let attempt = 0; attempt < 3; attempt++) state.renewalFailed("UNAUTHENTICATED: no", undefined);
    expect(warnings()).to.equal(1);
    state.renewalFailed("UNAUTHENTICATED: expired", undefined);
    expect(warnings()).to.equal(2);
    state.renewed();
    state.renewalFailed("UNAUTHENTICATED: expired", undefined);
    expect(warnings()).to.equal(3);
    // The stream with the token before has ended, and the next one began with the newer token.
    state.failed("unauthenticated", "expired");
    state.connected();
    state.renewalFailed("UNAUTHENTICATED: expired", undefined);
    expect(warnings()).to.equal(4);
  });

  it("knows what the source knew in its place of another list: when its flags came, and how", () => {
    const memory: SourceMemory = {};
    const before = useState(false, memory);
    before.times.now = 5_000;
    before.state.speaks("bunting.sync.v1");
    before.state.documentReceived();
    const { state, lines } = useState(false, memory);
    expect(state.status()).to.include({ lastUpdate: 5_000, protocol: "bunting.sync.v1" });
    state.failed("unavailable", "no");
    expect(lines().at(-1)).to.contain("its last flags are still served");
  });

  it("tells when a document was confirmed last, be it new or not", () => {
    const { state, times, confirmed } = useState();
    times.now = 5_000;
    state.documentReceived();
    times.now = 7_000;
    state.documentConfirmed();
    expect(confirmed).to.deep.equal([5_000, 7_000]);
  });

  it("reports a source that has no document until it has one: warned of, or answered with NOT_FOUND", () => {
    const { state, told } = useState();
    state.warned("there is no FeatureFlag");
    state.warned("there is no FeatureFlag");
    state.documentReceived();
    state.failed("not_found", "");
    expect(told).to.deep.equal([
      "connected true",
      "empty true",
      "answered",
      "answered",
      "document",
      "empty false",
      "failed not_found",
      "empty true",
      "answered",
      "connected false",
    ]);
  });
});

function useState(withContact = false, memory: SourceMemory = {}) {
  const written: string[] = [];
  const told: string[] = [];
  const confirmed: (number | null)[] = [];
  const times = { now: 0, monotonicMs: 0 };
  const state = new SourceState(config, {
    context: {
      logger: createLogger({ format: "json", debug: false }, { write: (line) => written.push(line) }),
      clock: { ...systemClock, now: () => times.now, monotonicMs: () => times.monotonicMs },
      metrics: {
        ...noSyncMetrics,
        empty: (_, isEmpty) => told.push(`empty ${isEmpty}`),
        connected: (_, isConnected) => told.push(`connected ${isConnected}`),
        documentReceived: () => told.push("document"),
        documentConfirmed: (_, atMs) => confirmed.push(atMs),
        sourceFailed: (_, reason) => told.push(`failed ${reason}`),
      },
    },
    receiver: {
      answered: () => told.push("answered"),
      memoryOf: () => memory,
      ...(withContact && { contact: (_, isConfirmed) => told.push(`contact ${isConfirmed}`) }),
    },
  });
  const lines = (): string[] => written.map((line) => (JSON.parse(line) as { msg: string }).msg);
  return { state, told, confirmed, times, lines, written };
}

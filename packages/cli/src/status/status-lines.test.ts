import { expect } from "chai";
import { coloursFor } from "../terminal/colours.js";
import { asProxyStatus } from "./proxy-status.js";
import { statusLines } from "./status-lines.js";
import type { StatusQuery } from "./status-query.js";

describe("The lines of bunting status", () => {
  it("say why a proxy is not ready, or is although something is missing, and of one that is just that", () => {
    const line = (isReady: boolean, reason: string): string | undefined =>
      statusLines(
        "host:8016",
        asProxyStatus({ version: "1", isReady, reason, uptimeSeconds: 22, topics: [] }),
        coloursFor(false, {}),
      )[0];
    expect(line(true, "ready")).to.equal("host:8016: bunting-proxy 1, ready, up 22 s");
    expect(line(true, "ready, though the source is away")).to.contain(
      "1, ready, though the source is away, up",
    );
    expect(line(false, "draining")).to.contain("1, not ready (draining), up");
  });

  const who = {
    address: "10.0.0.7",
    identity: "shop/cart-1",
    program: "bunting-agent/1",
    digest: "0123456789ab",
  };
  const status = asProxyStatus({
    isReady: true,
    behind: 1,
    late: { total: 1, shown: [{ ...who, topic: "demo/a", versions: 2, behindSeconds: 12 }] },
    leftBehind: {
      total: 3,
      shown: [{ topic: "demo/b", address: "10.0.0.8", versions: 1, behindSeconds: 50, leftSecondsAgo: 240 }],
    },
    topics: [
      { topic: "demo/a", state: "live", newest: { behind: 1, afterMs: {} } },
      { topic: "demo/b", state: "stale" },
      { topic: "demo/c", state: "live" },
    ],
  });
  const linesOf = (query: Partial<StatusQuery>): readonly string[] =>
    statusLines("host:8016", status, coloursFor(false, {}), { only: "all", search: "", limit: 0, ...query });

  it("name who is behind, and who was left behind, with what they hold and since when", () => {
    const lines = linesOf({});
    expect(lines[1]).to.contain("1 behind, 3 left behind; watches");
    expect(lines.slice(3, 7)).to.deep.equal([
      "BEHIND       ADDRESS   PROGRAM          TOPIC   HOLDS     MISSING   FOR  NOW",
      "shop/cart-1  10.0.0.7  bunting-agent/1  demo/a  01234567        2  12 s  connected",
      "?            10.0.0.8  stock client     demo/b  ?               1  50 s  gone for 4 min",
      "and 2 more",
    ]);
  });

  it("say how far a version is that goes to some agents first, with what they refuse", () => {
    const shown = (trial: object): string | undefined =>
      statusLines(
        "host:8016",
        asProxyStatus({ topics: [{ topic: "demo/a", trial }] }),
        coloursFor(false, {}),
      ).at(-1);
    const trial = { digest: "0123456789ab", agents: 40, wave: 10, current: 9, refusals: 0 };
    const line = "demo/a 01234567 goes to 10 of 40 agents here, and 9 have it";
    expect(shown(trial)).to.equal(line);
    expect(shown({ ...trial, refusals: 1, reason: "banner: no" })).to.equal(
      `${line}, 1 refusal (banner: no)`,
    );
  });

  it("say how many agents refuse a flag, or a whole version", () => {
    const rejections = [
      { digest: "0123456789ab", flag: "f", reason: "no", subscribers: 1 },
      { digest: "0123456789ab", reason: "too large", subscribers: 2 },
    ];
    const status = asProxyStatus({ topics: [{ topic: "demo/a", rejections }] });
    expect(statusLines("host:8016", status, coloursFor(false, {})).slice(-2)).to.deep.equal([
      "demo/a 01234567: 1 agent refuses the flag f: no",
      "demo/a 01234567: 2 agents refuse the whole version: too large",
    ]);
  });

  it("name the manifests that the proxy refuses, with their files, in the headline", () => {
    const refusedDocuments = {
      "demo/a": "/flags/a.yaml:3: it has no flags",
      "demo/b": "/flags/b.yaml:1: no YAML",
    };
    const lines = statusLines(
      "host:8016",
      asProxyStatus({ refusedDocuments, topics: [] }),
      coloursFor(false, {}),
    );
    expect(lines[1]).to.contain("none behind, 2 manifests refused; watches");
    expect(lines.slice(2, 4)).to.deep.equal([
      "refused: /flags/a.yaml:3: it has no flags",
      "refused: /flags/b.yaml:1: no YAML",
    ]);
  });

  it("are those that are asked for", () => {
    const shown = (query: Partial<StatusQuery>): readonly string[] =>
      linesOf(query)
        .slice(2)
        .flatMap((line) => /^(shop|\?|demo|and)\S*( +\S+)?/.exec(line)?.[0].replace(/ +/, " ") ?? []);
    expect(shown({ only: "late" })).to.deep.equal(["shop/cart-1 10.0.0.7", "and 2", "demo/a live"]);
    expect(shown({ only: "left" })).to.deep.equal(["? 10.0.0.8", "and 2"]);
    expect(shown({ only: "stale" })).to.deep.equal(["demo/b stale"]);
    expect(shown({ search: "CART" })).to.deep.equal(["shop/cart-1 10.0.0.7", "and 2"]);
    expect(shown({ search: "demo/c" })).to.deep.equal(["demo/c live"]);
    expect(shown({ limit: 1 })).to.deep.equal(["shop/cart-1 10.0.0.7", "and 3", "demo/a live", "and 2"]);
  });

  it("have the reasons of stale topics below the table, each once", () => {
    const away = "there is no connection to the upstream flags.example:8015; check the address";
    const topics = [
      { topic: "demo/a", state: "stale", staleReason: away },
      { topic: "demo/b", state: "live" },
      { topic: "demo/c", state: "stale", staleReason: away },
      { topic: "demo/d", state: "stale", staleReason: "its file is invalid" },
    ];
    const lines = statusLines("host:8016", asProxyStatus({ topics }), coloursFor(false, {}));
    expect(lines.slice(3)).to.deep.equal([
      "TOPIC   STATE  VERSION  FLAGS  BYTES  AGE  SUBSCRIBERS  BEHIND  50/99/100 % AFTER",
      "demo/a  stale                                        0",
      "demo/b  live                                         0",
      "demo/c  stale                                        0",
      "demo/d  stale                                        0",
      `demo/a and 1 more topic are stale: ${away}`,
      "demo/d is stale: its file is invalid",
    ]);
  });

  it("say of the remotes of FeatureFlags how far they are known, and which flags are of them", () => {
    const remoteFlags = Array.from({ length: 12 }, (_, index) => `k${index}`);
    const topics = [
      {
        topic: "demo/a",
        remote: { state: "synced", sinceMs: 0, flags: { local: 1, remote: 12 }, remoteFlags },
      },
      {
        topic: "demo/b",
        remote: { state: "never", reason: "Timeout", message: "no answer", sinceMs: 55_000 },
      },
      { topic: "demo/c", remote: { flags: { local: 2, remote: 1 }, remoteFlags: ["x"] } },
      { topic: "demo/d" },
    ];
    const lines = statusLines(
      "host:8016",
      asProxyStatus({ topics }),
      coloursFor(false, {}),
      { only: "all", search: "", limit: 0 },
      60_000,
    );
    expect(lines.slice(8)).to.deep.equal([
      "",
      "REMOTE OF  STATE                     FOR  OWN FLAGS  REMOTE FLAGS",
      "demo/a     synced                   60 s          1            12",
      "demo/b     never                     5 s        all             0",
      "demo/c     read by another replica                2             1",
      "the remote of demo/b (Timeout): no answer",
      "of the remote of demo/a: k0, k1, k2, k3, k4, k5, k6, k7, k8, k9 and 2 more",
      "of the remote of demo/c: x",
    ]);
  });
});

import { expect } from "chai";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { KubeError, type KubeObject } from "@bunting/kube";
import { ReaderIndex } from "./reader-index.js";
import type { WatchShared } from "./scope-watch.js";

const dayMs = 24 * 3_600_000;

function flag(name: string, readers?: string): KubeObject {
  const annotations = readers === undefined ? {} : { annotations: { "bunting.dev/readers": readers } };
  return { metadata: { namespace: "ops", name, ...annotations } };
}

describe("ReaderIndex", () => {
  let clock: ManualClock;
  let warned: unknown[];
  let index: ReaderIndex;
  const epoch = {} as Parameters<ReturnType<ReaderIndex["beginRead"]>["complete"]>[1];
  const read = (...flags: readonly KubeObject[]): void => {
    const into = index.beginRead();
    for (const each of flags) into.add(each, "1");
    into.complete("1", epoch);
  };
  const readers = (name: string): unknown => {
    const known = index.readersOf(`ops/${name}`);
    return typeof known === "object" ? [...known] : known;
  };
  beforeEach(() => {
    clock = new ManualClock();
    warned = [];
    const logger = { warn: (fields: unknown) => warned.push(fields) };
    index = new ReaderIndex({ context: { clock, logger } } as unknown as WatchShared);
  });

  it("knows nothing before the first read is complete", () => {
    const into = index.beginRead();
    into.add(flag("limits", "shop"), "1");
    expect(readers("limits")).to.equal("unknown");
    into.complete("1", epoch);
    expect(readers("limits")).to.deep.equal(["shop"]);
    expect(readers("other")).to.equal(undefined);
  });

  it("follows the annotation as it changes, and forgets deleted FeatureFlags", () => {
    read(flag("limits", "shop"), flag("plain"));
    index.event({ type: "MODIFIED", object: flag("limits", "shop,web/cart"), resourceVersion: "2" });
    index.event({ type: "ADDED", object: flag("new", "shop"), resourceVersion: "3" });
    expect(readers("limits")).to.deep.equal(["shop", "web/cart"]);
    index.event({ type: "MODIFIED", object: flag("limits"), resourceVersion: "4" });
    index.event({ type: "DELETED", object: flag("new", "shop"), resourceVersion: "5" });
    expect(readers("limits")).to.equal(undefined);
    expect(readers("new")).to.equal(undefined);
  });

  it("drops what a later read does not find", () => {
    read(flag("limits", "shop"));
    read();
    expect(readers("limits")).to.equal(undefined);
  });

  it("names malformed entries in a warning, and uses the others", () => {
    read(flag("limits", "*,shop"));
    expect(readers("limits")).to.deep.equal(["shop"]);
    expect(warned).to.have.length(1);
    expect(warned[0]).to.have.property("topic", "ops/limits");
    expect(warned[0]).to.have.property("warning").that.contains('"*"');
  });

  it("keeps what it knows for a day while the API server is away", () => {
    read(flag("limits", "shop"));
    index.interrupted();
    clock.advance(dayMs - 1);
    expect(readers("limits")).to.deep.equal(["shop"]);
    clock.advance(1);
    expect(readers("limits")).to.equal("unknown");
    index.resumed();
    expect(readers("limits")).to.deep.equal(["shop"]);
  });

  it("shares nothing if it may not read all FeatureFlags, and says what to allow", () => {
    index.failed(new KubeError("CONNECTION_REFUSED", "refused"));
    expect(readers("limits")).to.equal("unknown");
    index.failed(new KubeError("FORBIDDEN", "forbidden"));
    expect(readers("limits")).to.equal(undefined);
    expect(warned).to.have.length(1);
  });
});

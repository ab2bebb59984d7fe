import { flagsPerStep, type FlagDocument } from "@bunting/protocol";
import { EventQueue } from "@bunting/test/support/event-queue.js";
import { expect } from "chai";
import { MergedSides } from "./merged-sides.js";

const flag = (value: string) => ({ state: "ENABLED", variants: { v: value }, defaultVariant: "v" });

/** A document with flags of these keys, each with this value. */
function documentOf(value: string, ...keys: readonly string[]): FlagDocument {
  return { flags: Object.fromEntries(keys.map((key) => [key, flag(value)])) };
}

/** One whose merge takes several turns of the event loop. */
function large(value: string): FlagDocument {
  return documentOf(value, ...Array.from({ length: flagsPerStep + 1 }, (_, index) => `large${index}`));
}

describe("MergedSides", () => {
  let delivered: EventQueue<string>;
  let merged: EventQueue<string>;
  /** What the receiver refuses. */
  let refuses: RegExp | undefined;
  let sides: MergedSides;
  beforeEach(() => {
    delivered = new EventQueue();
    merged = new EventQueue();
    refuses = undefined;
    sides = new MergedSides({
      config: {
        ...{ sourceIndex: 0, path: "/base.json" },
        remote: {
          ...{ type: "http", uri: "https://flags.test/", strategy: "override" },
          ...{ allowEmpty: false, intervalMs: 5_000 },
        },
      },
      receiver: {
        deliver: ({ bytes }) => {
          const { flags } = JSON.parse(bytes.toString()) as {
            readonly flags: Readonly<Record<string, { readonly variants: { readonly v: string } }>>;
          };
          const values = Object.values(flags).map(({ variants }) => variants.v);
          const said = [...new Set(values)].sort().join(" ");
          if (refuses?.test(said) === true) return { refusal: `${said} is refused` };
          delivered.push(said);
          return { rejectedFlags: [] };
        },
      },
      onServed: () => undefined,
      onMerged: () => merged.push(sides.refusal ?? "none"),
    });
  });
  const next = (): Promise<string> => delivered.nextEvent("a delivery");

  it("delivers nothing before it begins, by the first words of the remote or otherwise", async () => {
    sides.takeBase(documentOf("base", "a"));
    sides.takeRemote(documentOf("remote", "b"));
    expect(await next()).to.equal("base remote");
    sides.takeBase(documentOf("edited", "a"));
    expect(await next()).to.equal("edited remote");
  });

  it("delivers the file's own, if nothing came of the remote", async () => {
    sides.takeBase(documentOf("base", "a"));
    sides.begin();
    sides.begin();
    sides.takeBase(documentOf("edited", "a"));
    expect(await next()).to.equal("base");
    expect(await next()).to.equal("edited");
    expect(sides.merged).to.equal(undefined);
  });

  it("merges a large document in turns, and then what came meanwhile, once", async () => {
    sides.takeBase(documentOf("base", "a"));
    sides.begin();
    expect(await next()).to.equal("base");
    sides.takeRemote(large("first"));
    expect(sides.isMerging).to.equal(true);
    sides.takeBase(documentOf("edited", "a"));
    sides.takeRemote(large("second"));
    sides.takeRemote(large("third"));
    expect(await next()).to.equal("base first");
    expect(await next()).to.equal("edited third");
    expect(await merged.nextEvent("a merge")).to.equal("none");
    expect(sides.merged?.provenance.get("large0")).to.equal("remote");
  });

  it("serves the file with what the remote said before, if that says now what can't be served", async () => {
    sides.takeBase(documentOf("base", "a"));
    sides.takeRemote(documentOf("good", "b"));
    expect(await next()).to.equal("base good");
    refuses = /bad/;
    expect(() => sides.takeRemote(documentOf("bad", "b"))).to.throw("bad base is refused");
    expect(sides.refusal).to.equal(undefined);
    sides.takeBase(documentOf("edited", "a"));
    expect(await next()).to.equal("edited good");
  });

  it("says of a large document afterwards that it can't be served, and passes it over", async () => {
    sides.takeBase(documentOf("base", "a"));
    sides.takeRemote(documentOf("good", "b"));
    expect(await next()).to.equal("base good");
    refuses = /bad/;
    sides.takeRemote(large("bad"));
    sides.takeBase(documentOf("edited", "a"));
    expect(await next()).to.equal("edited good");
    expect(await merged.nextEvent("a merge")).to.equal("bad base is refused");
    sides.takeBase(documentOf("newer", "a"));
    expect(await next()).to.equal("good newer");
    expect(sides.refusal).to.equal("bad base is refused");
    sides.takeRemote(documentOf("better", "b"));
    expect(await next()).to.equal("better newer");
    expect(sides.refusal).to.equal(undefined);
  });

  it("serves the file's own, if the first that a remote says can't be served", async () => {
    refuses = /bad/;
    sides.takeRemote(documentOf("bad", "b"));
    sides.takeBase(documentOf("base", "a"));
    expect(await next()).to.equal("base");
    expect(sides.refusal).to.equal("bad base is refused");
    sides.takeRemote(documentOf("good", "b"));
    expect(await next()).to.equal("base good");
    expect(sides.refusal).to.equal(undefined);
  });

  it("says that the file's newest version can't be served, and serves both once it can", async () => {
    sides.takeBase(documentOf("base", "a"));
    sides.takeRemote(documentOf("remote", "b"));
    expect(await next()).to.equal("base remote");
    refuses = /bad/;
    sides.takeBase(documentOf("bad", "a"));
    expect(sides.refusal).to.equal("bad remote is refused");
    sides.takeBase(documentOf("edited", "a"));
    expect(await next()).to.equal("edited remote");
    expect(sides.refusal).to.equal(undefined);
  });

  it("delivers nothing after it was closed, not even a merge under way", async () => {
    sides.takeBase(documentOf("base", "a"));
    sides.begin();
    expect(await next()).to.equal("base");
    sides.takeRemote(large("remote"));
    await sides.close();
    sides.takeBase(documentOf("edited", "a"));
    expect(sides.merged).to.equal(undefined);
    expect(delivered.size).to.equal(0);
  });
});

import { expect } from "chai";
import { KubeError, type ClusterWatches, type KubeObject, type ReflectorHandler } from "@bunting/kube";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { seededRandom } from "@bunting/test/support/seeded-random.js";
import { SourceLists } from "./source-lists.js";

type WatchOptions = Parameters<ClusterWatches["watch"]>[0];
type Read = ReturnType<ReflectorHandler["beginRead"]>;

/** A watch of an Injection that the test plays. */
interface Played {
  readonly options: WatchOptions;
  readonly signal: AbortSignal;
}

function injection(sources: object): KubeObject & { readonly spec: unknown } {
  return { metadata: { name: "bunting", namespace: "shop" }, spec: { sources } };
}

const ofA = { a: { flags: ["shop/x"], frame: "f1" } };

describe("SourceLists", () => {
  let clock: ManualClock;
  let played: Played[];
  let warnings: { readonly msg: string }[];
  let stopping: AbortController;
  let lists: SourceLists;
  let told: string[];
  let unbegun: () => SourceLists;
  let begin: () => void;
  beforeEach(() => {
    clock = new ManualClock();
    played = [];
    warnings = [];
    told = [];
    stopping = new AbortController();
    const watch = (options: WatchOptions): ReturnType<ClusterWatches["watch"]> => {
      const run = (signal: AbortSignal): Promise<void> => {
        played.push({ options, signal });
        return Promise.resolve();
      };
      return { name: "", run } as ReturnType<ClusterWatches["watch"]>;
    };
    const logger = { warn: (_fields: unknown, msg: string) => warnings.push({ msg }) };
    const context = { clock, logger } as unknown as ConstructorParameters<typeof SourceLists>[0]["context"];
    unbegun = () => new SourceLists({ context });
    begin = () => lists.begin({ watch }, stopping.signal);
    lists = unbegun();
    begin();
  });

  const follow = (text: string, as = text, namespace = "shop", remoteAddress = "unix"): (() => void) =>
    lists.follow(
      { namespace, text },
      ({ topics, frame }) => told.push(`${as}: ${topics.join()} of ${frame}`),
      { remoteAddress },
    );
  const only = (): Played => {
    const [first, ...more] = played;
    if (first === undefined || more.length > 0) throw new Error(`${played.length} watches`);
    return first;
  };
  const handler = (): ReflectorHandler => only().options.handler;
  const epoch = {} as Parameters<Read["complete"]>[1];
  const read = (object?: KubeObject): void => {
    const reading = handler().beginRead();
    if (object !== undefined) reading.add(object, "1");
    reading.complete("1", epoch);
  };
  const event = (type: "MODIFIED" | "DELETED", object: KubeObject): void =>
    handler().event({ type, object, resourceVersion: "2" }, epoch);

  it("keeps nothing of a namespace that was watched at the signal of the process, and no timer after that", () => {
    const ends = ["shop", "web"].map((namespace) => follow("a", "a", namespace));
    ends[0]?.();
    clock.advance(60_000);
    follow("a")();
    stopping.abort();
    ends[1]?.();
    expect(played.every(({ signal }) => signal.aborted)).to.equal(true);
    expect(clock.pendingTimers).to.equal(0);
    // Where node keeps the signals that AbortSignal.any has made of this one.
    const { signal } = stopping;
    const symbol = Object.getOwnPropertySymbols(signal).find((each) => /Dependant/i.test(String(each)));
    const made = symbol === undefined ? undefined : (Reflect.get(signal, symbol) as { size: number });
    expect(made?.size ?? 0).to.equal(0);
  });

  it("watches nothing where the process ends before the cluster is known", () => {
    lists = unbegun();
    follow("a");
    stopping.abort();
    begin();
    expect(played).to.deep.equal([]);
  });

  it("watches for those, too, that have asked before the cluster was known, unless they have left", () => {
    lists = unbegun();
    follow("a");
    follow("a", "gone", "ops")();
    clock.advance(60_000);
    expect(played).to.deep.equal([]);
    begin();
    expect(only().options.scope.namespace).to.equal("shop");
    read(injection(ofA));
    expect(told).to.deep.equal(["a: shop/x of f1"]);
  });

  it("watches one object for all agents of a namespace", () => {
    follow("a");
    follow("b");
    const { scope, peer } = only().options;
    expect(scope).to.deep.include({ namespace: "shop", name: "bunting" });
    expect(scope.type.plural).to.equal("injections");
    expect(peer).to.deep.equal({ remoteAddress: "unix" });
  });

  it("tells each agent the list of its text, and whom it concerns when one changes", async () => {
    follow("a", "first");
    follow("b");
    read(injection({ ...ofA, other: ofA.a }));
    follow("a", "second");
    await Promise.resolve();
    expect(told.splice(0)).to.deep.equal(["first: shop/x of f1", "second: shop/x of f1"]);
    event("MODIFIED", injection({ ...ofA, b: { flags: ["ops/y", "shop/x"], frame: "f2" } }));
    expect(told).to.deep.equal(["b: ops/y,shop/x of f2"]);
  });

  it("tells nothing after an agent has left, nor while it asks", async () => {
    const end = follow("a");
    read(injection(ofA));
    end();
    const again = follow("a", "again");
    expect(told.splice(0)).to.deep.equal(["a: shop/x of f1"]);
    again();
    await Promise.resolve();
    event("MODIFIED", injection({ a: { flags: ["shop/z"], frame: "f1" } }));
    expect(told).to.deep.equal([]);
  });

  it("leaves agents the list that they have where it is gone", () => {
    follow("a");
    read(injection(ofA));
    event("MODIFIED", injection({}));
    event("DELETED", injection({}));
    read();
    event("MODIFIED", injection({ a: { flags: ["shop/z"], frame: "f1" } }));
    expect(told).to.deep.equal(["a: shop/x of f1", "a: shop/z of f1"]);
  });

  it("ends the watch a minute after the last agent has left, unless one has come", () => {
    follow("a")();
    clock.advance(59_999);
    const end = follow("b");
    clock.advance(60_000);
    expect(only().signal.aborted).to.equal(false);
    end();
    clock.advance(1);
    follow("b")();
    clock.advance(59_999);
    expect(only().signal.aborted).to.equal(false);
    clock.advance(1);
    expect(only().signal.aborted).to.equal(true);
    follow("a");
    expect(played).to.have.lengthOf(2);
    stopping.abort();
    expect(played.every(({ signal }) => signal.aborted)).to.equal(true);
  });

  it("asks after those that exist first", () => {
    follow("a");
    const { priority } = only().options;
    expect(priority?.()).to.equal("speculative");
    read(injection(ofA));
    expect(priority?.()).to.equal("normal");
  });

  it("watches nothing of what can be no namespace, and no more than a bound", () => {
    for (const namespace of ["", "Shop", "a/b", "../x"]) follow("a", "a", namespace);
    expect(played).to.deep.equal([]);
    for (let index = 0; index < 2_001; index++) follow("a", "a", `n${index}`);
    expect(played).to.have.lengthOf(2_000);
    expect(warnings.map(({ msg }) => msg)).to.have.lengthOf(1);
  });

  it("lets no address ask for so many namespaces without a list that there is no room for others", () => {
    const ends = Array.from({ length: 300 }, (_, index) => follow("a", "a", `n${index}`, "10.0.0.1"));
    expect(played).to.have.lengthOf(256);
    expect(warnings).to.have.lengthOf(1);
    // Another address, one that somebody has asked for already, and one of which there is a list.
    follow("a", "a", "other", "10.0.0.2");
    follow("b", "b", "other", "10.0.0.1");
    expect(played).to.have.lengthOf(257);
    const reading = played[0]?.options.handler.beginRead();
    reading?.add(injection(ofA), "1");
    follow("a", "a", "n300", "10.0.0.1");
    expect(played).to.have.lengthOf(258);
    follow("a", "a", "n301", "10.0.0.1");
    expect(played).to.have.lengthOf(258);
    ends[1]?.();
    follow("a", "a", "n301", "10.0.0.1");
    expect(played).to.have.lengthOf(259);
  });

  it("gives the room of a namespace that nobody asks for any more to one that somebody asks for", () => {
    const ends = Array.from({ length: 2_000 }, (_, index) => follow("a", "a", `n${index}`));
    ends[7]?.();
    follow("a", "a", "shop");
    expect(warnings).to.deep.equal([]);
    expect(played.flatMap(({ signal }, index) => (signal.aborted ? [index] : []))).to.deep.equal([7]);
    // What it had lingered for has no effect on one of the same name.
    ends[8]?.();
    follow("a", "a", "n7");
    clock.advance(60_000);
    expect(played.filter(({ signal }) => signal.aborted)).to.have.lengthOf(2);
  });

  it("has room for each text that there is, whoever asks for others", () => {
    follow("t0");
    read(injection({ ...ofA, b: { flags: ["shop/y"], frame: "f1" } }));
    for (let index = 1; index < 300; index++) follow(`t${index}`);
    expect(warnings).to.have.lengthOf(1);
    follow("a");
    event("MODIFIED", injection({ a: { flags: ["shop/z"], frame: "f1" } }));
    expect(told).to.deep.equal(["a: shop/z of f1"]);
    expect(warnings).to.have.lengthOf(1);
  });

  it("takes no more texts of a namespace than an Injection has", () => {
    for (let index = 0; index < 201; index++) follow(`t${index}`);
    expect(warnings).to.have.lengthOf(1);
    follow("t0", "another agent");
    expect(warnings).to.have.lengthOf(1);
  });

  it("says what to grant where it may not read them", () => {
    follow("a");
    handler().failed?.(new KubeError("FORBIDDEN", "no"));
    expect(warnings[0]?.msg).to.contain("allow the proxy's ServiceAccount to get, list and watch injections");
  });

  for (let seed = 1; seed <= 10; seed++)
    it(`tells each agent what the Injection has said last of its text (seed ${seed})`, async () => {
      const random = seededRandom(seed);
      const pick = (count: number): number => Math.floor(random() * count);
      const texts = ["a", "b", "c"];
      let stored: Record<string, { readonly flags: readonly string[]; readonly frame: string }> = {};
      const agents = new Set<{ readonly text: string; told?: string; expected?: string; end: () => void }>();
      const asText = (text: string): string | undefined => {
        const entry = stored[text];
        return entry && `${entry.flags.join()} of ${entry.frame}`;
      };
      const join = (): void => {
        const text = texts[pick(3)] ?? "a";
        const agent: { text: string; told?: string; expected?: string; end: () => void } = {
          text,
          end: () => undefined,
        };
        const said = asText(text);
        if (said !== undefined) agent.expected = said;
        agent.end = lists.follow({ namespace: "shop", text }, ({ topics, frame }) => {
          agent.told = `${topics.join()} of ${frame}`;
        });
        agents.add(agent);
      };
      const write = (): void => {
        const text = texts[pick(3)] ?? "a";
        const others = Object.fromEntries(Object.entries(stored).filter(([each]) => each !== text));
        const flags = Array.from({ length: 1 + pick(20) }, (_, index) => `shop/f${index + pick(5)}`);
        stored = pick(4) === 0 ? others : { ...others, [text]: { flags, frame: `f${pick(2)}` } };
        for (const agent of agents) agent.expected = asText(agent.text) ?? agent.expected ?? "nothing";
      };
      // One stays, so that the watch does.
      join();
      for (let step = 0; step < 300; step++) {
        const dice = pick(10);
        const [, second] = agents;
        if (dice < 3) join();
        else if (dice < 5 && second !== undefined) {
          second.end();
          agents.delete(second);
        } else if (dice < 8) {
          write();
          if (pick(2) === 0) read(injection(stored));
          else event("MODIFIED", injection(stored));
        } else if (dice === 8) event("DELETED", injection(stored));
        else read(injection(stored));
        await Promise.resolve();
        for (const { told: said = "nothing", expected = "nothing" } of agents)
          expect(said).to.equal(expected);
      }
    });
});

import { encodeWhole, rolloutAnnotations } from "@bunting/featureflags/resources";
import { atOnce, digestingDocument, encodeDocument, type FlagDocument } from "@bunting/protocol";
import { expect } from "chai";
import { flags as flagsOf } from "../source.fixture.js";
import { SourceBench, type Subscribed } from "./kubernetes.fixture.js";

const flags = (version: number): FlagDocument => flagsOf(version) as FlagDocument;
const digestOf = (version: number): string => atOnce(digestingDocument(flags(version)));
const textOf = (version: number): string => encodeDocument(flags(version));

/** As the operator writes it: all agents are to have `whole`, and those of the reach `tried`. */
function statusOf(whole: number, tried: number, reach: number): { readonly rollout: object } {
  const version = { digest: digestOf(whole), generation: whole, document: encodeWhole(flags(whole)) };
  const rollout = { digest: digestOf(tried), phase: "Progressing", wave: 1, reach, agents: 9, forgiven: 0 };
  return { rollout: { ...rollout, whole: version } };
}

describe("a FeatureFlag with spec.rollout", () => {
  let bench: SourceBench;
  let flag: Subscribed;
  beforeEach(async () => {
    bench = await SourceBench.start();
    flag = bench.subscribe("ns/a");
  });
  afterEach(() => bench.stop());

  function put(
    version: number,
    {
      status,
      rollout = {},
      annotations = {},
    }: {
      readonly status?: object;
      readonly rollout?: object | "none";
      readonly annotations?: Readonly<Record<string, string>>;
    } = {},
  ): void {
    const spec = { flagSpec: flags(version), ...(rollout === "none" ? {} : { rollout }) };
    bench.api.put("ns", "a", spec, { annotations, ...(status === undefined ? {} : { status }) });
  }

  /** What the last report says: the flags that all have, and what is tried by whom. */
  async function told(resourceVersion: string): Promise<unknown[]> {
    await bench.until(() => flag.reported.at(-1) === resourceVersion, `version ${resourceVersion}`);
    const event = flag.sink.last;
    if (event?.kind !== "document") throw new Error("there is no document");
    const { trial, generation } = event.version;
    const tried = trial === undefined ? [] : [trial.reach, encodeDocument(trial.document)];
    return [event.text, generation, ...tried];
  }

  it("has all agents keep the version that its status calls whole, and some try the newest", async () => {
    put(1, { status: statusOf(1, 1, 0) });
    expect(await told("2")).to.deep.equal([textOf(1), 1]);
    put(2);
    expect(await told("3"), "before the operator has seen it").to.deep.equal([textOf(1), 1, 0, textOf(2)]);
    put(2, { status: statusOf(1, 2, 100) });
    expect(await told("4")).to.deep.equal([textOf(1), 1, 100, textOf(2)]);
    put(3);
    expect(await told("5"), "another edit").to.deep.equal([textOf(1), 1, 0, textOf(3)]);
    put(3, { status: statusOf(3, 3, 0) });
    expect(await told("6")).to.deep.equal([textOf(3), 3]);
  });

  it("goes to all at once while nobody says which version is whole, and says so", async () => {
    put(1);
    await told("2");
    put(2);
    expect(await told("3")).to.deep.equal([textOf(2), 2]);
    expect(bench.log.filter(({ msg }) => msg.startsWith("a FeatureFlag has spec.rollout"))).to.have.length(2);
    put(2, { status: { rollout: { ...statusOf(1, 2, 100).rollout, whole: { document: "?" } } } });
    expect(await told("4")).to.deep.equal([textOf(2), 2]);
  });

  it("does not have its status put other flags under the name of a version", async () => {
    const { rollout } = statusOf(1, 2, 100) as { rollout: { whole: object } };
    const forged = { ...rollout, whole: { ...rollout.whole, document: encodeWhole(flags(9)) } };
    put(2, { status: { rollout: forged } });
    expect(await told("2")).to.deep.equal([textOf(2), 1]);
    put(2, { status: { rollout: { ...forged, whole: { ...forged.whole, digest: digestOf(2) } } } });
    expect(await told("3"), "under that of the newest").to.deep.equal([textOf(2), 1]);
  });

  it("goes to all at once when spec.rollout is removed, whatever the status says", async () => {
    put(2, { status: statusOf(1, 2, 100) });
    expect(await told("2")).to.deep.equal([textOf(1), 1, 100, textOf(2)]);
    put(2, { rollout: "none" });
    expect(await told("3")).to.deep.equal([textOf(2), 2]);
    put(2, { rollout: "none", annotations: { note: "x" } });
    expect(await told("4")).to.deep.equal([textOf(2), 2]);
    expect(flag.sink.sameDocuments, "its flags are not read again for what does not change them").to.equal(1);
    put(3, { status: statusOf(2, 3, 100) });
    expect(await told("5"), "once it is back").to.deep.equal([textOf(2), 2, 100, textOf(3)]);
  });

  it("is tried by nobody any more once somebody has given the version up", async () => {
    put(2, { status: statusOf(1, 2, 100) });
    put(2, { annotations: { [rolloutAnnotations.aborted]: digestOf(2).slice(0, 12) } });
    expect(await told("3")).to.deep.equal([textOf(1), 1, 0, textOf(2)]);
    put(2, { annotations: { [rolloutAnnotations.aborted]: digestOf(1) } });
    expect(await told("4"), "another version").to.deep.equal([textOf(1), 1, 100, textOf(2)]);
  });

  it("stays whole where the newest is invalid, also for a proxy that has not seen another", async () => {
    bench.api.put("ns", "a", { flagSpec: { flags: "none" }, rollout: {} }, { status: statusOf(1, 2, 100) });
    await bench.until(() => flag.reported.length === 2, "the refusal");
    expect(flag.reported).to.deep.equal(["2", "stale"]);
    expect(flag.sink.lastText).to.equal(textOf(1));
    const broken = { ...flags(2).flags, broken: { state: 1 } };
    bench.api.put("ns", "a", { flagSpec: { flags: broken }, rollout: {} });
    expect(await told("3"), "one flag of it").to.deep.equal([textOf(1), 1]);
  });

  it("costs one without nothing but a look at its spec", async () => {
    put(1, { status: statusOf(2, 3, 100), rollout: "none" });
    await told("2");
    put(1, { rollout: "none", annotations: { note: "x" } });
    expect(await told("3")).to.deep.equal([textOf(1), 1]);
    expect(flag.sink.sameDocuments).to.equal(1);
  });
});

import { encodeWhole, rolloutAnnotations } from "@bunting/featureflags/resources";
import { atOnce, digestingDocument, type FlagDocument } from "@bunting/protocol";
import { KubeError } from "@bunting/kube";
import { expect } from "chai";
import { rolloutLines } from "./rollout-lines.js";
import { rolloutOrder } from "./rollout-order.js";
import { give } from "./run-rollout.js";
import { rolloutState, type RolledOutObject } from "./rollout-state.js";

const flagSpec: FlagDocument = {
  flags: { f: { state: "ENABLED", variants: { a: 1 }, defaultVariant: "a" } },
};
const digest = atOnce(digestingDocument(flagSpec));
const whole = { digest: "0".repeat(64), generation: 1, document: encodeWhole({ flags: {} }) };
const stored = { digest, phase: "Progressing", wave: 1, reach: 100, agents: 1_000, forgiven: 0, whole };

function object(change: object = {}, status: object = {}): RolledOutObject {
  return {
    metadata: { namespace: "shop", name: "checkout" },
    spec: { flagSpec, rollout: {} },
    status: {
      rollout: { ...stored, ...change },
      agents: { total: 1_000, current: 10, refusing: 0 },
      conditions: [
        {
          type: "RolledOut",
          status: "False",
          reason: "Progressing",
          message: "So it is.",
          lastTransitionTime: "",
        },
      ],
      ...status,
    },
  };
}

const shown = (of: RolledOutObject): string => rolloutLines(rolloutState(of)).join("\n");

describe("the status of a rollout", () => {
  it("says in which wave the newest version is, why, and how many agents have it", () => {
    expect(shown(object())).to.equal(
      [
        `shop/checkout ${digest.slice(0, 12)}: Progressing, wave 1 of 3, 1 % of the agents`,
        "  So it is.",
        "  10 of 1000 agents have it.",
      ].join("\n"),
    );
    expect(shown(object({ wave: 0, reach: 0 }))).to.contain("Progressing, before the first wave");
    expect(shown(object({ phase: "Whole", wave: 3 }))).to.contain(": Whole\n");
    expect(shown(object({}, { agents: { total: 9, current: 1, refusing: 2 } }))).to.contain("2 refuse");
  });

  it("says nothing of a version that the operator has not seen, but that nobody has it", () => {
    const text = shown(object({ digest: "f".repeat(64), phase: "Whole" }));
    expect(text).to.contain(": Unknown\n").and.contain("no agent has it yet");
  });

  it("says that all get it at once where nobody rolls it out, and why", () => {
    expect(shown({ ...object(), spec: { flagSpec } }))
      .to.contain("at once\n")
      .and.contain("no spec.rollout");
    expect(shown(object({}, { rollout: undefined }))).to.contain("chart");
    const conditions = [
      {
        type: "RolledOut",
        status: "False",
        reason: "TooLarge",
        message: "Too large.",
        lastTransitionTime: "",
      },
    ];
    expect(shown(object({}, { rollout: undefined, conditions }))).to.contain("Too large.");
  });
});

describe("an order to a rollout", () => {
  const state = rolloutState(object());

  it("is a patch that makes no new version of the flags", () => {
    expect(rolloutOrder("pause", state, "now").patch).to.deep.equal({ spec: { rollout: { paused: true } } });
    expect(rolloutOrder("resume", state, "now").patch).to.deep.equal({
      metadata: { annotations: { [rolloutAnnotations.resumed]: "now", [rolloutAnnotations.aborted]: null } },
      spec: { rollout: { paused: false } },
    });
    expect(rolloutOrder("abort", state, "now").patch).to.deep.equal({
      metadata: { annotations: { [rolloutAnnotations.aborted]: digest } },
    });
  });

  /** Gives the order while the operator writes this status after it was read. */
  async function abortMeanwhile(change: object): Promise<readonly object[]> {
    let version = 1;
    let now = object();
    const patched: object[] = [];
    const client = {
      get: () => Promise.resolve({ ...now, metadata: { ...now.metadata, resourceVersion: `${version}` } }),
      patch: (
        _: unknown,
        __: unknown,
        patch: { readonly metadata?: { readonly resourceVersion?: string } },
      ) => {
        if (patched.length === 0) [now, version] = [object(change), 2];
        patched.push(patch);
        const { resourceVersion = `${version}` } = patch.metadata ?? {};
        if (resourceVersion === `${version}`) return Promise.resolve(now);
        return Promise.reject(new KubeError("CONFLICT", "it has been modified"));
      },
    };
    const given = give("abort", { namespace: "shop", name: "checkout" }, { client } as never);
    return given.then(() => patched);
  }

  it("does not say that a version is given up that is for all since it was looked at", async () => {
    const error: unknown = await abortMeanwhile({ phase: "Whole" }).catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain("to take it back, edit the flags");
  });

  it("is given once more to what has changed since it was looked at", async () => {
    const annotations = { [rolloutAnnotations.aborted]: digest };
    expect((await abortMeanwhile({ wave: 2 })).at(-1)).to.deep.equal({
      metadata: { annotations, resourceVersion: "2" },
    });
  });

  it("is refused where there is nothing to order, with what to do instead", () => {
    const wholeState = rolloutState(object({ phase: "Whole" }));
    expect(() => rolloutOrder("abort", wholeState, "now")).to.throw("edit the flags");
    const atOnceState = rolloutState({ ...object(), spec: { flagSpec } });
    for (const task of ["pause", "resume", "abort"] as const)
      expect(() => rolloutOrder(task, atOnceState, "now")).to.throw("has no spec.rollout");
  });
});

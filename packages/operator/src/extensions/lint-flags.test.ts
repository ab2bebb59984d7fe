import type { ExtensionAnswer } from "@bunting/extension";
import { nextTurn } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { ExtensionQuestion } from "./extension-caller.js";
import { storedExtension } from "./extension.fixture.js";
import type { OutOfTime } from "./out-of-time.js";
import { lintFlags, type FlagComments, type WrittenFlag } from "./lint-flags.js";

const flag: WrittenFlag = {
  operation: "UPDATE",
  dryRun: true,
  namespace: { name: "shop", labels: {}, annotations: {} },
  object: { apiVersion: "core.openfeature.dev/v1beta1", kind: "FeatureFlag", metadata: { name: "a" } },
  annotations: {},
};

describe("lintFlags", () => {
  const clock = new ManualClock();
  let asked: ExtensionQuestion[];
  beforeEach(() => (asked = []));

  function lint(
    answers: Readonly<Record<string, ExtensionAnswer | Promise<ExtensionAnswer>>>,
    changes: Partial<WrittenFlag> = {},
  ): Promise<FlagComments> {
    const peers = {
      ask: async (
        { metadata }: { readonly metadata: { readonly name: string } },
        question: ExtensionQuestion,
      ) => {
        asked.push(question);
        return (await answers[metadata.name]) ?? { kind: "unchanged" as const };
      },
    };
    const extensions = Object.keys(answers).map((name) => storedExtension(name, { hooks: ["lint"] }));
    const untilMs = clock.monotonicMs() + 1_000;
    return lintFlags(extensions, { ...flag, ...changes }, peers, { clock, untilMs });
  }

  it("has the comments of all in their order, each with who said it, and what refuses as an error", async () => {
    const { findings, remarks } = await lint({
      quiet: { kind: "unchanged" },
      owner: {
        kind: "commented",
        findings: [{ severity: "warning", message: "no owner", field: "/spec/flagSpec/flags/a~1b" }],
      },
      judge: { kind: "refused", reason: "not on a Friday" },
    });
    expect(remarks).to.deep.equal([]);
    expect(findings).to.deep.equal([
      {
        ...{ severity: "warning", kind: "extension", message: "no owner (said by the extension owner)" },
        path: ["spec", "flagSpec", "flags", "a/b"],
      },
      {
        ...{ severity: "error", kind: "extension", path: [] },
        message: "not on a Friday (said by the extension judge)",
      },
    ]);
    expect(asked[0]).to.deep.include({
      hook: "lint",
      target: "FeatureFlag",
      operation: "UPDATE",
      dryRun: true,
    });
  });

  it("remarks on one that fails, whatever its failurePolicy is, and on one that is late", async () => {
    const done = lint({
      broken: { kind: "failed", reason: "it answered 503" },
      mute: new Promise(() => undefined),
    });
    clock.advance(1_000);
    const { findings, remarks } = await done;
    expect(findings).to.deep.equal([]);
    expect(remarks).to.deep.equal([
      "the extension broken has failed, and says nothing of it: it answered 503",
      "the extension mute has failed, and says nothing of it: it has not answered within a second",
    ]);
  });

  it("has it heard of one that had its time and has not answered", async () => {
    const heard = new Set<string>();
    const extension = storedExtension("mute", { hooks: ["lint"] });
    const done = lintFlags(
      [extension],
      flag,
      {
        ask: (_extension, _question, signal) =>
          new Promise((resolve) =>
            signal.addEventListener("abort", () =>
              resolve({ kind: "failed", reason: (signal.reason as OutOfTime).message }),
            ),
          ),
        heard: ({ metadata }, answer) => heard.add(`${metadata.name} ${answer.kind}`),
      },
      { clock, untilMs: clock.monotonicMs() + 1_000 },
    );
    clock.advance(1_000);
    expect((await done).remarks).to.have.length(1);
    await nextTurn();
    expect([...heard]).to.deep.equal(["mute failed"]);
  });

  it("gives an extension its configuration, and refuses one that is no JSON", async () => {
    await lint({ owner: { kind: "unchanged" } }, { annotations: { "extensions.bunting.dev/owner": "[1]" } });
    expect(asked[0]).to.have.property("configuration").deep.equal([1]);
    const { findings } = await lint(
      { owner: { kind: "unchanged" } },
      { annotations: { "extensions.bunting.dev/owner": "{" } },
    );
    expect(findings[0]?.message).to.contain("the annotation extensions.bunting.dev/owner is no JSON");
    expect(asked).to.have.length(1);
  });
});

import type { ExtensionAnswer, ExtensionHook, ExtensionNamespace } from "@bunting/extension";
import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { storedExtension } from "../../extensions/extension.fixture.js";
import type { ExtensionQuestion } from "../../extensions/extension-caller.js";
import { operatorMetrics } from "../../operator-metrics.js";
import { ExtensionHealth } from "./extension-health.js";
import { ExtensionProbes } from "./extension-probes.js";

const owner = storedExtension("owner", { hooks: ["pre-create", "lint"], objects: ["Proxy", "FeatureFlag"] });
const late: ExtensionAnswer = { kind: "failed", reason: "late" };

describe("ExtensionProbes", () => {
  let clock: ManualClock;
  let health: ExtensionHealth;
  let questions: { readonly atSeconds: number; readonly question: ExtensionQuestion }[];
  let answer: ExtensionAnswer;
  let namespace: ExtensionNamespace | undefined;
  let isAwaited: boolean;
  let seconds: number;
  let abort: AbortController;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new ManualClock();
    health = new ExtensionHealth();
    health.keep([owner]);
    questions = [];
    answer = late;
    namespace = { name: "shop", labels: {}, annotations: { "extensions.bunting.dev/owner": "{" } };
    isAwaited = false;
    seconds = 0;
    abort = new AbortController();
    const peer = (hook: ExtensionHook) => ({
      ask: (_extension: unknown, question: ExtensionQuestion) => {
        questions.push({ atSeconds: Math.floor(seconds), question });
        health.called(owner, hook, answer.kind);
        return Promise.resolve(answer);
      },
      heard: (_extension: unknown, heard: ExtensionAnswer) => health.heard(owner, hook, heard),
    });
    running = new ExtensionProbes({
      extensions: {
        asked: { order: [owner], cycles: new Map() },
        extension: () => owner,
        someNamespace: () => namespace,
      },
      health,
      peers: { "pre-create": peer("pre-create"), lint: peer("lint") },
      retries: { isAwaited: () => isAwaited },
      context: { clock, logger: recordingLogger(), metrics: operatorMetrics() },
    }).run(abort.signal);
  });
  afterEach(async () => {
    abort.abort();
    await running;
  });

  async function pass(count: number): Promise<void> {
    for (let left = count * 2; left > 0; left--) {
      clock.advance(500);
      seconds += 0.5;
      await nextTurn();
    }
  }

  it("asks one that failed at a FeatureFlag about another one, later and later, until it answers", async () => {
    await pass(60);
    expect(questions, "while none fails").to.deep.equal([]);
    health.heard(owner, "lint", late);
    await pass(200);
    expect(questions.map(({ atSeconds }) => atSeconds - 60)).to.deep.equal([10, 30, 70, 130, 190]);
    answer = { kind: "commented", findings: [] };
    await pass(60);
    expect(health.of("owner")).to.deep.equal({ kind: "healthy", lastError: "late" });
    await pass(600);
    expect(questions).to.have.length(6);
    const { hook, target, dryRun, configuration, object } = questions[0]?.question ?? {};
    expect({ hook, target, dryRun, configuration }).to.deep.equal({
      ...{ hook: "lint", target: "FeatureFlag", dryRun: true, configuration: undefined },
    });
    expect(object?.metadata["uid"], "another one each time").to.not.equal(
      questions[1]?.question.object.metadata["uid"],
    );
  });

  it("asks what a replica has found failing that is gone, at each of its hooks", async () => {
    health.stored(owner, "late");
    answer = { kind: "unchanged" };
    await pass(10);
    expect(questions.map(({ question }) => question.target)).to.deep.equal(["Proxy", "FeatureFlag"]);
    expect(health.of("owner").kind).to.equal("healthy");
  });

  it("leaves what something waits for to those who ask for it", async () => {
    isAwaited = true;
    health.heard(owner, "pre-create", late);
    await pass(120);
    expect(questions).to.deep.equal([]);
  });

  it("calls one failing no more about whose objects nobody asks it", async () => {
    namespace = undefined;
    health.heard(owner, "lint", late);
    await pass(10);
    expect(health.of("owner").kind).to.equal("unasked");
  });
});

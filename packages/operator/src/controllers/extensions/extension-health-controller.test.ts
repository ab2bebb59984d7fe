import type { ExtensionAnswer, ExtensionHook } from "@bunting/extension";
import type { KubeObject, RestClient } from "@bunting/kube";
import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import type { Extension, ExtensionStatus } from "../../api/extension.js";
import { storedExtension } from "../../extensions/extension.fixture.js";
import { operatorMetrics } from "../../operator-metrics.js";
import { ExtensionHealthController } from "./extension-health-controller.js";
import { ExtensionHealth } from "./extension-health.js";
import { storedFailure } from "./extension-status.js";

const failure: ExtensionAnswer = { kind: "failed", reason: "it answered 503" };
const unchanged: ExtensionAnswer = { kind: "unchanged" };

/** Two replicas, and what the API server has of one Extension, which both hear of at once. */
describe("ExtensionHealthController of two replicas", () => {
  let clock: ManualClock;
  let stored: Extension;
  let written: ExtensionStatus[];
  let leader: ExtensionHealth;
  let other: ExtensionHealth;
  let abort: AbortController;
  let running: Promise<unknown>;

  beforeEach(() => {
    clock = new ManualClock();
    written = [];
    stored = storedExtension("qos", { hooks: ["pre-create", "lint"], objects: ["Sidecar", "FeatureFlag"] });
    [leader, other] = [new ExtensionHealth(), new ExtensionHealth()];
    leader.lead(true);
    abort = new AbortController();
    running = Promise.all([leader, other].map((health) => start(health)));
  });
  afterEach(async () => {
    abort.abort();
    await running;
  });

  function start(health: ExtensionHealth): Promise<void> {
    health.keep([stored]);
    const apply: RestClient["apply"] = (_scope, object) => {
      const { status = {} } = object as { readonly status?: ExtensionStatus };
      stored = { ...stored, status };
      written.push(status);
      for (const each of [leader, other]) each.stored(stored, storedFailure(stored));
      return Promise.resolve({ ...stored, metadata: { name: "qos" } } as KubeObject);
    };
    const context = { clock, logger: recordingLogger(), metrics: operatorMetrics() };
    const extensions = { extension: () => stored };
    return new ExtensionHealthController({ client: { apply }, extensions, health, context }).run(
      abort.signal,
    );
  }

  function asked(replica: ExtensionHealth, hook: ExtensionHook, answer: ExtensionAnswer): void {
    replica.called(stored, hook, answer.kind);
    replica.heard(stored, hook, answer);
  }

  /** What the status says once all that is due is written. */
  async function said(): Promise<string | undefined> {
    for (let left = 300; left > 0; left--) {
      clock.advance(100);
      await nextTurn();
    }
    return stored.status?.conditions?.[0]?.status;
  }

  it("says of one that answers the one, and fails at what the other asks, that it fails", async () => {
    asked(leader, "pre-create", failure);
    expect(await said()).to.equal("False");
    asked(other, "lint", unchanged);
    expect(await said(), "by the leader").to.equal("False");
    asked(leader, "pre-create", unchanged);
    asked(leader, "lint", unchanged);
    expect(await said()).to.equal("True");
    asked(other, "lint", failure);
    expect(await said()).to.equal("False");
    asked(leader, "pre-create", unchanged);
    expect(await said(), "by the other").to.equal("False");
    asked(leader, "lint", unchanged);
    expect(await said()).to.equal("True");
    expect([leader, other].map((each) => each.of("qos").kind)).to.deep.equal(["healthy", "healthy"]);
    expect(stored.status?.lastError).to.equal("it answered 503");
  });

  it("leaves it to the leader to say that it fails no more, at whatever else it fails", async () => {
    asked(leader, "pre-create", failure);
    asked(other, "lint", failure);
    expect(await said()).to.equal("False");
    written.length = 0;
    asked(other, "lint", unchanged);
    expect(await said()).to.equal("False");
    expect(written).to.deep.equal([]);
    for (const hook of ["pre-create", "lint"] as const) asked(leader, hook, unchanged);
    expect(await said()).to.equal("True");
  });

  it("says what one replica finds that does not lead, and finds again", async () => {
    asked(other, "lint", unchanged);
    expect(await said()).to.equal("True");
    for (let round = 0; round < 2; round++) {
      asked(other, "lint", failure);
      expect(await said()).to.equal("False");
      for (const hook of ["pre-create", "lint"] as const) asked(leader, hook, unchanged);
      expect(await said()).to.equal("True");
    }
  });
});

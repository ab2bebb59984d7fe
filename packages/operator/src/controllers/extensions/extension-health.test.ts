import { expect } from "chai";
import type { Extension } from "../../api/extension.js";
import { storedExtension } from "../../extensions/extension.fixture.js";
import { ExtensionHealth } from "./extension-health.js";

describe("ExtensionHealth", () => {
  let health: ExtensionHealth;
  let changed: string[];
  const [a, b] = [storedExtension("a"), storedExtension("b")] as const;
  beforeEach(() => {
    health = new ExtensionHealth();
    health.keep([a, b]);
    changed = [];
    health.listen((name) => changed.push(`${name} ${health.of(name).kind}`));
  });

  it("tells of each change once", () => {
    expect(health.of("a")).to.deep.equal({ kind: "unasked" });
    health.called(a, "pre-create", "unchanged");
    health.heard(a, "pre-create", { kind: "unchanged" });
    health.heard(a, "pre-create", { kind: "refused", reason: "no" });
    health.heard(a, "pre-create", { kind: "failed", reason: "late" });
    health.heard(a, "pre-create", { kind: "failed", reason: "late" });
    expect(health.of("a").kind).to.equal("failing");
    health.called(a, "pre-create", "unchanged");
    health.heard(a, "pre-create", { kind: "unchanged" });
    expect(health.of("a")).to.deep.equal({ kind: "healthy", lastError: "late" });
    expect(changed).to.deep.equal(["a healthy", "a failing", "a healthy"]);
  });

  it("believes no answer of before while calls fail", () => {
    health.called(a, "pre-create", "failed");
    health.heard(a, "pre-create", { kind: "failed", reason: "late" });
    health.heard(a, "pre-create", { kind: "unchanged" });
    expect(health.of("a").kind).to.equal("failing");
    health.called(a, "pre-create", "unchanged");
    health.heard(a, "pre-create", { kind: "unchanged" });
    expect(health.of("a").kind).to.equal("healthy");
  });

  it("calls one failing that answers, but not what it may", () => {
    health.called(a, "pre-create", "replaced");
    health.heard(a, "pre-create", { kind: "failed", reason: "it changes /spec" });
    expect(health.of("a")).to.deep.equal({
      ...{ kind: "failing", hooks: ["pre-create"] },
      lastError: "it changes /spec",
    });
  });

  it("takes what it answered before about other objects for no recovery from an answer that it may not give", () => {
    for (let round = 0; round < 3; round++) {
      health.heard(a, "pre-create", { kind: "unchanged" });
      health.heard(a, "pre-create", { kind: "failed", reason: "it changes /spec" });
    }
    expect(changed).to.deep.equal(["a failing"]);
    health.called(a, "pre-create", "unchanged");
    health.heard(a, "pre-create", { kind: "unchanged" });
    expect(changed).to.deep.equal(["a failing", "a healthy"]);
  });

  it("takes no comment on flags for a recovery of what fails at objects", () => {
    health.heard(a, "pre-create", { kind: "failed", reason: "late" });
    health.called(a, "lint", "commented");
    health.heard(a, "lint", { kind: "commented", findings: [] });
    expect(health.of("a").kind).to.equal("failing");
    health.called(a, "pre-create", "unchanged");
    health.heard(a, "pre-create", { kind: "unchanged" });
    expect(health.of("a").kind).to.equal("healthy");
  });

  it("calls one failing no more when what it failed at is gone: it answers, or nobody knows", () => {
    health.called(a, "pre-create", "replaced");
    for (const each of [a, b])
      health.heard(each, "pre-create", { kind: "failed", reason: "it changes /spec" });
    for (const name of ["a", "b"]) health.settled(name);
    expect(health.of("a")).to.deep.equal({ kind: "healthy", lastError: "it changes /spec" });
    expect(health.of("b")).to.deep.equal({ kind: "unasked" });
    health.heard(a, "lint", { kind: "failed", reason: "late" });
    health.settled("a");
    expect(health.of("a").kind).to.equal("failing");
  });

  describe("what another replica has written", () => {
    const both = storedExtension("both", { hooks: ["pre-create", "lint"] });
    const answers = (hook: "pre-create" | "lint"): void => {
      health.called(both, hook, "unchanged");
      health.heard(both, hook, { kind: "unchanged" });
    };
    beforeEach(() => health.keep([both]));

    it("is a finding of the leader until every hook was answered afresh", () => {
      health.lead(true);
      answers("pre-create");
      health.stored(both, "late");
      expect(health.of("both")).to.deep.equal({
        ...{ kind: "failing", hooks: ["pre-create", "lint"] },
        lastError: "late",
      });
      health.heard(both, "pre-create", { kind: "unchanged" });
      expect(health.of("both").kind, "an answer of before").to.equal("failing");
      answers("pre-create");
      expect(health.of("both").kind).to.equal("failing");
      answers("lint");
      expect(health.of("both")).to.deep.equal({ kind: "healthy", lastError: "late" });
    });

    it("is taken over by who begins to lead", () => {
      health.stored(both, "late");
      answers("pre-create");
      answers("lint");
      expect(health.of("both").kind).to.equal("healthy");
      health.lead(true);
      expect(health.of("both").kind).to.equal("failing");
    });

    it("is believed by the others, and said again by the leader where it still fails", () => {
      const failure = { kind: "failed", reason: "late" } as const;
      health.heard(both, "lint", failure);
      health.stored(both, "late");
      health.stored(both, undefined);
      expect(health.of("both").kind).to.equal("unasked");
      health.lead(true);
      health.heard(both, "lint", failure);
      health.stored(both, "late");
      changed.length = 0;
      health.stored(both, undefined);
      expect(changed).to.deep.equal(["both failing"]);
    });
  });

  it("forgets those that are gone", () => {
    for (const each of [a, b]) health.heard(each, "pre-create", { kind: "failed", reason: "late" });
    health.keep([b]);
    expect([health.of("a").kind, health.of("b").kind]).to.deep.equal(["unasked", "failing"]);
    expect(changed.at(-1)).to.equal("a unasked");
  });

  it("believes of one that was edited no answer to a call of before, and knows nothing of it at first", () => {
    health.heard(a, "pre-create", { kind: "failed", reason: "late" });
    const edited: Extension = { ...a, metadata: { ...a.metadata, generation: 2 } };
    health.keep([edited, b]);
    expect(health.of("a")).to.deep.equal({ kind: "unasked" });
    health.called(edited, "pre-create", "unchanged");
    health.heard(edited, "pre-create", { kind: "unchanged" });
    health.called(a, "pre-create", "failed");
    health.heard(a, "pre-create", { kind: "failed", reason: "late" });
    expect(health.of("a")).to.deep.equal({ kind: "healthy" });
  });
});

import type { EventDetails } from "@bunting/kube";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { expect } from "chai";
import { AppliedEvents } from "./applied-events.js";
import type { DesiredObject } from "../../desired/desired-object.js";
import type { Applied } from "./applier.js";

const desired = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "proxy", namespace: "flags" },
};
const object = { metadata: { name: "proxy", namespace: "flags", uid: "u" } };
const nothing = {
  kind: "applied",
  object,
  change: "none",
  overruled: [],
  overridden: [],
  scaledBy: undefined,
} as const;

describe("AppliedEvents", () => {
  let recorded: EventDetails[];
  let logger: ReturnType<typeof recordingLogger>;

  function report(applied: Applied, made: DesiredObject = desired): AppliedEvents {
    recorded = [];
    logger = recordingLogger();
    const events = new AppliedEvents({ record: (event) => recorded.push(event) }, logger);
    events.report(made, applied);
    return events;
  }

  it("say nothing where nothing has changed", () => {
    report(nothing);
    expect(recorded).to.deep.equal([]);
    expect(logger.lines).to.deep.equal([]);
  });

  for (const change of ["created", "adopted"] as const) {
    it(`tell that an object was ${change}`, () => {
      report({ ...nothing, change });
      const [event] = recorded;
      expect(event).to.include({ type: "Normal", reason: change === "created" ? "Created" : "Adopted" });
      expect(event?.regarding).to.deep.equal({
        ...{ apiVersion: "apps/v1", kind: "Deployment", namespace: "flags", name: "proxy", uid: "u" },
      });
      expect(logger.lines.map(({ fields }) => fields)).to.deep.equal([
        { object: "Deployment flags/proxy", change },
      ]);
    });
  }

  it("log a change of our own only", () => {
    report({ ...nothing, change: "changed" });
    expect(recorded).to.deep.equal([]);
    expect(logger.lines).to.have.lengthOf(1);
  });

  it("name the fields of others, and who wrote them", () => {
    const conflict = { field: ".spec.image", manager: "kubectl-edit", operation: "Update" } as const;
    const other = { field: ".spec.replicas", manager: "argocd", operation: "Apply" } as const;
    report({ ...nothing, overruled: [conflict], overridden: [other] });
    expect(recorded.map(({ reason, type }) => `${type} ${reason}`)).to.deep.equal([
      "Warning DriftRepaired",
      "Warning Overridden",
    ]);
    expect(recorded[0]?.note).to.contain(".spec.image (kubectl-edit)");
    expect(recorded[1]?.note).to.contain(".spec.replicas (argocd)");
  });

  it("name who has scaled, and say of what belongs to a Flagd that the Flagd is to be changed", () => {
    const ownerReferences = [{ kind: "Flagd", name: "proxy" }];
    const ofFlagd = { ...desired, metadata: { ...desired.metadata, ownerReferences } };
    const conflict = { field: ".spec.replicas", manager: "kubectl", operation: "Update" } as const;
    report({ ...nothing, scaledBy: "kube-controller-manager" }, ofFlagd);
    expect(recorded[0]).to.include({
      ...{ type: "Normal", reason: "ScaledByOthers" },
      note: "The number of replicas is left to kube-controller-manager, which has scaled the Deployment, until the Flagd asks for another one.",
    });
    report({ ...nothing, scaledBy: "kubectl" });
    expect(recorded[0]?.note).to.not.contain("Flagd");
    report({ ...nothing, overruled: [conflict] }, ofFlagd);
    expect(recorded[0]?.note).to.equal(
      "Fields that others had changed are put back: .spec.replicas (kubectl). Change the Flagd instead.",
    );
  });

  it("know whether something was written", () => {
    for (const change of ["created", "changed", "adopted"] as const)
      expect(report({ ...nothing, change }).hasWritten, change).to.equal(true);
    expect(report(nothing).hasWritten).to.equal(false);
    expect(report({ kind: "nameTaken", object }).hasWritten).to.equal(false);
  });

  it("warn of somebody else's object, and say what helps", () => {
    report({ kind: "nameTaken", object });
    expect(recorded[0]).to.include({ type: "Warning", reason: "NameTaken" });
    expect(recorded[0]?.note)
      .to.contain("the Deployment flags/proxy is not the operator's")
      .and.contain("the label app.kubernetes.io/managed-by=open-feature-operator");
    const ownerReferences = [{ kind: "Flagd", name: "proxy" }];
    report({ kind: "nameTaken", object }, { ...desired, metadata: { ...desired.metadata, ownerReferences } });
    expect(recorded[0]?.note).to.contain("open-feature-operator and app.kubernetes.io/name=proxy");
  });
});

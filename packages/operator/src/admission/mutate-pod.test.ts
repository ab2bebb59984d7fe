import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import type { InjectionEntry } from "../api/injection.js";
import { fullEntry } from "../pod/injection-entry.fixture.js";
import type { AdmissionAnswer } from "./admission-answer.js";
import type { NotInjectedReason } from "../pod/reasons.js";
import { podWebhook, type MissingSourcePolicy } from "./mutate-pod.js";

const wanted = { "openfeature.dev/enabled": "true", "openfeature.dev/featureflagsource": "end-to-end" };

function pod(annotations: JsonObject = wanted, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { generateName: "web-", annotations },
    spec: { serviceAccountName: "web", containers: [{ name: "app", image: "app" }], ...spec },
  };
}

describe("podWebhook", () => {
  let asked: string[];
  let counted: string[];
  const entries = new Map<string, InjectionEntry>([["shop sources end-to-end", fullEntry]]);
  /** By text; others are of no source that there is. */
  const reasons = new Map<string, NotInjectedReason>([
    ["team/theirs", "NotShared"],
    ["broken", "InvalidSource"],
  ]);

  beforeEach(() => {
    asked = [];
    counted = [];
  });

  function review(
    object: JsonObject,
    isRequired = false,
    other: JsonObject = {},
    missingSource: MissingSourcePolicy = "admit",
  ): AdmissionAnswer {
    const webhook = podWebhook({
      lookup: (namespace, { list, text }) => {
        asked.push(`${namespace} ${list} ${text}`);
        const message = `there is no FeatureFlagSource ${text}`;
        const missing = { reason: reasons.get(text) ?? "UnknownSource", message } as const;
        return entries.get(`${namespace} ${list} ${text}`) ?? missing;
      },
      isRequired,
      missingSource,
      metrics: {
        injected: () => counted.push("injected"),
        notInjected: (reason) => counted.push(reason),
      },
    });
    const request = {
      ...{
        uid: "1",
        kind: { group: "", version: "v1", kind: "Pod" },
        operation: "CREATE",
        namespace: "shop",
        subResource: "",
        dryRun: false,
      },
      ...{ object, oldObject: undefined, ...other },
    };
    return webhook.review(request, 0) as AdmissionAnswer;
  }

  /** Paths of the patch. */
  function pathsOf({ patch = [] }: AdmissionAnswer): string[] {
    return patch.map((operation) => (operation as { path: string }).path);
  }

  it("gives a Pod what was compiled for its namespace and text", () => {
    const answer = review(pod());
    expect(answer.isAllowed).to.equal(true);
    expect(answer.warnings).to.equal(undefined);
    expect(pathsOf(answer)).to.include.members([
      "/spec/initContainers",
      "/spec/volumes",
      "/spec/containers/0/env",
      "/metadata/annotations/bunting.dev~1injected",
    ]);
    expect(asked).to.deep.equal(["shop sources end-to-end"]);
    expect(counted).to.deep.equal(["injected"]);
  });

  it("asks nothing for Pods that do not want flags, nor for anything but their creation", () => {
    expect(review(pod({}))).to.deep.equal({ isAllowed: true });
    expect(review(pod({ ...wanted, "openfeature.dev/enabled": "yes" }))).to.deep.equal({ isAllowed: true });
    for (const other of [
      { operation: "UPDATE" },
      { operation: "DELETE" },
      { subResource: "ephemeralcontainers" },
    ])
      expect(review(pod(), true, other)).to.deep.equal({ isAllowed: true });
    expect([asked, counted]).to.deep.equal([[], []]);
  });

  it("admits a Pod that can't have flags, with a warning, and an annotation that says why", () => {
    const answer = review(pod({ ...wanted, "openfeature.dev/featureflagsource": "gone" }));
    expect(answer.isAllowed).to.equal(true);
    expect(answer.warnings).to.deep.equal(["the Pod gets no flags: there is no FeatureFlagSource gone"]);
    expect(answer.patch).to.deep.equal([
      { op: "add", path: "/metadata/annotations/bunting.dev~1not-injected", value: "UnknownSource" },
    ]);
    expect(review(pod(wanted, { hostNetwork: true })).warnings?.[0]).to.contain("the network of its node");
    expect(review(pod({ "openfeature.dev/enabled": "true" })).warnings?.[0]).to.contain(
      "none of the annotations",
    );
    expect(counted).to.deep.equal(["UnknownSource", "HostNetwork", "NoSource"]);
  });

  it("refuses such a Pod only where it must not start without, and says how it can", () => {
    const gone = pod({ ...wanted, "openfeature.dev/featureflagsource": "gone" });
    const answer = review(gone, true);
    expect(answer.isAllowed).to.equal(false);
    expect(answer.refusal?.message).to.contain("bunting.dev/injection: required");
    expect(answer.refusal?.message).to.contain("there is no FeatureFlagSource gone");
  });

  it("refuses a Pod that it could inject where it must not start without, and does not say with what: its path is quoted in errors", () => {
    const answer = review(pod(), true);
    expect([answer.isAllowed, answer.patch]).to.deep.equal([false, undefined]);
    expect(answer.refusal?.message).to.contain("try again");
    expect(counted).to.deep.equal([]);
  });

  it("refuses a Pod whose source may still come where it is told to, so that its controller tries again", () => {
    const of = (text: string, spec: JsonObject = {}): AdmissionAnswer =>
      review(pod({ ...wanted, "openfeature.dev/featureflagsource": text }, spec), false, {}, "refuse");
    for (const text of ["gone", "team/theirs"]) {
      const answer = of(text);
      expect([answer.isAllowed, answer.patch]).to.deep.equal([false, undefined]);
      expect(answer.refusal?.message)
        .to.contain("--missing-source=refuse")
        .and.contain(`there is no FeatureFlagSource ${text}`);
    }
    expect(of("end-to-end").isAllowed).to.equal(true);
    // Nothing that comes would change these.
    expect([of("broken").isAllowed, of("end-to-end", { hostNetwork: true }).isAllowed]).to.deep.equal([
      true,
      true,
    ]);
    expect(review(pod({ "openfeature.dev/enabled": "true" }), false, {}, "refuse").isAllowed).to.equal(true);
  });

  it("finds nothing to change in a Pod that it has injected, but completes a container that came later", () => {
    const annotations = { ...wanted, "bunting.dev/injected": `webhook ${fullEntry.digest}` };
    const { container, volumes, env, mounts } = JSON.parse(JSON.stringify(fullEntry)) as {
      container: JsonObject;
      volumes: JsonObject[];
      env: JsonObject[];
      mounts: JsonObject[];
    };
    const app = { name: "app", env, volumeMounts: mounts };
    const imagePullSecrets = fullEntry.imagePullSecrets.map((name) => ({ name }));
    const spec = { initContainers: [container], volumes, containers: [app], imagePullSecrets };
    expect(pathsOf(review(pod(annotations, spec)))).to.deep.equal([]);
    const later = pod(annotations, { ...spec, containers: [app, { name: "mesh" }] });
    expect(pathsOf(review(later))).to.deep.equal([
      "/spec/containers/1/env",
      "/spec/containers/1/volumeMounts",
    ]);
  });

  it("lets what is no Pod pass: the API server refuses it", () => {
    for (const object of [
      {},
      { metadata: {}, spec: {} },
      { metadata: { annotations: wanted }, spec: { containers: 1 } },
    ])
      expect(review(object)).to.deep.equal({ isAllowed: true });
  });

  it("is not misled by text of a megabyte, or names that objects have by themselves", () => {
    for (const text of ["x".repeat(1_000_000), "__proto__", "constructor", ""]) {
      const answer = review(pod({ ...wanted, "openfeature.dev/featureflagsource": text }));
      expect(answer.isAllowed).to.equal(true);
      expect(answer.warnings).to.have.length(1);
    }
  });
});

import { podRequest } from "@bunting/featureflags/resources";
import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { sidecarAccount } from "../ask-sidecar.js";
import type { ShownPod } from "../shown-pod.js";
import { explainFacts } from "./explain-facts.js";
import { explanationLines } from "./explanation-lines.js";
import type { ObjectFacts, PodFacts } from "./pod-facts.js";

const asking = {
  "openfeature.dev/enabled": "true",
  "openfeature.dev/featureflagsource": "checkout",
  "team.example/owner": "shop",
};
const injected = { ...asking, "bunting.dev/injected": "policy abc" };
const app = { name: "app", image: "shop.example/app" };
const sidecar = { name: "flagd", image: "registry.example/agent:1" };
const withSidecar: ShownPod["spec"] = { containers: [app], initContainers: [sidecar] };
const running: NonNullable<ShownPod["status"]> = {
  initContainerStatuses: [{ name: "flagd", ready: true, state: { running: {} } }],
};

function object(status?: "True" | "False", annotations: Readonly<Record<string, string>> = {}): KubeObject {
  const condition = { type: "Accepted", status, reason: "Some", message: "A sentence." };
  return {
    metadata: { name: "checkout", annotations },
    ...(status === undefined ? {} : { status: { conditions: [condition] } }),
  };
}

function rolledOut(reason: string): KubeObject {
  const condition = { type: "RolledOut", status: "False", reason, message: "A sentence." };
  return { metadata: { name: "checkout" }, status: { conditions: [condition] } };
}

function source(answer: ObjectFacts["answer"], namespace = "shop"): ObjectFacts {
  return { kind: "FeatureFlagSource", namespace, name: "checkout", answer };
}

const good = source({ kind: "found", found: object("True") });
const flag: ObjectFacts = { ...good, kind: "FeatureFlag" };

function compiled(digest: string): PodFacts["injection"] {
  return { kind: "found", found: { texts: ["checkout"], entry: { digest }, refused: undefined } };
}

const refusedText: PodFacts["injection"] = {
  kind: "found",
  found: { texts: [], entry: undefined, refused: "No sidecars on Fridays." },
};

interface Given extends Partial<Omit<PodFacts, "pod">> {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: ShownPod["spec"];
  readonly status?: NonNullable<ShownPod["status"]>;
}

/** A Pod that has what it asks for, but for what a test says. */
function facts({
  annotations = injected,
  labels = {},
  spec = withSidecar,
  status,
  ...given
}: Given = {}): PodFacts {
  return {
    address: { namespace: "shop", name: "web" },
    pod: { metadata: { annotations, labels }, spec, status: status ?? running },
    isTemplate: false,
    asked: podRequest(annotations),
    injection: compiled("abc"),
    named: [good],
    flags: [flag],
    policies: { kind: "found", found: ["inject.bunting.dev"] },
    webhook: { kind: "missing" },
    ...given,
  };
}

const bare: ShownPod["spec"] = { containers: [app] };
const missed = { annotations: asking, spec: bare };
const nothing = { kind: "missing" } as const;
const byHand: Given = {
  annotations: {},
  spec: { containers: [app, { name: "agent", image: "registry.example:5000/bunting-agent@sha256:ab" }] },
  status: { containerStatuses: [{ name: "agent", ready: true, state: { running: {} } }] },
  injection: nothing,
};

describe("explainFacts", () => {
  const cases: Readonly<Record<string, readonly [Given, string, boolean, RegExp]>> = {
    "a Pod that has all": [{}, "injected", true, /^Nothing is to be done/],
    "a Pod that asks for nothing": [
      { annotations: { "openfeature.dev/enabled": "yes" }, spec: bare },
      "not-asked",
      true,
      /annotate the Pod's template with openfeature\.dev\/enabled: "true"/,
    ],
    "a Pod whose Deployment has the annotations, and not its template": [
      { annotations: {}, spec: bare, ofDeployment: asking },
      "not-asked",
      false,
      /^Move the annotations of openfeature\.dev from the Deployment's metadata to its spec\.template\.metadata/,
    ],
    "a Pod of a Deployment without annotations": [
      { annotations: {}, spec: bare, ofDeployment: { "openfeature.dev/enabled": "no" } },
      "not-asked",
      true,
      /^If it is to have flags/,
    ],
    "an agent that is written by hand": [byHand, "by-hand", true, /^Nothing is to be done/],
    "an agent that is written by hand, and not ready": [
      { ...byHand, status: { containerStatuses: [{ name: "agent", ready: false, state: { running: {} } }] } },
      "by-hand",
      false,
      /running, not ready: kubectl -n shop logs web -c agent/,
    ],
    "an agent that is written by hand, of a FeatureFlag that is missing": [
      { ...byHand, flags: [{ ...flag, answer: nothing }] },
      "by-hand",
      false,
      /^Create the FeatureFlag shop\/checkout/,
    ],
    "a Pod whose source has changed since": [
      { injection: compiled("new") },
      "injected",
      true,
      /^Restart the workload when it suits you/,
    ],
    "a sidecar that does not start": [
      {
        status: {
          initContainerStatuses: [{ name: "flagd", state: { waiting: { reason: "ImagePullBackOff" } } }],
        },
      },
      "injected",
      false,
      /sidecar is waiting: ImagePullBackOff: kubectl -n shop logs web -c flagd/,
    ],
    "a sidecar that is not ready": [
      { status: { initContainerStatuses: [{ name: "flagd", restartCount: 3, state: { running: {} } }] } },
      "injected",
      false,
      /sidecar is running, not ready, 3 restarts/,
    ],
    "a FeatureFlag that is missing": [
      { flags: [{ ...flag, answer: nothing }] },
      "injected",
      false,
      /^Create the FeatureFlag shop\/checkout/,
    ],
    "a FeatureFlag that is refused": [
      { flags: [{ ...flag, answer: { kind: "found", found: object("False") } }] },
      "injected",
      false,
      /^Correct the FeatureFlag shop\/checkout/,
    ],
    "variables for an application in process": [
      {
        annotations: {
          "openfeature.dev/enabled": "true",
          "openfeature.dev/inprocessconfiguration": "own",
          "bunting.dev/injected": "webhook abc",
        },
        spec: bare,
      },
      "injected",
      true,
      /^Nothing/,
    ],
    "a mark that was copied from another Pod": [
      { annotations: injected, spec: bare },
      "not-injected",
      false,
      /^Delete the Pod/,
    ],
    "a label that was copied from another Pod": [
      { ...missed, labels: { "bunting.dev/injected-by": "policy" } },
      "not-injected",
      false,
      /^Remove the label bunting\.dev\/injected-by/,
    ],
    "a sidecar of the open-feature-operator": [
      { annotations: asking },
      "foreign",
      true,
      /^The container flagd is of the open-feature-operator/,
    ],
    "its own container flagd": [
      { annotations: { ...asking, "bunting.dev/not-injected": "OwnContainer" } },
      "not-injected",
      false,
      /^Rename or remove the container flagd/,
    ],
    "a word that a newer operator has written": [
      { annotations: { ...asking, "bunting.dev/not-injected": "Later" }, spec: bare },
      "not-injected",
      false,
      /the reason Later/,
    ],
    "a Pod that was created before its source": [
      { annotations: { ...asking, "bunting.dev/not-injected": "UnknownSource" }, spec: bare },
      "not-injected",
      false,
      /^Restart the workload: what it names is there now, .*bunting\.dev\/injection: required/,
    ],
    "a Pod whose source is still not there": [
      {
        annotations: { ...asking, "bunting.dev/not-injected": "UnknownSource" },
        spec: bare,
        named: [source(nothing)],
      },
      "not-injected",
      false,
      /^Create the FeatureFlagSource shop\/checkout, .* If it is in another namespace, .* NAMESPACE\/NAME/,
    ],
    "a Pod whose source of another namespace is not there": [
      {
        annotations: { ...asking, "bunting.dev/not-injected": "UnknownSource" },
        spec: bare,
        named: [source(nothing, "flags")],
      },
      "not-injected",
      false,
      /^Create the FeatureFlagSource flags\/checkout, or correct the annotation, and then restart the workload\.$/,
    ],
    "a sidecar that is current by its own account": [
      { account: sidecarAccount("ready\nsource 0 proxy:8015: connected for 3 s\n") },
      "injected",
      true,
      /^Nothing is to be done/,
    ],
    "a sidecar that does not reach its proxy": [
      { account: sidecarAccount("ready, but flags are stale\nsource 0 proxy:8015: disconnected for 9 s") },
      "injected",
      false,
      /NetworkPolicy.* kubectl -n shop delete pod web\.$/,
    ],
    "a sidecar that is not ready, and says why": [
      {
        status: { initContainerStatuses: [{ name: "flagd", state: { running: {} } }] },
        account: sidecarAccount("waiting for the first flags of proxy:8015\nsource 0 proxy:8015: connecting"),
      },
      "injected",
      false,
      /^See the lines of its sidecar: it has no flags yet\. .*NetworkPolicy/,
    ],
    "a FeatureFlag whose rollout is paused": [
      {
        account: sidecarAccount("ready\n"),
        flags: [{ ...flag, answer: { kind: "found", found: rolledOut("Paused") } }],
      },
      "injected",
      false,
      /bunting rollout resume shop\/checkout/,
    ],
    "a FeatureFlag whose rollout goes on": [
      { flags: [{ ...flag, answer: { kind: "found", found: rolledOut("Progressing") } }] },
      "injected",
      true,
      /^Nothing is to be done/,
    ],
    "a sidecar that may not be asked": [
      { account: { kind: "silent", message: "forbidden" } },
      "injected",
      true,
      /^Nothing is to be done/,
    ],
    "a Pod that was created while nobody was there": [missed, "not-injected", false, /^Delete the Pod/],
    "a Pod that names nothing": [
      { annotations: { "openfeature.dev/enabled": "true" }, spec: bare },
      "not-injected",
      false,
      /^Name a FeatureFlagSource/,
    ],
    "a source that does not exist": [
      { ...missed, named: [source(nothing)] },
      "not-injected",
      false,
      /^Create the FeatureFlagSource shop\/checkout/,
    ],
    "a source that is not accepted": [
      { ...missed, named: [source({ kind: "found", found: object("False") })] },
      "not-injected",
      false,
      /^Correct the FeatureFlagSource shop\/checkout/,
    ],
    "a source of another namespace that is not shared": [
      { ...missed, named: [source({ kind: "found", found: object("True") }, "platform")] },
      "not-injected",
      false,
      /bunting\.dev\/readers/,
    ],
    "a source of another namespace that is shared": [
      {
        ...missed,
        named: [
          source({ kind: "found", found: object("True", { "bunting.dev/readers": "shop" }) }, "platform"),
        ],
      },
      "not-injected",
      false,
      /^Delete the Pod/,
    ],
    "a cluster without policy and webhook": [
      { ...missed, injection: nothing, policies: nothing },
      "not-injected",
      false,
      /^Install the chart bunting-operator/,
    ],
    "a policy that may not be read": [
      { ...missed, policies: { kind: "unreadable", message: "forbidden" } },
      "not-injected",
      false,
      /^Delete the Pod/,
    ],
    "an operator that has not compiled": [
      { ...missed, injection: nothing },
      "not-injected",
      false,
      /^See what the operator says/,
    ],
    "a Deployment without Pods": [{ ...missed, isTemplate: true }, "no-pod", true, /^Scale it up/],
    "a Pod that was created while nobody was there, with a text that an extension refuses": [
      { ...missed, injection: refusedText },
      "not-injected",
      false,
      /^Do as the condition Compiled .* Extension/,
    ],
    "a Deployment without Pods, with a text that an extension refuses": [
      { ...missed, isTemplate: true, injection: refusedText },
      "no-pod",
      false,
      /^Do as the condition Compiled .* Extension/,
    ],
    "a Deployment without Pods, whose source does not exist": [
      { ...missed, isTemplate: true, named: [source(nothing)] },
      "no-pod",
      false,
      /^Create the FeatureFlagSource/,
    ],
  };
  for (const [name, [given, verdict, isWell, advice]] of Object.entries(cases)) {
    it(`gives a verdict and advice for ${name}`, () => {
      const explanation = explainFacts(facts(given));
      expect(explanation).to.include({ verdict, isWell });
      expect(explanation.advice).to.match(advice);
    });
  }

  it("shows only the annotations that decide, and every sentence of the conditions", () => {
    const account = sidecarAccount("ready\nsource 0 proxy:8015: connected for 3 s\n");
    const lines = explanationLines(explainFacts(facts({ account })));
    expect(lines[0]).to.equal("shop/web has flags, by the policy, entry abc");
    expect(lines.filter((line) => line.includes("annotation"))).to.deep.equal([
      "  annotation openfeature.dev/enabled: true",
      "  annotation openfeature.dev/featureflagsource: checkout",
      "  annotation bunting.dev/injected: policy abc",
    ]);
    expect(lines).to.include.members([
      "  FeatureFlagSource shop/checkout: accepted",
      "    Accepted is True (Some): A sentence.",
      "  webhook: none is installed",
      "  sidecar: registry.example/agent:1, running, ready",
      "    ready",
      "    source 0 proxy:8015: connected for 3 s",
    ]);
    expect(lines.at(-1)).to.equal("Nothing is to be done.");
  });

  it("says that an object may not be read, or was not judged yet", () => {
    const message = "you may not read it";
    const { objects, compiled } = explainFacts(
      facts({
        named: [source({ kind: "unreadable", message }), source({ kind: "found", found: object() })],
        injection: { kind: "unreadable", message },
      }),
    );
    expect(objects.map(({ state }) => state)).to.deep.equal(["unreadable", "unjudged"]);
    expect(objects[0]?.sentences).to.deep.equal([message]);
    expect(compiled).to.deep.equal({ state: "unreadable", message });
  });
});

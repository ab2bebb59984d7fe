import { readFileSync } from "node:fs";
import path from "node:path";
import { readText } from "@bunting/files/text";
import type { KubeObject } from "@bunting/kube";
import { expect } from "chai";
import { asProxyStatus } from "../../status/proxy-status.js";
import type { CheckFinding } from "../finding-codes.js";
import type { SyncOutcome } from "../proxy/probe-sync.js";
import type { InstalledOperator } from "../../operator/installed-operator.js";
import { sidecarAccount, type SidecarAccount } from "../../operator/ask-sidecar.js";
import type { PodExplanation } from "../../operator/explain/explanation.js";
import { judgeAdmission, type AdmissionFacts } from "./judge-admission.js";
import {
  definitions,
  judgeDefinitions,
  usedDefinitions,
  type DefinitionsFacts,
} from "./judge-definitions.js";
import { judgeOperators, judgeVersions } from "./judge-operators.js";
import { judgePods } from "./judge-pods.js";
import { judgeProxyImages } from "./judge-proxy-images.js";
import { judgeProxies, judgeSync } from "./judge-proxies.js";
import { judgeRights, ofStockChart } from "./judge-rights.js";
import { judgeSources } from "./judge-sources.js";
import { judgeTopics } from "./judge-topics.js";
import { judgeUnserved, type UnservedFacts, type UnservedPod } from "./judge-unserved.js";
import { judgeVersion } from "./judge-version.js";

function briefly(findings: readonly CheckFinding[]): readonly string[] {
  return findings.map(({ code, where }) => `${code} ${where}`);
}

/** Neither the sentence nor the remedy of a finding ends with a full stop. */
function expectSentences(findings: readonly CheckFinding[]): void {
  for (const { what, todo } of findings) {
    expect(what).to.match(/[^.]$/);
    expect(todo).to.match(/[^.]$/);
  }
}

describe("judgeVersion", () => {
  it("takes Kubernetes 1.29 and newer, and versions that are none", () => {
    for (const good of ["v1.29.0", "v1.36.2+k3s1", "v2.0.0", "unknown"])
      expect(judgeVersion(good)).to.deep.equal([]);
    for (const old of ["v1.28.9", "v1.3.0", "v0.40.0"])
      expect(briefly(judgeVersion(old)), old).to.deep.equal(["api-version API server"]);
  });
});

describe("judgeDefinitions", () => {
  let ours: Readonly<Record<string, KubeObject>>;
  before(async () => {
    const found = await Promise.all(
      Object.keys(definitions).map(async (name) => {
        const file = path.join(
          import.meta.dirname,
          `../../../../../deploy/crds/${name.split(".")[0] ?? ""}.yaml`,
        );
        const text = await readText(file, readFileSync(file));
        if (text.kind === "error") throw new Error(text.message);
        return [name, text.documents[0]?.value as unknown as KubeObject] as const;
      }),
    );
    ours = Object.fromEntries(found);
  });

  const sources = "featureflagsources.core.openfeature.dev";
  function judged(
    change: (text: string) => string,
    phase: "pre" | "installed" = "installed",
    operatedBy: DefinitionsFacts["operatedBy"] = "bunting",
  ): readonly CheckFinding[] {
    const object = JSON.parse(change(JSON.stringify(ours[sources]))) as KubeObject;
    return judgeDefinitions({ phase, operatedBy, found: [{ name: sources, object }] });
  }

  it("finds nothing in ours", () => {
    const found = Object.entries(ours).map(([name, object]) => ({ name, object }));
    expect(found).to.have.length(7);
    for (const operatedBy of ["bunting", "stock", "nobody"] as const)
      expect(judgeDefinitions({ phase: "installed", operatedBy, found })).to.deep.equal([]);
    expect(judgeDefinitions({ phase: "pre", operatedBy: "bunting", found })).to.deep.equal([]);
    for (const names of Object.values(usedDefinitions)) {
      expect(names).to.not.have.length(0);
      expect(Object.keys(definitions)).to.include.members([...names]);
    }
  });

  it("misses what is not installed only where it has to be", () => {
    const found = [{ name: sources, object: undefined }];
    const missing = judgeDefinitions({ phase: "installed", operatedBy: "bunting", found });
    expect(briefly(missing)).to.deep.equal([`definition-missing CustomResourceDefinition ${sources}`]);
    expect(missing[0]?.todo).to.contain("deploy/crds");
    const stock = judgeDefinitions({ phase: "installed", operatedBy: "stock", found });
    expect(briefly(stock)).to.deep.equal(briefly(missing));
    expect(stock[0]?.todo).to.contain("the release of the open-feature-operator");
    expect(judgeDefinitions({ phase: "pre", operatedBy: "bunting", found })).to.deep.equal([]);
    expect(briefly(judged((text) => text.replace('"served":true', '"served":false')))[0]).to.match(
      /^definition-missing/,
    );
  });

  it("names the fields that an older one lacks, also within sources and the status", () => {
    const older = judged((text) =>
      text.replace('"providerID":', '"providerId":').replace('"cors":', '"corz":'),
    );
    expect(briefly(older)[0]).to.match(/^definition-older /);
    expect(older[0]?.what).to.contain("lacks spec.cors, spec.sources.*.providerID, ");
    expect(briefly(judged((text) => text.replaceAll('"conditions":', '"c":')))[0]).to.match(
      /^definition-older /,
    );
    expect(briefly(judged((text) => text.replace('"cors":', '"c":'), "pre"))[0]).to.match(
      /^definition-to-update /,
    );
  });

  it("knows those of the open-feature-operator, and versions in which objects are stored", () => {
    const annotated = (text: string): string =>
      text.replace(
        '"metadata":{',
        '"metadata":{"annotations":{"controller-gen.kubebuilder.io/version":"v0.16.5"},',
      );
    expect(briefly(judged(annotated))[0]).to.match(/^definition-stock /);
    expect(judged(annotated, "pre")[0]?.todo).to.contain("never uninstall it");
    // Where that operator stays, they are as they should be.
    expect(judged(annotated, "installed", "stock")).to.deep.equal([]);
    const stored = judged(
      (text) => text.replace(/\}$/, ',"status":{"storedVersions":["v1alpha1","v1beta1"]}}'),
      "pre",
    );
    expect(briefly(stored)[0]).to.match(/^definition-stored /);
    expect(stored[0]?.what).to.contain("stored as v1alpha1 ");
  });
});

describe("judgeRights", () => {
  it("names the verbs that are lacking, where, and what they are for", () => {
    const right = {
      subject: "you",
      resource: "deployments.apps",
      namespace: "flags",
      why: "the chart makes them",
    };
    const found = judgeRights([
      { ...right, lacking: ["create", "patch"] },
      { ...right, lacking: [] },
      { subject: "ServiceAccount a/b", resource: "pods", why: "reads them", lacking: ["list"] },
    ]);
    expect(found.map(({ where, what }) => `${where}: ${what}`)).to.deep.equal([
      "you in flags: create, patch of deployments.apps is not allowed (the chart makes them)",
      "ServiceAccount a/b: list of pods is not allowed (reads them)",
    ]);
    expectSentences(found);
    expect(found[1]?.todo).to.contain("apply the roles of the chart");
  });

  it("sends to the chart of the open-feature-operator for the rights of its proxy", () => {
    const right = {
      subject: "ServiceAccount a/b",
      resource: "featureflags.core.openfeature.dev",
      why: "serves them",
    };
    const found = judgeRights([{ ...right, lacking: ["watch"] }], ofStockChart);
    expect(found[0]?.todo).to.contain("open-feature-operator-flagd-kubernetes-sync");
    expectSentences(found);
  });
});

describe("judgeAdmission", () => {
  const kind = "MutatingWebhookConfiguration";
  const good: AdmissionFacts = {
    phase: "installed",
    operatedBy: "bunting",
    servesPolicies: true,
    policies: ["inject.bunting.dev"],
    bound: new Set(["inject.bunting.dev"]),
    webhooks: [{ kind, name: "hook", hasAuthority: true }],
  };
  const cases: Readonly<Record<string, readonly [Partial<AdmissionFacts>, readonly string[]]>> = {
    "policy and webhook": [{}, []],
    "the policy alone": [{ webhooks: [] }, []],
    "the webhook alone": [{ policies: [], bound: new Set() }, []],
    nothing: [{ policies: [], webhooks: [] }, ["admission-missing cluster"]],
    "a policy without a binding": [
      { bound: new Set() },
      ["policy-unbound MutatingAdmissionPolicy inject.bunting.dev"],
    ],
    "a webhook without an authority": [
      {
        webhooks: [
          { kind, name: "other", hasAuthority: true },
          { kind, name: "hook", hasAuthority: false },
        ],
      },
      ["webhook-authority MutatingWebhookConfiguration hook"],
    ],
    "a webhook with a wrong authority": [
      {
        webhooks: [{ kind, name: "hook", hasAuthority: true, refused: "Pod a/b: SELF_SIGNED_CERT_IN_CHAIN" }],
      },
      ["webhook-authority MutatingWebhookConfiguration hook"],
    ],
    "a webhook that checks, with a wrong authority, and none that injects": [
      {
        operatedBy: "stock",
        policies: [],
        webhooks: [
          { kind: "ValidatingWebhookConfiguration", name: "check", hasAuthority: true, refused: "no" },
        ],
      },
      ["admission-missing cluster"],
    ],
    "a webhook that checks, with a wrong authority": [
      {
        webhooks: [
          { kind: "ValidatingWebhookConfiguration", name: "check", hasAuthority: true, refused: "no" },
        ],
      },
      ["webhook-authority ValidatingWebhookConfiguration check"],
    ],
    "the webhook of the open-feature-operator": [{ operatedBy: "stock", policies: [], bound: new Set() }, []],
    "its webhook, and a policy that was left": [
      { operatedBy: "stock" },
      ["policy-left MutatingAdmissionPolicy inject.bunting.dev"],
    ],
    "nothing of the open-feature-operator": [
      { operatedBy: "stock", policies: [], webhooks: [] },
      ["admission-missing cluster"],
    ],
    "its webhook without an authority": [
      { operatedBy: "stock", policies: [], webhooks: [{ kind, name: "hook", hasAuthority: false }] },
      ["webhook-authority MutatingWebhookConfiguration hook"],
    ],
    "an API server without policies, before": [
      { phase: "pre", servesPolicies: false },
      ["policies-not-served API server"],
    ],
    "an API server with policies, before": [{ phase: "pre", policies: [], webhooks: [] }, []],
  };
  for (const [name, [given, expected]] of Object.entries(cases)) {
    it(`finds what is to be found with ${name}`, () => {
      const found = judgeAdmission({ ...good, ...given });
      expect(briefly(found)).to.deep.equal(expected);
      expectSentences(found);
      if (given.operatedBy === "stock")
        expect(JSON.stringify(found)).to.not.match(/chart bunting-operator|leader of the operator/);
    });
  }
});

describe("judgeOperators and judgeVersions", () => {
  const operator = (name: string, further: Partial<InstalledOperator> = {}): InstalledOperator => ({
    namespace: "flags",
    name,
    isStock: false,
    image: "registry.example/bunting-operator:0.1.0",
    serviceAccount: "operator",
    readyReplicas: 2,
    settings: new Map(),
    ...further,
  });
  const judged = (...operators: readonly InstalledOperator[]): readonly string[] =>
    briefly(judgeOperators({ phase: "installed", operators }));

  it("wants one operator of ours that is ready", () => {
    expect(judged(operator("a"))).to.deep.equal([]);
    expect(judged()).to.deep.equal(["operator-missing cluster"]);
    expect(judged(operator("a", { readyReplicas: 0 }))).to.deep.equal([
      "operator-unready Deployment flags/a",
    ]);
    expect(judged(operator("a"), operator("b"), operator("c", { isStock: true }))).to.deep.equal([
      "two-operators Deployment flags/c",
      "two-operators Deployment flags/b",
    ]);
  });

  it("takes the open-feature-operator where it is alone, and wants one of it that is ready", () => {
    const stock = (name: string, readyReplicas = 1): InstalledOperator =>
      operator(name, { isStock: true, readyReplicas });
    expect(judged(stock("a"))).to.deep.equal([]);
    expect(judged(stock("a", 0))).to.deep.equal(["operator-unready Deployment flags/a"]);
    expect(judged(stock("a"), stock("b"))).to.deep.equal(["two-operators Deployment flags/b"]);
  });

  it("lets several be there that serve other namespaces each", () => {
    const serving = (name: string, served: string): InstalledOperator =>
      operator(name, { settings: new Map([["watch-namespaces", served]]) });
    expect(judged(serving("a", "shop, checkout"), serving("b", "team"))).to.deep.equal([]);
    const doubled = ["two-operators Deployment flags/b"];
    expect(judged(serving("a", "shop,checkout"), serving("b", "checkout"))).to.deep.equal(doubled);
    expect(judged(serving("a", "shop"), operator("b"))).to.deep.equal(doubled);
    expect(judged(serving("a", "none"), serving("b", "shop"))).to.deep.equal(doubled);
    expect(judged(serving("a", "shop"), operator("c", { isStock: true }))).to.deep.equal([
      "two-operators Deployment flags/c",
    ]);
  });

  it("tells before an installation that another one is there", () => {
    const operators = [operator("stock", { isStock: true }), operator("ours")];
    expect(briefly(judgeOperators({ phase: "pre", operators }))).to.deep.equal([
      "other-operator Deployment flags/stock",
    ]);
  });

  it("compares minor versions with the operator's, and leaves out images that tell none", () => {
    const facts = {
      operators: [operator("a")],
      proxies: [
        { name: "one", version: "0.1.9" },
        { name: "two", version: "0.2.0" },
        { name: "three", version: undefined },
      ],
      sidecars: new Map([
        ["registry.example:5000/agent:0.0.9@sha256:ab", 3],
        ["registry.example:5000/agent", 1],
        ["registry.example/agent:0.1.3", 2],
      ]),
    };
    expect(briefly(judgeVersions(facts))).to.deep.equal([
      "version-skew proxy two",
      "version-skew sidecar registry.example:5000/agent:0.0.9@sha256:ab",
    ]);
    const [ofProxy = "", ofSidecar = ""] = judgeVersions(facts).map(({ todo }) => todo);
    expect(ofProxy).to.equal("upgrade the proxy");
    expect(ofSidecar).to.contain("restart their workloads").and.contain("--sidecar-tag of the operator");
    expect(
      judgeVersions({ ...facts, operators: [operator("a", { image: "registry.example/operator" })] }),
    ).to.deep.equal([]);
  });
});

describe("judgeProxies", () => {
  const sync = undefined;
  const status = asProxyStatus({ isReady: true, topics: [] });
  const facts = {
    neededBy: "FeatureFlagSource a/b",
    namespace: "flags",
    operatedBy: "bunting",
    operators: ["flags"],
  } as const;
  const well = { name: "good", answer: { kind: "status", status }, sync } as const;

  it("wants a proxy only if something needs one, and says where there is none", () => {
    expect(briefly(judgeProxies({ ...facts, proxies: [] }))).to.deep.equal(["proxy-missing namespace flags"]);
    const absent = judgeProxies({ ...facts, neededBy: undefined, proxies: [] });
    expect(briefly(absent)).to.deep.equal(["proxy-absent namespace flags"]);
    expectSentences(absent);
    expect(judgeProxies({ ...facts, neededBy: undefined, proxies: [well] })).to.deep.equal([]);
  });

  it("says that sidecars ask the proxy of the operator where the one of another namespace was checked", () => {
    const judged = (further: Partial<Parameters<typeof judgeProxies>[0]>): readonly CheckFinding[] =>
      judgeProxies({ ...facts, proxies: [well], operators: ["system"], ...further });
    const found = judged({});
    expect(briefly(found)).to.deep.equal(["proxy-elsewhere FeatureFlagSource a/b"]);
    expect(found[0]?.todo).to.contain("bunting check -n system");
    expectSentences(found);
    for (const other of [
      { neededBy: undefined },
      { operators: ["flags"] },
      { operators: [] },
      { namespace: undefined },
    ])
      expect(judged(other)).to.deep.equal([]);
  });

  it("says of a flagd-proxy of the open-feature-operator that it has no status", () => {
    const silent = { name: "silent", answer: { kind: "unreadable", message: "404" }, sync } as const;
    const todo = (operatedBy: "bunting" | "stock"): string | undefined =>
      judgeProxies({ ...facts, operatedBy, proxies: [silent] })[0]?.todo;
    expect(todo("stock")).to.contain("if this is flagd-proxy, it has none");
    expect(todo("bunting")).to.equal("ask where its status may be read");
  });

  it("sends whoever checks another namespace than the operator's to that one", () => {
    const todo = (...operators: readonly string[]): string | undefined =>
      judgeProxies({ ...facts, operators, proxies: [] })[0]?.todo;
    expect(todo("system")).to.equal("check the namespace of the operator: bunting check -n system");
    for (const operators of [[], ["flags"], ["system", "flags"]])
      expect(todo(...operators)).to.match(/^see what the operator logs/);
  });

  it("says of each what it says of itself, or why it can't be asked", () => {
    const proxies = [
      well,
      {
        name: "unready",
        answer: { kind: "status", status: { ...status, isReady: false, reason: "no source" } },
        sync,
      },
      { name: "gone", answer: { kind: "unreachable", message: "refused" }, sync },
      { name: "silent", answer: { kind: "unreadable", message: "403" }, sync },
    ] as const;
    const found = judgeProxies({ ...facts, proxies });
    expect(briefly(found)).to.deep.equal([
      "proxy-unready proxy unready",
      "proxy-unreachable proxy gone",
      "not-checked proxy silent",
    ]);
    expect(found[0]?.what).to.equal("no source");
  });
});

describe("judgeProxyImages", () => {
  it("finds a proxy that the open-feature-operator has not brought to the image that it names", () => {
    const proxy = { namespace: "flags", named: "registry.example/bunting-proxy:0.1.0" };
    expect(judgeProxyImages([{ ...proxy, present: proxy.named }])).to.deep.equal([]);
    const found = judgeProxyImages([{ ...proxy, present: "ghcr.io/open-feature/flagd-proxy:v0.9.4" }]);
    expect(briefly(found)).to.deep.equal(["proxy-image Deployment flags/flagd-proxy"]);
    expectSentences(found);
  });
});

describe("judgeSync", () => {
  const cases: Readonly<Record<string, readonly [SyncOutcome["kind"], string, boolean, boolean, string[]]>> =
    {
      "flags that are served": ["serves", "", false, false, []],
      "a token that is refused": ["unauthenticated", "no", true, true, ["proxy-token proxy"]],
      "a token that was not presented": ["unauthenticated", "no", true, false, ["not-checked proxy"]],
      "TLS that fails": ["lost", "not trusted", true, false, ["proxy-tls proxy"]],
      "a port that seems to want TLS": [
        "lost",
        "closed. Does the port want --tls?",
        false,
        false,
        ["not-checked proxy"],
      ],
      "a port that nobody listens on": ["lost", "ECONNREFUSED", false, false, ["proxy-refuses proxy"]],
      "another service": ["refuses", "unimplemented", false, false, ["proxy-refuses proxy"]],
    };
  for (const [name, [kind, message, hasTls, hasToken, expected]] of Object.entries(cases)) {
    it(`judges ${name}`, () => {
      const found = judgeSync([{ where: "proxy", outcome: { kind, message }, hasTls, hasToken }], "flags");
      expect(briefly(found)).to.deep.equal(expected);
    });
  }

  it("does not say that proxies serve flags where none was asked", () => {
    expect(briefly(judgeSync([], "flags"))).to.deep.equal(["proxy-absent namespace flags"]);
    const unknown = { where: "proxy", outcome: undefined, hasTls: false, hasToken: false };
    expect(judgeSync([unknown], "flags")[0]).to.include({ code: "not-checked", todo: "name it with --sync" });
  });
});

describe("judgeSources", () => {
  function source(spec: object, further: object = {}, annotations: Record<string, string> = {}): KubeObject {
    return { metadata: { namespace: "shop", name: "a", annotations }, spec, ...further };
  }
  const flags = new Map([["shop/flags", {}]]);
  const good = { sources: [{ source: "flags", provider: "flagd-proxy" }] };
  const refused = {
    status: { conditions: [{ type: "Accepted", status: "False", reason: "Some", message: "Why." }] },
  };
  const judged = (object: KubeObject): readonly string[] =>
    judgeSources({ sources: [object], flags }).map(({ code, what }) => `${code} ${what}`);

  it("finds FeatureFlags that are missing, unknown providers, and what else our definition refuses", () => {
    expect(judged(source(good))).to.deep.equal([]);
    const spec = { sources: [{ source: "gone" }, { source: "flags", provider: "nobody" }], port: 8014 };
    expect(judged(source(spec)).map((text) => text.split(":")[0])).to.deep.equal([
      "provider-unknown spec.sources.1.provider",
      "source-invalid spec.port",
      "flag-missing spec.sources.0.source",
    ]);
  });

  it("finds what keeps a source from working, and not what the webhook only warns of", () => {
    const token = { source: "https://a.example", provider: "http", httpSyncBearerToken: "x" };
    const works = { sources: [...good.sources, ...good.sources, token], cors: ["shop.example"] };
    expect(judged(source(works))).to.deep.equal([]);
    expect(judged(source(works, refused)), "beside the operator's word").to.have.length(1);
    const [found] = judged(source({ ...good, resources: { limits: { cpu: "64 MB" } } }));
    expect(found).to.match(/^source-invalid spec\.resources\.limits\.cpu/);
  });

  it("finds fields that were dropped by what kubectl remembers", () => {
    const applied = JSON.stringify({ spec: { ...good, prot: 1 } });
    const key = "kubectl.kubernetes.io/last-applied-configuration";
    expect(judged(source(good, {}, { [key]: applied }))).to.deep.equal([
      'field-unknown spec.prot: there is no field "prot", and the API server drops it: did you mean "port"?',
    ]);
    expect(judged(source(good, {}, { [key]: "{" }))).to.deep.equal([]);
  });

  it("repeats what the operator says only of what it has not found itself", () => {
    expect(judged(source(good, refused))).to.deep.equal(["source-refused Accepted is False (Some): Why"]);
    expect(judged(source({ sources: [{ source: "gone" }] }, refused))).to.have.length(1);
  });

  it("tells what is served without its owner's consent from what is not served", () => {
    const condition = { type: "Accepted", status: "False", reason: "CrossNamespaceLegacy", message: "Why." };
    expect(judged(source(good, { status: { conditions: [condition] } }))).to.deep.equal([
      "source-unshared Accepted is False (CrossNamespaceLegacy): Why",
    ]);
  });
});

describe("judgePods", () => {
  const pod = { metadata: { name: "web-1" }, spec: { containers: [] } };
  const explanation = { verdict: "not-injected", reason: "HostNetwork", advice: "Do it." } as PodExplanation;

  it("names one Pod of a group, why it has no flags, and what to do", () => {
    const group = { namespace: "shop", pod, count: 3 };
    const [found] = judgePods({ explained: [{ group, explanation }], unwell: [] });
    expect(found).to.deep.equal({
      code: "pod-not-injected",
      where: "Pod shop/web-1 and 2 more of its owner",
      what: "it asks for flags, and has none: HostNetwork",
      todo: "Do it (bunting operator explain pod shop/web-1 says more)",
    });
    const foreign = { ...explanation, verdict: "foreign" as const };
    expect(judgePods({ explained: [{ group, explanation: foreign }], unwell: [] })).to.deep.equal([]);
  });

  it("says of a Pod of the open-feature-operator what it lacks, without words of ours", () => {
    const [found] = judgePods({ explained: [{ group: { namespace: "shop", pod, count: 1 } }], unwell: [] });
    expect(found).to.include({ code: "pod-not-injected", where: "Pod shop/web-1" });
    expect(found?.todo).to.match(/^restart its workload: the webhook of the open-feature-operator/);
    expect(found?.todo).to.not.contain("explain");
  });

  it("names a sidecar that does not run", () => {
    const state = { words: "waiting: ImagePullBackOff", isReady: false };
    const found = judgePods({ explained: [], unwell: [{ namespace: "shop", pod, count: 1, state }] });
    expect(briefly(found)).to.deep.equal(["sidecar-not-running Pod shop/web-1"]);
    expect(found[0]?.what).to.contain("ImagePullBackOff");
  });
});

describe("judgeUnserved", () => {
  const told = (body: string): SidecarAccount => sidecarAccount(body);
  const away = told("ready, but flags are stale\nsource 0 a: connected\nsource 1 b: disconnected for 9 s");
  const asked = (name: string, account: SidecarAccount): UnservedPod => ({
    namespace: "shop",
    name,
    account,
  });
  const topic = (wanted: number, ...pods: readonly UnservedPod[]): UnservedFacts["topics"][number] => ({
    topic: "shop/a",
    wanted,
    served: wanted - 1,
    asked: pods,
  });

  it("names each Pod once whose sidecar says that it is not current, with what it says of the source", () => {
    const pods = [asked("web-1", told("ready\n")), asked("web-2", away)];
    const found = judgeUnserved({ topics: [topic(2, ...pods), { ...topic(2, ...pods), topic: "shop/b" }] });
    expect(briefly(found)).to.deep.equal(["sidecar-cut-off Pod shop/web-2"]);
    expect(found[0]?.what).to.equal(
      "its sidecar says: ready, but flags are stale; source 1 b: disconnected for 9 s",
    );
    expectSentences(found);
  });

  it("finds nothing where all sidecars were asked and are current, and else tells the numbers", () => {
    const current = asked("web-1", told("ready\n"));
    expect(judgeUnserved({ topics: [topic(1, current)] })).to.deep.equal([]);
    const silent = asked("web-2", { kind: "silent", message: "forbidden" });
    for (const pods of [[current], [current, silent]]) {
      const found = judgeUnserved({ topics: [topic(2, ...pods)] });
      expect(briefly(found)).to.deep.equal(["subscriber-missing FeatureFlag shop/a"]);
      expect(found[0]?.what).to.match(/^2 sidecars .* 1 subscriber/);
      expectSentences(found);
    }
  });
});

describe("judgeTopics", () => {
  const late = { topic: "shop/a", identity: "shop/web-1", versions: 2, behindSeconds: 70 };
  const status = asProxyStatus({
    isReady: true,
    refusedDocuments: { "bad.yaml": "bad.yaml is no YAML" },
    late: { total: 1, shown: [late] },
    leftBehind: { total: 1, shown: [{ ...late, identity: "shop/web-2", leftSecondsAgo: 5 }] },
    topics: [
      {
        topic: "shop/a",
        state: "stale",
        staleReason: "no answer",
        rejections: [{ flag: "f", reason: "bad" }],
      },
      { topic: "shop/b", state: "live" },
    ],
  });

  it("finds what is refused, stale or behind, once for all replicas", () => {
    const proxies = [
      { name: "one", answer: { kind: "status", status }, sync: undefined },
      {
        name: "two",
        answer: { kind: "status", status: { ...status, refusedDocuments: [] } },
        sync: undefined,
      },
    ] as const;
    const flags = new Map([
      ["shop/a", { refusal: "The flag f is bad." }],
      ["shop/b", { stopped: "spec.rollout.paused is true." }],
    ]);
    const found = judgeTopics({ proxies, flags });
    expect(briefly(found)).to.deep.equal([
      "topic-refused FeatureFlag shop/a",
      "rollout-stopped FeatureFlag shop/b",
      "topic-refused proxy one",
      "topic-stale FeatureFlag shop/a",
      "subscriber-behind shop/web-1 of shop/a",
      "subscriber-left shop/web-2 of shop/a",
    ]);
    expectSentences(found);
    expect(judgeTopics({ proxies: [proxies[0]], flags: new Map() })[1]?.what).to.equal(
      "agents refuse its flag f: bad",
    );
  });

  it("says how the Pod of an address is found, where nobody has told who it is", () => {
    const shown = [
      { ...late, versions: 1 },
      { topic: "shop/a", address: "10.244.0.13", versions: 1, behindSeconds: 4 },
    ];
    const answer = { kind: "status", status: asProxyStatus({ late: { total: 2, shown } }) } as const;
    const found = judgeTopics({ proxies: [{ name: "one", answer, sync: undefined }], flags: new Map() });
    expect(found.map(({ what, todo }) => [what, /\((.*)\)/.exec(todo)?.[1]])).to.deep.equal([
      ["it lacks 1 version, for 70 s", undefined],
      [
        "it lacks 1 version, for 4 s",
        "kubectl get pods --all-namespaces --field-selector status.podIP=10.244.0.13",
      ],
    ]);
  });

  it("does not call well what a proxy serves whose status can't be had, or is none", () => {
    for (const kind of ["unreachable", "unreadable"] as const) {
      const proxies = [{ name: "one", answer: { kind, message: "it has no status" }, sync: undefined }];
      const found = judgeTopics({ proxies, flags: new Map() });
      expect(briefly(found)).to.deep.equal(["not-checked proxy one"]);
      expectSentences(found);
    }
  });
});

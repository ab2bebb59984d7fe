import type { InProcessConfiguration, InProcessConfigurationSpec } from "@bunting/featureflags/resources";
import { expect } from "chai";
import { planInProcess, type InProcessRules } from "./in-process-plan.js";

const rules: InProcessRules = {
  namespace: "shop",
  crossNamespace: "consent",
  inProcessDefaults: { host: "proxy.flags" },
};

function plan(
  text: string,
  specs: Readonly<Record<string, InProcessConfigurationSpec>>,
  { readers = "", over = {} }: { readers?: string; over?: Partial<InProcessRules> } = {},
): ReturnType<typeof planInProcess> {
  const configuration = (key: string): InProcessConfiguration | undefined => {
    const spec = specs[key];
    if (spec === undefined) return undefined;
    const metadata = { namespace: "", name: "", annotations: { "bunting.dev/readers": readers } };
    const type = { apiVersion: "core.openfeature.dev/v1beta1", kind: "InProcessConfiguration" } as const;
    return { ...type, metadata, spec };
  };
  return planInProcess(text, configuration, { ...rules, ...over });
}

describe("planInProcess", () => {
  it("merges configurations into the operator's settings, and those into the defaults", () => {
    const b = { port: 443, tls: true, envVars: [{ name: "one" }, { name: "two" }] };
    const result = plan("a,b", { "shop/a": { port: 80, selector: "x" }, "shop/b": b });
    expect(result).to.deep.include({ kind: "planned", problems: [] });
    expect(result).to.have.deep.property("spec", {
      port: 443,
      host: "proxy.flags",
      tls: true,
      cache: "lru",
      cacheMaxSize: 1000,
      envVarPrefix: "FLAGD",
      selector: "x",
      envVars: [{ name: "two" }, { name: "one" }],
    });
  });

  for (const [what, text, reason] of [
    ["names that can't be", "A", "InvalidName"],
    ["a configuration that is not there", "a", "NotFound"],
    ["one of another namespace that is not shared", "team/a", "NotShared"],
  ] as const)
    it(`refuses ${what}`, () => {
      const result = plan(text, { "team/a": {} });
      expect(result.kind).to.equal("refused");
      expect(result).to.have.nested.property("problems[0].reason", reason);
    });

  it("has a prefix with which Kubernetes accepts variables, and says so where another was written", () => {
    const result = plan("a", { "shop/a": { envVarPrefix: "A=\u0000" } });
    expect(result).to.have.nested.property("spec.envVarPrefix", "FLAGD");
    expect(result).to.have.nested.property("problems[0].reason", "InvalidSetting");
    expect(plan("a", { "shop/a": { envVarPrefix: "my.App" } })).to.deep.include({ problems: [] });
  });

  it("gives applications no variable of a shared one that a program could take for its own", () => {
    const envVars = [{ name: "BASH_ENV", value: "x" }];
    for (const envVarPrefix of ["", "NODE"]) {
      const shared = plan("team/a", { "team/a": { envVars, envVarPrefix } }, { readers: "shop" });
      expect(shared).to.have.nested.property("spec.envVarPrefix", "FLAGD");
      expect(shared).to.have.nested.property("problems[0].reason", "InvalidSetting");
    }
    const objects = { "shop/b": { envVarPrefix: "" }, "team/a": { envVars } };
    const bare = plan("team/a,b", objects, { readers: "shop" });
    expect(bare).to.have.nested.property("spec.envVars").that.deep.equals([]);
  });

  it("refuses more than can be merged", () => {
    const large = { envVars: [{ name: "a", value: "x".repeat(200_000) }] };
    expect(plan("a", { "shop/a": large }).kind).to.equal("planned");
    expect(plan("a,a", { "shop/a": large })).to.have.nested.property("problems[0].reason", "TooMany");
  });

  it("serves a shared one without the Pods' Secrets, and any in legacy mode as it is", () => {
    const spec = {
      host: "evil/$(FLAGD_S)",
      envVars: [{ name: "S", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }],
    };
    const shared = plan("team/a", { "team/a": spec }, { readers: "shop" });
    expect(shared).to.have.nested.property("spec.host", "evil/$$(FLAGD_S)");
    expect(shared).to.not.have.nested.property("spec.envVars");
    const legacy = plan("team/a", { "team/a": spec }, { over: { crossNamespace: "legacy" } });
    expect(legacy).to.have.nested.property("spec.host", "evil/$(FLAGD_S)");
    expect(legacy).to.have.nested.property("problems[0].reason", "CrossNamespaceLegacy");
  });
});

import type { FeatureFlagSourceSpec } from "@bunting/featureflags/resources";
import { expect } from "chai";
import fc from "fast-check";
import { disarmSpec, withoutCredentials } from "./disarm-spec.js";

/** What Kubernetes makes of an argument, or of a variable's value. */
function expand(text: string, variables: Readonly<Record<string, string>>): string {
  let expanded = "";
  for (let at = 0; at < text.length; at++) {
    const next = text[at + 1];
    if (text[at] !== "$" || next === undefined) expanded += text[at] ?? "";
    else if (next === "$") {
      expanded += "$";
      at++;
    } else if (next === "(") {
      const end = text.indexOf(")", at);
      if (end < 0) {
        expanded += "$(";
        at++;
      } else {
        const name = text.slice(at + 2, end);
        expanded += variables[name] ?? `$(${name})`;
        at = end;
      }
    } else expanded += "$";
  }
  return expanded;
}

describe("disarmSpec", () => {
  it("leaves out variables that would read Secrets and ConfigMaps of the Pod's namespace, and says which", () => {
    const secret = { name: "TOKEN", valueFrom: { secretKeyRef: { name: "s", key: "k" } } };
    const configMap = { name: "MAP", value: "", valueFrom: { configMapKeyRef: { name: "c", key: "k" } } };
    const kept = [
      { name: "PLAIN", value: "v", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
      { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
    ];
    const { spec, problems } = disarmSpec({ envVars: [secret, ...kept, configMap] }, "the source a/b");
    expect(spec.envVars).to.deep.equal(kept);
    expect(problems.map(({ message }) => message)).to.have.length(1);
    expect(problems[0]?.message).to.match(/^the variables TOKEN, MAP of the source a\/b are left out/);
    expect(disarmSpec({ envVars: kept }, "it").problems).to.deep.equal([]);
    expect(disarmSpec({ envVars: [secret] }, "it").spec).to.deep.equal({});
  });

  it("sends no Secret of the Pods' namespace, and says which sources would have", () => {
    const plain = { source: "https://a.example", provider: "http" };
    const secretive = { ...plain, source: "https://b.example", credentialsSecretRef: { name: "api" } };
    const { spec, problems } = withoutCredentials({ sources: [plain, secretive] }, "the source a/b");
    expect(spec.sources).to.deep.equal([plain, { ...plain, source: "https://b.example" }]);
    expect(problems.map(({ message }) => message)).to.have.length(1);
    expect(problems[0]?.message).to.match(
      /^the sources "https:\/\/b\.example" of the source a\/b go without/,
    );
    expect(withoutCredentials({ sources: [plain] }, "it").problems).to.deep.equal([]);
  });

  it("leaves everything else as it is", () => {
    const spec = {
      sources: [{ source: "a", tls: true, interval: 7 }],
      port: 1,
      probesEnabled: false,
      socketPath: null as unknown as string,
      envVars: [{ name: "A" }],
    };
    expect(disarmSpec(spec, "it")).to.deep.equal({ spec, problems: [] });
  });

  it("has Kubernetes expand nothing, in values and keys, at any depth", () => {
    const piece = fc.constantFrom("$", "(", ")", "SECRET", "$(SECRET)", "a");
    const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, text, (key, value) => {
        const given: FeatureFlagSourceSpec = {
          sources: [{ source: value }],
          contextValues: { [key]: value },
        };
        const { spec } = disarmSpec(given, "it");
        const expandAll = (text: string): string => expand(text, { SECRET: "leaked" });
        expect(expandAll(spec.sources[0]?.source ?? "")).to.equal(value);
        expect(Object.entries(spec.contextValues ?? {}).map((pair) => pair.map(expandAll))).to.deep.equal([
          [key, value],
        ]);
      }),
    );
  });
});

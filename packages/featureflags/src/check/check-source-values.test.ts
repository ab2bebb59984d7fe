import type { JsonObject } from "@bunting/protocol";
import { expect } from "chai";
import { checkSourceValues } from "./check-source-values.js";
import { checkSourceSpec } from "./check-source.js";

const sources = [{ source: "shop/flags", provider: "flagd-proxy" }];

/** `severity path`. */
function brief(spec: JsonObject): readonly string[] {
  return checkSourceValues({ sources, ...spec }).map(({ severity, path }) => `${severity} ${path.join(".")}`);
}

describe("checkSourceValues", () => {
  it("finds nothing in what works, nor in fields without a value", () => {
    const envVars = [
      { name: "A", value: "1" },
      { name: "B", value: null, valueFrom: { fieldRef: { fieldPath: "metadata.name" }, secretKeyRef: null } },
      { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
      { name: "D", valueFrom: { fieldRef: { apiVersion: null, fieldPath: "metadata.name" } } },
      { name: "E", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: null } } },
    ];
    const resources = { requests: { cpu: 1 }, limits: { cpu: "1000m", memory: "64Mi" } };
    expect(brief({ envVars, resources, cors: ["*", "https://shop.example:8443"] })).to.deep.equal([]);
    expect(brief({ envVars: null, resources: { limits: null }, cors: null })).to.deep.equal([]);
  });

  it("takes patterns for several origins, and the origin of pages without one, and no patterns that fit none", () => {
    const cors = [
      "*.shop.example",
      "*://shop.example",
      "http*://localhost:*",
      "https://*.shop.example",
      "null",
    ];
    expect(brief({ cors })).to.deep.equal([]);
    const useless = ["*.shop.example/", "shop.example*", "https://shop.example/", "nullable"];
    expect(brief({ cors: useless })).to.deep.equal(useless.map((_, index) => `warning cors.${index}`));
  });

  it("takes what selectors tell apart at one address for several sources", () => {
    const at = { source: "flags.example:8015", provider: "grpc" };
    const several = [at, { ...at, selector: "a" }, { ...at, selector: "b" }];
    expect(brief({ sources: several })).to.deep.equal([]);
    expect(brief({ sources: [...several, { ...at, selector: "b" }] })).to.deep.equal(["warning sources.3"]);
  });

  it("finds variables, resources and sources with which no Pod could be made, as the webhook does", () => {
    const many = Array.from({ length: 10_000 }, (_, index) => ({ source: `shop/flags-${index}` }));
    const envVars = [
      { name: "A=B", value: "1" },
      { name: "C", valueFrom: {} },
    ];
    const resources = { requests: { cpu: 2 }, limits: { cpu: 1, memory: "64 MB" } };
    const expected = [
      "error sources",
      "error envVars.0",
      "error envVars.1",
      "error resources.limits.memory",
      "error resources.requests.cpu",
    ];
    expect(brief({ sources: many, envVars, resources })).to.deep.equal(expected);
    const found = checkSourceSpec({ sources: many, envVars, resources }).map(({ kind, path }) =>
      [kind, path.join(".")].join(" "),
    );
    expect(found).to.deep.equal(expected.map((each) => each.replace("error", "source")));
  });

  it("warns of what is there twice, or has no effect, and of tokens that anybody may read", () => {
    const twice = [...sources, { source: "https://a.example", httpSyncBearerToken: "x" }, ...sources];
    const envVars = [
      { name: "A", value: "1", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "A", value: "2" },
    ];
    const warned = { sources: twice, syncProviderArgs: ["a=b"], envVars, cors: ["shop.example"] };
    expect(brief(warned)).to.deep.equal([
      "warning sources.1.httpSyncBearerToken",
      "warning sources.2",
      "warning syncProviderArgs",
      "warning envVars.0",
      "warning envVars.1.name",
      "warning cors.0",
    ]);
  });

  it("passes over what has not the form of the definition, which API servers refuse", () => {
    const references = [null, 1, [], { fieldRef: 1 }, { resourceFieldRef: { resource: 1 } }];
    const envVars = [1, {}, { name: 1 }, { name: "A", value: 1 }];
    const formless = { sources: [1, {}], envVars, resources: 1, cors: [1], syncProviderArgs: "a" };
    expect(brief(formless)).to.deep.equal([]);
    expect(brief({ resources: { limits: { cpu: true }, requests: 1 } })).to.deep.equal([]);
    expect(
      brief({ envVars: references.map((valueFrom, index) => ({ name: `A${index}`, valueFrom })) }),
    ).to.deep.equal(["error envVars.4"]);
  });
});

import type { EnvironmentVariable } from "@bunting/featureflags/resources";
import { expect } from "chai";
import { usableEnvironment } from "./usable-environment.js";

const usable: readonly EnvironmentVariable[] = [
  { name: "A", value: "1" },
  { name: "EMPTY", value: "" },
  { name: "odd name.with-all_of:it", value: "1" },
  { name: "MAP", valueFrom: { configMapKeyRef: { name: "map", key: "a.b", optional: true } } },
  { name: "SECRET", valueFrom: { secretKeyRef: { name: "secret", key: "k" } } },
  { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
  { name: "VERSION", valueFrom: { fieldRef: { apiVersion: "", fieldPath: "metadata.name" } } },
  { name: "LABEL", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.labels['a/b']" } } },
  { name: "HOST", valueFrom: { fieldRef: { fieldPath: "spec.host" } } },
  { name: "CASE", valueFrom: { fieldRef: { fieldPath: "metadata.annotations['Shop.Example/Key']" } } },
  { name: "DOTTED", valueFrom: { secretKeyRef: { name: "kube-root-ca.crt", key: "ca.crt" } } },
  { name: "LONG", valueFrom: { configMapKeyRef: { name: "m".repeat(253), key: "k" } } },
  { name: "MEMORY", valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1Mi" } } },
  { name: "WHOLE", valueFrom: { resourceFieldRef: { resource: "requests.cpu", divisor: 1 } } },
  { name: "LIMIT", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
];

const refused: readonly EnvironmentVariable[] = [
  { name: "", value: "1" },
  { name: "A=B", value: "1" },
  { name: "ключ", value: "1" },
  { name: "NOTHING", valueFrom: {} },
  { name: "NO_NAME", valueFrom: { secretKeyRef: { name: "", key: "k" } } },
  { name: "ODD_NAME", valueFrom: { secretKeyRef: { name: "Shop_tokens", key: "k" } } },
  { name: "ODD_MAP", valueFrom: { configMapKeyRef: { name: "shop/map", key: "k" } } },
  { name: "NO_KEY", valueFrom: { configMapKeyRef: { name: "m", key: "" } } },
  { name: "ODD_KEY", valueFrom: { configMapKeyRef: { name: "m", key: "a/b" } } },
  { name: "FIELD", valueFrom: { fieldRef: { fieldPath: "spec.containers" } } },
  { name: "OLD", valueFrom: { fieldRef: { apiVersion: "v2", fieldPath: "spec.nodeName" } } },
  { name: "LABEL", valueFrom: { fieldRef: { fieldPath: "metadata.labels['a b']" } } },
  { name: "CASE", valueFrom: { fieldRef: { fieldPath: "metadata.labels['Shop.Example/key']" } } },
  { name: "PREFIX", valueFrom: { fieldRef: { fieldPath: "metadata.labels['shop..example/key']" } } },
  { name: "LONG", valueFrom: { configMapKeyRef: { name: "m".repeat(254), key: "k" } } },
  { name: "DOTS", valueFrom: { secretKeyRef: { name: "s", key: "..a" } } },
  { name: "UNIT", valueFrom: { resourceFieldRef: { resource: "limits.memory", divisor: "1m" } } },
  { name: "HALF", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "500m" } } },
  { name: "RESOURCE", valueFrom: { resourceFieldRef: { resource: "limits.gpu" } } },
  {
    name: "TWO",
    valueFrom: { secretKeyRef: { name: "s", key: "k" }, fieldRef: { fieldPath: "spec.nodeName" } },
  },
];

describe("usableEnvironment", () => {
  it("keeps what Kubernetes accepts", () => {
    expect(usableEnvironment(usable)).to.deep.equal({ variables: usable, problems: [] });
  });

  for (const variable of refused)
    it(`leaves out ${JSON.stringify(variable)}, for which Kubernetes would refuse the Pod`, () => {
      const { variables, problems } = usableEnvironment([variable]);
      expect(variables).to.deep.equal([]);
      expect(problems.map(({ reason }) => reason)).to.deep.equal(["InvalidSetting"]);
      expect(problems[0]?.message).to.contain(JSON.stringify(variable.name));
    });

  it("takes the value where there is a reference as well, unless it is empty", () => {
    const valueFrom = { secretKeyRef: { name: "s", key: "k" } };
    const { variables } = usableEnvironment([
      { name: "A", value: "1", valueFrom },
      { name: "B", value: "", valueFrom },
      { name: "C" },
    ]);
    expect(variables).to.deep.equal([
      { name: "A", value: "1" },
      { name: "B", valueFrom },
      { name: "C", value: "" },
    ]);
  });
});

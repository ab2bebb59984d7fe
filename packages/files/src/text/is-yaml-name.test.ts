import { expect } from "chai";
import { isYamlName } from "./is-yaml-name.js";

describe("isYamlName", () => {
  it("goes by the ending of the name", () => {
    for (const name of ["a.yaml", "a.yml", "/b/A.YAML"]) expect(isYamlName(name)).to.equal(true);
    for (const name of ["a.json", "yaml", "a.yaml.json", "a.yamlx"]) expect(isYamlName(name)).to.equal(false);
  });
});

import { expect } from "chai";
import { readPage } from "../support/markdown-pages.js";

const source = readPage("packages/operator/src/desired/sidecar-environment.ts");

/** What the operator gives its sidecars, such as "5s", in the words of the pages: "5 s". */
function given(variable: string): string {
  const [, value = "", unit = ""] = new RegExp(`"${variable}", value: "(\\d+)(\\w+)"`).exec(source) ?? [];
  return `${value} ${unit}`;
}

describe("what pages say of Pods that start while the proxy is away", () => {
  for (const page of ["agent", "operator", "outages"])
    it(`has the times that the operator gives sidecars, in docs/operate/${page}.md`, () => {
      const text = readPage(`docs/operate/${page}.md`).replaceAll(/\s+/g, " ");
      expect(text).to.match(new RegExp(`applications wait ${given("BUNTING_START_WAIT")}`));
      expect(text).to.match(new RegExp(`Pods are ready after ${given("BUNTING_READY_AFTER")}`));
    });
});

import { expect } from "chai";
import { choice, duration, option, toggle } from "@bunting/runtime";
import { renderOptionsReference } from "./render-options-reference.js";

const common = { group: "Ports", env: [] };
const table = {
  deadline: option(duration({ minMs: 0, maxMs: 3_600_000, zero: "off" }), 0, "S.", common),
  format: option(choice("console", "json"), "console", "F.", common),
  dropped: option(toggle, false, "D.", { ...common, ignoredBecause: "the server has dropped it" }),
  settleTime: option(toggle, false, "T.", { ...common, isInternal: true }),
};

describe("renderOptionsReference", () => {
  const reference = renderOptionsReference(table);

  it("has the options under their headings, with what is allowed, and why some are ignored", () => {
    expect(reference).to.contain("## Ports");
    expect(reference).to.contain("| `--deadline` | duration | 0 |");
    expect(reference).to.contain("console\\|json");
    expect(reference).to.contain("S. Allowed: 0 to 1h.");
    expect(reference).to.contain("Accepted and ignored: the server has dropped it.");
  });

  it("leaves out what only our own tests set", () => {
    expect(reference).not.to.contain("settle");
  });
});

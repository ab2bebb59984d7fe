import { expect } from "chai";
import type { JsonValue } from "@bunting/protocol";
import { extensionRequest } from "../extension-request.fixture.js";
import type { ExtensionFinding } from "../extension-answer.js";
import { flagOwner, type FlagOwnerOptions } from "./flag-owner.js";

const owned = { metadata: { owner: "shop" } };

async function found(
  flagSpec: JsonValue,
  options?: FlagOwnerOptions,
  configuration?: JsonValue,
): Promise<readonly ExtensionFinding[]> {
  const object = {
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlag",
    metadata: { name: "storefront" },
    spec: { flagSpec },
  };
  const asked = extensionRequest({ hook: "lint", target: "FeatureFlag", object });
  return flagOwner(options)({ ...asked, ...(configuration === undefined ? {} : { configuration }) });
}

describe("flagOwner", () => {
  it("finds each flag without an owner, at its place", async () => {
    const flags = {
      owned,
      "new/checkout": {},
      blank: { metadata: { owner: " " } },
      wrong: { metadata: { owner: 1 } },
    };
    const findings = await found({ flags });
    expect(findings.map(({ severity, field }) => [severity, field])).to.deep.equal([
      ["error", "/spec/flagSpec/flags/new~1checkout"],
      ["error", "/spec/flagSpec/flags/blank"],
      ["error", "/spec/flagSpec/flags/wrong"],
    ]);
    expect(findings[0]?.message).to.match(/^the flag "new\/checkout" has no owner: .* as owner$/);
  });

  it("takes the owner of the FeatureFlag, and that of the configuration, for all flags", async () => {
    expect(await found({ metadata: { owner: "shop" }, flags: { a: {} } })).to.deep.equal([]);
    expect(await found({ flags: { a: {} } }, {}, { owner: "shop" })).to.deep.equal([]);
    expect(await found({ flags: { a: {} } }, {}, "shop")).to.have.length(1);
  });

  it("asks for another key, as a warning, and for owners that there are", async () => {
    const options = { key: "team", severity: "warning", owners: ["shop", "search"] } as const;
    const flags = { a: { metadata: { team: "search" } }, b: { metadata: { team: "chop" } }, c: owned };
    expect(
      (await found({ flags }, options)).map(({ severity, message }) => `${severity} ${message}`),
    ).to.deep.equal([
      'warning the flag "b" has the owner "chop", which is none of shop, search',
      'warning the flag "c" has no owner: write the team that decides on it into its metadata, as team',
    ]);
  });

  it("finds nothing in an object without flags", async () => {
    expect(await found(null)).to.deep.equal([]);
    expect(await found({ flags: [] })).to.deep.equal([]);
  });
});

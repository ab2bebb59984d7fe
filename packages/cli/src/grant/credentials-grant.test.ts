import { expect } from "chai";
import { credentialsGrant } from "./credentials-grant.js";

describe("credentialsGrant", () => {
  it("lets one ServiceAccount read one Secret, in its namespace", () => {
    const [role, binding] = credentialsGrant(
      { namespace: "shop", name: "remote" },
      { namespace: "flags", name: "proxy" },
    );
    const metadata = { name: "bunting-remote-remote", namespace: "shop" };
    expect(role).to.deep.include({ kind: "Role", metadata });
    expect(role).to.have.deep.property("rules", [
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["remote"], verbs: ["get", "watch"] },
    ]);
    expect(binding).to.deep.include({ kind: "RoleBinding", metadata });
    expect(binding).to.have.nested.property("roleRef.name", metadata.name);
    expect(binding).to.have.deep.property("subjects", [
      { kind: "ServiceAccount", name: "proxy", namespace: "flags" },
    ]);
  });
});

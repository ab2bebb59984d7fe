import { expect } from "chai";
import type { Identity } from "../identity.js";
import { ownNamespace } from "./own-namespace.js";

const identity: Identity = { kind: "token", namespace: "shop", serviceAccount: "cart" };

describe("ownNamespace", () => {
  it("allows the own namespace, what is shared, and nothing else", () => {
    const check = (namespace: string, readers?: ReadonlySet<string>): unknown =>
      ownNamespace.check(identity, { namespace, name: "limits" }, readers);
    expect(check("shop")).to.deep.equal({ kind: "allowed" });
    expect(check("ops", new Set(["shop"]))).to.deep.equal({ kind: "allowed" });
    expect(check("ops", new Set(["shop/cart"]))).to.deep.equal({ kind: "allowed" });
    expect(check("ops", new Set(["shop/web", "ops"]))).to.have.property("kind", "denied");
    expect(check("ops")).to.deep.include({ kind: "denied" });
    expect(check("shop2")).to.have.property("kind", "denied");
  });
});

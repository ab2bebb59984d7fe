import { expect } from "chai";
import { createContextEnrichment, type ContextOptions } from "./context.js";

const headers = (entries: Record<string, string>) => ({ header: (name: string) => entries[name] });
const options = (given: Partial<ContextOptions>): ContextOptions => ({
  contextValues: {},
  contextFromHeader: {},
  ...given,
});

describe("createContextEnrichment", () => {
  it("returns the same object when there is nothing to add", () => {
    const { enrich, enrichStatic } = createContextEnrichment(options({}));
    const context = { a: 1 };
    expect(enrich(context, headers({ a: "2" }))).to.equal(context);
    expect(enrichStatic(context)).to.equal(context);
    const mapped = createContextEnrichment(options({ contextFromHeader: { "X-User": "user" } }));
    expect(mapped.enrich(context, headers({ other: "1" }))).to.equal(context);
  });

  it("lets static values win over the request, and header values over both", () => {
    const { enrich, enrichStatic } = createContextEnrichment({
      contextValues: { region: "static", tier: "static" },
      contextFromHeader: { "X-Tier": "tier" },
    });
    const context = { region: "request", tier: "request", user: 7 };
    const fromHeader = headers({ "x-tier": "header" });
    expect(enrich(context, fromHeader)).to.deep.equal({ region: "static", tier: "header", user: 7 });
    expect(enrichStatic(context)).to.deep.equal({ region: "static", tier: "static", user: 7 });
    expect(context, "the request's own context").to.deep.equal({
      region: "request",
      tier: "request",
      user: 7,
    });
  });

  it("looks headers up by lower-case name and ignores empty values", () => {
    const { enrich } = createContextEnrichment(
      options({ contextFromHeader: { "X-UsEr": "user", "X-Empty": "empty" } }),
    );
    expect(enrich({ empty: "kept" }, headers({ "x-user": "ada", "x-empty": "" }))).to.deep.equal({
      empty: "kept",
      user: "ada",
    });
  });

  it("keeps a context key called __proto__ as a key", () => {
    const { enrich } = createContextEnrichment(options({ contextValues: { a: "b" } }));
    const enriched = enrich(
      JSON.parse('{"__proto__":{"admin":true}}') as Record<string, string>,
      headers({}),
    );
    expect(Object.keys(enriched)).to.deep.equal(["__proto__", "a"]);
    expect((enriched as { admin?: boolean }).admin).to.equal(undefined);
  });
});

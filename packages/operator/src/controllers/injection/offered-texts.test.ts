import { expect } from "chai";
import type { Injection, InjectionEntry } from "../../api/injection.js";
import { offeredAnnotations, offeredTexts } from "./offered-texts.js";

describe("offered texts", () => {
  const entry = {} as InjectionEntry;
  const injection: Injection = {
    ...{ apiVersion: "bunting.dev/v1alpha1", kind: "Injection" },
    metadata: { name: "bunting", namespace: "shop" },
    spec: {
      format: 1,
      sources: { a: entry, "team/a": entry, "team/b": entry },
      inProcess: { "team/c": entry },
    },
  };
  const none = { sources: [], inProcess: [] };

  it("are read by the next leader as they were written by the one before", () => {
    const offered = { sources: new Set(["team/b", "team/no-room"]), inProcess: new Set(["team/c"]) };
    const annotations = offeredAnnotations(injection, { ...none, offered });
    expect(offeredTexts(annotations)).to.deep.equal({
      sources: new Set(["team/b"]),
      inProcess: new Set(["team/c"]),
    });
    expect(offeredAnnotations(injection, none)).to.deep.equal({});
  });

  it("are none where nobody has written any, or something else", () => {
    const nothing = { sources: new Set(), inProcess: new Set() };
    expect(offeredTexts()).to.deep.equal(nothing);
    for (const text of ["", "null", "7", '{"sources":7}', "{"])
      expect(offeredTexts({ "bunting.dev/offered": text }), text).to.deep.equal(nothing);
  });
});

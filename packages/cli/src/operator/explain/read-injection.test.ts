import type { KubeObject, ObjectScope } from "@bunting/kube";
import { expect } from "chai";
import type { ClusterAnswer } from "../cluster-reader.js";
import { readInjection } from "./read-injection.js";

describe("readInjection", () => {
  const checkout = { list: "sources", text: "checkout" } as const;

  function readerOf(specs: Readonly<Record<string, object>>): {
    find(scope: ObjectScope): Promise<ClusterAnswer<KubeObject>>;
  } {
    return {
      find: ({ name, namespace }) => {
        expect(namespace).to.equal("shop");
        const spec = specs[name];
        return Promise.resolve(
          spec === undefined
            ? { kind: "missing" as const }
            : { kind: "found" as const, found: { metadata: { name }, spec } },
        );
      },
    };
  }

  it("finds the entry in whichever Injection has it, and knows the texts of all", async () => {
    const reader = readerOf({
      bunting: { sources: { other: { digest: "a" } } },
      "bunting-2": { sources: { checkout: { digest: "b" } }, inProcess: { elsewhere: { digest: "c" } } },
    });
    expect(await readInjection("shop", checkout, reader)).to.deep.equal({
      kind: "found",
      found: { texts: ["other", "checkout"], entry: { digest: "b" }, refused: undefined },
    });
  });

  it("says why an extension refuses the text", async () => {
    const reader = readerOf({ bunting: { sources: {}, refused: { sources: { checkout: "Not today." } } } });
    const answer = await readInjection("shop", checkout, reader);
    expect(answer).to.deep.include({ found: { texts: [], entry: undefined, refused: "Not today." } });
  });

  it("takes no member of every object for an entry, and none of the other list", async () => {
    const reader = readerOf({ bunting: { sources: { checkout: { digest: "a" } } } });
    for (const asked of [
      { list: "sources", text: "toString" } as const,
      { ...checkout, list: "inProcess" } as const,
    ])
      expect(await readInjection("shop", asked, reader)).to.have.nested.property("found.entry", undefined);
  });

  it("is missing where there is none, and says so where one may not be read", async () => {
    expect(await readInjection("shop", checkout, readerOf({}))).to.deep.equal({ kind: "missing" });
    const refused = { kind: "unreadable", message: "forbidden" } as const;
    expect(await readInjection("shop", checkout, { find: () => Promise.resolve(refused) })).to.equal(refused);
  });
});

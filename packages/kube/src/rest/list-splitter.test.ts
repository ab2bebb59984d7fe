import { expect } from "chai";
import { KubeError } from "../kube-error.js";
import { ListSplitter } from "./list-splitter.js";

describe("ListSplitter", () => {
  const limits = { maxItemBytes: 200, maxEnvelopeBytes: 1_000 };

  function split(text: string, bytesPerChunk = Infinity): { items: unknown[]; envelope: unknown } {
    const items: unknown[] = [];
    const splitter = new ListSplitter({ ...limits, onItem: (json) => items.push(JSON.parse(json)) });
    const bytes = Buffer.from(text);
    for (let from = 0; from < bytes.length; from += bytesPerChunk) {
      splitter.push(bytes.subarray(from, from + bytesPerChunk));
      if (bytesPerChunk === Infinity) break;
    }
    return { items, envelope: JSON.parse(splitter.end()) };
  }

  const tricky = [
    { metadata: { name: "a" }, spec: { text: '"items":[{}]', other: "\\", brackets: "]}[{" } },
    { items: [{ items: [] }, [[1]]], grün: "€ 😀" },
    {},
  ];
  const lists = [
    { apiVersion: "v1", items: tricky, kind: "List", metadata: { resourceVersion: "1", continue: "x" } },
    { kind: "List", metadata: { resourceVersion: "1", other: { items: [1] } }, items: tricky },
    { kind: ',"items":[', more: [{ items: [] }], items: tricky },
    { items: [] },
    { items: null, metadata: {} },
    { metadata: {} },
    [[{ items: tricky }]],
  ];

  for (const [index, list] of lists.entries()) {
    for (const space of [undefined, 2]) {
      for (const bytesPerChunk of [Infinity, 7, 1]) {
        it(`gives items and the rest of list ${index}, indented by ${space ?? 0}, ${bytesPerChunk} bytes at a time`, () => {
          const { items, envelope } = split(JSON.stringify(list, undefined, space), bytesPerChunk);
          const whole = list as { readonly items?: readonly unknown[] | null };
          expect(items).to.deep.equal(Array.isArray(list) ? [] : (whole.items ?? []));
          expect(envelope).to.deep.equal(
            Array.isArray(list) || !Array.isArray(whole.items) ? list : { ...list, items: [] },
          );
        });
      }
    }
  }

  for (const [what, text] of [
    ["an item that is no object", '{"items":[1]}'],
    ["an item of too many bytes", `{"items":[{"a":"${"x".repeat(200)}"}]}`],
    ["too much around the items", `{"a":"${"x".repeat(1_000)}","items":[]}`],
  ] as const) {
    it(`fails with PROTOCOL for ${what}, before it is whole`, () => {
      expect(() => split(text.slice(0, -2), 1))
        .to.throw(KubeError)
        .with.property("code", "PROTOCOL");
    });
  }

  it("leaves it to the reader of the rest that a list is cut off", () => {
    expect(() => split('{"items":[{"a":1},{"a"')).to.throw(SyntaxError);
  });
});

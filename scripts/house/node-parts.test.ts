import { expect } from "chai";
import { nodeParts } from "./node-parts.js";
import { productFile } from "./product-file.js";

describe("nodeParts", () => {
  const partsOf = (text: string, file = "packages/rpc/src/a.ts"): string | undefined =>
    nodeParts([productFile(file, text)]).offenders[0]?.text;

  it("finds private fields, in types and strings too", () => {
    expect(partsOf("socket._handle.readStop();")).to.equal("_handle");
    expect(partsOf("interface Inner { readonly _httpMessage?: object }")).to.equal("_httpMessage");
    expect(partsOf('symbols.find(({ description }) => description === "kHandle");')).to.equal("kHandle");
    expect(partsOf("parser[Parser.kOnHeaders | 0] = f;")).to.equal("kOnHeaders");
  });

  it("finds replaced methods and emitted events of node's objects, and not the object's own", () => {
    expect(partsOf("http2.connect = guarded;")).to.equal("http2.connect = …");
    expect(partsOf('this.#server.emit("connection", socket);')).to.equal('emit("connection")');
    expect(partsOf('this.request = request; this.emit("connection"); server.emit("drained");')).to.equal(
      undefined,
    );
  });

  it("counts a file once, at the first place, and leaves out the door to them", () => {
    const text = "f();\nsocket._handle;\nserver._parent;\nsocket._handle;";
    expect(nodeParts([productFile("packages/rpc/src/a.ts", text)])).to.deep.include({
      now: 1,
      offenders: [{ file: "packages/rpc/src/a.ts", line: 2, text: "_handle, _parent" }],
    });
    expect(partsOf(text, "packages/server/src/node-internals/a.ts")).to.equal(undefined);
  });
});

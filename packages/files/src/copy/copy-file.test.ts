import { readdirSync } from "node:fs";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { withoutDescriptors } from "@bunting/test/support/without-descriptors.js";
import { expect } from "chai";
import { CopyFile } from "./copy-file.js";

describe("CopyFile", () => {
  it("leaves a copy where it is that could not be read because no descriptor was left", async () => {
    const directory = new TempDirectory();
    const file = new CopyFile({
      directory: directory.path,
      source: ["test"],
      maxDocumentBytes: 1_000,
      decodeVersion: (encoded) => ({ encoded }),
    });
    try {
      await file.write({ bytes: Buffer.from("kept"), version: undefined });
      const before = readdirSync(directory.path);
      const load = (): Promise<string | undefined> => file.load(({ bytes }) => bytes.toString());
      const error = await withoutDescriptors(() => load().catch((reason: unknown) => reason));
      expect(String(error)).to.match(/^UnusableCopyError: .* can't be used: EMFILE/);
      expect(await file.setAside(error)).to.equal(undefined);
      expect(readdirSync(directory.path)).to.deep.equal(before);
      expect(await load()).to.equal("kept");
    } finally {
      directory.remove();
    }
  });
});

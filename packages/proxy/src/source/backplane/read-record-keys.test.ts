import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { expect } from "chai";
import { ProxyError } from "../../proxy-error.js";
import { readRecordKeys } from "./read-record-keys.js";

describe("readRecordKeys", () => {
  it("says which option names the file that can't be used, as a mistake of the user", async () => {
    const directory = new TempDirectory();
    const path = directory.file("keys");
    const error = await readRecordKeys(path).catch((reason: unknown) => reason);
    directory.remove();
    expect(error).to.be.instanceOf(ProxyError);
    expect((error as ProxyError).message).to.equal(
      `--backplane-key-file: the keys of records in ${path} can't be used: ENOENT`,
    );
  });
});

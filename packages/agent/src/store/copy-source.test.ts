import { expect } from "chai";
import { parseSources } from "../sync/parse-sources.js";
import { copySourceOf, remoteCopySourceOf } from "./copy-source.js";

/** The sources with a remote that these fields make of one. */
function remotes(...fields: readonly object[]): ReturnType<typeof parseSources> {
  const common = { provider: "remote", uri: "https://flags.test/", type: "http", base: "file:/a.json" };
  const sources = JSON.stringify(fields.map((each) => ({ ...common, ...each })));
  return parseSources({ uris: [], sources });
}

describe("copySourceOf", () => {
  it("tells sources of one remote apart by their files, strategies, types and tokens", () => {
    const named = remotes(
      {},
      { base: "file:/b.json" },
      { strategy: "override" },
      { type: "ofrep-bulk" },
      { tokenFile: "/token" },
      { type: "ofrep-bulk", selector: "a" },
    ).map((config) => JSON.stringify(copySourceOf(config)));
    expect(new Set(named).size).to.equal(6);
    const [one, same] = remotes({}, {}).map(copySourceOf);
    expect(one).to.deep.equal(same);
  });

  it("keeps what one remote says once for all files and strategies, and apart for each token", () => {
    const named = remotes({}, { base: "file:/b.json", strategy: "replace" }, { tokenFile: "/token" }).map(
      (config) => config.provider === "remote" && remoteCopySourceOf({ ...config, sourceIndex: 0 }),
    );
    expect(named[1]).to.deep.equal(named[0]);
    expect(named[2]).not.to.deep.equal(named[0]);
  });

  it("names other sources as they are named", () => {
    const [file] = parseSources({ uris: ["file:/a.json"], sources: "" });
    expect(file && copySourceOf(file)).to.deep.equal({ provider: "file", uri: "/a.json", selector: "" });
  });
});

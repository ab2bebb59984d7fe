import { expect } from "chai";
import { mountOf } from "./mounts.js";

describe("mountOf", () => {
  it("is the mount with the longest path above", () => {
    const mounts = new Map([
      ["/", "1"],
      ["/data", "2"],
      ["/data/flags", "3"],
      ["/da", "4"],
    ]);
    const paths = [
      "/etc",
      "/",
      "/data",
      "/data/x",
      "/data/flags",
      "/data/flags/a/b",
      "/data/flagsmore",
      "/das",
    ];
    expect(paths.map((path) => mountOf(path, mounts)).join("")).to.equal("11223321");
    expect(mountOf("/x", new Map())).to.equal("");
  });
});

import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";

const modules = { node: "machinery/node", cluster: "../cluster/machinery" };

describe("the machinery of a node", () => {
  it("takes all that it shares with the machinery of a cluster in the same versions", () => {
    const ofNode = versionsIn(modules.node);
    const ofCluster = versionsIn(modules.cluster);
    expect(ofCluster.get("k8s.io/kubernetes")).to.match(/^v1\./);
    const shared = [...ofCluster].filter(([name]) => ofNode.has(name));
    expect(shared.length).to.be.greaterThan(100);
    expect(shared.filter(([name, version]) => ofNode.get(name) !== version)).to.deep.equal([]);
  });
});

/** What a go.mod requires, and in which version. */
function versionsIn(module: string): ReadonlyMap<string, string> {
  const goMod = readFileSync(path.join(import.meta.dirname, module, "go.mod"), "utf8");
  const lines = goMod.split("\n").map((line) => line.trim().split(" "));
  return new Map(
    lines.flatMap(([name = "", version = ""]) => (version.startsWith("v") ? [[name, version]] : [])),
  );
}

import { createRegistry, readOptions } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { expect } from "chai";
import { operatorOptionTable } from "./options.js";
import { processOfOperatorMetrics } from "./process-of-operator-metrics.js";
import { servedNamespaces, UnreadNamespaces } from "./served-namespaces.js";

async function served(...argv: string[]): Promise<readonly string[] | undefined> {
  const { options } = await readOptions(operatorOptionTable, { argv, env: {}, readsConfig: false });
  return servedNamespaces(options);
}

async function refusal(...argv: string[]): Promise<string> {
  return served(...argv).then(
    () => expect.fail("nothing was refused"),
    (error: unknown) => {
      expect(error).to.be.instanceOf(Error).with.property("code", "OPTION_INVALID");
      return (error as Error).message;
    },
  );
}

describe("servedNamespaces", () => {
  it("are all, unless some are named, each once", async () => {
    expect(await served()).to.equal(undefined);
    expect(await served("--watch-namespaces=")).to.equal(undefined);
    const names = ["shop", "checkout"];
    expect(await served("--watch-namespaces=shop,checkout,shop")).to.deep.equal(names);
  });

  it("are refused if they can't be names, or are too many to be watched one by one", async () => {
    expect(await refusal("--watch-namespaces=shop,Check_out")).to.contain('"Check_out"');
    const many = Array.from({ length: 101 }, (_, index) => `n${index}`);
    expect(await refusal(`--watch-namespaces=${many.join(",")}`)).to.contain("at most 100");
    expect(await served(`--watch-namespaces=${many.slice(1).join(",")}`)).to.have.lengthOf(100);
  });

  it("are refused beside what is of the whole cluster", async () => {
    expect(await refusal("--watch-namespaces=shop", "--agent-rollouts")).to.match(
      /^--agent-rollouts .* leave one of them out$/,
    );
  });
});

describe("UnreadNamespaces", () => {
  const pods = { group: "", version: "v1", plural: "pods" };
  const flags = { group: "core.openfeature.dev", version: "v1beta1", plural: "featureflags" };

  it("are named until all of their objects can be read, and logged once", () => {
    const logger = recordingLogger();
    const metrics = processOfOperatorMetrics.create(createRegistry(false));
    const unread = new UnreadNamespaces({ logger, metrics });
    unread.heard("shop", pods, true);
    expect(unread.remarks()).to.deep.equal([]);
    for (const type of [pods, flags, pods]) unread.heard("team", type, false);
    unread.heard("blog", pods, false);
    expect(unread.remarks()).to.deep.equal([
      "nothing is served in blog, team, where the operator may not read",
    ]);
    unread.heard("team", pods, true);
    expect(unread.names).to.deep.equal(["blog", "team"]);
    expect(metrics.unreadNamespace.read("team")).to.equal(1);
    unread.heard("team", flags, true);
    unread.heard("team", flags, true);
    expect(unread.names).to.deep.equal(["blog"]);
    expect(metrics.unreadNamespace.read("team")).to.equal(0);
    const ofTeam = logger.lines.filter((line) => JSON.stringify(line).includes("team"));
    expect(ofTeam.map(({ level }) => level)).to.deep.equal(["warn", "info"]);
  });

  it("are named no longer for objects that nobody reads any more, as on a replica that led", () => {
    const logger = recordingLogger();
    const metrics = processOfOperatorMetrics.create(createRegistry(false));
    const unread = new UnreadNamespaces({ logger, metrics });
    for (const type of [pods, flags]) unread.heard("team", type, false);
    unread.heard("team", pods, undefined);
    expect(unread.names).to.deep.equal(["team"]);
    unread.heard("team", flags, true);
    expect([unread.names, metrics.unreadNamespace.read("team")]).to.deep.equal([[], 0]);
    unread.heard("team", pods, false);
    const { length } = logger.lines;
    unread.heard("team", pods, undefined);
    expect([unread.names, metrics.unreadNamespace.read("team")]).to.deep.equal([[], 0]);
    expect(logger.lines, "it is not served because of that").to.have.lengthOf(length);
  });
});

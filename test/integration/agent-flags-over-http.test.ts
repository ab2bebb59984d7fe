import { connect } from "node:net";
import { once } from "node:events";
import { expect } from "chai";
import { isReady, startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { StockSyncClient } from "../support/stock-sync-client.js";
import { TempDirectory } from "../support/temp-directory.js";

const flags = (variant: string): string =>
  JSON.stringify({
    flags: {
      colour: { state: "ENABLED", variants: { red: "red", blue: "blue" }, defaultVariant: variant },
    },
    metadata: { flagSetId: "paint" },
  });

describe("GET /v1/flags of bunting-agent (--sync-http-enabled)", () => {
  const directory = new TempDirectory();
  const agents: AgentProcess[] = [];

  beforeEach(() => directory.replace("flags.json", flags("red")));
  afterEach(async () => {
    for (const { process } of agents.splice(0)) expect(await process.stop(), process.output).to.equal(0);
  });
  after(() => directory.remove());

  async function start(...args: readonly string[]): Promise<AgentProcess> {
    const agent = await startAgent(args);
    agents.push(agent);
    await eventually(() => isReady(agent.management), "the agent is ready");
    return agent;
  }
  const file = (): readonly string[] => ["--uri", `file:${directory.file("flags.json")}`];

  it("is off without the option: the port answers that it speaks gRPC", async () => {
    const { ports } = await start(...file());
    const socket = connect(ports.get("sync") ?? 0, "127.0.0.1");
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    socket.write("GET /v1/flags HTTP/1.1\r\nhost: a\r\n\r\n");
    await once(socket, "close");
    expect(text).to.match(/^HTTP\/1\.1 505 /);
  });

  it("has what FetchAllFlags has, and is an http source of another agent, with a selector", async () => {
    const { sync } = await start(...file(), "--sync-http-enabled");
    const answer = await fetch(`http://${sync}/v1/flags`);
    const client = new StockSyncClient(sync);
    expect(await answer.text()).to.equal(await client.fetchAll(""));
    client.close();
    for (const [path, status] of [
      ["bogus%3D1", 404],
      ["a%01", 400],
    ] as const)
      expect((await fetch(`http://${sync}/v1/flags/${path}`)).status).to.equal(status);

    const source = {
      uri: `http://${sync}/v1/flags/flagSetId%3Dpaint`,
      provider: "http",
      interval: 1,
    };
    const second = await start("--sources", JSON.stringify([source]));
    const colour = async (): Promise<unknown> => {
      const response = await fetch(`${second.ofrep}/ofrep/v1/evaluate/flags/colour`, { method: "POST" });
      return ((await response.json()) as { readonly value?: unknown }).value;
    };
    expect(await colour()).to.equal("red");
    directory.replace("flags.json", flags("blue"));
    await eventually(async () => (await colour()) === "blue", "the edit arrives");
  });
});

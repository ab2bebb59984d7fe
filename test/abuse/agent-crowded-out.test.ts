import { shapes } from "@bunting/protocol/internal/document-shapes.fixture.js";
import { expect } from "chai";
import { startAgent, type AgentProcess } from "../support/agent-process.js";
import { eventually } from "../support/event-queue.js";
import { TempDirectory } from "../support/temp-directory.js";

/** Two of these do not fit into what the flags of an agent may take. */
const large = (seed: number): string => shapes["many flags of nothing"]?.(200_000, seed) ?? "";

describe("a document for which another source has left an agent no room", () => {
  let directory: TempDirectory;
  let agent: AgentProcess | undefined;
  beforeEach(() => {
    directory = new TempDirectory();
    directory.replace("first.json", large(1));
    directory.replace("second.json", large(2));
  });
  afterEach(async () => {
    await agent?.process.stop();
    directory.remove();
  });

  it("is served once the other one has become smaller", async () => {
    const { management, process } = (agent = await startAgent([
      ...["--uri", `file:${directory.file("first.json")}`],
      ...["--uri", `file:${directory.file("second.json")}`],
    ]));
    const refused = await process.nextLog("a flag document was refused; the previous flags are still served");
    expect(refused["code"]).to.equal("DOCUMENT_TOO_LARGE");
    const other = refused["sourceIndex"] === 0 ? "second.json" : "first.json";
    directory.replace(other, '{"flags":{}}');
    await eventually(async () => {
      const metrics = await (await fetch(`${management}/metrics`)).text();
      return Number(/^bunting_agent_store_flags (\d+)$/m.exec(metrics)?.[1]) > 100;
    }, "the flags that were refused");
  });
});

import { expect } from "chai";
import { createLogger, systemClock } from "@bunting/runtime";
import { eventually } from "@bunting/test/support/event-queue.js";
import { TempDirectory } from "@bunting/test/support/temp-directory.js";
import { CallerTokens } from "./caller-tokens.js";

describe("CallerTokens", () => {
  let directory: TempDirectory;
  let callers: CallerTokens;
  let log: string;
  let refused: string[];

  beforeEach(() => {
    directory = new TempDirectory();
    log = "";
    refused = [];
    callers = new CallerTokens({
      path: directory.file("tokens"),
      optionName: "--auth-token-file",
      onRefused: (reason) => void refused.push(reason),
      context: {
        logger: createLogger({ format: "json", debug: true }, { write: (line) => void (log += line) }),
        clock: systemClock,
      },
      intervalMs: 5,
    });
  });
  afterEach(async () => {
    await callers.component.stop();
    directory.remove();
  });

  const start = async (content: string): Promise<void> => {
    directory.replace("tokens", content);
    await callers.component.start(() => undefined, new AbortController().signal);
  };

  it("admits each token of the file, with the scheme in any case, and nothing else", async () => {
    await start("first-token\n\n  second-token \r\n");
    for (const header of ["Bearer first-token", "bearer second-token", "BEARER  first-token"])
      expect(callers.admits(header), header).to.equal(true);
    for (const header of [
      undefined,
      "",
      "Bearer",
      "Bearer ",
      "first-token",
      "Basic first-token",
      "Bearer first-toke",
      "Bearer first-token2",
      "Bearer first-token second-token",
      "Bearer first-token, Bearer second-token",
    ])
      expect(callers.admits(header), header).to.equal(false);
    expect(refused.filter((reason) => reason === "wrong")).to.have.length(2);
    expect(log).not.to.match(/first-toke|second-token/);
  });

  it("takes new tokens, and drops those that are gone", async () => {
    await start("old");
    directory.replace("tokens", "old\nnew\n");
    await eventually(() => callers.admits("Bearer new"), "the new token is admitted");
    expect(callers.admits("Bearer old")).to.equal(true);
    directory.replace("tokens", "new");
    await eventually(() => !callers.admits("Bearer old"), "the old token is refused");
    expect(callers.admits("Bearer new")).to.equal(true);
  });

  it("keeps its tokens while the file can't be used, and says why", async () => {
    await start("token");
    for (const [content, problem] of [
      ["", "has no token"],
      ["s3cret one", "line 1 of the token file"],
      ["ok\n\u00e4s3cret", "line 2 of the token file"],
      [Array.from({ length: 17 }, (_, i) => `s3cret${i}`).join("\n"), "more than 16 tokens"],
    ] as const) {
      directory.replace("tokens", content);
      await eventually(() => log.includes(problem), problem);
      expect(callers.admits("Bearer token")).to.equal(true);
    }
    expect(log).not.to.contain("s3cret");
  });

  it("does not start without a token", async () => {
    for (const content of ["", "\n \n"]) {
      const error: unknown = await start(content).catch((reason: unknown) => reason);
      expect(error).to.be.an("error").with.property("message").that.includes("has no token");
    }
    expect(callers.admits("Bearer ")).to.equal(false);
  });

  it("does not start without the file, which the error names with its option", async () => {
    const starting = callers.component.start(() => undefined, new AbortController().signal);
    const error: unknown = await Promise.resolve(starting).catch((reason: unknown) => reason);
    expect(error)
      .to.be.an("error")
      .with.property("message")
      .that.matches(/tokens can't be read \(ENOENT\).*--auth-token-file/);
  });

  it("admits nobody while a file is absent that may be, and takes its tokens when it comes", async () => {
    callers = new CallerTokens({
      path: directory.file("tokens"),
      optionName: "--status-token-file",
      mayBeAbsent: true,
      onRefused: (reason) => void refused.push(reason),
      context: {
        logger: createLogger({ format: "json", debug: true }, { write: (line) => void (log += line) }),
        clock: systemClock,
      },
      intervalMs: 5,
    });
    await callers.component.start(() => undefined, new AbortController().signal);
    expect(callers.has("Bearer token")).to.equal(false);
    expect([log, refused]).to.deep.equal(["", []]);
    expect(callers.admits("Bearer token")).to.equal(false);
    expect(log).to.include("--status-token-file");
    directory.replace("tokens", "token");
    await eventually(() => callers.admits("Bearer token"), "the token is admitted");
  });
});

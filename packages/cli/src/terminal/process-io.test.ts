import { PassThrough } from "node:stream";
import { expect } from "chai";
import { processIo } from "./process-io.js";

const hostile = "\u001b]0;owned\u0007\u001b[2J\u001b[31mkey\u009b1m\u202e";
const shown = "\\u001b]0;owned\\u0007\\u001b[2J\\u001b[31mkey\\u009b1m\\u202e";

/** What a command writes that prints and notes what others have named. */
function written(isTerminal: boolean, env: Record<string, string> = {}): { out: string; err: string } {
  const stream = (): PassThrough => Object.assign(new PassThrough(), { isTTY: isTerminal, columns: 80 });
  const [stdout, stderr] = [stream(), stream()];
  const around = { stdin: new PassThrough(), stdout, stderr, env } as unknown as NodeJS.Process;
  const io = processIo(around, new AbortController().signal, () => undefined);
  io.print(`${io.colours.green("+")} ${hostile}`);
  io.clear();
  io.note(hostile);
  return { out: String(stdout.read()), err: String(stderr.read()) };
}

describe("what commands print", () => {
  it("has no control character and no colour in a pipe, whatever others have named their flags", () => {
    expect(written(false)).to.deep.equal({ out: `+ ${shown}\n`, err: `${shown}\n` });
  });

  it("has none but line feeds in a terminal without colours", () => {
    const { out } = written(true, { NO_COLOR: "1" });
    expect(out).to.equal(`+ ${shown}\n\u001b[H\u001b[2J`);
  });

  it("has only colours of ours in a terminal, and none in notes", () => {
    const { out, err } = written(true);
    const [line = ""] = out.split("\n");
    expect(line).to.contain("\u001b[32m+\u001b[0m \\u001b]0;owned\\u0007\\u001b[2J");
    expect(line.replaceAll(/\u001b\[(?:0|3[1-3])m/g, "")).not.to.match(/[\u0000-\u001f\u007f-\u009f\u202e]/);
    expect(err).to.equal(`${shown}\n`);
  });
});

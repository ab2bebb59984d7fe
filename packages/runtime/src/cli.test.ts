import { expect } from "chai";
import { runProgram } from "./cli.js";
import { CodedError } from "./coded-error.js";

const mark = Symbol.for("bunting.CodedError");

class GardenError extends CodedError<"GATE_SHUT"> {
  override readonly name = "GardenError";
}

/** What a program writes that fails with this error when it starts. */
async function writtenOn(error: Error): Promise<string> {
  const { stderr } = process;
  const write = stderr.write.bind(stderr);
  const written: string[] = [];
  stderr.write = (text: string | Uint8Array): boolean => written.push(String(text)) > 0;
  try {
    const program = {
      name: "garden",
      version: "1",
      describe: "",
      table: {},
      start: () => Promise.reject(error),
    };
    expect(await runProgram(program, ["start"], {})).to.equal(1);
  } finally {
    stderr.write = write;
  }
  return written.join("");
}

describe("runProgram", () => {
  it("knows a user's mistake that another copy of the class says, as a chunk of a bundle has one", async () => {
    class Copy extends Error {
      readonly [mark] = true;
    }
    expect(await writtenOn(new Copy("open the gate"))).to.equal("garden: open the gate\n");
  });

  it("explains a user's mistake by its message alone, and shows where any other error came from", async () => {
    expect(await writtenOn(new GardenError("GATE_SHUT", "open the gate"))).to.equal(
      "garden: open the gate\n",
    );
    const both = new AggregateError([new GardenError("GATE_SHUT", "open it"), new TypeError("no gate")]);
    expect(await writtenOn(both)).to.match(/^garden: open it\ngarden: TypeError: no gate\n +at .*cli\.test/);
  });
});

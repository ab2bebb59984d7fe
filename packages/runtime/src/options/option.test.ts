import { expect } from "chai";
import { givenFlags, option, optionGroup } from "./option.js";
import { readOptions } from "./read-options.js";
import { duration, list, port, text } from "./value-types.js";

describe("optionGroup", () => {
  const table = optionGroup("Listening", {
    syncPort: option(port, 8015, "Port."),
    host: option(text, "", "Host.", { env: ["X_HOST", "BUNTING_HOST"] }),
    file: option(text, "", "File.", { env: [] }),
    token: option(text, "", "Token.", { group: "Security", env: ["X_TOKEN"] }),
  });

  it("gives all options its heading, but those that have their own", () => {
    expect(Object.values(table).map(({ group }) => group)).to.deep.equal([
      "Listening",
      "Listening",
      "Listening",
      "Security",
    ]);
  });

  it("derives the variable of an option from its key, unless the option names its own, or none", () => {
    expect(Object.values(table).map(({ env }) => env)).to.deep.equal([
      ["BUNTING_SYNC_PORT"],
      ["X_HOST", "BUNTING_HOST"],
      [],
      ["X_TOKEN"],
    ]);
  });

  it("keeps the type of each option", async () => {
    const env = { BUNTING_SYNC_PORT: "9000", X_HOST: "localhost" };
    const { options } = await readOptions(table, { argv: [], env, readsConfig: false });
    const { syncPort, host }: { syncPort: number; host: string } = options;
    expect([syncPort, host]).to.deep.equal([9000, "localhost"]);
  });
});

describe("givenFlags", () => {
  const table = optionGroup("Listening", {
    syncPort: option(port, 8015, "Port."),
    drainDelay: option(duration({ minMs: 0, maxMs: 9_000, zero: "off" }), 3_000, "Delay."),
    uri: option(list, [], "Sources.", { flag: "source" }),
  });
  const defaults = { syncPort: 8015, drainDelay: 3_000, uri: [] };

  it("names the flags of options that have another value than by default", () => {
    expect(givenFlags(table, defaults)).to.deep.equal([]);
    expect(givenFlags(table, { ...defaults, drainDelay: 0, uri: ["file:a"] })).to.deep.equal([
      "drain-delay",
      "source",
    ]);
  });
});

import { expect } from "chai";
import { option, optionGroup } from "./option.js";
import { readOptions } from "./read-options.js";
import { port, text } from "./value-types.js";

describe("optionGroup", () => {
  const table = optionGroup("Listening", {
    syncPort: option({ type: port, default: 8015, describe: "Port." }),
    host: option({ type: text, default: "", describe: "Host.", env: ["X_HOST", "BUNTING_HOST"] }),
    file: option({ type: text, default: "", describe: "File.", env: [] }),
    token: option({ type: text, default: "", describe: "Token.", group: "Security", env: ["X_TOKEN"] }),
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

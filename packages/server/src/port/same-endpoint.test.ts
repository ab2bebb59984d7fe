import { expect } from "chai";
import type { ListenEndpoint } from "./listen-endpoint.js";
import { sameEndpoint } from "./same-endpoint.js";

const options = (...endpoints: ListenEndpoint[]) =>
  endpoints.map((endpoint, index) => ({ endpoint, optionName: `--option-${index}` }));

describe("sameEndpoint", () => {
  it("names both options that are one port or path", () => {
    expect(sameEndpoint(options({ port: 8013 }, { port: 8015 }, { port: 8015 }))).to.equal(
      "--option-1 and --option-2 are both 8015: choose another port with one of them",
    );
    expect(sameEndpoint(options({ socketPath: "/a" }, { port: 8015 }, { socketPath: "/a" }))).to.equal(
      "--option-0 and --option-2 are both /a: choose another path with one of them",
    );
  });

  it("finds nothing wrong with ports that the system is to choose", () => {
    expect(sameEndpoint(options({ port: 0 }, { port: 0 }, { port: 1 }, { socketPath: "/1" }))).to.equal(
      undefined,
    );
  });
});

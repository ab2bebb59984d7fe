import { expect } from "chai";
import { ClusterConnection } from "./cluster-connection.js";

describe("the connection on which callers are asked about", () => {
  it("gives up a call with its signal, though it is not known yet whether there is a cluster", async () => {
    const connection = new ClusterConnection(() => new Promise(() => undefined));
    const abort = new AbortController();
    const calls = [0, 1].map(() =>
      connection
        .raw({ method: "GET", path: "/openid/v1/jwks" }, abort.signal)
        .catch((error: unknown) => error),
    );
    abort.abort(new Error("the process ends"));
    for (const call of calls) expect(await call).to.have.property("message", "the process ends");
  });
});
